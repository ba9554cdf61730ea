"""S10, S15, S16, S33: nothing that the gate allows touches a canary; what was found once stays closed."""

import os
import random
import time
from collections.abc import Iterator
from itertools import islice

import pytest

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import Allow
from fuzz.gate import CAMPAIGNS, Decider, Hole, Queue, commands, found, run_campaign, seeds
from fuzz.playground import Playground, make_playground, remove
from fuzz.runner import Runner, can_run

SECONDS = 20
"""For each campaign: a minute in all. `make fuzz` looks for as long as you say."""
SEED = 9941
"""The same walk each time: a test that fails now and then is worth little. `make fuzz` takes new ways."""
needs_sandbox = pytest.mark.skipif(not can_run(), reason="needs bubblewrap and git")


@pytest.fixture(scope="module")
def playground() -> Iterator[Playground]:
    made = make_playground()
    yield made
    remove(made)


@needs_sandbox
@pytest.mark.long
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_nothing_that_is_allowed_touches_a_canary(campaign: str, playground: Playground):
    until = time.monotonic() + SECONDS
    with Runner(playground, campaign) as runner:
        tally = run_campaign(
            campaign,
            playground,
            seed=SEED,
            until=lambda _: time.monotonic() >= until,
            runner=runner,
        )

    assert tally.ran > 0
    assert tally.holes == []


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_quick_answer_is_the_one_of_the_whole_gate(campaign: str, playground: Playground):
    """What is refused at the first doubt would be asked about; what is allowed has passed the whole gate."""
    decider = Decider(playground, campaign)
    tried = [*seeds(campaign), *islice(commands(campaign, playground, random.Random(SEED)), 1_000)]
    # All of these first, so that nothing of them rests on what the quick look has found out.
    requests = [CallRequest(tool="Bash", input={"command": each}, subject=each) for each in tried]
    whole = [isinstance(decide(prepare(each, decider.standing)), Allow) for each in requests]

    wrong = [each for each, allowed in zip(tried, whole, strict=True) if decider.may_run(each) is not allowed]

    assert wrong == []
    assert any(whole)


@needs_sandbox
@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_what_was_found_once_stays_closed(campaign: str, playground: Playground):
    decider = Decider(playground, campaign)
    known = [hole for hole in found() if hole.campaign == campaign]
    with Runner(playground, campaign) as runner:
        again = [hole.command for hole in known if decider.may_run(hole.command) and runner.run(hole.command)]

    assert again == []


@needs_sandbox
@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("touch pwned", "changes"),
        ("chmod 600 a.txt", "changes"),
        ("cat ../outside/secret.txt", "reads"),
        ("wc -l link-out", "reads"),
        ("cat .env", "shows a denied file"),
        ("env", "shows the environment"),
        ("echo x > /dev/tty", "writes to the terminal"),
        ("cat < /dev/tcp/127.0.0.1/9", "opens a connection"),
        ("cd bare && git status", "changes"),
        ("(setsid touch pwned &); sleep 0.2", "changes"),
        ("touch ../pwned", "changes"),
        ("cp -p b.txt a.txt", "changes"),
    ],
)
def test_every_canary_sings(playground: Playground, command: str, does: str):
    with Runner(playground, "read") as runner:
        did = runner.run(command)
        quiet = runner.run("cat a.txt; git status; ls -la . src")

    assert any(each.startswith(does) for each in did), did
    assert quiet == []


@needs_sandbox
def test_a_denied_program_that_starts_is_noticed(playground: Playground):
    with Runner(playground, "deny") as runner:
        assert runner.run("evil") != []
        assert runner.run("touch pwned") == []


@needs_sandbox
def test_what_is_changed_is_laid_out_again_and_never_in_the_tree_that_is_decided_about(
    playground: Playground,
):
    with Runner(playground, "edit") as runner:
        changed = runner.run(
            "rm -r src .git; mv docs ../docs; ln -s /etc payload/x; chmod 0 a.txt; ls > b.txt"
        )
        again = runner.run("cat src/main.py docs/index.md a.txt; git status; ls payload")
    with Runner(playground, "read") as runner:
        runner.run("rm -r src; touch pwned")
        quiet = runner.run("cat src/main.py; ls pwned")

    assert changed != []
    assert again == [] and quiet == []
    assert os.path.exists(f"{playground.project}/src/main.py")
    assert not os.path.exists(f"{playground.project}/pwned")


def test_commands_that_name_a_canary_are_run_first_and_each_once():
    queue = Queue(("evil",))
    added = [queue.add(command) for command in ("ls", "evil x", "ls", "pwd")]

    assert added == [True, True, False, True]
    assert queue.take() == "evil x"
    assert {queue.take(), queue.take()} == {"ls", "pwd"}
    assert queue.take() is None


def test_holes_are_kept_in_a_form_that_can_be_read_again():
    assert all(isinstance(hole, Hole) and hole.campaign in CAMPAIGNS and hole.did for hole in found())

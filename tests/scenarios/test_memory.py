"""Work on the side: what is remembered, noted, suggested and brought up to date after turns."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.context.memory import topics
from bridle.engine.feature import SideTask
from bridle.engine.loop import run_turn
from bridle.engine.runtime import HostLink, Runtime
from bridle.features.budgets.token_goal import TokenGoal, goal_of
from bridle.features.memory.extraction import Extraction, read_topics
from bridle.features.memory.search import recall
from bridle.features.side_work.feature import SideWorkFeature
from bridle.features.side_work.idle_compaction import compact_while_warm
from bridle.features.side_work.suggestions import (
    read_suggestion,
    recap,
    recap_for_return,
    suggest_prompt,
    suggest_when_asked,
)
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.tools.tasks.todo_write import TOOL as TODO
from bridle.transcripts.session import Session
from bridle.transcripts.store import transcript_path
from bridle.transcripts.transcript import Transcript
from bridle.types.event import CompactionFinished, Noticed, PromptSuggested, SideTaskFailed
from bridle.types.host_options import HostOptions
from bridle.types.origin import TYPED
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import with_feature

LONG = "We deploy on Fridays only, and the staging host is called heron. " * 10


async def _worked(
    folder: Path, tasks: dict[str, SideTask], *script: Any, **more: Any
) -> tuple[FakeChannel, Session, ScriptedProvider]:
    channel, session = FakeChannel(), make_session()
    provider = ScriptedProvider([says(LONG), *script])
    queue = SideWorkFeature(tasks)
    runtime = msgspec.structs.replace(make_runtime(folder, provider, READ, channel=channel), **more)
    runtime = with_feature(runtime, queue)
    await run_turn(session, Prompt(content="where do we deploy?", origin=TYPED), runtime)
    async with asyncio.timeout(50):
        await queue.finish()
    return channel, session, provider


async def test_what_matters_later_is_remembered_and_counted_as_cost(tmp_path: Path):
    answer = says(
        '[{"name": "Deploys", "description": "When we deploy", "type": "project", "body": "Fridays only."}]'
    )
    folder = str(tmp_path / "memory")

    channel, session, provider = await _worked(tmp_path, {"memory": Extraction(folder)}, answer)

    found, _ = topics(folder)
    assert [topic.body for topic in found] == ["Fridays only."]
    assert provider.requests[1].model == "small"
    assert "small" in session.spend
    assert any("project_deploys.md" in event.text for event in channel.of(Noticed))


@pytest.mark.parametrize("answer", ["[]", "nonsense", '[{"name": 1}]', '[{"name": "a"', "][", '["x"]'])
def test_an_answer_without_topics_saves_nothing(answer: str):
    assert read_topics(answer) == []


async def test_what_goes_wrong_in_the_background_is_logged_once_and_hurts_nothing(tmp_path: Path):
    channel, session = FakeChannel(), make_session()

    async def fails(session: Session, runtime: Runtime, outcome: Outcome) -> None:
        raise ValueError("no luck")

    queue = SideWorkFeature({"try": fails})
    runtime = with_feature(make_runtime(tmp_path, [says("a"), says("b")], channel=channel), queue)
    for text in ("1", "2"):
        outcome = await run_turn(session, Prompt(content=text, origin=TYPED), runtime)
        assert not outcome.is_error
        await queue.finish()

    assert channel.of(SideTaskFailed) == [SideTaskFailed("try", "no luck")]
    assert not channel.of(Noticed)


async def test_the_queue_is_bounded_cancellable_and_closes_at_once(tmp_path: Path):
    started: list[str] = []

    async def waits(session: Session, runtime: Runtime, outcome: Outcome) -> None:
        started.append("x")
        await asyncio.Event().wait()

    queue = SideWorkFeature({"wait": waits})
    session = make_session()
    runtime = with_feature(make_runtime(tmp_path, [says(str(n)) for n in range(5)]), queue)
    for number in range(5):
        await run_turn(session, Prompt(content=str(number), origin=TYPED), runtime)
        await asyncio.sleep(0)

    async with asyncio.timeout(50):
        await queue.close()
    assert started == ["x"]


async def test_what_waits_for_a_pause_is_given_up_when_somebody_asks(tmp_path: Path):
    ran: list[str] = []
    done = asyncio.Event()

    async def note(session: Session, runtime: Runtime, outcome: Outcome) -> None:
        ran.append(str(outcome.text))
        done.set()

    queue = SideWorkFeature({}, idle={"note": (0.05, note)})
    session = make_session()
    runtime = with_feature(make_runtime(tmp_path, [says("a"), says("b")]), queue)
    await run_turn(session, Prompt(content="1", origin=TYPED), runtime)
    await run_turn(session, Prompt(content="2", origin=TYPED), runtime)
    async with asyncio.timeout(50):
        await done.wait()
    await queue.close()

    assert ran == ["b"]


async def test_a_prompt_is_suggested_where_it_is_plain(tmp_path: Path):
    channel, _, _ = await _worked(tmp_path, {"suggestion": suggest_prompt}, says("deploy to staging"))
    assert [event.text for event in channel.of(PromptSuggested)] == ["deploy to staging"]


async def test_a_host_gets_suggestions_only_if_it_asks_for_them(tmp_path: Path):
    tasks: dict[str, SideTask] = {"suggestion": suggest_when_asked}
    channel, _, provider = await _worked(tmp_path, tasks)
    assert not channel.of(PromptSuggested) and len(provider.requests) == 1

    wanted = HostOptions(prompt_suggestions=True)
    channel, _, provider = await _worked(tmp_path, tasks, host=HostLink(offer=wanted))
    assert not channel.of(PromptSuggested) and len(provider.requests) == 1, "one prompt is little to go by"

    script = [says("Here."), says("There."), says("run it")]
    queue, channel, session = SideWorkFeature(tasks), FakeChannel(), make_session()
    runtime = make_runtime(tmp_path, script, channel=channel)
    runtime = with_feature(msgspec.structs.replace(runtime, host=HostLink(offer=wanted)), queue)
    for text in ("where?", "and now?"):
        await run_turn(session, Prompt(content=text, origin=TYPED), runtime)
    await queue.finish()
    assert channel.of(PromptSuggested) == [PromptSuggested("run it")]


@pytest.mark.parametrize("text", ["", "NONE", "a\nb", "thanks!", "word " * 20, "Here it is:"])
def test_what_cannot_be_shown_is_no_suggestion(text: str):
    assert read_suggestion(text) is None


async def test_a_recap_is_one_line(tmp_path: Path):
    session = make_session()
    runtime = make_runtime(tmp_path, [says(LONG), says("You asked\nwhere to deploy.")])
    assert await recap(make_session(), runtime) == "The conversation is empty."
    await run_turn(session, Prompt(content="where?", origin=TYPED), runtime)

    assert await recap(session, runtime) == "You asked where to deploy."


async def test_whoever_comes_back_reads_a_recap(tmp_path: Path):
    channel, session, _ = await _worked(tmp_path, {"recap": recap_for_return}, says("All is deployed."))
    assert channel.of(Noticed)[-1].text == "While you were away: All is deployed."
    last = session.entries[-1]
    assert last["type"] == "system" and last["subtype"] == "away_summary"


async def test_a_long_conversation_is_compacted_in_a_pause(tmp_path: Path):
    channel, session = FakeChannel(), make_session()
    usage = {"input_tokens": 120_000, "output_tokens": 9}
    provider = ScriptedProvider([says("a"), says(LONG, usage=usage), says("<summary>Deploying.</summary>")])
    queue = SideWorkFeature({}, idle={"compaction": (0.01, compact_while_warm)})
    runtime = with_feature(make_runtime(tmp_path, provider, channel=channel), queue)
    await run_turn(session, Prompt(content="hello", origin=TYPED), runtime)
    await run_turn(session, Prompt(content="where?", origin=TYPED), runtime)

    await channel.seen(lambda event: isinstance(event, CompactionFinished))
    await queue.close()

    assert channel.of(CompactionFinished)[0].error is None


async def test_what_was_said_in_earlier_sessions_is_found(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    session_id = "11111111-1111-4111-8111-111111111111"
    path = transcript_path(session_id, str(tmp_path), env)
    session = Session(session_id, writer=Transcript(path, warn=print), cwd=str(tmp_path))
    session.swap(model="model-a", mode="bypassPermissions")
    await run_turn(
        session, Prompt(content="where do we deploy?", origin=TYPED), make_runtime(tmp_path, [says(LONG)])
    )
    session.close()

    found = recall("staging HERON", str(tmp_path), env)

    assert [(each.session_id, each.speaker) for each in found] == [(session_id, "assistant")]
    assert "heron" in found[0].excerpt
    assert recall("", str(tmp_path), env) == [] and recall("zebra", str(tmp_path), env) == []


@pytest.mark.parametrize(
    ("text", "goal"),
    [("+500k find bugs", 500_000), ("find bugs +1.5m", 1_500_000), ("use 2m tokens.", 2_000_000),
     ("+x k", None), ("add +5", None), ("", None)],
)  # fmt: skip
def test_budgets_as_people_write_them(text: str, goal: int | None):
    found = goal_of(Prompt(content=text, origin=TYPED))
    assert (found.goal if found is not None else None) == goal


def test_work_ends_when_enough_is_used_or_little_comes():
    budget = TokenGoal(10_000)
    assert budget.nudge(5_000) is not None
    assert budget.nudge(9_000) is None

    fading = TokenGoal(1_000_000)
    assert [fading.nudge(used) is not None for used in (100, 200, 300, 400)] == [True, True, True, False]


async def test_a_turn_goes_on_until_its_budget_is_used(tmp_path: Path):
    script = [says(str(n), usage={"input_tokens": 9, "output_tokens": 400}) for n in range(3)]
    provider = ScriptedProvider(script)

    outcome = await run_turn(
        make_session(), Prompt(content="+1k look deeper", origin=TYPED), make_runtime(tmp_path, provider)
    )

    assert len(provider.requests) == 3 and outcome.text == "2"
    assert "800 of 1,000" in str(provider.requests[2].messages[-1]["content"])


async def test_a_forgotten_task_list_is_brought_back_to_mind(tmp_path: Path):
    (tmp_path / "a.txt").write_text("x")
    todo = {"content": "Fix it", "status": "in_progress", "activeForm": "Fixing it"}
    reads = [says(calls("Read", file_path=str(tmp_path / "a.txt"))) for _ in range(20)]
    provider = ScriptedProvider([says(calls("TodoWrite", todos=[todo])), *reads, says("Done.")])

    await run_turn(
        make_session(), Prompt(content="go", origin=TYPED), make_runtime(tmp_path, provider, READ, TODO)
    )

    reminded = [
        str(asked.messages[-1]["content"]).count("has not been updated") for asked in provider.requests
    ]
    assert [index for index, count in enumerate(reminded) if count] == [20]

"""A suggested prompt is worked on before the user sends it, and nothing of that is real until then."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.features.side_work.feature import SideWorkFeature
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.catalog import CATALOG
from bridle.tools.definitions import find_tool
from bridle.transcripts.session import Session
from bridle.types.host_options import HostOptions
from bridle.types.origin import TYPED
from bridle.types.permission import Mode
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import with_feature

FIX = "fix the greeting"
_TOOLS = ("Read", "Edit", "Write", "Glob", "Bash", "WebFetch")


class Stage:
    """A session with a file, a script for the model, and side work that suggests one prompt."""

    def __init__(self, folder: Path, *script: Any, mode: Mode = "acceptEdits") -> None:
        self.file = folder / "hello.txt"
        self.file.write_text("helo world\n", encoding="utf-8")
        self.model = ScriptedProvider([says("What now?"), says(FIX), *script])
        self.side = SideWorkFeature({"suggestion": _nothing}, runs_ahead=True)
        self.channel, self.session = FakeChannel(), make_session(mode=mode)
        tools = [find_tool(each) for each in CATALOG if each.name in _TOOLS]
        runtime = make_runtime(folder, self.side.provider(self.model), *tools, channel=self.channel)
        self.runtime = with_feature(runtime, self.side)

    async def ask(self, text: str) -> Outcome:
        return await run_turn(self.session, Prompt(content=text, origin=TYPED), self.runtime)

    async def begin(self) -> None:
        """The first turn, the suggestion, and all that is made ahead."""
        await self.ask("hi")
        async with asyncio.timeout(50):
            await self.side.finish()
        self.pause()

    def pause(self) -> None:
        """Suggest nothing more."""
        offer = HostOptions(suggestions_paused=True)
        self.runtime = self.runtime.replaced(host=self.runtime.host.offering(offer))

    @property
    def text(self) -> str:
        return self.file.read_text(encoding="utf-8")


async def _nothing(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Replaced by the suggestion of the feature."""


def _fixes(folder: Path) -> tuple[Any, ...]:
    path = str(folder / "hello.txt")
    return (
        says(calls("Read", file_path=path)),
        says(calls("Edit", file_path=path, old_string="helo", new_string="hello")),
        says("Fixed."),
    )


async def test_an_accepted_suggestion_is_answered_from_what_was_made_ahead(tmp_path: Path):
    stage = Stage(tmp_path, *_fixes(tmp_path), says("unused"))
    await stage.begin()
    assert (stage.text, len(stage.model.requests)) == ("helo world\n", 5)
    assert [each["type"] for each in stage.session.entries if each["type"] != "system"] == [
        "user",
        "assistant",
    ]
    spent = stage.session.total_cost_usd

    outcome = await stage.ask(FIX)

    assert (outcome.text, stage.text) == ("Fixed.", "hello world\n")
    # Only the suggestion for the next prompt may be asked for after this; the turn itself cost nothing more.
    assert stage.session.total_cost_usd == spent
    assert len(stage.model.requests) == 5


async def test_another_prompt_discards_all_of_it(tmp_path: Path):
    stage = Stage(tmp_path, *_fixes(tmp_path), says("Sure."))
    await stage.begin()

    outcome = await stage.ask("never mind")

    assert (outcome.text, stage.text) == ("Sure.", "helo world\n")
    assert "Fixed" not in str(stage.session.entries)


async def test_what_has_changed_meanwhile_goes_to_the_model(tmp_path: Path):
    stage = Stage(tmp_path, *_fixes(tmp_path), says("It reads well already."))
    await stage.begin()
    stage.file.write_text("hello there\n", encoding="utf-8")

    outcome = await stage.ask(FIX)

    assert (outcome.text, stage.text) == ("It reads well already.", "hello there\n")
    assert "hello there" in str(stage.model.requests[-1].messages[-1])


CALLS: dict[str, tuple[Mode, Callable[[Path], Any]]] = {
    "an edit that would ask": ("default", lambda p: calls("Write", file_path=f"{p}/new.txt", content="x")),
    "a command that writes": ("bypassPermissions", lambda p: calls("Bash", command=f"touch {p}/new.txt")),
    "a command in the background": (
        "bypassPermissions",
        lambda p: calls("Bash", command="ls", run_in_background=True),
    ),
    "a page of the web": (
        "bypassPermissions",
        lambda p: calls("WebFetch", url="http://127.0.0.1:9/", prompt="what is it?"),
    ),
}


@pytest.mark.parametrize("case", CALLS)
async def test_it_stops_at_a_call_that_may_not_run_ahead(case: str, tmp_path: Path):
    mode, call = CALLS[case]
    stage = Stage(tmp_path, says(call(tmp_path)), says("Done."), mode=mode)
    await stage.begin()

    assert len(stage.model.requests) == 3
    assert not (tmp_path / "new.txt").exists()
    assert not stage.channel.questions
    outcome = await stage.ask(FIX)
    # The first step was made ahead, and the real turn runs its call and asks where it has to.
    assert (outcome.text, len(stage.model.requests)) == ("Done.", 4)


async def test_searches_end_where_the_draft_differs_from_the_disk(tmp_path: Path):
    path = str(tmp_path / "hello.txt")
    stage = Stage(
        tmp_path,
        says(calls("Read", file_path=path)),
        says(calls("Edit", file_path=path, old_string="helo", new_string="hello")),
        says(calls("Read", file_path=path)),
        says(calls("Glob", pattern="*")),
        says("Done."),
    )
    await stage.begin()
    assert len(stage.model.requests) == 6
    assert "hello world" in str(stage.model.requests[5].messages[-1])

    outcome = await stage.ask(FIX)
    assert (outcome.text, stage.text, len(stage.model.requests)) == ("Done.", "hello world\n", 7)


async def test_its_steps_are_limited(tmp_path: Path):
    path = str(tmp_path / "hello.txt")
    endless = [says(calls("Read", file_path=path, offset=1, limit=n + 1)) for n in range(20)]
    stage = Stage(tmp_path, *endless)
    await stage.begin()
    assert len(stage.model.requests) == 2 + 8


async def test_a_budget_holds_for_it(tmp_path: Path):
    stage = Stage(tmp_path, *_fixes(tmp_path))
    spent = 3 * 15 / 100_000  # Three answers of fifteen tokens.
    limits = stage.runtime.limits
    stage.runtime = stage.runtime.replaced(limits=type(limits)(max_budget_usd=spent))
    await stage.begin()
    assert len(stage.model.requests) == 3


async def test_a_prompt_that_is_sent_early_waits_for_the_request_that_runs(tmp_path: Path):
    go = asyncio.Event()
    stage = Stage(tmp_path, says("Fixed.", then=go.wait), says("unused"))
    await stage.ask("hi")
    while stage.side.ahead is None or len(stage.model.requests) < 3:
        await asyncio.sleep(0)
    stage.pause()
    turn = asyncio.create_task(stage.ask(FIX))
    await asyncio.sleep(0)
    go.set()
    async with asyncio.timeout(50):
        assert (await turn).text == "Fixed."
    assert len(stage.model.requests) == 3
    await stage.side.close()


async def test_commands_and_mentions_are_not_run_ahead(tmp_path: Path):
    for words in ("/compact", "look at @hello.txt", "!ls"):
        stage = Stage(tmp_path)
        stage.model = ScriptedProvider([says("What now?"), says(words)])
        stage.runtime = stage.runtime.replaced(provider=stage.side.provider(stage.model))
        await stage.begin()
        assert len(stage.model.requests) == 2

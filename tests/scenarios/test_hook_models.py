"""Hooks that a model judges: one question, or a small agent that may look at files."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.runtime import Limits, Runtime
from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.errors import ProviderError
from bridle.types.permission import Effect
from tests.fakes.engine import make_session, requests
from tests.fakes.hooked import hooked
from tests.fakes.tools import Workshop

NO = says('{"ok": false, "reason": "the tests do not run"}')
YES = says('{"ok": true}')


def _given(kind: str, verdict: Any, **input: Any) -> Any:
    """A verdict as a model gives it: an agent must use the tool for it."""
    return verdict if kind == "prompt" else says(calls("StructuredOutput", **input))


def _settings(event: str, kind: str, **more: Any) -> dict[str, Any]:
    return {event: [{"hooks": [{"type": kind, "prompt": "Is all done? $ARGUMENTS", **more}]}]}


@pytest.mark.parametrize("kind", ["prompt", "agent"])
async def test_model_may_keep_the_turn_going(tmp_path: Path, kind: str):
    script = [
        says("Done."),
        _given(kind, NO, ok=False, reason="the tests do not run"),
        says("Fixed."),
        _given(kind, YES, ok=True),
    ]
    async with hooked(tmp_path, script, settings=_settings("Stop", kind)) as session:
        outcome = await session.prompt()
    assert outcome.text == "Fixed." and "the tests do not run" in session.said_to_model(2)
    asked = requests(session.runtime)[1]
    assert asked.model == "small" and "stop_hook_active" in session.said_to_model(1)
    # The judges' calls cost like any other: four answers of fifteen tokens each.
    assert outcome.total_cost_usd == pytest.approx(4 * 15 / 100_000)
    assert outcome.usage.input == 20


async def test_hook_names_its_own_model(tmp_path: Path):
    settings = _settings("Stop", "prompt", model="haiku")
    async with hooked(tmp_path, [says("Done."), YES], settings=settings, resolve_model=str.upper) as session:
        await session.prompt()
    assert requests(session.runtime)[1].model == "HAIKU"


async def test_judge_before_a_call_refuses_it(tmp_path: Path):
    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    script = [says(calls("Work", name="a")), NO, says("I see.")]
    async with hooked(tmp_path, script, work, settings=_settings("PreToolUse", "prompt")) as session:
        await session.prompt()
    assert workshop.log == [] and "the tests do not run" in session.said_to_model()


async def test_model_that_cannot_be_asked_decides_nothing(tmp_path: Path):
    script = [says("Done."), ProviderError("down", kind="server_error")]
    async with hooked(tmp_path, script, settings=_settings("Stop", "prompt")) as session:
        outcome = await session.prompt()
    assert outcome.text == "Done."
    assert any("could not reach a model" in text for text in session.notices)


async def test_no_model_is_asked_once_the_money_is_gone(tmp_path: Path):
    def change(runtime: Runtime) -> Runtime:
        return msgspec.structs.replace(runtime, limits=Limits(max_budget_usd=0.0001))

    async with hooked(
        tmp_path, [says("Done.")], settings=_settings("Stop", "prompt"), change=change
    ) as session:
        await session.prompt()
    assert any("Reached maximum budget" in text for text in session.notices)


async def test_agent_looks_at_files_before_it_judges(tmp_path: Path):
    (tmp_path / "CHANGELOG.md").write_text("nothing yet\n")
    look = says(calls("Read", file_path=str(tmp_path / "CHANGELOG.md")))
    no = says(calls("StructuredOutput", ok=False, reason="the changelog is empty"))
    script = [says("Done."), look, no, says("Written."), _given("agent", YES, ok=True)]
    async with hooked(tmp_path, script, READ, BASH, settings=_settings("Stop", "agent")) as session:
        outcome = await session.prompt()
    assert outcome.text == "Written."
    first, second = requests(session.runtime)[1:3]
    assert [tool["name"] for tool in first.tools] == ["Read", "StructuredOutput"]
    assert "nothing yet" in msgspec.json.encode(second.messages).decode()
    assert "the changelog is empty" in session.said_to_model(3)
    # What the agent did is neither in the conversation nor on the channel.
    assert "nothing yet" not in session.said_to_model(3)
    assert session.channel.kinds.count("turn_started") == 1


async def test_agent_may_not_do_what_a_rule_forbids(tmp_path: Path):
    (tmp_path / "secret.txt").write_text("hunter2\n")
    look = says(calls("Read", file_path=str(tmp_path / "secret.txt")))
    run = says(calls("Bash", command="cat secret.txt"))
    script = [says("Done."), look, run, YES]
    session_with_rule = make_session()
    session_with_rule.swap(rules=(parse("Read(//**/secret.txt)", Effect.DENY, "cliArg"),))
    async with hooked(
        tmp_path, script, READ, BASH, settings=_settings("Stop", "agent"), session=session_with_rule
    ) as session:
        await session.prompt()
    assert "hunter2" not in session.said_to_model(2) and "hunter2" not in session.said_to_model(3)
    assert "No such tool" in session.said_to_model(3)


async def test_agent_that_never_comes_to_an_end_is_stopped(tmp_path: Path):
    (tmp_path / "a").write_text("a")
    look = says(calls("Read", file_path=str(tmp_path / "a")))
    script = [says("Done."), *[look] * 50]
    async with hooked(tmp_path, script, READ, settings=_settings("Stop", "agent")) as session:
        outcome = await session.prompt()
    assert outcome.text == "Done."
    assert any("Reached maximum number of turns" in text for text in session.notices)


async def test_agents_of_the_session_take_over_where_there_are_some(tmp_path: Path):
    async def run_agent(prompt: str, *, system: str, model: str | None, timeout: float) -> str:
        assert "stop_hook_active" in prompt and model is None and timeout == 60
        return '{"ok": true}'

    async with hooked(
        tmp_path, [says("Done.")], settings=_settings("Stop", "agent"), run_agent=run_agent
    ) as session:
        outcome = await session.prompt()
    assert outcome.text == "Done." and session.notices == []


async def test_agent_that_answers_in_words_is_told_to_use_the_tool_and_then_taken_at_its_word(tmp_path: Path):
    wrong = says(calls("StructuredOutput", ok="maybe"))
    script = [
        says("Done."),
        says("Looks fine to me."),
        wrong,
        NO,
        says("Fixed."),
        _given("agent", YES, ok=True),
    ]
    async with hooked(tmp_path, script, settings=_settings("Stop", "agent")) as session:
        outcome = await session.prompt()
    assert outcome.text == "Fixed."
    assert "Call StructuredOutput with it now" in session.said_to_model(2)
    assert "does not match the JSON schema" in session.said_to_model(3)
    assert "the tests do not run" in session.said_to_model(4)

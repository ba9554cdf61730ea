import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.scripted import calls, says
from bridle.sdk import (
    CanUseToolShadowedWarning,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultError,
    ResultMessage,
    ToolPermissionContext,
    ToolResultBlock,
    UserMessage,
    query,
)
from tests.inprocess.scene import Scene, of

_WRITE = calls("Write", file_path="a.txt", content="x")


class Asked:
    """Answers every question in the same way, and remembers them."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.questions: list[tuple[str, dict[str, Any], ToolPermissionContext]] = []

    async def __call__(self, tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        self.questions.append((tool, input, context))
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer(context) if callable(self.answer) else self.answer


async def test_a_call_is_put_to_the_program(tmp_path: Path):
    ask = Asked(PermissionResultAllow())
    scene = Scene(tmp_path, says(_WRITE), says("done"))
    await scene.ask(can_use_tool=ask)
    ((tool, input, context),) = ask.questions
    assert (tool, input) == ("Write", {"file_path": str(scene.project / "a.txt"), "content": "x"})
    assert context.tool_use_id == "call-1" and context.decision_reason
    assert all(isinstance(each, PermissionUpdate) for each in context.suggestions)
    assert (scene.project / "a.txt").read_text() == "x"


async def test_a_refusal_is_told_to_the_model(tmp_path: Path):
    scene = Scene(tmp_path, says(_WRITE), says("too bad"))
    messages = await scene.ask(can_use_tool=Asked(PermissionResultDeny(message="not today")))
    (told,) = of(messages, UserMessage)
    assert told.content == [ToolResultBlock("call-1", "not today", True)]
    assert of(messages, ResultMessage)[0].permission_denials == [
        {"tool_name": "Write", "tool_use_id": "call-1", "tool_input": {"file_path": "a.txt", "content": "x"}}
    ]
    assert not (scene.project / "a.txt").exists()


async def test_a_refusal_may_end_the_turn(tmp_path: Path):
    scene = Scene(tmp_path, says(_WRITE), says("never"))
    with pytest.raises(ResultError) as caught:
        await scene.ask(can_use_tool=Asked(PermissionResultDeny(message="stop", interrupt=True)))
    assert caught.value.terminal_reason == "aborted_tools"
    assert len(scene.model.requests) == 1


async def test_the_input_may_be_changed(tmp_path: Path):
    scene = Scene(tmp_path, says(_WRITE), says("done"))
    changed = {"file_path": str(scene.project / "b.txt"), "content": "mine"}
    await scene.ask(can_use_tool=Asked(PermissionResultAllow(updated_input=changed)))
    assert (scene.project / "b.txt").read_text() == "mine"
    assert not (scene.project / "a.txt").exists()


async def test_what_is_suggested_keeps_the_same_question_away(tmp_path: Path):
    def as_suggested(context: ToolPermissionContext) -> PermissionResultAllow:
        return PermissionResultAllow(updated_permissions=context.suggestions)

    ask = Asked(as_suggested)
    again = calls("Write", file_path="b.txt", content="y")
    scene = Scene(tmp_path, says(_WRITE), says(again), says("done"))
    await scene.ask(can_use_tool=ask)
    assert len(ask.questions) == 1
    assert (scene.project / "b.txt").read_text() == "y"


@pytest.mark.parametrize("answer", [ValueError("broken"), None, "yes"])
async def test_a_function_that_fails_is_a_refusal(tmp_path: Path, answer: Any):
    scene = Scene(tmp_path, says(_WRITE), says("went on"))
    messages = await scene.ask(can_use_tool=Asked(answer))
    assert of(messages, ResultMessage)[0].result == "went on"
    assert not (scene.project / "a.txt").exists()


async def test_nobody_is_asked_about_what_rules_decide(tmp_path: Path):
    ask = Asked(PermissionResultAllow())
    scene = Scene(tmp_path, says(_WRITE, calls("Bash", command="rm -rf x")), says("done"))
    with pytest.warns(CanUseToolShadowedWarning, match="Write"):
        await scene.ask(can_use_tool=ask, allowed_tools=["Write"], disallowed_tools=["Bash(rm *)"])
    assert ask.questions == []
    assert (scene.project / "a.txt").exists()


async def test_an_interrupt_withdraws_the_question(tmp_path: Path):
    asked, withdrawn = asyncio.Event(), asyncio.Event()

    async def ask(tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            withdrawn.set()
            raise

    scene = Scene(tmp_path, says(_WRITE), says("never"))
    stream = query(prompt="go", options=scene.options(can_use_tool=ask))

    async def listen() -> None:
        async for _ in stream:
            pass

    task = asyncio.create_task(listen())
    async with asyncio.timeout(50):
        await asked.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await withdrawn.wait()
    assert not (scene.project / "a.txt").exists()


async def test_without_a_function_what_would_be_asked_is_refused(tmp_path: Path):
    scene = Scene(tmp_path, says(_WRITE), says("no"))
    messages = await scene.ask()
    denials = of(messages, ResultMessage)[0].permission_denials
    assert denials is not None and len(denials) == 1


async def test_a_function_and_a_prompt_tool_cannot_both_be_given(tmp_path: Path):
    with pytest.raises(ValueError, match="cannot be used with"):
        await Scene(tmp_path).ask(
            can_use_tool=Asked(PermissionResultAllow()), permission_prompt_tool_name="mcp__a__b"
        )

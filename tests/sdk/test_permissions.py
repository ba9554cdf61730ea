import asyncio
from pathlib import Path
from typing import Any

from claude_agent_sdk import (
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ResultMessage,
    ToolPermissionContext,
)

from tests.fakes.messages_server import step
from tests.sdk.world import bash, call, ended_by, result_of, text_of, world

Asked = list[tuple[str, dict[str, Any], ToolPermissionContext]]


def _answers(*answers: Any) -> tuple[Asked, Any]:
    """A callback that gives these answers in turn and keeps what it was asked."""
    asked: Asked = []
    left = list(answers)

    async def decide(tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        asked.append((tool, input, context))
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(context) if callable(answer) else answer

    return asked, decide


async def test_callback_may_allow(tmp_path: Path):
    asked, decide = _answers(PermissionResultAllow())
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        result = result_of(await it.ask("go", can_use_tool=decide))
    ((tool, input, context),) = asked
    assert (tool, input, context.tool_use_id) == ("Bash", {"command": "touch made"}, "t1")
    assert context.decision_reason and context.display_name == "Bash"
    assert (it.project / "made").exists() and result.permission_denials == []


async def test_callback_may_deny_with_a_reason(tmp_path: Path):
    _, decide = _answers(PermissionResultDeny(message="not today"))
    async with world(tmp_path, step(bash("touch made")), step("I see.")) as it:
        result = result_of(await it.ask("go", can_use_tool=decide))
        (told,) = it.results()
    assert (told["content"], told["is_error"]) == ("not today", True)
    assert not (it.project / "made").exists() and result.result == "I see."
    assert result.permission_denials is not None
    assert [each["tool_name"] for each in result.permission_denials] == ["Bash"]


async def test_callback_may_change_the_input(tmp_path: Path):
    _, decide = _answers(PermissionResultAllow(updated_input={"command": "touch other"}))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
    assert (it.project / "other").exists() and not (it.project / "made").exists()


async def test_rule_that_the_callback_adds_spares_the_next_question(tmp_path: Path):
    allow = PermissionResultAllow(
        updated_permissions=[
            PermissionUpdate.from_dict(
                {
                    "type": "addRules",
                    "rules": [{"toolName": "Bash", "ruleContent": "touch:*"}],
                    "behavior": "allow",
                    "destination": "session",
                }
            )
        ]
    )
    asked, decide = _answers(allow)
    async with world(tmp_path, step(bash("touch a")), step(bash("touch b", "t2")), step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
    assert len(asked) == 1 and (it.project / "b").exists()


async def test_suggestions_sent_back_spare_the_next_question(tmp_path: Path):
    def agree(context: ToolPermissionContext) -> PermissionResultAllow:
        assert context.suggestions
        return PermissionResultAllow(updated_permissions=context.suggestions)

    asked, decide = _answers(agree)
    again = step(bash("touch a", "t2"))
    async with world(tmp_path, step(bash("touch a")), again, step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
    assert len(asked) == 1


async def test_mode_that_the_callback_sets_holds(tmp_path: Path):
    allow = PermissionResultAllow(
        updated_permissions=[
            PermissionUpdate.from_dict({"type": "setMode", "mode": "acceptEdits", "destination": "session"})
        ]
    )
    asked, decide = _answers(allow)
    first = call("Write", "t1", file_path="a", content="x")
    second = call("Write", "t2", file_path="b", content="y")
    async with world(tmp_path, step(first), step(second), step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
    assert len(asked) == 1 and (it.project / "b").read_text() == "y"


async def test_denial_may_interrupt_the_turn(tmp_path: Path):
    _, decide = _answers(PermissionResultDeny(message="stop it", interrupt=True))
    async with (
        world(tmp_path, step(bash("touch made")), step("fine")) as it,
        it.client(can_use_tool=decide) as client,
    ):
        await client.query("go")
        first = [message async for message in client.receive_response()]
        await client.query("again")
        second = [message async for message in client.receive_response()]
    assert ended_by(result_of(first), "aborted_tools") and text_of(second) == "fine"
    assert not (it.project / "made").exists()


async def test_callback_that_fails_is_a_denial(tmp_path: Path):
    _, decide = _answers(RuntimeError("callback broke"))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
        (told,) = it.results()
    assert told["is_error"] and "callback broke" in told["content"]
    assert not (it.project / "made").exists()


async def test_callback_is_not_asked_about_what_is_allowed_anyway(tmp_path: Path):
    asked, decide = _answers()
    async with world(tmp_path, step(bash("echo harmless")), step("ok")) as it:
        await it.ask("go", can_use_tool=decide)
    assert asked == []


async def test_denied_tool_is_not_asked_about(tmp_path: Path):
    asked, decide = _answers()
    async with world(tmp_path, step(bash("rm -rf x")), step("ok")) as it:
        result = result_of(await it.ask("go", can_use_tool=decide, disallowed_tools=["Bash(rm:*)"]))
    assert asked == [] and result.permission_denials is not None and len(result.permission_denials) == 1


async def test_without_a_callback_what_would_be_asked_is_denied(tmp_path: Path):
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        messages = await it.ask("go")
    denied = [message for message in messages if getattr(message, "subtype", "") == "permission_denied"]
    assert len(denied) == 1 and not (it.project / "made").exists()


async def test_user_question_is_answered_by_the_callback(tmp_path: Path):
    question = {
        "question": "Which color?",
        "header": "Color",
        "options": [{"label": "Red", "description": "r"}, {"label": "Blue", "description": "b"}],
        "multiSelect": False,
    }
    answer = PermissionResultAllow(
        updated_input={"questions": [question], "answers": {"Which color?": "Blue"}}
    )
    asked, decide = _answers(answer)
    async with world(
        tmp_path, step(call("AskUserQuestion", questions=[question])), step("Blue it is.")
    ) as it:
        await it.ask("go", can_use_tool=decide)
        (told,) = it.results()
    assert asked[0][0] == "AskUserQuestion" and "Blue" in told["content"]


async def test_two_questions_are_answered_in_any_order(tmp_path: Path):
    release = asyncio.Event()

    async def decide(tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        if input["command"].endswith("a"):
            release.set()
        return PermissionResultAllow()

    steps = (step(bash("touch a", "t1"), bash("touch b", "t2")), step("ok"))
    async with world(tmp_path, *steps) as it:
        messages = await it.ask("go", can_use_tool=decide)
    assert release.is_set() and (it.project / "a").exists() and (it.project / "b").exists()
    assert sum(isinstance(message, ResultMessage) for message in messages) == 1


async def test_interrupt_withdraws_a_question(tmp_path: Path):
    waiting, withdrawn = asyncio.Event(), asyncio.Event()

    async def decide(tool: str, input: dict[str, Any], context: ToolPermissionContext) -> Any:
        waiting.set()
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    async with (
        world(tmp_path, step(bash("touch made")), step("ok")) as it,
        it.client(can_use_tool=decide) as client,
    ):
        await client.query("go")
        async with asyncio.timeout(50):
            await waiting.wait()
            await client.interrupt()
            messages = [message async for message in client.receive_response()]
            await withdrawn.wait()
    assert ended_by(result_of(messages), "aborted_tools") and not (it.project / "made").exists()

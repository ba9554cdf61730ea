import asyncio
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import HookMatcher, PermissionResultAllow, SystemMessage

from tests.fakes.messages_server import step
from tests.sdk.world import bash, ended_by, result_of, text_of, texts_of, world

Heard = list[dict[str, Any]]


def _hook(*outputs: Any) -> tuple[Heard, Any]:
    """A callback that returns these in turn, the last one for ever, and keeps what it heard."""
    heard: Heard = []
    left = list(outputs)

    async def run(input: Any, tool_use_id: str | None, context: Any) -> Any:
        heard.append({**input, "id_on_the_wire": tool_use_id})
        output = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(output, Exception):
            raise output
        return output

    return heard, run


def _pre(**output: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", **output}}


async def test_hook_sees_a_call_before_it_runs(tmp_path: Path):
    heard, hook = _hook({})
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        result = result_of(await it.ask("go", hooks={"PreToolUse": [HookMatcher("Bash", [hook])]}))
    (event,) = heard
    assert event["hook_event_name"] == "PreToolUse" and event["tool_name"] == "Bash"
    assert event["tool_input"] == {"command": "echo x"} and event["id_on_the_wire"] == "t1"
    assert event["session_id"] == result.session_id and event["cwd"] == str(it.project)
    assert event["transcript_path"].endswith(f"{result.session_id}.jsonl")


async def test_hook_may_deny_a_call(tmp_path: Path):
    _, hook = _hook(_pre(permissionDecision="deny", permissionDecisionReason="no touching"))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        options = {"hooks": {"PreToolUse": [HookMatcher("Bash", [hook])]}, "allowed_tools": ["Bash"]}
        result = result_of(await it.ask("go", **options))
        (told,) = it.results()
    assert told["is_error"] and "no touching" in told["content"] and not (it.project / "made").exists()
    assert result.permission_denials is not None and len(result.permission_denials) == 1


async def test_hook_may_allow_what_would_be_asked(tmp_path: Path):
    _, hook = _hook(_pre(permissionDecision="allow"))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [HookMatcher("Bash", [hook])]})
    assert (it.project / "made").exists()


async def test_hook_may_change_the_input(tmp_path: Path):
    _, hook = _hook(_pre(permissionDecision="allow", updatedInput={"command": "touch other"}))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [HookMatcher("Bash", [hook])]})
    assert (it.project / "other").exists() and not (it.project / "made").exists()


async def test_hook_may_make_the_callback_be_asked(tmp_path: Path):
    reasons: list[str | None] = []

    async def decide(tool: str, input: dict[str, Any], context: Any) -> Any:
        reasons.append(context.decision_reason)
        return PermissionResultAllow()

    _, hook = _hook(_pre(permissionDecision="ask", permissionDecisionReason="look twice"))
    async with world(tmp_path, step(bash("echo harmless")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [HookMatcher("Bash", [hook])]}, can_use_tool=decide)
    assert len(reasons) == 1 and "look twice" in str(reasons[0])


async def test_matcher_chooses_the_tools(tmp_path: Path):
    heard, hook = _hook({})
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [HookMatcher("Write|Edit", [hook])]})
    assert heard == []


async def test_all_hooks_of_an_event_run(tmp_path: Path):
    first, one = _hook({})
    second, two = _hook({})
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [HookMatcher(None, [one, two])]})
    assert (len(first), len(second)) == (1, 1)


async def test_hook_may_add_context_after_a_call(tmp_path: Path):
    output = {"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "It was fine."}}
    heard, hook = _hook(output)
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        await it.ask("go", hooks={"PostToolUse": [HookMatcher("Bash", [hook])]})
        last = str(it.sent()["messages"][-1])
    assert heard[0]["tool_response"]["stdout"] == "x" and "It was fine." in last


async def test_hook_sees_a_failed_call(tmp_path: Path):
    heard, hook = _hook({})
    async with world(tmp_path, step(bash("exit 3")), step("ok")) as it:
        await it.ask(
            "go", hooks={"PostToolUseFailure": [HookMatcher("Bash", [hook])]}, allowed_tools=["Bash"]
        )
    assert heard[0]["hook_event_name"] == "PostToolUseFailure" and "3" in heard[0]["error"]


async def test_prompt_hook_may_add_context(tmp_path: Path):
    output = {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "It rains."}}
    heard, hook = _hook(output)
    async with world(tmp_path, step("ok")) as it:
        await it.ask("how is it?", hooks={"UserPromptSubmit": [HookMatcher(None, [hook])]})
        said = texts_of(it.sent(), "user")
    assert heard[0]["prompt"] == "how is it?" and any("It rains." in text for text in said)


async def test_prompt_hook_may_refuse_the_prompt(tmp_path: Path):
    _, hook = _hook({"decision": "block", "reason": "not like this"})
    async with world(tmp_path) as it:
        messages = await it.ask("bad", hooks={"UserPromptSubmit": [HookMatcher(None, [hook])]})
        assert it.server.requests == []
    result = result_of(messages)
    assert (result.subtype, result.is_error, result.num_turns) == ("success", False, 0)
    assert "not like this" in str(result.result)


async def test_stop_hook_may_send_the_model_back_to_work(tmp_path: Path):
    heard, hook = _hook({"decision": "block", "reason": "Say please."}, {})
    async with world(tmp_path, step("Done."), step("Please.")) as it:
        messages = await it.ask("go", hooks={"Stop": [HookMatcher(None, [hook])]})
        said = it.said()
    assert [event["stop_hook_active"] for event in heard] == [False, True]
    assert any("Say please." in text for text in said) and result_of(messages).result == "Please."


async def test_hook_may_end_the_turn(tmp_path: Path):
    _, hook = _hook({"continue_": False, "stopReason": "enough"})
    async with world(tmp_path, step(bash("touch made"))) as it:
        options = {"hooks": {"PreToolUse": [HookMatcher("Bash", [hook])]}, "allowed_tools": ["Bash"]}
        result = result_of(await it.ask("go", **options))
    assert ended_by(result, "hook_stopped") and not result.is_error
    assert (it.project / "made").exists()


async def test_system_message_of_a_hook_is_shown_and_not_sent(tmp_path: Path):
    _, hook = _hook({"systemMessage": "for your eyes"})
    async with world(tmp_path, step(bash("echo x")), step("ok")) as it:
        messages = await it.ask("go", hooks={"PostToolUse": [HookMatcher("Bash", [hook])]})
        sent = str(it.sent())
    shown = [message.data.get("content") for message in messages if isinstance(message, SystemMessage)]
    assert any("for your eyes" in str(text) for text in shown) and "for your eyes" not in sent


async def test_hook_that_fails_does_not_block(tmp_path: Path):
    _, hook = _hook(RuntimeError("broken hook"))
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        options = {"hooks": {"PreToolUse": [HookMatcher("Bash", [hook])]}, "allowed_tools": ["Bash"]}
        result = result_of(await it.ask("go", **options))
    assert (it.project / "made").exists() and result.result == "ok"


async def test_hook_that_must_not_fail_blocks(tmp_path: Path):
    _, hook = _hook(RuntimeError("broken hook"))
    try:
        matcher: Any = HookMatcher("Bash", [hook], on_failure="block")
    except TypeError:
        pytest.skip("this release of the SDK has no on_failure")
    async with world(tmp_path, step(bash("touch made")), step("ok")) as it:
        await it.ask("go", hooks={"PreToolUse": [matcher]}, allowed_tools=["Bash"])
        (told,) = it.results()
    assert told["is_error"] and not (it.project / "made").exists()


async def test_hook_that_takes_too_long_is_withdrawn_and_the_call_not_run(tmp_path: Path):
    withdrawn = asyncio.Event()

    async def stuck(input: Any, tool_use_id: str | None, context: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            withdrawn.set()

    matcher: Any = HookMatcher("Bash", [stuck], timeout=0.2)
    async with (
        world(tmp_path, step(bash("touch made")), step("ok")) as it,
        it.client(hooks={"PreToolUse": [matcher]}, allowed_tools=["Bash"]) as client,
    ):
        await client.query("go")
        async with asyncio.timeout(50):
            messages = [message async for message in client.receive_response()]
            await withdrawn.wait()
    assert not (it.project / "made").exists() and text_of(messages) == "ok"


async def test_hooks_run_in_every_turn(tmp_path: Path):
    heard, hook = _hook({})
    async with world(tmp_path, step("one"), step("two")) as it:
        hooks = {"UserPromptSubmit": [HookMatcher(None, [hook])]}
        async with it.client(hooks=hooks) as client:
            for prompt in ("a", "b"):
                await client.query(prompt)
                _ = [message async for message in client.receive_response()]
    assert [event["prompt"] for event in heard] == ["a", "b"]

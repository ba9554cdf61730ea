import asyncio
from pathlib import Path
from typing import Any

from bridle.providers.scripted import calls, says
from bridle.sdk import HookMatcher, ResultMessage, ToolResultBlock, UserMessage
from tests.inprocess.scene import Scene, of

_BASH = calls("Bash", command="echo hi > made.txt")


class Hook:
    def __init__(self, output: Any = None) -> None:
        self.output = {} if output is None else output
        self.inputs: list[Any] = []
        self.ids: list[str | None] = []

    async def __call__(self, input: Any, tool_use_id: str | None, context: Any) -> Any:
        assert context == {"signal": None}
        self.inputs.append(input)
        self.ids.append(tool_use_id)
        if isinstance(self.output, Exception):
            raise self.output
        return self.output


def decides(decision: str, **more: Any) -> dict[str, Any]:
    return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, **more}}


async def test_functions_hear_of_calls_before_and_after_them(tmp_path: Path):
    before, after, other = Hook(), Hook(), Hook()
    scene = Scene(tmp_path, says(_BASH), says("done"))
    await scene.ask(
        allowed_tools=["Bash"],
        hooks={
            "PreToolUse": [HookMatcher("Bash", [before]), HookMatcher("Write", [other])],
            "PostToolUse": [HookMatcher(hooks=[after])],
        },
    )
    ((told,), (heard,)) = before.inputs, after.inputs
    assert (told["hook_event_name"], told["tool_name"]) == ("PreToolUse", "Bash")
    assert told["tool_input"] == {"command": "echo hi > made.txt"}
    assert told["cwd"] == str(scene.project) and told["session_id"]
    assert before.ids == ["call-1"]
    assert heard["tool_response"]["interrupted"] is False
    assert other.inputs == []


async def test_a_function_can_refuse_and_allow_calls(tmp_path: Path):
    refusing = Hook(decides("deny", permissionDecisionReason="too noisy"))
    scene = Scene(tmp_path, says(_BASH), says("ok"))
    messages = await scene.ask(
        allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher("Bash", [refusing])]}
    )
    (told,) = of(messages, UserMessage)
    assert isinstance(told.content, list)
    block = told.content[0]
    assert isinstance(block, ToolResultBlock) and block.is_error and "too noisy" in str(block.content)
    assert not (scene.project / "made.txt").exists()

    scene = Scene(tmp_path, says(_BASH), says("ok"))
    await scene.ask(hooks={"PreToolUse": [HookMatcher("Bash", [Hook(decides("allow"))])]})
    assert (scene.project / "made.txt").exists()


async def test_a_function_can_change_the_input(tmp_path: Path):
    changing = Hook(decides("allow", updatedInput={"command": "echo other > other.txt"}))
    scene = Scene(tmp_path, says(_BASH), says("ok"))
    await scene.ask(hooks={"PreToolUse": [HookMatcher("Bash", [changing])]})
    assert (scene.project / "other.txt").exists() and not (scene.project / "made.txt").exists()


async def test_python_spellings_of_keywords_are_understood(tmp_path: Path):
    stopping = Hook({"continue_": False, "stopReason": "enough"})
    scene = Scene(tmp_path, says(_BASH), says("never"))
    messages = await scene.ask(
        allowed_tools=["Bash"], hooks={"PostToolUse": [HookMatcher("Bash", [stopping])]}
    )
    assert of(messages, ResultMessage)[0].terminal_reason == "hook_stopped"
    assert len(scene.model.requests) == 1


async def test_prompts_can_be_refused_and_given_context(tmp_path: Path):
    said = {"hookEventName": "UserPromptSubmit", "additionalContext": "Be brief."}
    adding = Hook({"hookSpecificOutput": said})
    scene = Scene(tmp_path, says("ok"))
    await scene.ask("hello", hooks={"UserPromptSubmit": [HookMatcher(hooks=[adding])]})
    assert adding.inputs[0]["prompt"] == "hello"
    assert "Be brief." in str(scene.model.requests[0].messages)

    scene = Scene(tmp_path)
    refusing = Hook({"decision": "block", "reason": "no secrets"})
    messages = await scene.ask("hello", hooks={"UserPromptSubmit": [HookMatcher(hooks=[refusing])]})
    assert scene.model.requests == []
    assert of(messages, ResultMessage)[0].num_turns == 0


async def test_a_stop_can_be_held_back_once(tmp_path: Path):
    class Once(Hook):
        async def __call__(self, input: Any, tool_use_id: str | None, context: Any) -> Any:
            await super().__call__(input, tool_use_id, context)
            return (
                {} if input["stop_hook_active"] else {"decision": "block", "reason": "Run the tests first."}
            )

    hook = Once()
    scene = Scene(tmp_path, says("done"), says("tests pass"))
    messages = await scene.ask(hooks={"Stop": [HookMatcher(hooks=[hook])]})
    assert [each["stop_hook_active"] for each in hook.inputs] == [False, True]
    assert "Run the tests first." in str(scene.model.requests[1].messages)
    assert of(messages, ResultMessage)[0].result == "tests pass"


async def test_a_function_that_raises_is_no_objection_unless_it_must_not_fail(tmp_path: Path):
    for must_hold, made in ((False, True), (True, False)):
        scene = Scene(tmp_path, says(_BASH), says("ok"), project=f"project-{made}")
        matcher = HookMatcher("Bash", [Hook(RuntimeError("oops"))])
        if must_hold:
            matcher.on_failure = "block"
        await scene.ask(allowed_tools=["Bash"], hooks={"PreToolUse": [matcher]})
        assert (scene.project / "made.txt").exists() is made


async def test_a_function_that_takes_too_long_is_given_up_and_the_call_is_not_made(tmp_path: Path):
    ended = asyncio.Event()

    async def slow(input: Any, tool_use_id: str | None, context: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    scene = Scene(tmp_path, says(_BASH), says("ok"))
    async with asyncio.timeout(10):
        await scene.ask(
            allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher("Bash", [slow], timeout=0.05)]}
        )
        await ended.wait()
    assert not (scene.project / "made.txt").exists()


async def test_functions_of_one_event_run_together(tmp_path: Path):
    arrived = asyncio.Barrier(2)

    async def meet(input: Any, tool_use_id: str | None, context: Any) -> Any:
        async with asyncio.timeout(5):
            await arrived.wait()
        return {}

    scene = Scene(tmp_path, says(_BASH), says("ok"))
    hooks = {"PreToolUse": [HookMatcher("Bash", [meet]), HookMatcher(hooks=[meet])]}
    await scene.ask(allowed_tools=["Bash"], hooks=hooks)
    assert (scene.project / "made.txt").exists()

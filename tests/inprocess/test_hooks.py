import asyncio
from pathlib import Path
from typing import Any

from bridle.providers.scripted import calls, says
from bridle.sdk import (
    AgentDefinition,
    Client,
    HookMatcher,
    PermissionResultAllow,
    ResultMessage,
    ToolResultBlock,
    UserMessage,
    create_sdk_mcp_server,
    tool,
)
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
    async with asyncio.timeout(50):
        await scene.ask(
            allowed_tools=["Bash"], hooks={"PreToolUse": [HookMatcher("Bash", [slow], timeout=0.05)]}
        )
        await ended.wait()
    assert not (scene.project / "made.txt").exists()


async def test_functions_of_one_event_run_together(tmp_path: Path):
    arrived = asyncio.Barrier(2)

    async def meet(input: Any, tool_use_id: str | None, context: Any) -> Any:
        async with asyncio.timeout(50):
            await arrived.wait()
        return {}

    scene = Scene(tmp_path, says(_BASH), says("ok"))
    hooks = {"PreToolUse": [HookMatcher("Bash", [meet]), HookMatcher(hooks=[meet])]}
    await scene.ask(allowed_tools=["Bash"], hooks=hooks)
    assert (scene.project / "made.txt").exists()


async def test_hooks_are_told_what_holds_now_and_not_what_held_at_the_beginning(tmp_path: Path):
    hook = Hook()
    scene = Scene(tmp_path, *(says(str(number)) for number in range(4)))
    options = scene.options(
        model="claude-sonnet-4-6", effort="low", hooks={"UserPromptSubmit": [HookMatcher(hooks=[hook])]}
    )
    async with Client(options) as client:
        await _say(client, "one")
        await _say(client, "/effort high")
        await _say(client, "two")
        await client.set_permission_mode("acceptEdits")
        await _say(client, "/rename Harvest")
        await _say(client, "three")
        await _say(client, "/clear")
        await _say(client, "four")
    one, two, three, four = hook.inputs
    assert [each["effort"]["level"] for each in hook.inputs] == ["low", "high", "high", "high"]
    assert [each["permission_mode"] for each in hook.inputs] == ["default"] * 2 + ["acceptEdits"] * 2
    assert [each.get("session_title") for each in hook.inputs] == [None, None, "Harvest", None]
    assert one["session_id"] == two["session_id"] == three["session_id"] != four["session_id"]
    assert four["session_id"] in four["transcript_path"]


async def test_a_resumed_conversation_is_told_by_its_name(tmp_path: Path):
    first = Scene(tmp_path, says("hi"))
    async with Client(first.options()) as client:
        await _say(client, "one")
        await _say(client, "/rename Harvest")
    hook = Hook()
    await Scene(tmp_path, says("again")).ask(
        continue_conversation=True, hooks={"UserPromptSubmit": [HookMatcher(hooks=[hook])]}
    )
    assert hook.inputs[0]["session_title"] == "Harvest"


async def test_hooks_have_a_folder_of_their_own_that_goes_when_it_was_not_used(tmp_path: Path):
    kept: list[Path] = []

    async def leave(input: Any, tool_use_id: str | None, context: Any) -> Any:
        del tool_use_id, context
        folder = Path(input["scratchpad_dir"])
        kept.append(folder)
        assert folder.is_dir() and folder.stat().st_mode & 0o777 == 0o700
        if input["prompt"] == "use it":
            (folder / "note").write_text("kept")
        return {}

    hooks = {"UserPromptSubmit": [HookMatcher(hooks=[leave])]}
    for prompt in ("use it", "leave it"):
        await Scene(tmp_path, says("ok")).ask(prompt, hooks=hooks)
    used, unused = kept
    assert (used / "note").read_text() == "kept" and not unused.exists()


async def test_hooks_and_the_program_are_told_whose_tool_it_is(tmp_path: Path):
    @tool("add", "Adds.", {"a": int})
    async def add(input: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": str(input["a"])}]}

    before, asked, after, other = Hook(), Hook(), Hook(), Hook()
    scene = Scene(
        tmp_path, says(calls("mcp__my_sums__add", a=1)), says(calls("Read", file_path="x")), says("done")
    )
    await scene.ask(
        mcp_servers={"my sums": create_sdk_mcp_server("sums", tools=[add])},
        hooks={
            "PreToolUse": [HookMatcher("mcp__.*", [before]), HookMatcher("Read", [other])],
            "PermissionRequest": [HookMatcher(hooks=[asked])],
            "PostToolUse": [HookMatcher("mcp__.*", [after])],
        },
        can_use_tool=_allow,
    )
    whose = {"name": "my sums", "source": "sdk"}
    assert [hook.inputs[0]["mcp_server"] for hook in (before, asked, after)] == [whose] * 3
    assert "mcp_server" not in other.inputs[0]


async def test_hooks_are_told_what_holds_for_an_agent(tmp_path: Path):
    hook = Hook()
    agent = calls("Agent", description="x", prompt="look", subagent_type="maker", run_in_background=False)
    scene = Scene(
        tmp_path, says(agent), says(calls("Write", file_path="a", content="b")), says("made"), says("ok")
    )
    await scene.ask(
        model="claude-sonnet-4-6",
        effort="low",
        agents={"maker": AgentDefinition("Makes.", "You make.", permissionMode="acceptEdits", effort="high")},
        hooks={"PreToolUse": [HookMatcher(hooks=[hook])]},
    )
    outer, inner = hook.inputs
    assert (outer["permission_mode"], outer["effort"], outer.get("agent_type")) == (
        "default",
        {"level": "low"},
        None,
    )
    assert (inner["permission_mode"], inner["effort"]) == ("acceptEdits", {"level": "high"})
    assert inner["agent_type"] == "maker" and inner["agent_id"]


async def _allow(name: str, input: dict[str, Any], context: Any) -> PermissionResultAllow:
    del name, input, context
    return PermissionResultAllow()


async def _say(client: Client, text: str) -> None:
    await client.query(text)
    async for _ in client.receive_response():
        pass

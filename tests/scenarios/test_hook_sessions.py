"""Hooks of a session: its beginning and end, its settings, files and variables, words from the background."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from bridle.engine.compaction.compact import compact
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.hooks.session_hooks import Basis, SessionHooks
from bridle.engine.hooks.settings_change import fire_config_change
from bridle.engine.hooks.turn_hooks import fire_notification, fire_user_prompt_expansion
from bridle.engine.model_switch import switch_model
from bridle.engine.turn import Turn
from bridle.hooks.handler import FunctionHook
from bridle.host.background import BackgroundShells
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.shell.bash import TOOL as BASH
from bridle.types.errors import UsageError
from bridle.types.event import HookProgressed, HookRun, HookStarted, SessionRenamed, ToolFinished
from bridle.types.hooks.environment import DirectoryAdded
from bridle.types.hooks.events import Setup
from bridle.types.model import FallbackStarted, ModelEvent, ModelRequest
from bridle.types.origin import HOOK, TYPED
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace
from tests.fakes.engine import make_runtime, make_session
from tests.fakes.hook_scripts import layer
from tests.fakes.hooked import hooked, output
from tests.fakes.processes import eventually
from tests.fakes.tools import Workshop


def _command(command: str, **more: Any) -> list[dict[str, Any]]:
    matcher = more.pop("matcher", None)
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]


async def test_beginning_is_told_and_hooks_open_the_conversation(tmp_path: Path):
    said = output(
        "SessionStart",
        additionalContext="good morning",
        initialUserMessage="water the plants",
        sessionTitle="Day",
    )
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.session.note({"type": "custom-title", "customTitle": "Night"})
        session.listen("SessionStart", said, matcher="startup")
        await session.hooks.fire_session_start("startup")
        await session.prompt()
    (told,) = session.told
    assert (told["source"], told["model"], told["session_title"]) == ("startup", "model-a", "Night")
    assert "permission_mode" not in told
    assert "good morning" in session.said_to_model()
    assert [(prompt.content, prompt.meta) for prompt in session.woken] == [("water the plants", False)]
    assert session.channel.of(SessionRenamed) == [SessionRenamed("Day")]


async def test_resumed_conversation_says_how_stale_it_is(tmp_path: Path):
    async with hooked(tmp_path, [says("Hello.")]) as session:
        await session.prompt()
        session.listen("SessionStart")
        await session.hooks.fire_session_start("resume")
    (told,) = session.told
    assert 0 <= told["seconds_since_last_response"] < 60
    assert told["context_tokens"] == 15 and told["prompt_cache_likely_expired"] is False
    assert told["estimated_cache_write_usd"] == pytest.approx(15 / 100_000)


async def test_end_is_told_once_with_its_reason(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.listen("SessionEnd", matcher="clear|prompt_input_exit")
        await session.hooks.fire_session_end("clear")
        await session.hooks.fire_session_start("clear")
        await session.hooks.fire_session_end("prompt_input_exit")
        await session.hooks.fire_session_end("other")
    assert [told["reason"] for told in session.told] == ["clear", "prompt_input_exit"]


async def test_end_waits_for_hooks_no_longer_than_the_user_says(tmp_path: Path):
    env = {"CLAUDE_CODE_SESSIONEND_HOOKS_TIMEOUT_MS": "100"}
    settings = {"SessionEnd": _command("sleep 30")}
    async with hooked(tmp_path, [], settings=settings, env=env) as session:
        async with asyncio.timeout(50):
            await session.hooks.fire_session_end()
    assert any("timed out after 0.1 seconds" in text for text in session.notices)


@pytest.mark.parametrize("trigger", ["init", "maintenance"])
async def test_setup_is_told_before_the_session_begins(tmp_path: Path, trigger: Any):
    async with hooked(tmp_path, [says("Hello.")]) as session:
        session.listen("Setup", output("Setup", additionalContext="all set"), matcher=trigger)
        await session.hooks.prepare(Setup(trigger=trigger))
        await session.prompt()
    assert [told["trigger"] for told in session.told] == [trigger]
    assert "all set" in session.said_to_model()


async def test_command_is_expanded_unless_a_hook_refuses(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.listen("UserPromptExpansion", {"decision": "block", "reason": "freeze"}, matcher="ship")
        said = await fire_user_prompt_expansion(
            session.hooks, name="ship", arguments="now", prompt="/ship now"
        )
    assert said.block == "freeze" and session.told[0]["command_args"] == "now"
    assert session.notices == ["A hook blocked the command: freeze"]


async def test_somebody_is_called_to_the_session(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.listen("Notification", matcher="idle_prompt")
        fire_notification(session.hooks, "idle_prompt", "Nothing to do.", title="bridle")
        fire_notification(session.hooks, "auth_success", "Welcome.")
    (told,) = session.told
    assert (told["message"], told["title"], told["notification_type"]) == (
        "Nothing to do.", "bridle", "idle_prompt",
    )  # fmt: skip


async def test_conversation_that_is_compacted_begins_anew(tmp_path: Path):
    answers = [says("Hello."), says("<summary>All is well.</summary>")]
    async with hooked(tmp_path, answers) as session:
        await session.prompt()
        for event, matcher in (
            ("PreCompact", "manual"),
            ("SessionStart", "compact"),
            ("PostCompact", "manual"),
        ):
            session.listen(event, matcher=matcher)
        turn = Turn(session.session, Prompt(content="/compact", origin=TYPED), session.runtime)
        await compact(turn, trigger="manual", focus="the moon")
    first, *then = [told["hook_event_name"] for told in session.told]
    assert first == "PreCompact" and sorted(then) == ["PostCompact", "SessionStart"]
    assert session.told[0]["custom_instructions"] == "the moon"


async def test_added_folder_is_told(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.listen("DirectoryAdded", matcher="slash_command")
        await session.hooks.fire(DirectoryAdded(directory="/srv", source="slash_command"))
        await session.hooks.fire(DirectoryAdded(directory="/opt", source="register_repo_root"))
    assert [told["directory"] for told in session.told] == ["/srv"]


async def test_model_is_switched_unless_a_hook_refuses(tmp_path: Path):
    async with hooked(tmp_path, [says("Hello."), says("Hello again.")]) as session:
        await session.prompt()
        session.listen(
            "PreModelSwitch", output("PreModelSwitch", permissionDecision="deny"), matcher="model-x"
        )
        session.listen("PostModelSwitch", output("PostModelSwitch", additionalContext="a new mind"))
        with pytest.raises(UsageError):
            await switch_model(session.session, session.runtime, "model-x")
        assert session.session.state.model == "model-a"
        await switch_model(session.session, session.runtime, "model-b")
        assert session.session.state.model == "model-b"
        await session.prompt()
    refused, done = session.told
    assert (refused["hook_event_name"], refused["from_model"], refused["to_model"]) == (
        "PreModelSwitch", "model-a", "model-x",
    )  # fmt: skip
    assert done["hook_event_name"] == "PostModelSwitch" and done["context_tokens"] == 15
    assert (done["prompt_cache_warm"], done["cache_ttl"]) == (True, "5m")
    assert "a new mind" in session.said_to_model()


class Falling:
    """A provider whose first model is overloaded."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        yield FallbackStarted(original=request.model, fallback="model-b", reason="busy")
        script = ScriptedProvider([says("Hello.", model="model-b")])
        async for event in script.stream(request):
            yield event

    async def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize("refuses", [False, True])
async def test_hook_has_a_say_when_another_model_takes_over(tmp_path: Path, refuses: bool):
    said = output("PreModelSwitch", permissionDecision="deny", permissionDecisionReason="too small")
    async with hooked(tmp_path, Falling()) as session:
        session.listen("PreModelSwitch", said if refuses else None)
        session.listen("PostModelSwitch")
        outcome = await session.prompt()
    events = [told["hook_event_name"] for told in session.told]
    if refuses:
        assert outcome.is_error and "too small" in outcome.text and events == ["PreModelSwitch"]
    else:
        assert outcome.text == "Hello." and events == ["PreModelSwitch", "PostModelSwitch"]
    assert session.session.state.model == "model-a"


async def test_changed_settings_count_unless_a_hook_refuses(tmp_path: Path):
    before = [layer({}, path="/u"), layer({}, "projectSettings", "/p"), layer({}, "policySettings", "/m")]
    changed = layer({}, path="/u", model="x")
    managed = layer({}, "policySettings", "/m", model="y")
    async with hooked(tmp_path, []) as session:
        session.listen("ConfigChange", {"decision": "block", "reason": "no"})
        assert not await fire_config_change(session.hooks, before, [changed, *before[1:]])
        assert await fire_config_change(session.hooks, before, [*before[:2], managed])
        assert await fire_config_change(session.hooks, before, before)
        assert not await fire_config_change(session.hooks, before, before[1:])
    assert [(told["source"], told["file_path"]) for told in session.told] == [
        ("user_settings", "/u"), ("policy_settings", "/m"), ("user_settings", "/u"),
    ]  # fmt: skip


async def test_hooks_of_changed_settings_count_from_the_next_event_on(tmp_path: Path):
    first = {"UserPromptSubmit": _command("echo one")}
    async with hooked(tmp_path, [says("a"), says("b"), says("c")], settings=first) as session:
        await session.prompt()
        session.hooks.reload([layer({"UserPromptSubmit": _command("echo two")})])
        await session.prompt()
        assert "two" in session.said_to_model()
        session.hooks.reload([layer({"UserPromptSubmit": _command("echo three")}, disableAllHooks=True)])
        await session.prompt()
        assert "three" not in session.said_to_model()


async def test_what_is_wrong_with_hooks_is_told_once(tmp_path: Path):
    settings = {"PreToolUse": _command("true", matcher="("), "Stop": _command("true")}
    async with hooked(tmp_path, [], settings=settings) as session:
        session.hooks.reload([layer(settings)])
        assert session.hooks.listens_to("Stop") and not session.hooks.listens_to("PreToolUse")
    (told,) = session.notices
    assert "hooks.PreToolUse[0].matcher" in told and "/settings.json" in told


async def test_hooks_of_a_folder_wait_for_trust(tmp_path: Path):
    runtime = make_runtime(tmp_path, [])
    stranger = layer({"Stop": _command("true")}, "projectSettings", "/p")
    for trusted in (False, True):
        hooks = SessionHooks(make_session(), runtime, Basis(layers=[stranger], trusted=trusted))
        assert hooks.listens_to("Stop") is trusted
        await hooks.close()


async def test_variables_of_hooks_reach_later_commands_and_those_of_a_folder_end_with_it(tmp_path: Path):
    (tmp_path / "below").mkdir()
    given = tmp_path / "given.sh"
    given.write_text("export GIVEN=kept\n")
    settings = {
        "SessionStart": _command('echo "export COLOR=red" >> "$CLAUDE_ENV_FILE"'),
        "CwdChanged": _command('echo "export HERE=${PWD##*/}" >> "$CLAUDE_ENV_FILE"'),
    }
    show = calls("Bash", command='echo "[$GIVEN $COLOR $HERE]"')
    script = [says(show), says(calls("Bash", command="cd below")), says(show), says("Done.")]
    shells = BackgroundShells(str(tmp_path / "storage"), on_change=lambda _: None)
    env = {"CLAUDE_ENV_FILE": str(given)}

    def change(runtime: Any) -> Any:
        return msgspec.structs.replace(runtime, workspace=Workspace(str(tmp_path), tasks=shells))

    try:
        async with hooked(tmp_path, script, BASH, settings=settings, env=env, change=change) as session:
            await session.hooks.fire_session_start("startup")
            await session.prompt()
    finally:
        await shells.close()
    said = [event.result["content"] for event in session.channel.of(ToolFinished)]
    assert said[0] == "[kept red ]" and said[2] == f"[kept red {tmp_path.name}]"


async def test_files_that_matchers_and_hooks_name_are_watched(tmp_path: Path):
    watched, named = tmp_path / "asked.txt", tmp_path / "dotenv"
    said = output("SessionStart", watchPaths=[str(watched)])
    async with hooked(tmp_path, [], watch_interval=0.01) as session:
        session.listen("SessionStart", said)
        session.listen("FileChanged", matcher="dotenv|asked.txt")
        await session.hooks.fire_session_start("startup")
        watched.write_text("one")
        await eventually(lambda: len(session.inputs("FileChanged")) == 1)
        named.write_text("one")
        await eventually(lambda: len(session.inputs("FileChanged")) == 2)
        watched.write_text("two, longer")
        await eventually(lambda: len(session.inputs("FileChanged")) == 3)
        watched.unlink()
        await eventually(lambda: len(session.inputs("FileChanged")) == 4)
    assert [(Path(told["file_path"]).name, told["event"]) for told in session.inputs("FileChanged")] == [
        ("asked.txt", "add"), ("dotenv", "add"), ("asked.txt", "change"), ("asked.txt", "unlink"),
    ]  # fmt: skip


async def test_change_hook_may_watch_other_files_from_then_on(tmp_path: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    async with hooked(tmp_path, [], watch_interval=0.01) as session:
        session.listen("FileChanged", output("FileChanged", watchPaths=[str(second)]), matcher="first|second")
        first.write_text("x")
        await eventually(lambda: len(session.told) >= 1)
        second.write_text("x")
        await eventually(lambda: any(told["file_path"] == str(second) for told in session.told))


async def test_words_from_the_background_come_with_the_next_step(tmp_path: Path):
    work = Workshop().tool("Work", parallel=False, waits=False)
    done = tmp_path / "done"
    answer = json.dumps(output("PostToolUse", additionalContext="lint is clean"))
    script = f"cat >/dev/null; echo '{answer}'; touch done"
    settings = {"PostToolUse": _command(script, **{"async": True})}
    async with hooked(
        tmp_path, [says(calls("Work", name="a")), says("b"), says("c")], work, settings=settings
    ) as session:
        await session.prompt()
        await eventually(lambda: done.exists() and not session.hooks.running)
        await session.prompt()
    assert "lint is clean" in session.said_to_model()


async def test_background_hook_that_refuses_wakes_the_model(tmp_path: Path):
    settings = {"PostToolUse": _command("cat >/dev/null; echo 'tests broke' >&2; exit 2", asyncRewake=True)}
    work = Workshop().tool("Work", parallel=False, waits=False)
    async with hooked(
        tmp_path, [says(calls("Work", name="a")), says("b")], work, settings=settings
    ) as session:
        outcome = await session.prompt()
        await eventually(lambda: bool(session.woken))
    assert outcome.text == "b"
    (prompt,) = session.woken
    assert prompt.meta and prompt.origin == HOOK and "tests broke" in str(prompt.content)


async def test_background_hooks_end_with_the_session(tmp_path: Path):
    settings = {
        "UserPromptSubmit": _command("cat >/dev/null; echo $$ > pid; exec sleep 60", **{"async": True})
    }
    pid = tmp_path / "pid"
    async with hooked(tmp_path, [says("b")], settings=settings) as session:
        await session.prompt()
        await eventually(lambda: pid.exists() and pid.read_text().strip() != "")
    assert not Path(f"/proc/{pid.read_text().strip()}").exists()


async def test_hooks_that_run_are_events_but_the_hosts_own_are_not(tmp_path: Path):
    command = "echo half; until [ -e go ]; do sleep 0.02; done; echo whole"
    settings = {"Stop": _command(command, statusMessage="looking")}
    async with hooked(tmp_path, [says("Hello.")], settings=settings) as session:
        session.listen("Stop")
        turn = asyncio.create_task(session.prompt())
        await eventually(lambda: session.channel.of(HookProgressed))
        (tmp_path / "go").touch()
        await turn
    (started,) = session.channel.of(HookStarted)
    progressed = session.channel.of(HookProgressed)[0]
    (ran,) = session.channel.of(HookRun)
    assert (started.name, started.event, started.status_message) == ("Stop", "Stop", "looking")
    assert (progressed.id, progressed.stdout) == (started.id, "half\n")
    assert (ran.id, ran.outcome, ran.exit_code, ran.stdout) == (started.id, "success", 0, "half\nwhole\n")


async def test_lazy_hooks_cost_next_to_nothing_until_a_hook_comes(tmp_path: Path):
    made: list[SessionHooks] = []

    def make() -> SessionHooks:
        made.append(SessionHooks(make_session(), make_runtime(tmp_path, []), Basis()))
        return made[-1]

    hooks = LazyHooks(make)
    assert not hooks.listens_to("Stop") and hooks.collect() == ()
    await hooks.fire_session_start("startup")
    await hooks.fire_session_end()
    hooks.reload([layer({})])
    assert hooks.add_host_hooks({}, _never) == 0 and made == []
    assert hooks.add_host_hooks({"Stop": [{"hookCallbackIds": ["a", "b"]}]}, _never) == 2
    assert hooks.listens_to("Stop") and len(made) == 1
    await hooks.close()


async def _never(callback_id: str, input: dict[str, Any], *, tool_use_id: str, timeout: float) -> Any:
    raise AssertionError(callback_id)


async def test_callbacks_of_the_host_are_asked_with_the_call(tmp_path: Path):
    asked: list[tuple[str, str, str, float]] = []

    async def ask(callback_id: str, input: dict[str, Any], *, tool_use_id: str, timeout: float) -> Any:
        asked.append((callback_id, input["hook_event_name"], tool_use_id, timeout))
        return {"decision": "block", "reason": "the host says no"}

    workshop = Workshop()
    work = workshop.tool("Work", parallel=False, waits=False)
    async with hooked(tmp_path, [says(calls("Work", name="a")), says("b")], work) as session:
        added = session.hooks.add_host_hooks(
            {
                "PreToolUse": [
                    {"matcher": "Work", "hookCallbackIds": ["h0"], "timeout": 7},
                    {"matcher": "Other", "hookCallbackIds": ["h1"]},
                    {"matcher": None, "hookCallbackIds": "not a list"},
                ],
                "Nonsense": [{"hookCallbackIds": ["h2"]}],
                "Stop": None,
            },
            ask,
        )
        await session.prompt()
    assert added == 3 and asked == [("h0", "PreToolUse", "call-1", 7.0)]
    assert workshop.log == [] and "the host says no" in session.said_to_model()
    assert len([text for text in session.notices if "Ignored the host's hook" in text]) == 2
    assert session.channel.of(HookStarted) == []


async def test_later_request_of_the_host_replaces_its_callbacks(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        session.hooks.add_host_hooks({"Stop": [{"hookCallbackIds": ["a"]}]}, _never)
        session.hooks.add_host_hooks({"SessionEnd": [{"hookCallbackIds": ["b"]}]}, _never)
        assert not session.hooks.listens_to("Stop") and session.hooks.listens_to("SessionEnd")
        session.hooks.add_host_hooks({}, _never)


async def test_function_hook_is_taken_away_again(tmp_path: Path):
    async with hooked(tmp_path, []) as session:
        take_away = session.hooks.add_function("Stop", FunctionHook(function=lambda _: None))
        assert session.hooks.listens_to("Stop")
        take_away()
        assert not session.hooks.listens_to("Stop")


class Nothing(Struct):
    pass


async def test_mcp_tool_hooks_need_servers_and_say_so(tmp_path: Path):
    hook = {"type": "mcp_tool", "server": "audit", "tool": "record", "input": {"what": "${prompt}"}}
    settings = {"UserPromptSubmit": [{"hooks": [hook]}]}
    async with hooked(tmp_path, [says("a")], settings=settings) as session:
        await session.prompt()
    assert any("need MCP servers" in text for text in session.notices)

    async def call_tool(server: str, tool: str, input: Any) -> str:
        return f"{server} {tool} {input['what']}"

    async with hooked(tmp_path, [says("a")], settings=settings, call_tool=call_tool) as session:
        await session.prompt("hello there")
    assert "audit record hello there" in session.said_to_model()


@tool("Idle", Nothing)
async def idle(input: Nothing, ctx: ToolContext) -> ToolOutput:
    """Do nothing."""
    return ToolOutput(content="nothing", data={})


async def test_time_limit_of_a_hook_is_kept(tmp_path: Path):
    settings = {"PreToolUse": _command("sleep 60", timeout=0.2)}
    async with hooked(tmp_path, [says(calls("Idle")), says("b")], idle, settings=settings) as session:
        async with asyncio.timeout(50):
            outcome = await session.prompt()
    (run,) = session.channel.of(HookRun)
    assert (outcome.text, run.outcome) == ("b", "cancelled")
    assert any("timed out after 0.2 seconds" in text for text in session.notices)

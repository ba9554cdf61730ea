"""Schedules and monitors in whole sessions: the engine, the program over stdio, the library, the terminal."""

import asyncio
import json
import sys
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.runtime import Runtime
from bridle.engine.server import Inbox, Server
from bridle.features.registry import open_features
from bridle.providers.scripted import calls, says
from bridle.sdk import AssistantMessage, ClaudeAgentOptions, ClaudeSDKClient, TextBlock
from bridle.tools.cron_create import TOOL as CRON_CREATE
from bridle.tools.cron_delete import TOOL as CRON_DELETE
from bridle.tools.cron_list import TOOL as CRON_LIST
from bridle.tools.schedule_wakeup import TOOL as WAKEUP
from bridle.tools.sleep import TOOL as SLEEP
from bridle.types.event import Noticed, ToolFinished, TurnFinished, TurnStarted
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.clock import FakeClock
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import feature_context
from tests.fakes.hooked import hooked
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.plugins import write_plugin
from tests.fakes.processes import eventually, is_running, read_number
from tests.fakes.program import Program
from tests.fakes.terminal import PtyProgram

_TOOLS = (CRON_CREATE, CRON_DELETE, CRON_LIST, WAKEUP, SLEEP)
_MINUTES = 60.0
_ALLOWED = ("--allowedTools", "CronCreate,CronList")


class Scene:
    """A session that is served, with a clock that a test moves."""

    def __init__(self, runtime: Runtime, channel: FakeChannel, inbox: Inbox, clock: FakeClock) -> None:
        self.runtime = runtime
        self.channel = channel
        self.inbox = inbox
        self.clock = clock

    async def turns(self, count: int) -> list[Any]:
        """The prompts of the turns that are over, once there are so many."""
        await self.channel.seen(lambda _: len(self.channel.of(TurnFinished)) >= count)
        return [event.prompt for event in self.channel.of(TurnStarted)]

    def results(self) -> list[Any]:
        return [event.data for event in self.channel.of(ToolFinished)]


@asynccontextmanager
async def _serving(folder: Path, script: Sequence[Any], **changes: Any) -> AsyncGenerator[Scene]:
    channel, inbox, clock = FakeChannel(), Inbox(), FakeClock()
    runtime = make_runtime(folder, script, *_TOOLS, channel=channel)
    session = make_session()

    def tell(text: str) -> None:
        channel.emit(Noticed(text))

    features = open_features(
        feature_context(
            folder,
            session=session,
            workspace=runtime.workspace,
            wake=inbox.put,
            tell=tell,
            clock=clock,
        )
    )
    runtime = msgspec.structs.replace(runtime, features=features, **changes)
    server = Server(session, runtime, inbox)
    serving = asyncio.create_task(server.serve(wait_for_tasks=0, say_waiting=print))
    try:
        yield Scene(runtime, channel, inbox, clock)
    finally:
        inbox.close()
        async with asyncio.timeout(50):
            await serving
        await features.close()


async def test_a_scheduled_prompt_begins_a_turn_when_the_session_is_idle(tmp_path: Path):
    script = [
        says(calls("CronCreate", cron="*/5 * * * *", prompt="look again")),
        says("scheduled"),
        says("looked"),
    ]
    async with _serving(tmp_path, script) as scene:
        scene.inbox.put(Prompt(content="every five minutes", origin=TYPED))
        assert await scene.turns(1) == ["every five minutes"]
        (made,) = scene.results()
        assert made == {
            "id": made["id"], "humanSchedule": "every 5 minutes", "recurring": True, "durable": False,
        }  # fmt: skip
        await scene.clock.advance(6 * _MINUTES)
        assert await scene.turns(2) == ["every five minutes", "look again"]
        assert any(made["id"] in event.text for event in scene.channel.of(Noticed))


async def test_prompts_are_listed_and_taken_back(tmp_path: Path):
    script = [
        says(calls("CronCreate", cron="0 9 * * *", prompt="morning")),
        says(calls("CronList")),
        says(calls("CronDelete", id="unknown")),
        says("done"),
    ]
    async with _serving(tmp_path, script) as scene:
        scene.inbox.put(Prompt(content="go", origin=TYPED))
        await scene.turns(1)
        made, listed, refused = scene.results()
    assert listed == {
        "jobs": [
            {
                "id": made["id"], "cron": "0 9 * * *", "humanSchedule": "every day at 09:00",
                "prompt": "morning", "recurring": True, "durable": False,
            }
        ]
    }  # fmt: skip
    assert "Unknown scheduled prompt unknown" in refused


async def test_a_wakeup_goes_on_with_the_work_and_is_brought_into_its_range(tmp_path: Path):
    script = [
        says(calls("ScheduleWakeup", delaySeconds=5, reason="the build", prompt="check the build")),
        says("waiting"),
        says(calls("ScheduleWakeup", stop=True)),
        says("over"),
    ]
    async with _serving(tmp_path, script) as scene:
        scene.inbox.put(Prompt(content="watch the build", origin=TYPED))
        await scene.turns(1)
        planned = scene.results()[0]
        assert planned == {
            "scheduledFor": round((scene.clock.now() + 60) * 1000), "clampedDelaySeconds": 60,
            "wasClamped": True,
        }  # fmt: skip
        await scene.clock.advance(59)
        assert len(scene.channel.of(TurnStarted)) == 1
        await scene.clock.advance(1)
        assert await scene.turns(2) == ["watch the build", "check the build"]
        assert scene.results()[1] == {"stopped": False}


async def test_sleep_ends_when_something_comes_in(tmp_path: Path):
    async with _serving(
        tmp_path, [says(calls("Sleep", seconds=3000)), says("awake"), says("heard")]
    ) as scene:
        scene.inbox.put(Prompt(content="wait", origin=TYPED))
        await scene.channel.seen(lambda event: "tool_started" in scene.channel.kinds)
        scene.inbox.put(Prompt(content="a note", origin=TYPED, meta=True, priority="later"))
        assert await scene.turns(2) == ["wait", "a note"]
        assert scene.results()[0]["interrupted"] is True


async def test_sleep_ends_when_its_time_is_over(tmp_path: Path):
    async with _serving(tmp_path, [says(calls("Sleep", seconds=0.01)), says("awake")]) as scene:
        scene.inbox.put(Prompt(content="wait", origin=TYPED))
        await scene.turns(1)
        assert scene.results()[0] == {"seconds": 0.01, "interrupted": False}


async def test_stop_hooks_hear_what_is_scheduled(tmp_path: Path):
    log = tmp_path / "heard"
    stop = [{"hooks": [{"type": "command", "command": f"cat > {log}"}]}]
    script = [says(calls("CronCreate", cron="0 9 * * *", prompt="morning")), says("ok")]

    def change(runtime: Runtime) -> Runtime:
        context = feature_context(
            tmp_path, session=make_session(), workspace=runtime.workspace, clock=FakeClock()
        )
        return msgspec.structs.replace(runtime, features=open_features(context))

    async with hooked(tmp_path, script, *_TOOLS, settings={"Stop": stop}, change=change) as made:
        await made.prompt()
        await made.runtime.features.close()
    (cron,) = json.loads(log.read_text())["session_crons"]
    assert (cron["schedule"], cron["recurring"], cron["prompt"]) == ("0 9 * * *", True, "morning")


def _trust(program: Program) -> None:
    folder = program.home / ".claude"
    folder.mkdir(exist_ok=True)
    trust = {
        "projects": {str(program.project): {"hasTrustDialogAccepted": True}},
        "hasCompletedOnboarding": True,
    }
    (folder / ".claude.json").write_text(json.dumps(trust))


def _due(project: Path) -> None:
    """A prompt whose time passed while no session was open."""
    made = round((time.time() - 2 * 86400) * 1000)
    (project / ".claude").mkdir(exist_ok=True)
    task = {"id": "0a0b0c0d", "cron": "0 0 * * *", "prompt": "water the plants", "createdAt": made}
    (project / ".claude" / "scheduled_tasks.json").write_text(json.dumps({"tasks": [task]}))


async def _approve(program: Program) -> None:
    argv = (sys.executable, "-m", "bridle", "schedules", "approve", "0a0b0c0d")
    process = await asyncio.create_subprocess_exec(
        *argv, cwd=program.project, env=program.env, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0 and b"water the plants" in said


def _left(project: Path) -> Any:
    return json.loads((project / ".claude" / "scheduled_tasks.json").read_text())["tasks"]


async def test_a_durable_prompt_comes_in_a_session_over_stdio(tmp_path: Path):
    async with MessagesServer([step("They are dry.")]) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        _due(program.project)
        await _approve(program)
        async with FakeHost(program, "-p") as host:
            result = await host.result()
            assert (await host.close())[0] == 0
    assert result["result"] == "They are dry."
    assert result["origin"]["kind"] == "task-notification"
    assert "water the plants" in server.requests[0].raw.decode()
    assert _left(program.project) == []


@pytest.mark.timeout(300)
@pytest.mark.long
async def test_a_wakeup_that_the_model_writes_widens_no_rights(tmp_path: Path):
    """S5, S41, S44: in the whole program by the clock of the machine, after the shortest time there is."""
    text = "/permissions allow Bash(touch *) user"
    asked = {"delaySeconds": 60, "reason": "later", "prompt": text}
    wakes = step({"type": "tool_use", "id": "w1", "name": "ScheduleWakeup", "input": asked})
    async with MessagesServer([wakes, step("waiting"), step("ok", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        async with FakeHost(program, "--allowedTools", "ScheduleWakeup") as host:
            host.prompt("watch the build")
            assert (await host.result())["result"] == "waiting"
            refused = await host.result(seconds=200)
            await host.close()
    assert refused["is_error"] and "was not run" in refused["result"]
    assert refused["origin"]["kind"] == "task-notification"
    assert len(server.requests) == 2
    assert not (program.home / ".claude" / "settings.json").exists()


async def test_nothing_of_an_untrusted_folder_comes(tmp_path: Path):
    async with MessagesServer([step("only this")]) as server:
        program = Program(tmp_path, server.url)
        _due(program.project)
        async with FakeHost(program, "-p") as host:
            host.prompt("hi")
            assert (await host.result())["result"] == "only this"
            assert (await host.close())[0] == 0
    assert len(server.requests) == 1 and "water the plants" not in server.requests[0].raw.decode()
    assert len(_left(program.project)) == 1


async def test_a_durable_prompt_comes_in_a_session_of_the_library(tmp_path: Path):
    async with MessagesServer([step("They are dry.")]) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        _due(program.project)
        await _approve(program)
        options = ClaudeAgentOptions(cwd=program.project, env={**program.env})
        async with asyncio.timeout(50), ClaudeSDKClient(options) as client:
            said = [
                block.text
                async for message in client.receive_response()
                if isinstance(message, AssistantMessage)
                for block in message.content
                if isinstance(block, TextBlock)
            ]
    assert said == ["They are dry."] and _left(program.project) == []


async def test_a_durable_prompt_comes_at_the_terminal(tmp_path: Path):
    async with MessagesServer([step("They are dry.")] * 3) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        _due(program.project)
        await _approve(program)
        argv = [sys.executable, "-m", "bridle"]
        async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
            await terminal.until_text("They are dry.")
    assert _left(program.project) == []


async def test_the_terminal_asks_about_a_schedule_of_the_project_once_and_again_when_it_changes(
    tmp_path: Path,
):
    """S42."""
    async with MessagesServer([step("They are dry.")] * 9) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        _due(program.project)
        argv = [sys.executable, "-m", "bridle"]
        async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
            await terminal.until_text("Run the scheduled prompt 0a0b0c0d?")
            await terminal.until_text("water the plants")
        assert len(_left(program.project)) == 1 and not server.requests
        await _approve(program)
        text = json.dumps({"tasks": [{**_left(program.project)[0], "prompt": "burn the plants"}]})
        (program.project / ".claude" / "scheduled_tasks.json").write_text(text)
        async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
            await terminal.until_text("It has changed since you approved it.")
    assert len(_left(program.project)) == 1


async def test_prompts_of_a_conversation_are_there_again_after_a_resume_and_not_in_a_copy(tmp_path: Path):
    create = _use("CronCreate", cron="0 0 1 1 *", prompt="happy new year")
    steps = [step(create), step("made"), *[step(_use("CronList")), step("listed")] * 2]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "-p", *_ALLOWED) as host:
            host.prompt("once a year")
            conversation = (await host.result())["session_id"]
            await host.close()
        listed: list[str] = []
        for flags in ((), ("--fork-session",)):
            async with FakeHost(program, "-p", *_ALLOWED, "--resume", conversation, *flags) as host:
                host.prompt("what is to come?")
                await host.result()
                await host.close()
            results = [json.dumps(frame) for frame in host.frames if frame["type"] == "user"]
            listed.append("".join(results))
    assert "happy new year" in listed[0] and "Nothing is scheduled" in listed[1]


async def test_a_new_conversation_has_none_of_the_prompts_of_the_one_before(tmp_path: Path):
    create = _use("CronCreate", cron="0 0 1 1 *", prompt="happy new year")
    steps = [step(create), step("made"), *[step(_use("CronList")), step("listed")] * 2]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "-p", *_ALLOWED) as host:
            host.prompt("once a year")
            conversation = (await host.result())["session_id"]
            host.prompt("/clear")
            await host.result()
            host.prompt("what is to come?")
            await host.result()
            host.prompt(f"/resume {conversation}")
            await host.result()
            host.prompt("and now?")
            await host.result()
            await host.close()
    listed = [
        frame["tool_use_result"] for frame in host.frames if "jobs" in str(frame.get("tool_use_result"))
    ]
    assert [len(each["jobs"]) for each in listed] == [0, 1]


async def test_variables_take_the_cron_tools_away(tmp_path: Path):
    program = Program(tmp_path)
    ask = ("-p", "hi", "--model", "offline", "--output-format", "stream-json", "--verbose")
    tools = next(f for f in (await program.run(*ask)).frames if f.get("subtype") == "init")["tools"]
    assert {"CronCreate", "CronDelete", "CronList", "ScheduleWakeup", "Monitor", "Sleep"} <= set(tools)
    assert "LSP" not in tools
    done = await program.run(*ask, CLAUDE_CODE_DISABLE_CRON="1")
    tools = next(f for f in done.frames if f.get("subtype") == "init")["tools"]
    assert not {"CronCreate", "CronDelete", "CronList", "ScheduleWakeup"} & set(tools)


def _use(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "toolu_1", "name": name, "input": input}


@pytest.mark.parametrize("rule", ["Bash(echo *)", "Monitor(echo *)"])
async def test_print_mode_waits_for_a_monitor_and_the_model_hears_of_it(tmp_path: Path, rule: str):
    steps = [
        step(_use("Monitor", command="echo the build failed", description="the build")),
        step("watching"),
        step("heard", repeat=True),
    ]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "watch", "--allowedTools", rule)
    first, *others = done.out.splitlines()
    assert (done.code, first, set(others)) == (0, "watching", {"heard"})
    said = server.requests[-1].raw.decode()
    assert "<event>\\nthe build failed\\n</event>" in said
    assert 'Monitor \\"the build\\" completed' in said


async def test_the_rules_of_the_shell_count_for_monitors(tmp_path: Path):
    steps = [step(_use("Monitor", command="rm -r x", description="no")), step("refused")]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            "-p", "watch", "--allowedTools", "Monitor", "--disallowedTools", "Bash(rm *)",
            "--output-format", "json",
        )  # fmt: skip
    assert [each["tool_name"] for each in done.result["permission_denials"]] == ["Monitor"]


@pytest.mark.parametrize("trusted", [True, False])
async def test_monitors_of_plugins_begin_with_a_session_in_a_trusted_folder(tmp_path: Path, trusted: bool):
    monitors = [
        {"name": "log", "command": "echo from $CLAUDE_PLUGIN_ROOT; exec sleep 100", "description": "the log"},
        {"name": "later", "command": "touch later", "description": "x", "when": "on-skill-invoke:greet"},
    ]
    plugin = write_plugin(tmp_path / "plug", {"name": "plug"}, **{"monitors/monitors.json": ""})
    (plugin / "monitors" / "monitors.json").write_text(json.dumps(monitors))
    write_plugin(plugin, None, **{"skills/greet/SKILL.md": "---\ndescription: greets\n---\nSay hello."})
    async with MessagesServer([step("heard", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        if trusted:
            _trust(program)
        async with FakeHost(program, "-p", "--plugin-dir", str(plugin)) as host:
            if trusted:
                await host.result()
                assert f"from {plugin}" in server.requests[0].raw.decode()
                assert not (program.project / "later").exists()
            host.prompt("/plug:greet")
            await host.result()
            if trusted:
                await eventually((program.project / "later").exists)
            # What lasts as long as the session is not waited for.
            assert (await host.close())[0] == 0
    assert trusted or not any(b"from " + str(plugin).encode() in each.raw for each in server.requests)
    assert (program.project / "later").exists() == trusted


async def test_a_monitor_does_not_outlive_a_session_that_is_killed(tmp_path: Path):
    command = "echo $$ > pid; exec sleep 100"
    async with MessagesServer(
        [step(_use("Monitor", command=command, description="x")), step("ok")]
    ) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "-p", "--allowedTools", "Monitor") as host:
            host.prompt("watch")
            await host.result()
            await eventually(lambda: read_number(program.project / "pid"))
            pid = read_number(program.project / "pid")
            assert pid is not None and is_running(pid)
            host.process.kill()
            await eventually(lambda: not is_running(pid))


async def test_monitors_run_in_the_sandbox(tmp_path: Path):
    command = f"touch inside; touch {tmp_path}/outside; echo done"
    steps = [step(_use("Monitor", command=command, description="x")), step("ok", repeat=True)]
    async with MessagesServer(steps) as server:
        program = Program(tmp_path, server.url)
        settings = json.dumps({"sandbox": {"enabled": True}})
        done = await program.run("-p", "watch", "--allowedTools", "Monitor", "--settings", settings)
    assert done.code == 0 and "<event>\\ndone\\n</event>" in server.requests[-1].raw.decode()
    assert (program.project / "inside").exists() and not (tmp_path / "outside").exists()


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "plan", "dontAsk"])
async def test_a_prompt_that_outlives_the_session_is_not_made_unasked(tmp_path: Path, mode: str):
    """S1, S33."""
    create = _use("CronCreate", cron="* * * * *", prompt="go on for ever", durable=True)
    async with MessagesServer([step(create), step("refused")]) as server:
        program = Program(tmp_path, server.url)
        _trust(program)
        done = await program.run("-p", "go", "--permission-mode", mode)
    assert done.out.strip() == "refused"
    assert not (program.project / ".claude" / "scheduled_tasks.json").exists()

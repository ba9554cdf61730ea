import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.hooks.background import BackgroundHooks
from bridle.hooks.handler import (
    Answered,
    CallbackHook,
    Detached,
    Failed,
    FunctionHook,
    Handler,
    HookCall,
    Kind,
    Origin,
    Reply,
)
from bridle.hooks.table import Table, from_host, from_layers, from_values
from bridle.types.hooks.calls import PostToolUse, PreToolUse
from bridle.types.hooks.events import SessionEnd, SessionStart, Stop, UserPromptSubmit
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome, HookRun, HookStarted
from bridle.types.permission import Allow, Deny
from tests.fakes.counting import steps_of
from tests.fakes.hook_scripts import BASH, CONTEXT, answering, hook_session, layer, python, table
from tests.fakes.processes import cut_off, eventually, is_running, read_number

_PROMPT = UserPromptSubmit(prompt="p")
_STOP = Stop(active=False)


async def test_event_without_hooks_costs_next_to_nothing(tmp_path: Path):
    async with hook_session(tmp_path, table("Stop", "true")) as session:
        assert await session.fire(BASH) is NOTHING_SAID
        assert steps_of(lambda: _fire_at_once(session.fire)) < 500


def _fire_at_once(fire: Any) -> None:
    """Nothing is waited for, so the first step is the last."""
    with pytest.raises(StopIteration):
        fire(BASH).send(None)


async def test_real_hook_denies_a_call_by_what_it_reads(tmp_path: Path):
    guard = python(
        "if 'rm' in input['tool_input']['command']:\n"
        "    print(json.dumps({'hookSpecificOutput': {'hookEventName': 'PreToolUse',"
        " 'permissionDecision': 'deny', 'permissionDecisionReason': 'no removing'}}))"
    )
    async with hook_session(tmp_path, table("PreToolUse", guard, matcher="Bash")) as session:
        said = await session.fire(PreToolUse(tool="Bash", input={"command": "rm -r x"}, call_id="c"))
        assert said.decision == Deny("no removing", "hook")
        assert (await session.fire(BASH)).decision is None
        assert await session.fire(PreToolUse(tool="Edit", input={}, call_id="c")) is NOTHING_SAID


async def test_all_hooks_run_and_the_strictest_counts(tmp_path: Path):
    allow = """echo '{"decision": "approve"}'"""
    listed = table("PreToolUse", allow, "echo no >&2; exit 2", "exit 1", "echo 'half' '{'")
    async with hook_session(tmp_path, listed) as session:
        said = await session.fire(BASH)
    assert said.decision == Deny("no", "hook")
    assert [run.exit_code for run in said.runs] == [0, 2, 1, 0]
    assert len(said.problems) == 1


async def test_ten_hooks_take_the_time_of_the_slowest(tmp_path: Path):
    # Each waits until all ten have begun, which one after the other never happens.
    wait = "touch {}; until [ $(ls [0-9] | wc -l) = 10 ]; do sleep 0.02; done"
    commands = [wait.format(number) for number in range(10)]
    async with hook_session(tmp_path, table("Stop", *commands)) as session:
        async with asyncio.timeout(50):
            said = await session.fire(_STOP)
    assert [run.outcome for run in said.runs] == ["success"] * 10


async def test_context_is_in_the_order_of_the_list_not_of_the_clock(tmp_path: Path):
    listed = table(
        "UserPromptSubmit", "until [ -e done ]; do sleep 0.01; done; echo first", "echo second; touch done"
    )
    async with hook_session(tmp_path, listed) as session:
        assert (await session.fire(_PROMPT)).context == ("first", "second")


async def test_what_is_run_is_reported(tmp_path: Path):
    hook = {"type": "command", "command": "echo out; echo err >&2", "statusMessage": "Checking"}
    async with hook_session(tmp_path, table("PreToolUse", hook)) as session:
        said = await session.fire(BASH)
    (run,) = said.runs
    assert session.emitted == [
        HookStarted(id=run.id, name="PreToolUse:Bash", event="PreToolUse", status_message="Checking"),
        run,
    ]
    expected = HookRun(
        id=run.id, name="PreToolUse:Bash", event="PreToolUse", outcome="success", exit_code=0, stdout="out\n",
        stderr="err\n", seconds=run.seconds,
    )  # fmt: skip
    assert run == expected and run.seconds > 0
    assert [msgspec.structs.replace(run, seconds=seconds).slow for seconds in (0.5, 0.6)] == [False, True]


@pytest.mark.parametrize(
    "command, outcome, code",
    [("exit 0", "success", 0), ("exit 1", "error", 1), ("exit 2", "error", 2), ("echo '{'", "error", 0)],
)
async def test_outcome_of_a_run(tmp_path: Path, command: str, outcome: str, code: int):
    async with hook_session(tmp_path, table("Stop", command)) as session:
        (run,) = (await session.fire(_STOP)).runs
    assert (run.name, run.outcome, run.exit_code) == ("Stop", outcome, code)


async def test_report_of_a_talkative_hook_is_short(tmp_path: Path):
    async with hook_session(tmp_path, table("Stop", "head -c 50000 /dev/zero | tr '\\0' y")) as session:
        (run,) = (await session.fire(_STOP)).runs
    assert len(run.stdout) == 10_000


async def test_slow_hook_is_noted(tmp_path: Path):
    times = iter([0.0, 0.6])
    async with hook_session(tmp_path, table("Stop", "true"), clock=lambda: next(times)) as session:
        (run,) = (await session.fire(_STOP)).runs
    assert (run.seconds, run.slow) == (0.6, True)


async def test_hook_that_hangs_is_ended_at_its_time_and_the_call_goes_on(tmp_path: Path):
    async def hang(seconds: float) -> HookOutcome:
        hook = {"type": "command", "command": "echo $$ > pid; sleep 60 & wait", "timeout": seconds}
        async with hook_session(tmp_path, table("PreToolUse", hook)) as session, asyncio.timeout(60):
            said = await session.fire(BASH)
        assert f"{seconds:g} seconds" in said.problems[0]
        return said

    said = await cut_off(hang, lambda: read_number(tmp_path / "pid"))
    assert said.decision is None
    assert said.runs[0].outcome == "cancelled"
    pid = read_number(tmp_path / "pid")
    assert pid is not None and not is_running(pid)


async def test_interrupt_ends_the_hooks_and_is_reported(tmp_path: Path):
    async with hook_session(tmp_path, table("Stop", "echo $$ > pid; sleep 60", "sleep 60")) as session:
        task = asyncio.create_task(session.fire(_STOP))
        await eventually(lambda: read_number(tmp_path / "pid"))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    pid = read_number(tmp_path / "pid")
    assert pid is not None and not is_running(pid)
    assert [run.outcome for run in session.emitted if isinstance(run, HookRun)] == ["cancelled"] * 2


@pytest.mark.parametrize(
    "command",
    [
        "yes | head -c 100000000",
        "exec <&- >&- 2>&-",
        """printf '{"decision": "bl'""",
        """echo '{"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "deny"}}'""",
        "setsid sleep 1 & exit 0",
        "kill -9 $$",
        "if",
        "kill -STOP $$",
        "exec 0<&- ; cat /dev/urandom | head -c 100000",
    ],
)
async def test_no_hook_can_hurt_the_session(tmp_path: Path, command: str):
    bad = {"type": "command", "command": command, "timeout": 0.8}
    good = """echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "fine"}}'"""
    async with hook_session(tmp_path, table("PreToolUse", bad, good)) as session:
        async with asyncio.timeout(50):
            said = await session.fire(BASH)
            assert said.context == ("fine",)
            assert (await session.fire(BASH)).context == ("fine",)


async def test_defect_in_a_handler_is_a_failure_of_its_hook(tmp_path: Path):
    async def broken(call: HookCall) -> Reply:
        raise RuntimeError(call.name)

    handlers: dict[Kind, Handler] = {"callback": broken}
    async with hook_session(tmp_path, Table(), handlers=handlers) as session:
        session.runner.listeners.add([from_host("PreToolUse", CallbackHook(callback_id="1"))])
        said = await session.fire(BASH)
    assert said.decision is None and "RuntimeError" in said.problems[0]


async def test_kind_that_nobody_runs_is_a_failure(tmp_path: Path):
    async with hook_session(tmp_path, table("PreToolUse", {"type": "prompt", "prompt": "ok?"})) as session:
        assert "prompt" in (await session.fire(BASH)).problems[0]


@pytest.mark.parametrize("event, closed", [
    (BASH, True), (_PROMPT, True), (_STOP, False),
    (PostToolUse(tool="Bash", input={}, call_id="c", response=""), False),
])  # fmt: skip
async def test_callback_without_an_answer_stops_calls_and_prompts_only(
    tmp_path: Path, event: Any, closed: bool
):
    cancelled: list[str] = []

    async def silent(call: HookCall) -> Reply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(call.id)
            raise
        return Failed(reason="never")

    async with hook_session(tmp_path, Table(), handlers={"callback": silent}) as session:
        session.runner.listeners.add([from_host(event.name, CallbackHook(callback_id="1", timeout=0.05))])
        said = await session.fire(event)
    assert (isinstance(said.decision, Deny) or said.block is not None) is closed
    assert len(cancelled) == 1


async def test_hosts_own_code_is_not_reported_to_it(tmp_path: Path):
    handlers: dict[Kind, Handler] = {
        "callback": answering(Answered(output={"systemMessage": "a"})),
        "function": answering(Answered(output={"systemMessage": "b"})),
    }
    async with hook_session(tmp_path, Table(), handlers=handlers) as session:
        hooks = (CallbackHook(callback_id="1"), FunctionHook(function=lambda _: None))
        session.runner.listeners.add(from_host("Stop", hook) for hook in hooks)
        said = await session.fire(_STOP)
    assert said.system_messages == ("a", "b") and len(said.runs) == 2
    assert session.emitted == []


async def test_condition_is_a_rule_about_the_call(tmp_path: Path):
    asked: list[tuple[str, str, Mapping[str, Any]]] = []

    def covers(rule: str, tool: str, input: Mapping[str, Any]) -> bool:
        asked.append((rule, tool, input))
        return rule == "Bash(ls)"

    hooks = [
        {"type": "command", "command": f"echo '{rule}'", "if": rule} for rule in ("Bash(ls)", "Bash(git *)")
    ]
    async with hook_session(tmp_path, table("PreToolUse", *hooks), covers=covers) as session:
        said = await session.fire(BASH)
    assert [run.stdout for run in said.runs] == ["Bash(ls)\n"]
    assert asked == [(rule, "Bash", {"command": "ls"}) for rule in ("Bash(ls)", "Bash(git *)")]


async def test_hook_of_a_skill_runs_once_if_it_says_so(tmp_path: Path):
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "echo x >> log", "once": True}]}]}
    async with hook_session(tmp_path, Table()) as session:
        session.runner.listeners.add(from_values(hooks, Origin(source="skill", owner="s")).entries)
        await asyncio.gather(session.fire(_STOP), session.fire(_STOP))
        await session.fire(_STOP)
    assert (tmp_path / "log").read_text(encoding="utf-8") == "x\n"


async def test_hooks_of_an_agent_hear_only_its_events(tmp_path: Path):
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}
    agent = from_values(hooks, Origin(source="agent", owner="a"), scope="a1")
    inside = msgspec.structs.replace(CONTEXT, agent_id="a1", agent_type="a")
    for context, denied in ((CONTEXT, False), (inside, True)):
        async with hook_session(tmp_path, Table(), context=lambda context=context: context) as session:
            session.runner.listeners.add(agent.entries)
            assert isinstance((await session.fire(BASH)).decision, Deny) is denied


async def test_changed_settings_count_from_the_next_event_on(tmp_path: Path):
    async with hook_session(tmp_path, table("UserPromptSubmit", "echo old")) as session:
        assert (await session.fire(_PROMPT)).context == ("old",)
        session.runner.listeners.replace(table("UserPromptSubmit", "echo new"))
        assert (await session.fire(_PROMPT)).context == ("new",)
        session.runner.listeners.replace(from_layers([layer({}, disableAllHooks=True)], trusted=True))
        assert await session.fire(_PROMPT) is NOTHING_SAID


async def test_long_context_is_cut_and_kept(tmp_path: Path):
    async with hook_session(
        tmp_path, table("UserPromptSubmit", "head -c 30000 /dev/zero | tr '\\0' y")
    ) as session:
        (context,) = (await session.fire(_PROMPT)).context
    (file,) = (tmp_path / "long").iterdir()
    assert len(context) == 10_000 and str(file) in context
    assert file.stat().st_size == 30_000


async def test_variables_of_all_hooks_are_collected(tmp_path: Path):
    commands = [f'echo "export {name}=1" >> "$CLAUDE_ENV_FILE"' for name in "AB"]
    async with hook_session(tmp_path, table("SessionStart", *commands)) as session:
        said = await session.fire(SessionStart(source="startup"))
    assert said.exported.split("\n") == ["export A=1", "", "export B=1", ""]


@pytest.mark.parametrize(
    "event, hook, seconds",
    [
        (BASH, {"type": "command", "command": "x"}, 600),
        (BASH, {"type": "http", "url": "http://h"}, 600),
        (BASH, {"type": "mcp_tool", "server": "s", "tool": "t"}, 600),
        (BASH, {"type": "prompt", "prompt": "p"}, 30),
        (BASH, {"type": "agent", "prompt": "p"}, 60),
        (_PROMPT, {"type": "command", "command": "x"}, 30),
        (_PROMPT, {"type": "agent", "prompt": "p"}, 30),
        (_PROMPT, {"type": "command", "command": "x", "timeout": 90}, 90),
        (SessionEnd(reason="other"), {"type": "command", "command": "x"}, 1.5),
        (SessionEnd(reason="other"), {"type": "command", "command": "x", "timeout": 1}, 1),
        (SessionEnd(reason="other"), {"type": "command", "command": "x", "timeout": 20}, 20),
        (SessionEnd(reason="other"), {"type": "command", "command": "x", "timeout": 300}, 60),
    ],
)
async def test_time_that_a_hook_has(tmp_path: Path, event: Any, hook: dict[str, Any], seconds: float):
    given: list[float] = []

    async def watch(call: HookCall) -> Reply:
        given.append(call.timeout)
        return Answered(output={})

    kinds: tuple[Kind, ...] = ("command", "http", "mcp_tool", "prompt", "agent")
    handlers = dict.fromkeys(kinds, watch)
    async with hook_session(tmp_path, table(event.name, hook), handlers=handlers) as session:
        await session.fire(event)
    assert given == [seconds]


async def test_hooks_of_the_end_share_the_longest_time_among_them(tmp_path: Path):
    given: list[float] = []

    async def watch(call: HookCall) -> Reply:
        given.append(call.timeout)
        return Answered(output={})

    hooks = [{"type": "command", "command": "a"}, {"type": "command", "command": "b", "timeout": 5}]
    async with hook_session(tmp_path, table("SessionEnd", *hooks), handlers={"command": watch}) as session:
        await session.fire(SessionEnd(reason="clear"))
    assert given == [5, 5]


class _FakeBackground:
    def __init__(self, *, room: bool) -> None:
        self.room = room
        self.adopted: list[Detached] = []

    def adopt(self, call: HookCall, detached: Detached) -> bool:
        if self.room:
            self.adopted.append(detached)
        return self.room


async def test_hook_marked_async_is_not_waited_for(tmp_path: Path):
    background = _FakeBackground(room=True)
    hook = {"type": "command", "command": "echo ran > ran; exit 2", "async": True, "timeout": 7}
    async with hook_session(tmp_path, table("PreToolUse", hook), background=background) as session:
        said = await session.fire(BASH)
        assert said.decision is None and not (tmp_path / "ran").exists()
        (detached,) = background.adopted
        assert detached.timeout == 7
        await detached.rest()
    assert (tmp_path / "ran").exists()


async def test_hook_that_announces_itself_is_handed_over(tmp_path: Path):
    told: list[str] = []
    background = BackgroundHooks(rewake=told.append, tell=told.append)
    hook = """echo '{"async": true}'; read -r go < gate; echo '{"systemMessage": "late"}'"""
    os.mkfifo(tmp_path / "gate")
    async with (
        asyncio.timeout(50),
        hook_session(tmp_path, table("Stop", hook), background=background) as session,
    ):
        said = await session.fire(_STOP)
        assert (said.system_messages, said.runs[0].outcome) == ((), "success")
        await asyncio.to_thread((tmp_path / "gate").write_text, "go\n", encoding="utf-8")
        await eventually(lambda: told)
        await background.close()
    assert told == ["late"]


async def test_hook_that_finds_no_room_in_the_background_is_ended(tmp_path: Path):
    announced = """echo $$ > pid; echo '{"async": true}'; sleep 60"""
    marked = {"type": "command", "command": "touch marked", "async": True}
    background = _FakeBackground(room=False)
    async with hook_session(tmp_path, table("Stop", announced, marked), background=background) as session:
        async with asyncio.timeout(50):
            said = await session.fire(_STOP)
    assert len(said.problems) == 2 and said.block is None
    pid = read_number(tmp_path / "pid")
    assert pid is not None and not is_running(pid)
    assert not (tmp_path / "marked").exists()


async def test_without_a_background_hooks_are_waited_for(tmp_path: Path):
    announced = """echo '{"async": true}'; sleep 0.05; echo '{"systemMessage": "a"}'"""
    marked = {"type": "command", "command": """echo '{"systemMessage": "b"}'""", "async": True}
    async with hook_session(tmp_path, table("Stop", announced, marked)) as session:
        assert (await session.fire(_STOP)).system_messages == ("a", "b")


async def test_approval_reaches_the_engine(tmp_path: Path):
    own = {"permissionDecision": "allow", "permissionDecisionReason": "r", "updatedInput": {"command": "pwd"}}
    printed = msgspec.json.encode({"hookSpecificOutput": {"hookEventName": "PreToolUse", **own}}).decode()
    async with hook_session(tmp_path, table("PreToolUse", f"echo '{printed}'")) as session:
        said = await session.fire(BASH)
    expected = HookOutcome(decision=Allow("r", "hook"), updated_input={"command": "pwd"}, runs=said.runs)
    assert said == expected


_DOOMED = """
import asyncio, sys
from pathlib import Path
from tests.fakes.hook_scripts import BASH, hook_session, table
from tests.fakes.counting import steps_of
async def main():
    hooks = table("PreToolUse", "echo $$ > pid; sleep 60 & echo $! > child; wait")
    async with hook_session(Path(sys.argv[1]), hooks) as session:
        await session.fire(BASH)
asyncio.run(main())
"""


async def test_nothing_of_a_hook_outlives_our_sudden_death(tmp_path: Path):
    root = Path(__file__).parents[2]
    doomed = subprocess.Popen([sys.executable, "-c", _DOOMED, str(tmp_path)], cwd=root)
    try:
        await eventually(lambda: read_number(tmp_path / "child"))
    finally:
        doomed.kill()
        doomed.wait()
    pids = [read_number(tmp_path / name) or 0 for name in ("pid", "child")]
    await eventually(lambda: not any(is_running(pid) for pid in pids), 2)

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.config.hook_schema import CommandHook
from bridle.hooks.command import MOST_OUTPUT, CommandHooks, choose_shell
from bridle.hooks.handler import CallbackHook, Detached, Failed, HookCall, Origin, Ran, Reply
from bridle.host.reaper import Reaper
from bridle.types.hooks.calls import PostToolUse
from bridle.types.hooks.environment import CwdChanged, FileChanged
from bridle.types.hooks.events import HookEvent, SessionStart, Setup, Stop
from tests.fakes.hook_scripts import BASH, ENV, call
from tests.fakes.processes import eventually, is_running, read_number

_START = SessionStart(source="startup")

_SOON = 50
"""Seconds: what would wait without end takes minutes, and a busy machine takes seconds."""


async def _run(
    folder: Path,
    command: str | CommandHook,
    event: HookEvent = BASH,
    *,
    env: dict[str, str] | None = None,
    origin: Origin | None = None,
) -> Reply:
    hook = CommandHook(command=command) if isinstance(command, str) else command
    hooks, reaper = _hooks(folder, env=env)
    try:
        async with asyncio.timeout(50):
            return await hooks.run(call(hook, event, origin))
    finally:
        await hooks.close()
        reaper.close()


def _hooks(folder: Path, env: dict[str, str] | None = None) -> tuple[CommandHooks, Reaper]:
    reaper = Reaper()
    variables = {**ENV, **(env or {})}
    storage = str(folder / "storage")
    return CommandHooks(
        project_dir=str(folder), storage=storage, env=lambda: variables, reaper=reaper
    ), reaper


async def _variables(folder: Path, event: HookEvent = BASH, **more: Any) -> dict[str, str]:
    ran = await _run(folder, "env -0", event, **more)
    assert isinstance(ran, Ran)
    return dict(pair.split("=", 1) for pair in ran.stdout.split("\0") if pair)


async def test_hook_reads_the_event_as_json(tmp_path: Path):
    ran = await _run(tmp_path, "cat")
    assert isinstance(ran, Ran)
    assert msgspec.json.decode(ran.stdout)["tool_input"] == {"command": "ls"}


async def test_output_and_exit_code_come_back_apart(tmp_path: Path):
    ran = await _run(tmp_path, "echo out; echo err >&2; exit 7")
    assert ran == Ran(exit_code=7, stdout="out\n", stderr="err\n")


async def test_bash_is_there_for_a_hook_that_asks_for_it_and_starts_in_the_project(tmp_path: Path):
    script = 'words=(a b); [[ -p /dev/stdin ]] && echo "${words[1]} $(pwd)"'
    ran = await _run(tmp_path, CommandHook(command=script, shell="bash"))
    assert ran == Ran(exit_code=0, stdout=f"b {tmp_path}\n")


async def test_lines_of_the_hook_are_counted_as_it_wrote_them(tmp_path: Path):
    ran = await _run(tmp_path, CommandHook(command="true\necho $LINENO", shell="bash"))
    assert isinstance(ran, Ran) and ran.stdout == "2\n"


async def test_arguments_are_not_read_by_a_shell(tmp_path: Path):
    hook = CommandHook(command="printf", args=("[%s]", "a b", "$HOME", "${CLAUDE_PLUGIN_ROOT}/x", "'"))
    ran = await _run(tmp_path, hook, origin=Origin(source="plugin", plugin_root="/plug in"))
    assert ran == Ran(exit_code=0, stdout="[a b][$HOME][/plug in/x][']")


async def test_program_without_a_shell_reads_the_event_too(tmp_path: Path):
    ran = await _run(tmp_path, CommandHook(command="head", args=("-c", "14")))
    assert ran == Ran(exit_code=0, stdout='{"session_id":')


async def test_program_that_does_not_exist_is_no_block(tmp_path: Path):
    for hook in (CommandHook(command="/no/such", args=()), CommandHook(command="/no/such")):
        ran = await _run(tmp_path, hook)
        assert isinstance(ran, Ran) and ran.exit_code == 127 and "/no/such" in ran.stderr


async def test_project_that_is_gone_is_a_failure(tmp_path: Path):
    assert isinstance(await _run(tmp_path / "gone", "true"), Failed)


async def test_powershell_runs_if_there_is_one(tmp_path: Path):
    hook = CommandHook(command="Write-Output hi", shell="powershell")
    failed = await _run(tmp_path, hook, env={"PATH": str(tmp_path)})
    assert isinstance(failed, Failed) and "pwsh" in failed.reason
    fake = tmp_path / "pwsh"
    fake.write_text('#!/bin/sh\nprintf "[%s]" "$@"\n', encoding="utf-8")
    fake.chmod(0o755)
    ran = await _run(tmp_path, hook, env={"PATH": f"{tmp_path}:/usr/bin:/bin"})
    assert ran == Ran(exit_code=0, stdout="[-NoProfile][-NonInteractive][-Command][Write-Output hi]")


async def test_prefix_is_put_before_shell_commands(tmp_path: Path):
    ran = await _run(tmp_path, "echo 'a b'", env={"CLAUDE_CODE_SHELL_PREFIX": "printf [%s]"})
    assert ran == Ran(exit_code=0, stdout="[echo 'a b']")


async def test_chosen_bash_runs_the_hook(tmp_path: Path):
    chosen = tmp_path / "bash"
    chosen.write_text('#!/bin/sh\nexport CHOSEN=yes\nexec /bin/bash "$@"\n', encoding="utf-8")
    chosen.chmod(0o755)
    ran = await _run(tmp_path, "echo $CHOSEN", env={"CLAUDE_CODE_SHELL": str(chosen)})
    assert ran == Ran(exit_code=0, stdout="yes\n")


async def test_environment_tells_where_the_hook_is(tmp_path: Path):
    origin = Origin(source="plugin", plugin_root="/p", plugin_data="/d", options={"api_url": "http://x"})
    told = await _variables(tmp_path, origin=origin, env={"MINE": "1", "CLAUDE_CODE_REMOTE": "true"})
    expected = {
        "CLAUDE_PROJECT_DIR": str(tmp_path),
        "CLAUDE_PLUGIN_ROOT": "/p",
        "CLAUDE_PLUGIN_DATA": "/d",
        "CLAUDE_PLUGIN_OPTION_API_URL": "http://x",
        "CLAUDE_CODE_SESSION_ID": "s1",
        "CLAUDECODE": "1",
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_CODE_REMOTE": "true",
        "MINE": "1",
        "PWD": str(tmp_path),
    }
    assert {name: told.get(name) for name in expected} == expected


async def test_environment_keeps_telemetry_and_other_sessions_to_itself(tmp_path: Path):
    env = {
        "OTEL_EXPORTER_OTLP_HEADERS": "secret", "CLAUDE_ENV_FILE": "/x", "CLAUDE_PLUGIN_ROOT": "/x",
        "CLAUDE_PLUGIN_OPTION_KEY": "x", "CLAUDE_EFFORT": "max",
    }  # fmt: skip
    assert not (await _variables(tmp_path, env=env)).keys() & env.keys()


async def test_effort_is_told(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    asked = call(CommandHook(command="echo $CLAUDE_EFFORT"))
    asked = msgspec.structs.replace(asked, payload={**asked.payload, "effort": {"level": "high"}})
    assert await hooks.run(asked) == Ran(exit_code=0, stdout="high\n")
    reaper.close()


@pytest.mark.parametrize(
    "event",
    [
        _START,
        Setup(trigger="init"),
        CwdChanged(old_cwd="/", new_cwd="/"),
        FileChanged(file_path="/f", event="add"),
    ],
)
async def test_variables_for_later_commands_are_collected(tmp_path: Path, event: HookEvent):
    ran = await _run(tmp_path, 'echo "export A=1" >> "$CLAUDE_ENV_FILE"', event)
    assert ran == Ran(exit_code=0, stdout="", exported="export A=1\n")
    assert list((tmp_path / "storage" / "hooks").iterdir()) == []


async def test_file_for_variables_is_private(tmp_path: Path):
    ran = await _run(tmp_path, 'stat -c %a "$CLAUDE_ENV_FILE"', _START)
    assert isinstance(ran, Ran) and ran.stdout == "600\n"
    assert stat.S_IMODE((tmp_path / "storage" / "hooks").stat().st_mode) == 0o700


async def test_other_events_set_no_variables(tmp_path: Path):
    assert "CLAUDE_ENV_FILE" not in await _variables(tmp_path, Stop(active=False))


async def test_file_for_variables_may_be_removed_or_overfilled(tmp_path: Path):
    for command in ('rm "$CLAUDE_ENV_FILE"', 'head -c 100000 /dev/zero > "$CLAUDE_ENV_FILE"'):
        assert await _run(tmp_path, command, _START) == Ran(exit_code=0, stdout="")
        assert list((tmp_path / "storage" / "hooks").iterdir()) == []


async def test_hook_has_no_terminal_and_a_group_of_its_own(tmp_path: Path):
    ran = await _run(tmp_path, "(: </dev/tty) 2>/dev/null && echo terminal; ps -o pid=,pgid=,sid= -p $$")
    assert isinstance(ran, Ran)
    assert len(set(ran.stdout.split())) == 1
    assert int(ran.stdout.split()[0]) != os.getpgrp()


async def test_large_event_reaches_a_slow_reader_whole(tmp_path: Path):
    event = PostToolUse(tool="Read", input={}, call_id="c", response="x" * 3_000_000)
    asked = call(CommandHook(command="wc -c"), event)
    counted = await _run(tmp_path, "wc -c", event)
    assert counted == Ran(exit_code=0, stdout=f"{len(asked.data)}\n")


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_hook_may_close_its_input_unread(tmp_path: Path, size: int):
    event = PostToolUse(tool="Read", input={}, call_id="c", response="x" * size)
    assert await _run(tmp_path, "exec <&-; echo done", event) == Ran(exit_code=0, stdout="done\n")
    assert await _run(tmp_path, "true", event) == Ran(exit_code=0, stdout="")


async def test_output_that_is_not_utf8_is_replaced(tmp_path: Path):
    assert await _run(tmp_path, r"printf 'a\377b'") == Ran(exit_code=0, stdout="a\ufffdb")


@pytest.mark.parametrize("stream", [1, 2])
async def test_flood_is_stopped_and_costs_no_memory(tmp_path: Path, stream: int):
    before = _resident()
    async with asyncio.timeout(_SOON):
        failed = await _run(tmp_path, f"echo $$ > pid; head -c 1G /dev/zero | tr '\\0' y >&{stream}")
        assert isinstance(failed, Failed) and "4 MiB" in failed.reason
    assert _resident() - before < 4 * MOST_OUTPUT
    pid = read_number(tmp_path / "pid")
    assert pid is not None and not is_running(pid)


async def test_much_output_below_the_limit_is_whole(tmp_path: Path):
    ran = await _run(tmp_path, "head -c 3000000 /dev/zero | tr '\\0' y")
    assert isinstance(ran, Ran) and len(ran.stdout) == 3_000_000


async def test_hook_that_hangs_is_ended_with_its_children(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    asked = call(CommandHook(command="trap '' TERM; sleep 300 & echo $! > child; echo $$ > pid; wait; wait"))
    task = asyncio.create_task(_awaited(hooks, asked))
    await eventually(lambda: read_number(tmp_path / "pid"))
    pids = [read_number(tmp_path / name) or 0 for name in ("pid", "child")]
    async with asyncio.timeout(_SOON):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await eventually(lambda: not any(is_running(pid) for pid in pids))
    reaper.close()


async def _awaited(hooks: CommandHooks, asked: HookCall) -> Reply:
    return await hooks.run(asked)


async def test_daemon_that_keeps_the_pipes_holds_nobody_up(tmp_path: Path):
    async with asyncio.timeout(_SOON):
        ran = await _run(tmp_path, "echo before; setsid sleep 300 & echo $! > daemon; exit 0")
        assert ran == Ran(exit_code=0, stdout="before\n")
    daemon = read_number(tmp_path / "daemon")
    assert daemon is not None
    os.kill(daemon, 9)


async def test_what_a_hook_leaves_running_goes_on_until_the_session_ends(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    await hooks.run(call(CommandHook(command="sleep 60 >/dev/null 2>&1 & echo $! > left")))
    pid = read_number(tmp_path / "left")
    assert pid is not None and is_running(pid)
    await hooks.run(call(CommandHook(command="true")))
    assert is_running(pid)
    await hooks.close()
    assert not is_running(pid)
    reaper.close()


async def test_what_a_hook_leaves_running_dies_with_us(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    await hooks.run(call(CommandHook(command="sleep 60 >/dev/null 2>&1 & echo $! > left")))
    pid = read_number(tmp_path / "left")
    assert pid is not None
    # Closing the reaper's pipe is what our death does.
    reaper.close()
    await eventually(lambda: not is_running(pid))


async def test_end_of_a_pipeline_is_still_heard(tmp_path: Path):
    ran = await _run(tmp_path, CommandHook(command="echo out > >(sleep 0.03; cat)", shell="bash"))
    assert ran == Ran(exit_code=0, stdout="out\n")


async def test_hook_that_kills_itself_is_reported(tmp_path: Path):
    assert await _run(tmp_path, "kill -9 $$") == Ran(exit_code=-9, stdout="")


async def test_hook_can_go_on_in_the_background(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    command = """echo '{"async": true, "asyncTimeout": 2500}'; read -r go < gate; echo '{"reason": "late"}'"""
    os.mkfifo(tmp_path / "gate")
    async with asyncio.timeout(50):
        detached = await hooks.run(call(CommandHook(command=command)))
        assert isinstance(detached, Detached) and detached.timeout == 2.5
        await asyncio.to_thread((tmp_path / "gate").write_text, "go\n", encoding="utf-8")
        assert await detached.rest() == Ran(exit_code=0, stdout='{"reason": "late"}\n')
    reaper.close()


async def test_hook_in_the_background_ends_when_nobody_wants_it(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    async with asyncio.timeout(50):
        detached = await hooks.run(
            call(CommandHook(command="""echo $$ > pid; echo '{"async":true}'; sleep 60"""))
        )
        assert isinstance(detached, Detached) and detached.timeout == 15
        task = asyncio.ensure_future(detached.rest())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    pid = read_number(tmp_path / "pid")
    assert pid is not None and not is_running(pid)
    reaper.close()


@pytest.mark.parametrize(
    "line", ['{"async": false}', '{"async": 1}', '{"async', '["async"]', '{"x": "async"}']
)
async def test_only_a_clear_word_sends_a_hook_to_the_background(tmp_path: Path, line: str):
    assert await _run(tmp_path, f"echo '{line}'; sleep 0.01") == Ran(exit_code=0, stdout=f"{line}\n")


async def test_works_without_a_reaper(tmp_path: Path):
    hooks = CommandHooks(project_dir=str(tmp_path), storage=str(tmp_path), env=lambda: ENV, reaper=None)
    assert await hooks.run(call(CommandHook(command="head -c 14"))) == Ran(
        exit_code=0, stdout='{"session_id":'
    )


async def test_other_kinds_of_hooks_are_somebody_elses(tmp_path: Path):
    hooks, _ = _hooks(tmp_path)
    with pytest.raises(TypeError):
        await hooks.run(call(CallbackHook(callback_id="1")))


async def test_no_descriptor_is_left_open(tmp_path: Path):
    hooks, reaper = _hooks(tmp_path)
    await hooks.run(call(CommandHook(command="true")))
    before = len(os.listdir("/proc/self/fd"))
    for command in ("true", "exit 2", "kill -9 $$", "exec <&- >&- 2>&-", "yes"):
        await hooks.run(call(CommandHook(command=command)))
    assert len(os.listdir("/proc/self/fd")) == before
    reaper.close()


def test_scripts_run_in_the_posix_shell_unless_they_ask_for_bash():
    assert choose_shell(CommandHook(command="[[ -n x ]]"), ENV) == "/bin/sh"
    assert choose_shell(CommandHook(command="[[ -n x ]]", shell="bash"), ENV) == "/bin/bash"
    assert choose_shell(CommandHook(command="x"), {**ENV, "CLAUDE_CODE_SHELL": "/bin/bash"}) == "/bin/bash"


def _resident() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

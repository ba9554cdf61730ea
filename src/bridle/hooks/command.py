"""Runs command hooks: programs that read the event on standard input and answer by what they print."""

import asyncio
import os
import os.path
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from bridle.config.hook_schema import CommandHook
from bridle.hooks.handler import Detached, Failed, HookCall, Ran, Reply
from bridle.hooks.program import Program
from bridle.host.background import remove
from bridle.host.files import make_folders, read_bytes
from bridle.host.process import Process
from bridle.host.programs import find_program
from bridle.host.reaper import Reaper
from bridle.host.shell import child_markers, find_bash, quote
from bridle.types.errors import ToolError
from bridle.types.sandbox import Sandbox
from bridle.types.text import decode_json

MOST_OUTPUT = 4 * 1024 * 1024
_MOST_EXPORTED = 64 * 1024
_LONGEST_ANNOUNCEMENT = 4096
_ASYNC_SECONDS = 15.0
_CLOSE_GRACE = 0.2

_EXPORTING = ("SessionStart", "Setup", "CwdChanged", "FileChanged")
"""Events whose hooks may set variables for later commands."""
_OF_ANOTHER_SESSION = frozenset(
    ("CLAUDE_ENV_FILE", "CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_EFFORT", "CLAUDE_PROJECT_DIR")
)


class CommandHooks:
    """The command hooks of one session; what they leave running ends when it is closed.

    `storage` is a folder of the session, `env` the environment as it stands when a hook is started.
    """

    def __init__(
        self,
        *,
        project_dir: str,
        storage: str,
        env: Callable[[], Mapping[str, str]],
        reaper: Reaper | None,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._project_dir = project_dir
        self._folder = os.path.join(storage, "hooks")
        self._env = env
        self._reaper = reaper
        self._sandbox = sandbox
        """The boundary that hooks run in too, when the settings say so."""
        self._left_running: list[Process] = []

    async def run(self, call: HookCall) -> Reply:
        """Run one hook to its end, or until it says that it continues in the background."""
        if not isinstance(call.hook, CommandHook):
            raise TypeError(f"{type(call.hook).__name__} is not a command hook")
        self._forget_the_gone()
        env_file = self._env_file(call)
        try:
            program = self._start(call, call.hook, env_file)
        except (OSError, ValueError, ToolError) as error:
            return Failed(reason=f"could not start: {error}")

        def report() -> None:
            call.progress(_shown(program.printed()), _shown(program.complained()))

        if not await program.settle(until=lambda printed: _announcement(printed) is not None, report=report):
            return await self._finish(program, env_file)

        async def rest() -> Reply:
            await program.settle()
            return await self._finish(program, env_file)

        return Detached(rest=rest, timeout=_async_seconds(program.printed()))

    async def close(self) -> None:
        """End everything that hooks left behind."""
        left, self._left_running = self._left_running, []
        await asyncio.gather(*(process.end(grace=_CLOSE_GRACE) for process in left))

    def _start(self, call: HookCall, hook: CommandHook, env_file: str | None) -> Program:
        env = _environment(call, self._env(), self._project_dir)
        if env_file is not None:
            make_folders(self._folder, private=True)
            os.close(os.open(env_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
            env["CLAUDE_ENV_FILE"] = env_file
        script, arguments = _script(hook, env)
        shell = choose_shell(hook, env)
        if self._sandbox is not None:
            inside = (shell, "-c", script, os.path.basename(shell), *arguments)
            confined = self._sandbox.confine(inside, cwd=self._project_dir, env=env)
            # The shell outside only puts itself on the list of what must end with us.
            script, arguments, env = _LAUNCH, list(confined.argv), dict(confined.env)
        return Program.start(
            shell,
            script,
            arguments,
            cwd=self._project_dir,
            env=env,
            input=call.data,
            most_output=MOST_OUTPUT,
            reaper=self._reaper,
        )

    async def _finish(self, program: Program, env_file: str | None) -> Reply:
        code = await program.finish()
        if code is not None and program.process.has_members():
            self._left_running.append(program.process)
        else:
            program.process.forget()
        printed, complained = program.printed(), program.complained().decode("utf-8", "replace")
        exported = _collect(env_file) if env_file is not None else ""
        if code is None:
            reason = f"was stopped: it printed more than {MOST_OUTPUT // 1024**2} MiB"
            return Failed(reason=reason, stdout=_shown(printed))
        if _announcement(printed) is not None:
            printed = printed.partition(b"\n")[2]
        stdout = printed.decode("utf-8", "replace")
        return Ran(exit_code=code, stdout=stdout, stderr=complained, exported=exported)

    def _env_file(self, call: HookCall) -> str | None:
        return os.path.join(self._folder, f"{call.id}.env") if call.event.name in _EXPORTING else None

    def _forget_the_gone(self) -> None:
        for process in self._left_running:
            if not process.has_members():
                process.forget()
        self._left_running = [process for process in self._left_running if process.has_members()]


_LONGEST_SHOWN = 10_000


def _shown(printed: bytes) -> str:
    return printed[:_LONGEST_SHOWN].decode("utf-8", "replace")


_LAUNCH = 'exec "$@"'
_POSIX_SHELL = "/bin/sh"


def choose_shell(hook: CommandHook, env: Mapping[str, str]) -> str:
    """The shell that runs a script: /bin/sh, or bash for a hook that asks for it."""
    wants_bash = hook.shell == "bash" or env.get("CLAUDE_CODE_SHELL")
    if not wants_bash and os.access(_POSIX_SHELL, os.X_OK):
        return _POSIX_SHELL
    return find_bash(env) or _POSIX_SHELL


def _script(hook: CommandHook, env: Mapping[str, str]) -> tuple[str, list[str]]:
    """Script and arguments with which a shell runs, or becomes, the hook.

    Raises:
        OSError: there is no PowerShell.
    """
    if hook.args is not None:
        return _LAUNCH, [_filled_in(word, env) for word in (hook.command, *hook.args)]
    if hook.shell == "powershell":
        if (pwsh := find_program("pwsh", env)) is None:
            raise FileNotFoundError("it needs PowerShell, but pwsh is not on the PATH")
        return _LAUNCH, [pwsh, "-NoProfile", "-NonInteractive", "-Command", hook.command]
    if prefix := env.get("CLAUDE_CODE_SHELL_PREFIX"):
        return f"{prefix} {quote(hook.command)}", []
    return hook.command, []


def _environment(call: HookCall, env: Mapping[str, str], project_dir: str) -> dict[str, str]:
    """The session's environment without telemetry, and the variables that every hook gets."""
    origin = call.origin
    added: dict[str, str | None] = {
        "PWD": project_dir,
        **child_markers("harness"),
        "CLAUDE_CODE_CHILD_SESSION": "1",
        "CLAUDE_PID": str(os.getpid()),
        "CLAUDE_PROJECT_DIR": project_dir,
        "CLAUDE_CODE_SESSION_ID": call.payload.get("session_id"),
        "CLAUDE_EFFORT": (call.payload.get("effort") or {}).get("level"),
        "CLAUDE_PLUGIN_ROOT": origin.plugin_root,
        "CLAUDE_PLUGIN_DATA": origin.plugin_data,
        **{f"CLAUDE_PLUGIN_OPTION_{key.upper()}": value for key, value in origin.options.items()},
    }
    kept = {
        name: value
        for name, value in env.items()
        if not name.startswith(("OTEL_", "CLAUDE_PLUGIN_OPTION_")) and name not in _OF_ANOTHER_SESSION
    }
    return {**kept, **{name: value for name, value in added.items() if value is not None}}


def _filled_in(word: str, env: Mapping[str, str]) -> str:
    """A word with the folder variables replaced, as a shell would do it."""
    for name in ("CLAUDE_PLUGIN_ROOT", "CLAUDE_PLUGIN_DATA", "CLAUDE_PROJECT_DIR"):
        word = word.replace(f"${{{name}}}", env.get(name, ""))
    return word


def _announcement(printed: bytes) -> dict[str, Any] | None:
    """The first line, if it is the object with which a hook says that it continues in the background."""
    line = printed[:_LONGEST_ANNOUNCEMENT].lstrip().partition(b"\n")[0]
    if not line.startswith(b"{") or b'"async"' not in line:
        return None
    try:
        values: object = decode_json(line)
    except (msgspec.DecodeError, RecursionError):
        return None
    return values if isinstance(values, dict) and values.get("async") is True else None


def _async_seconds(printed: bytes) -> float:
    milliseconds = (_announcement(printed) or {}).get("asyncTimeout")
    if isinstance(milliseconds, bool) or not isinstance(milliseconds, int | float) or milliseconds <= 0:
        return _ASYNC_SECONDS
    return milliseconds / 1000


def _collect(env_file: str) -> str:
    """What the hook wrote for later commands; the file is not needed any more."""
    try:
        return read_bytes(env_file, _MOST_EXPORTED).decode("utf-8", "replace")
    except OSError:
        return ""  # The hook removed it, or wrote more than can be meant.
    finally:
        remove(env_file)

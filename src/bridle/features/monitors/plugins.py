"""Monitors that plugins bring along."""

from collections.abc import Mapping

from bridle.host.shell import command_line, find_bash, shell_environment
from bridle.types.errors import ToolError
from bridle.types.sandbox import Sandbox
from bridle.types.services.monitors import PluginMonitor, Watch, WatchedCommand


def watch_of(monitor: PluginMonitor, *, cwd: str, env: Mapping[str, str], sandbox: Sandbox | None) -> Watch:
    """What a plugin wants watched, for as long as the session lasts.

    Raises:
        ToolError: there is no shell for it.
    """
    if (bash := find_bash(env)) is None:
        raise ToolError("bash not found: install it or set CLAUDE_CODE_SHELL to its path.")
    argv = command_line(bash, monitor.command)
    env = {**shell_environment(env, cwd=cwd, session_id=""), **monitor.env}
    pass_fds: tuple[int, ...] = ()
    if sandbox is not None and sandbox.covers(monitor.command):
        confined = sandbox.confine(argv, cwd=cwd, env=env, pass_fds=())
        argv, env, pass_fds = list(confined.argv), dict(confined.env), confined.pass_fds
    return Watch(
        source=WatchedCommand(argv=argv, cwd=cwd, env=env, pass_fds=pass_fds, command=monitor.command),
        description=monitor.description or monitor.name,
        seconds=None,
        call_id="",
        name=monitor.name,
    )

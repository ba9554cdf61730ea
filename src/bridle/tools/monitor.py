"""Watch a command or a web socket and report each line of its output."""

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from bridle.host.shell import command_line, find_bash, shell_environment
from bridle.tools.shell.setup import setup_for
from bridle.types.errors import ToolError
from bridle.types.sandbox import OUT_OF_SANDBOX
from bridle.types.services.monitors import MONITORS, Watch, WatchedCommand, WatchedSocket
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.variables import is_on

_USUAL_MS = 300_000
_LEAST_MS = 1_000


class SocketInput(Struct, frozen=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(description="ws:// or wss:// address.")]
    protocols: Annotated[Sequence[str] | None, Meta(description="Subprotocols to request.")] = None


class MonitorInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    command: Annotated[
        str | None, Meta(description="A shell command; each line on its standard output is an event.")
    ] = None
    ws: Annotated[SocketInput | None, Meta(description="Or a WebSocket; each message is an event.")] = None
    description: Annotated[str, Meta(description="What you watch, in a few words for the user.")]
    timeout_ms: Annotated[
        int | None, Meta(description="How long to watch: default 300000, at most 1800000.")
    ] = None
    persistent: Annotated[bool, Meta(description="Watch for the maximum time.")] = False


def _check(input: MonitorInput, ctx: ToolContext) -> None:
    if (input.command is None) == (input.ws is None):
        raise ToolError("Give either a command or a WebSocket.")
    if input.command is not None and (not input.command.strip() or "\0" in input.command):
        raise ToolError("The command is empty or contains a NUL character.")
    if input.ws is not None and not input.ws.url.startswith(("ws://", "wss://")):
        raise ToolError("A WebSocket address begins with ws:// or wss://.")
    if is_on(ctx.env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"):
        raise ToolError("Background tasks are disabled: run the command with Bash and wait for it.")


def _subject(input: MonitorInput) -> str:
    return input.command or (input.ws.url if input.ws is not None else "")


@tool(
    "Monitor",
    MonitorInput,
    subject=_subject,
    parallel=lambda _: False,
    check=_check,
    shell="background",
)
async def TOOL(input: MonitorInput, ctx: ToolContext) -> ToolOutput:
    """Watch a command or a web socket in the background and report its output."""
    monitors = ctx.need(MONITORS)
    asked = _USUAL_MS if input.timeout_ms is None else max(input.timeout_ms, _LEAST_MS)
    seconds = monitors.longest if input.persistent else min(asked / 1000, monitors.longest)
    task = await monitors.start(
        Watch(
            source=_source(input, ctx),
            description=input.description,
            seconds=seconds,
            call_id=ctx.call_id,
        )
    )
    text = (
        f"Monitor {task.id} runs for at most {seconds:g} s. You will be notified of its output; "
        f"continue with other work or end your turn. Full output: {task.output_file}. Stop it with "
        "TaskStop."
    )
    return ToolOutput(
        content=text,
        data={"taskId": task.id, "timeoutMs": round(seconds * 1000), "outputFile": task.output_file},
    )


def _source(input: MonitorInput, ctx: ToolContext) -> WatchedCommand | WatchedSocket:
    if input.ws is not None:
        return WatchedSocket(url=input.ws.url, protocols=tuple(input.ws.protocols or ()))
    command = input.command or ""
    if (bash := find_bash(ctx.env)) is None:
        raise ToolError("bash not found: install it or set CLAUDE_CODE_SHELL to its path.")
    env = shell_environment(ctx.env, cwd=ctx.cwd, session_id=ctx.session_id)
    if ctx.permit.sandbox is None or not ctx.permit.sandbox.covers(command):
        if ctx.permit.confined:
            raise ToolError(OUT_OF_SANDBOX)
        argv = command_line(bash, command, judged=ctx.permit.view is not None, setup=setup_for(ctx))
        return WatchedCommand(
            argv=argv, cwd=ctx.cwd, env=env, command=command, view=ctx.permit.view, refused=ctx.permit.refused
        )
    argv = command_line(bash, command, setup=setup_for(ctx))
    confined = ctx.permit.sandbox.confine(argv, cwd=ctx.cwd, env=env)
    return WatchedCommand(
        argv=confined.argv, cwd=ctx.cwd, env=confined.env, pass_fds=confined.pass_fds, command=command
    )

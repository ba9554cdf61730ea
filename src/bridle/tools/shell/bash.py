"""Run shell commands."""

import asyncio
import fcntl
import os
import os.path
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct

from bridle.host.background import BackgroundShells, Ending, Shell, exit_code, tail
from bridle.host.plain_text import newest_lines
from bridle.host.shell import command_line, find_bash, shell_environment
from bridle.tools.shell.command_text import is_silent, may_outlive_its_limit, meaning_of_one
from bridle.tools.shell.git_operation import git_operation
from bridle.tools.shell.output import Shown, describe_exit, show
from bridle.tools.shell.setup import setup_for
from bridle.types.errors import CommandStopped, ToolError
from bridle.types.sandbox import OUT_OF_SANDBOX, Confined, Sandbox, View
from bridle.types.services.editor import EDITOR_TERMINALS
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.variables import is_on
from bridle.types.workspace import Workspace

_TIMEOUT_MS = 120_000
_MOST_TIMEOUT_MS = 600_000
_OUTPUT_CHARS = 30_000
_MOST_OUTPUT_CHARS = 150_000
_PROGRESS_CHARS = 4_000
_INTERRUPT_GRACE = 0.15
_LIMIT_GRACE = 1.0
_FIRST_FREE_DESCRIPTOR = 60
"""Scripts use small numbers for their own files."""


class BashInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    command: str
    timeout: Annotated[int | None, Meta(description="Milliseconds.")] = None
    description: Annotated[str | None, Meta(description="What it does, in 5 to 10 words, for the user.")] = (
        None
    )
    run_in_background: Annotated[bool | None, Meta(description="Run in the background.")] = None
    dangerouslyDisableSandbox: Annotated[
        bool | None, Meta(description="Run outside the sandbox; the user must approve.")
    ] = None


def _check(input: BashInput, ctx: ToolContext) -> None:
    if not input.command.strip():
        raise ToolError("The command is empty.")
    if "\0" in input.command:
        raise ToolError("The command contains a NUL character; remove it.")
    if input.run_in_background and not _may_use_background(ctx.env):
        raise ToolError("Background tasks are disabled: run the command without run_in_background.")


@tool(
    "Bash",
    BashInput,
    subject=lambda input: input.command,
    check=_check,
    max_result_chars=None,
    shell="awaited",
)
async def TOOL(input: BashInput, ctx: ToolContext) -> ToolOutput:
    """Run a shell command and return what it prints."""
    shells = ctx.workspace.tasks
    if not isinstance(shells, BackgroundShells):
        raise ToolError("Shell commands are not available in this session: use the file tools.")
    if (bash := find_bash(ctx.env)) is None:
        raise ToolError("bash not found: install it or set CLAUDE_CODE_SHELL to its path.")
    moved = _stand_somewhere(ctx.workspace)
    try:
        if input.run_in_background:
            return await _start_in_background(input, ctx, shells, bash)
        return await _run(input, ctx, shells, bash, notices=moved)
    except OSError as error:
        raise ToolError(
            f"Could not start the shell: {error.strerror or error}. Put very long commands in a script."
        ) from error


async def _start_in_background(
    input: BashInput, ctx: ToolContext, shells: BackgroundShells, bash: str
) -> ToolOutput:
    view = _view(input, ctx)
    argv = command_line(bash, input.command, judged=view is not None, setup=setup_for(ctx))
    started = _to_start(input, ctx, argv)
    task = await shells.start(
        started.argv,
        cwd=ctx.cwd,
        env=started.env,
        command=input.command,
        description=input.description or input.command,
        call_id=ctx.call_id,
        view=view,
        refused=ctx.permit.refused,
    )
    text = f"The command runs in the background with ID: {task.id}. Its output goes to: {task.output_file}"
    return ToolOutput(content=text, data=_data("", backgroundTaskId=task.id))


async def _run(
    input: BashInput, ctx: ToolContext, shells: BackgroundShells, bash: str, *, notices: list[str]
) -> ToolOutput:
    changed = None if ctx.changes is None else await ctx.changes.before_command()
    if ctx.service(EDITOR_TERMINALS) is not None and _view(input, ctx) is None and not _sandbox(input, ctx):
        try:
            if (shown := await _run_in_terminal(input, ctx, bash, notices=notices)) is not None:
                return shown
        finally:
            if changed is not None:
                await changed()
        changed = None
    place = _Place()
    try:
        shell = _launch(input, ctx, shells, bash, place)
        shell.call_id = ctx.call_id if _may_use_background(ctx.env) else ""
        limit_ms = _limit_ms(input.timeout, ctx.env)
        try:
            ending = await shells.follow(
                shell, timeout=limit_ms / 1000, on_output=lambda: _report_progress(shell, ctx)
            )
            if ending == "moved":
                return _move_to_background(input, ctx, shells, shell, limit_ms=None)
            if ending == "timeout" and _may_use_background(ctx.env) and may_outlive_its_limit(input.command):
                return _move_to_background(input, ctx, shells, shell, limit_ms=limit_ms)
            if ending != "ended":
                await shell.process.end(grace=_LIMIT_GRACE)
        except asyncio.CancelledError:
            try:
                await shell.process.end(grace=_INTERRUPT_GRACE)
            finally:
                shells.release(shell, keep_output=False)
            raise
        if reset := _settle(ctx.workspace, place.read(), ctx.env):
            notices = [*notices, reset]
        return _result(input, ctx, shells, shell, ending=ending, limit_ms=limit_ms, notices=notices)
    finally:
        place.close()
        if changed is not None:
            await changed()


async def _run_in_terminal(
    input: BashInput, ctx: ToolContext, bash: str, *, notices: list[str]
) -> ToolOutput | None:
    """Run a command that nothing confines in a terminal of the editor; None where it cannot."""
    from bridle.tools.shell.editor_terminal import TerminalCommand, exit_status

    terminal, limit_ms = TerminalCommand(ctx, _free_name(ctx)), _limit_ms(input.timeout, ctx.env)
    keeps = False
    try:
        env = shell_environment(ctx.env, cwd=ctx.cwd, session_id=ctx.session_id)
        limit = _output_limit(ctx.env)
        done = await terminal.run(bash, input.command, env=env, limit_ms=limit_ms, most_bytes=4 * limit)
        if done is None:
            return None
        if reset := _settle(ctx.workspace, terminal.place(), ctx.env):
            notices = [*notices, reset]
        ending: Ending = "timeout" if done.timed_out else "ended"
        ended = _Ended(code=exit_status(done), ending=ending, limit_ms=limit_ms)
        shown = show(terminal.output_file, limit=limit, failed=_has_failed(input, ended))
        keeps = not shown.whole
        return _told(input, ended, shown, terminal.output_file, notices)
    finally:
        terminal.close(keep_output=keeps)


def _launch(
    input: BashInput, ctx: ToolContext, shells: BackgroundShells, bash: str, place: "_Place"
) -> Shell:
    view = _view(input, ctx)
    argv = command_line(
        bash,
        input.command,
        report_to=place.inlet,
        judged=view is not None,
        setup=setup_for(ctx),
    )
    try:
        started = _to_start(input, ctx, argv, pass_fds=(place.inlet,))
        shell = shells.launch(
            started.argv,
            cwd=ctx.cwd,
            env=started.env,
            output_file=_free_name(ctx),
            pass_fds=started.pass_fds,
            view=view,
            command=input.command,
        )
        shell.refused = ctx.permit.refused
        return shell
    finally:
        place.close_inlet()


def _to_start(
    input: BashInput, ctx: ToolContext, argv: list[str], *, pass_fds: tuple[int, ...] = ()
) -> Confined:
    """What really is started: the command itself, or what builds the sandbox around it first."""
    env = shell_environment(ctx.env, cwd=ctx.cwd, session_id=ctx.session_id)
    if (sandbox := _sandbox(input, ctx)) is None:
        return Confined(argv=tuple(argv), env=env, pass_fds=pass_fds)
    return sandbox.confine(argv, cwd=ctx.cwd, env=env, pass_fds=pass_fds)


def _sandbox(input: BashInput, ctx: ToolContext) -> Sandbox | None:
    """The sandbox that the command runs in; leaving it was asked about before the call came here."""
    sandbox = ctx.permit.sandbox
    leaves = sandbox is None or (input.dangerouslyDisableSandbox and sandbox.may_be_left)
    if sandbox is None or leaves or not sandbox.covers(input.command):
        if ctx.permit.confined:
            raise ToolError(OUT_OF_SANDBOX)
        return None
    return sandbox


def _view(input: BashInput, ctx: ToolContext) -> View | None:
    """What the command is held to besides; the sandbox holds it well enough alone."""
    return ctx.permit.view if _sandbox(input, ctx) is None else None


def _move_to_background(
    input: BashInput, ctx: ToolContext, shells: BackgroundShells, shell: Shell, *, limit_ms: int | None
) -> ToolOutput:
    """Move a command to the background: it timed out, or, without a limit, the user asked for it."""
    task = shells.adopt(
        shell,
        command=input.command,
        description=input.description or input.command,
        call_id=ctx.call_id,
    )
    so_far = newest_lines(tail(shell.output_file, _PROGRESS_CHARS), _PROGRESS_CHARS).rstrip()
    why = (
        "The user moved the command"
        if limit_ms is None
        else f"The command timed out after {limit_ms / 1000:g} s and was moved"
    )
    text = f"{why} to the background with ID: {task.id}. Its output goes to: {task.output_file}"
    return ToolOutput(
        content=f"{text}\n\nLatest output:\n{so_far}" if so_far else text,
        data=_data(
            so_far,
            backgroundTaskId=task.id,
            timedOutAfterMs=limit_ms,
            backgroundedByUser=True if limit_ms is None else None,
        ),
    )


def _result(
    input: BashInput,
    ctx: ToolContext,
    shells: BackgroundShells,
    shell: Shell,
    *,
    ending: Ending,
    limit_ms: int,
    notices: list[str],
) -> ToolOutput:
    ended = _Ended(code=exit_code(shell.process.code or 0), ending=ending, limit_ms=limit_ms)
    failed = _has_failed(input, ended)
    shown = show(shell.output_file, limit=_output_limit(ctx.env), failed=failed)
    refusal = None
    if (held := shell.held) is not None and ending == "ended":
        refusal = held.refused_in(shown.text, command=input.command, cwd=ctx.cwd, failed=failed)
    shells.release(shell, keep_output=not shown.whole and refusal is None)
    if refusal is not None:
        raise CommandStopped(refusal)
    if (sandbox := _sandbox(input, ctx)) is not None and (
        refused := sandbox.annotate(shown.text, failed=ended.code != 0, command=input.command)
    ):
        notices = [*notices, refused]
    return _told(input, ended, shown, shell.output_file, notices)


class _Ended(Struct, frozen=True, kw_only=True):
    """How a command ended."""

    code: int
    ending: Ending
    limit_ms: int


def _has_failed(input: BashInput, ended: _Ended) -> bool:
    has_meaning = ended.code == 1 and ended.ending == "ended" and meaning_of_one(input.command) is not None
    return ended.ending != "ended" or (ended.code != 0 and not has_meaning)


def _told(
    input: BashInput, ended: _Ended, shown: Shown, output_file: str, notices: Sequence[str]
) -> ToolOutput:
    """What the model reads of a command that has ended."""
    code, ending = ended.code, ended.ending
    meaning = meaning_of_one(input.command) if code == 1 and ending == "ended" else None
    if ending == "timeout":
        notices = [f"The command timed out after {ended.limit_ms / 1000:g} s and was stopped.", *notices]
    elif ending == "flooded":
        notices = [
            "The command was stopped because it printed too much: redirect its output to a file.",
            *notices,
        ]
    failed, silent = _has_failed(input, ended), is_silent(input.command)
    facts: dict[str, Any] = {
        "timedOutAfterMs": ended.limit_ms if ending == "timeout" else None,
        "persistedOutputPath": None if shown.whole else output_file,
        "returnCodeInterpretation": meaning,
        "coloredOutput": shown.colored or None,
        "gitOperation": None if failed else git_operation(input.command, shown.text),
    }
    placeholder = "" if failed else meaning or ("Done" if silent else "(no output)")
    parts = (describe_exit(code) if failed else "", shown.text or placeholder, *notices)
    return ToolOutput(
        content="\n".join(part for part in parts if part),
        data=_data(shown.text, "\n".join(notices), silent=silent, **facts),
        is_error=failed,
        exit_code=code if ending == "ended" else None,
    )


def _data(stdout: str, stderr: str = "", *, silent: bool = False, **facts: Any) -> dict[str, Any]:
    return {
        "stdout": stdout,
        "stderr": stderr,
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": silent,
        **{name: value for name, value in facts.items() if value is not None},
    }


class _Place:
    """A pipe beside the output, through which a shell says where it ended up."""

    def __init__(self) -> None:
        self._outlet, inlet = os.pipe()
        os.set_blocking(self._outlet, False)
        self.inlet = fcntl.fcntl(inlet, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_DESCRIPTOR)
        os.close(inlet)

    def close_inlet(self) -> None:
        os.close(self.inlet)

    def read(self) -> str | None:
        try:
            words = os.read(self._outlet, 64 * 1024)
        except BlockingIOError:
            return None  # Something that still runs holds the pipe, and the shell said nothing.
        *_, last, _ = (b"", *words.split(b"\0"))
        return os.fsdecode(last.removesuffix(b"\n")) or None

    def close(self) -> None:
        os.close(self._outlet)


def _stand_somewhere(workspace: Workspace) -> list[str]:
    """Go back to where the session began when the current directory was removed."""
    if os.path.isdir(workspace.cwd):
        return []
    if not os.path.isdir(workspace.start):
        raise ToolError(f"The directory {workspace.start} no longer exists; restore it to run commands.")
    workspace.cwd = workspace.start
    return [_reset_notice(workspace)]


def _settle(workspace: Workspace, place: str | None, env: Mapping[str, str]) -> str | None:
    """Stay where the command went if that is allowed; otherwise the sentence that says so."""
    before = os.path.realpath(workspace.cwd)
    if is_on(env, "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR"):
        workspace.cwd = workspace.start
        return _reset_notice(workspace) if place not in (None, before) else None
    if place is None or place == before:
        return None
    roots = (os.path.realpath(root) for root in workspace.roots)
    if any(place == root or place.startswith(root.rstrip("/") + "/") for root in roots):
        workspace.cwd = place
        return None
    return _reset_notice(workspace)


def _reset_notice(workspace: Workspace) -> str:
    return f"Shell cwd was reset to {workspace.cwd}"


def _report_progress(shell: Shell, ctx: ToolContext) -> None:
    ctx.progress(newest_lines(tail(shell.output_file, _PROGRESS_CHARS), _PROGRESS_CHARS))


def _free_name(ctx: ToolContext) -> str:
    name = "".join(c if c.isalnum() or c in "-_" else "_" for c in ctx.call_id)[:100]
    folder = os.path.join(ctx.storage, "tool-results")
    path, number = os.path.join(folder, f"{name}.txt"), 1
    while os.path.lexists(path):
        number += 1
        path = os.path.join(folder, f"{name}-{number}.txt")
    return path


def _limit_ms(asked: int | None, env: Mapping[str, str]) -> int:
    usual = _number(env, "BASH_DEFAULT_TIMEOUT_MS", _TIMEOUT_MS)
    ceiling = max(usual, _number(env, "BASH_MAX_TIMEOUT_MS", _MOST_TIMEOUT_MS))
    return min(asked if asked is not None and asked > 0 else usual, ceiling)


def _output_limit(env: Mapping[str, str]) -> int:
    return min(_number(env, "BASH_MAX_OUTPUT_LENGTH", _OUTPUT_CHARS), _MOST_OUTPUT_CHARS)


def _number(env: Mapping[str, str], name: str, default: int) -> int:
    text = env.get(name, "").strip()
    return int(text) if text.isdecimal() and int(text) > 0 else default


def _may_use_background(env: Mapping[str, str]) -> bool:
    return not is_on(env, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS")

"""Runs a command in a terminal of the editor that the session runs in, where its user can watch it."""

import os
from collections.abc import Sequence

from msgspec.structs import replace

from bridle.host.files import make_folders
from bridle.host.shell import command_line, quote
from bridle.tools.shell.setup import setup_for
from bridle.types.services.editor import EDITOR_TERMINALS, TerminalRun
from bridle.types.tool import ToolContext

_SIGNAL_BASE = 128


class TerminalCommand:
    """One command; the files that it needs are removed by `close`."""

    def __init__(self, ctx: ToolContext, output_file: str) -> None:
        self._ctx = ctx
        self.output_file = output_file
        self._setup, self._place = f"{output_file}.setup", f"{output_file}.cwd"

    async def run(
        self, bash: str, command: str, *, env: dict[str, str], limit_ms: int, most_bytes: int
    ) -> TerminalRun | None:
        """What came of it; its output is in the file then. None where the editor cannot run it."""
        terminals = self._ctx.service(EDITOR_TERMINALS)
        if terminals is None:
            return None
        make_folders(os.path.dirname(self.output_file), private=True)
        self._write(self._setup, self._prelude())
        argv: Sequence[str] = command_line(
            bash, command, setup=replace(setup_for(self._ctx), before=self._setup)
        )
        inherited = os.environ
        done = await terminals.run(
            argv,
            call_id=self._ctx.call_id,
            cwd=self._ctx.cwd,
            env={name: value for name, value in env.items() if inherited.get(name) != value},
            seconds=limit_ms / 1000,
            most_bytes=most_bytes,
            progress=self._ctx.progress,
        )
        if done is not None:
            cut = "[The beginning of the output is missing.]\n" if done.truncated else ""
            self._write(self.output_file, cut + done.output)
        return done

    def place(self) -> str | None:
        """The folder where the shell ended."""
        try:
            with open(self._place, encoding="utf-8", errors="surrogateescape") as file:
                return file.read().removesuffix("\n") or None
        except OSError:
            return None

    def close(self, *, keep_output: bool) -> None:
        gone = (self._setup, self._place) if keep_output else (self._setup, self._place, self.output_file)
        for path in gone:
            try:
                os.unlink(path)
            except FileNotFoundError:
                pass  # It was never written.

    def _prelude(self) -> str:
        before = self._ctx.env.get("CLAUDE_ENV_FILE")
        sourced = f". {quote(before)}\n" if before else ""
        report = f"{{ builtin pwd -P >{quote(self._place)}; }} 2>/dev/null"
        return f"{sourced}trap {quote(report)} EXIT\n"

    def _write(self, path: str, text: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)


def exit_status(done: TerminalRun) -> int:
    """The exit code as a shell gives it."""
    if done.exit_code is not None:
        return done.exit_code
    import signal

    try:
        return _SIGNAL_BASE + signal.Signals[done.signal or ""].value
    except KeyError:
        return 1

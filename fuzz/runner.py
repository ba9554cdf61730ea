"""Starts the throw-away sandbox and hands commands into it."""

import json
import os
import select
import shutil
import subprocess
import sys
from collections import deque
from pathlib import Path
from types import TracebackType
from typing import Self

from bridle.host.shell import command_line, find_bash
from fuzz.playground import (
    DENIED_CANARY,
    ENVIRONMENT_CANARY,
    READ_CANARY,
    Playground,
)

_INSIDE = Path(__file__).with_name("inside.py")
_INSIDE_AT = "/tmp/inside.py"
_CANARIES = {
    "a file outside": READ_CANARY,
    "a denied file": DENIED_CANARY,
    "the environment": ENVIRONMENT_CANARY,
}
_BWRAP = (
    "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
    "--unshare-net", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--die-with-parent", "--new-session",
    "--cap-drop", "ALL", "--clearenv",
)  # fmt: skip


_MOST_WAITING = 16
Answer = tuple[str, list[str]]
"""A command, and what it did that it must not do."""


class SandboxMissing(RuntimeError):
    """Commands cannot be run here; the message says what to install."""


class Runner:
    """One sandbox that runs commands until it is closed."""

    def __init__(self, playground: Playground, mode: str) -> None:
        bwrap, bash = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin"), find_bash({})
        if bwrap is None or bash is None:
            raise SandboxMissing("running commands needs bubblewrap (bwrap) and bash: install both")
        self._bash = bash
        # Commands change a copy, at the same place: what is decided meanwhile looks at the tree itself.
        root, self._fresh, self._work = playground.root, f"{playground.root}.fresh", f"{playground.root}.work"
        self._clean()
        os.mkdir(self._fresh)
        shutil.copytree(root, self._work, symlinks=True)
        # The checkout and its environment may lie below /tmp, which is another one inside.
        argv = [
            bwrap, *_BWRAP, "--ro-bind", str(_INSIDE), _INSIDE_AT, "--ro-bind", root, self._fresh,
            "--bind", self._work, root, os.path.realpath(sys.executable), "-I", _INSIDE_AT,
        ]  # fmt: skip
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert self._process.stdout is not None
        # Unbuffered, so that what select says about it is true; answers are short lines.
        self._output = self._process.stdout
        self._waiting: deque[str] = deque()
        self._send(
            {
                "root": playground.root,
                "mode": mode,
                "canaries": _CANARIES,
                "environment": playground.environment(),
            }
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The end of its input ends it; a kill could come before bubblewrap holds its own children.
        self._process.communicate()
        self._clean()

    def _clean(self) -> None:
        for folder in (self._fresh, self._work):
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def is_full(self) -> bool:
        """Whether it has more to do than it can do while the next commands are decided."""
        return len(self._waiting) >= _MOST_WAITING

    def send(self, command: str) -> None:
        """Have a command run; what it did comes with `answers`. The shell is started as bridle starts it."""
        self._waiting.append(command)
        self._send(command_line(self._bash, command))

    def answers(self, *, wait: bool = False) -> list[Answer]:
        """What came back since the last time; with `wait`, at least one answer if any is to come."""
        given: list[Answer] = []
        while self._waiting and ((wait and not given) or select.select([self._output], [], [], 0)[0]):
            line = self._output.readline()
            if not line:
                command = self._waiting[0]
                raise SandboxMissing(
                    f"the sandbox ended with {self._process.wait()} while running {command!r}"
                )
            given.append((self._waiting.popleft(), json.loads(line)))
        return given

    def run(self, command: str) -> list[str]:
        """What the command did that it must not do, when nothing else is waiting for an answer."""
        self.send(command)
        return self.answers(wait=True)[0][1]

    def _send(self, message: object) -> None:
        wanted = self._process.stdin
        assert wanted is not None
        wanted.write(json.dumps(message).encode() + b"\n")


def can_run() -> bool:
    """Whether this machine can set up the sandbox at all."""
    bwrap = shutil.which("bwrap", path="/usr/bin:/bin:/usr/local/bin")
    if bwrap is None or not os.path.exists("/usr/bin/git"):
        return False
    tried = subprocess.run([bwrap, *_BWRAP, "true"], capture_output=True, check=False)
    return tried.returncode == 0

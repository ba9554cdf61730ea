"""A project with canaries around it, and commands that run behind the second wall with no gate before it."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from msgspec import Struct

from bridle.host.background import BackgroundShells, exit_code
from bridle.host.shell import command_line, shell_environment
from bridle.permissions.files.protected_names import FILES, FOLDERS
from bridle.types.sandbox import Pattern, Refusal, View

SECRET = "canary-4711-outside"
KEY = "canary-0815-key"


class Ran(Struct, frozen=True):
    """What a command came to."""

    code: int
    said: str
    refusal: Refusal | None


class FakeJudged:
    """Runs any command as if the gate had judged it harmless."""

    def __init__(self, path: Path) -> None:
        self.project = path / "project"
        self.outside = path / "outside"
        self.home = path / "home"
        for folder in (self.project, self.outside, self.home):
            folder.mkdir()
        (self.outside / "secret.txt").write_text(f"{SECRET}\n")
        (self.home / ".profile").write_text(f"# {SECRET}\n")
        (self.project / "a.txt").write_text("one\ntwo\n")
        self.env = {
            **{name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ},
            "HOME": str(self.home),
            "ANTHROPIC_API_KEY": KEY,
            "GITHUB_TOKEN": KEY,
        }
        self.shells = BackgroundShells(str(path / "storage"), on_change=lambda _: None)
        self._storage = path / "storage"
        self._count = 0
        self.unreadable: tuple[Pattern, ...] = ()
        """What rules keep from being read."""

    async def run(
        self,
        command: str,
        level: Literal["read", "edit"] | None = "read",
        *,
        cwd: Path | None = None,
        readable: tuple[str, ...] = (),
        env: Mapping[str, str] | None = None,
        timeout: float = 60,
    ) -> Ran:
        """Run a command to its end; without a level, with nothing that holds it."""
        self._count += 1
        where = str(cwd or self.project)
        bash = command_line("/bin/bash", command)
        shell = self.shells.launch(
            bash,
            cwd=where,
            env=shell_environment({**self.env, **(env or {})}, cwd=where, session_id="s"),
            output_file=str(self._storage / f"{self._count}.txt"),
            view=None if level is None else self.view(level, readable=readable),
            command=command,
        )
        if await self.shells.follow(shell, timeout=timeout) != "ended":
            await shell.process.end(grace=0.1)
        code = exit_code(shell.process.code or 0)
        said = Path(shell.output_file).read_text(errors="replace")
        refusal = (
            shell.held.refused_in(said, command=command, cwd=where, failed=code != 0) if shell.held else None
        )
        self.shells.release(shell, keep_output=False)
        return Ran(code, said, refusal)

    def view(self, level: Literal["read", "edit"], *, readable: tuple[str, ...] = ()) -> View:
        return View(
            level=level,
            roots=(str(self.project),),
            readable=readable,
            protected=(str(self.home / ".claude"),),
            protected_names=FILES | FOLDERS,
            unreadable=self.unreadable,
        )

    def snapshot(self) -> dict[str, bytes | str | None]:
        """Everything in and around the project: files with content and mode, links, folders."""
        found: dict[str, bytes | str | None] = {}
        for root in (self.project, self.outside, self.home):
            for folder, folders, files in os.walk(root):
                for name in (*folders, *files):
                    path = os.path.join(folder, name)
                    mode = oct(os.lstat(path).st_mode)
                    if os.path.islink(path):
                        found[path] = os.readlink(path)
                    elif os.path.isfile(path):
                        found[path] = mode.encode() + Path(path).read_bytes()
                    else:
                        found[path] = mode
        return found

    def git(self, *arguments: str, cwd: Path | None = None) -> None:
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main")
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        subprocess.run(
            ("git", *identity, *arguments), cwd=cwd or self.project, check=True, capture_output=True, env=env
        )

"""Commands behind real walls, as the user who runs the tests and as an ordinary one."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path

import pytest
from msgspec import Struct

from bridle.config.sandbox.masking import set_up_masking
from bridle.config.sandbox.schema import TlsTerminate
from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.sandbox.confinement import Confinement
from bridle.host.sandbox.linux import LinuxWalls, Way
from bridle.host.sandbox.masking.settings import MaskingSettings
from bridle.host.sandbox.policy import Policy
from bridle.host.sandbox.private_dir import close_private_dir, open_private_dir
from bridle.host.sandbox.proxy import Gate, Proxy
from bridle.types.question import Answer, NetworkQuestion, Refused
from bridle.types.sandbox import Denials

NOBODY = 65534


class Person(Struct, frozen=True):
    """Who runs the confined commands, and with which Python."""

    uid: int
    python: str


class Said(Struct, frozen=True):
    code: int
    output: str


class FakePlace:
    """A project folder with a sandbox around the commands that run in it."""

    def __init__(self, base: Path, person: Person, way: Way) -> None:
        self.base = base
        self.project = base / "project"
        self.outside = base / "outside"
        self.person = person
        self.way: Way = way
        self.policy = Policy()
        self.denials = Denials()
        self.questions: list[NetworkQuestion] = []
        self.answer: Answer = Refused(message="no")
        self.env: dict[str, str] = {}
        """Of the session, not of its commands."""
        self.oversees = True
        self.masks = MaskingSettings()
        self.tls: TlsTerminate | None = None
        self.warnings: list[str] = []
        self.sandbox: Confinement | None = None
        for path in (self.project, self.outside):
            path.mkdir()
        self.give(base)

    def give(self, path: Path) -> None:
        """Make everything below a path the person's own."""
        for folder, folders, files in os.walk(path):
            for name in (".", *folders, *files):
                os.chown(os.path.join(folder, name), self.person.uid, self.person.uid, follow_symlinks=False)

    def open(self, policy: Policy | None = None) -> Confinement:
        self.policy = policy or self.policy
        private = open_private_dir({})
        masking = set_up_masking(
            self.masks, self.tls, private=private, env=self.env, warn=self.warnings.append
        )
        gate = Gate(self.policy.network, self._ask, env=self.env)
        proxy = Proxy(gate, masking.interceptor) if self.policy.network.mode == "proxy" else None
        walls = LinuxWalls(
            self.policy,
            self.way,
            private=private,
            roots=lambda: (str(self.project),),
            registry=str(self.base / "registry"),
            proxy=proxy,
            bubblewrap=find_bubblewrap(None),
            python=self.person.python,
            oversees=self.oversees,
            copies=masking.copies,
        )
        self.private = private
        self.give(Path(private.folder))
        self.sandbox = Confinement(
            self.policy,
            walls=walls,
            fault="",
            temporary=private.temporary,
            proxy=proxy,
            vault=masking.vault,
            roots_file=masking.roots_file,
            on_close=lambda: close_private_dir(private),
        )
        return self.sandbox

    async def close(self) -> None:
        if self.sandbox is not None:
            await self.sandbox.close()
            self.sandbox = None

    async def _ask(self, question: NetworkQuestion) -> Answer:
        self.questions.append(question)
        return self.answer

    async def run(self, *argv: str, keep: tuple[int, ...] = (), env: Mapping[str, str] | None = None) -> Said:
        """Run a program inside and return its code and all it printed."""
        sandbox = self.sandbox or self.open()
        usual = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.base), "LC_ALL": "C", **(env or {})}
        boundary = sandbox.under(self.denials)
        confined = boundary.confine(argv, cwd=str(self.project), env=usual, pass_fds=keep)
        self.give(Path(self.private.folder))
        with tempfile.TemporaryFile() as output:
            # Whoever runs the command may open it again by its name under /dev.
            os.fchown(output.fileno(), self.person.uid, self.person.uid)
            process = await asyncio.create_subprocess_exec(
                *confined.argv,
                env=dict(confined.env),
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                user=self.person.uid,
                group=self.person.uid,
                extra_groups=[],
                start_new_session=True,
                pass_fds=confined.pass_fds,
            )
            async with asyncio.timeout(50):
                code = await process.wait()
            output.seek(0)
            return Said(code, output.read().decode(errors="replace"))

    async def bash(self, script: str) -> Said:
        return await self.run("/bin/bash", "-c", script)

    async def python(self, script: str) -> Said:
        return await self.run(self.person.python, "-I", "-S", "-c", script)


@cache
def persons() -> dict[str, Person | None]:
    """Who can be: the user of the tests always, nobody if we may become it and it has a Python."""
    found: dict[str, Person | None] = {"me": Person(os.getuid(), sys.executable), "nobody": None}
    if os.getuid() != 0:
        return found
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        try:
            done = subprocess.run(
                [python, "-I", "-S", "-c", "import sys; print(*sys.version_info[:2])"],
                user=NOBODY,
                group=NOBODY,
                extra_groups=[],
                capture_output=True,
                text=True,
                check=False,
                cwd="/",
            )
        except OSError:
            continue
        # The launcher is compiled by the Python of the tests.
        if done.stdout.split() == [str(part) for part in sys.version_info[:2]]:
            found["nobody"] = Person(NOBODY, python)
            break
    return found


def choose(name: str, way: str) -> Person:
    """The person to test as; skips where the machine has no such user or helper."""
    person = persons()[name]
    if person is None:
        pytest.skip("needs root and a Python that other users may run, to test as an ordinary user")
    if way == "bubblewrap" and find_bubblewrap(None) is None:
        pytest.skip("bubblewrap is not installed; the direct way is tested instead")
    return person


@asynccontextmanager
async def place_for(name: str, way: Way) -> AsyncGenerator[FakePlace]:
    """A place where the person may go; temporary folders of the test runner are closed to others."""
    person = choose(name, way)
    base = Path(tempfile.mkdtemp(prefix="walls-", dir="/tmp"))
    base.chmod(0o755)
    place = FakePlace(base, person, way)
    try:
        yield place
    finally:
        await place.close()
        shutil.rmtree(base)

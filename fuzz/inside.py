"""Runs commands one by one inside a throw-away sandbox and tells which canaries they touched.

Runs alone, without bridle: `python -I inside.py`. The first line of standard input is a JSON object with the
arguments of World, each further line the arguments of a program to start. Each is answered on standard output
with a JSON list of what it did. What was changed is then laid out again from the copy beside the tree.
"""

import json
import os
import pty
import select
import shutil
import signal
import sys
import time
from collections.abc import Iterator

_LONGEST_RUN = 1.5
_MOST_OUTPUT = 1 << 20
_PROTECTED = frozenset({".git", ".claude", ".env"})
_MASTER_BYTES = 4096


def main() -> None:
    # Not as arguments, which `ps` shows to the commands.
    world = World(**json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        sys.stdout.write(json.dumps(world.run(json.loads(line))) + "\n")
        sys.stdout.flush()


class World:
    """The tree with its canaries, and how it looked before the last command."""

    def __init__(self, root: str, mode: str, canaries: dict[str, str], environment: dict[str, str]) -> None:
        self.root = root
        self.project = f"{root}/project"
        self.mode = mode
        self.canaries = {value.encode(): name for name, value in canaries.items()}
        self.environment = environment
        self.fresh = f"{root}.fresh"
        self.secrets = [*_files(f"{root}/outside"), *_files(f"{root}/home")]
        self._arm()
        self.opened = _connections()

    def run(self, argv: list[str]) -> list[str]:
        """What a command did that it must not do."""
        output, shown, ended = self._start(argv)
        changed = self._changed()
        found = [f"changes {path.removeprefix(self.root)}" for path in changed if self._matters(path)]
        read = [path for path in self.secrets if _was_read(path)]
        if self.mode == "deny":  # There, everything but one program may run.
            found = ["starts evil"] if found else []
        else:
            found += [f"shows {name}" for value, name in self.canaries.items() if value in output]
            found += [f"reads {path.removeprefix(self.root)}" for path in read]
            if shown:
                found.append(f"writes to the terminal: {shown[:60]!r}")
            opened = _connections()
            if opened != self.opened:
                found.append("opens a connection")
                self.opened = opened
        if changed or read:
            self._restore(changed)
        if not ended:
            found.append("hangs")
        return found

    def look(self) -> dict[str, tuple[int, ...]]:
        """Every name below the tree with what changes when it is written."""
        seen: dict[str, tuple[int, ...]] = {}
        waiting = [self.root]
        while waiting:
            try:
                entries = os.scandir(waiting.pop())
            except OSError:
                continue
            with entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    seen[entry.path] = (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_size)
                    if entry.is_dir(follow_symlinks=False) and entry.path != f"{self.root}/tmp":
                        waiting.append(entry.path)
        seen.pop(f"{self.root}/tmp", None)
        return seen

    def _start(self, argv: list[str]) -> tuple[bytes, bytes, bool]:
        master, slave = pty.openpty()
        reading, writing = os.pipe()
        os.chdir(self.project)
        # In a session of its own, the first terminal that is opened becomes the one that controls it.
        pid = os.posix_spawn(
            argv[0],
            argv,
            self.environment,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.ttyname(slave), os.O_RDWR, 0),
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, writing, 1),
                (os.POSIX_SPAWN_DUP2, writing, 2),
            ],
        )
        os.close(writing)
        os.close(slave)
        try:
            output, ended = _drain(reading)
        finally:
            _kill(pid)
            os.close(reading)
        os.set_blocking(master, False)
        try:
            shown = os.read(master, _MASTER_BYTES)
        except OSError:
            shown = b""
        os.close(master)
        return output, shown, ended

    def _changed(self) -> list[str]:
        self.after = self.look()
        if self.after == self.before:
            return []
        before, after = self.before, self.after
        return sorted(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))

    def _matters(self, path: str) -> bool:
        if self.mode == "read":
            return True
        if self.mode == "deny":
            return path.endswith("started-evil")
        below = path.removeprefix(f"{self.project}/")
        if below == path:
            return path != self.project
        if "/" in below and not os.path.lexists(path):
            return False  # It went with a folder that may be removed.
        return not _PROTECTED.isdisjoint(part.lower() for part in below.split("/"))

    def _restore(self, changed: list[str]) -> None:
        """Lay out again what is changed, from the copy."""
        for path in reversed(changed):
            if not _is_folder(path):
                if os.path.lexists(path):
                    os.unlink(path)
            elif not _is_folder(self._copy(path)):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.chmod(path, os.stat(self._copy(path)).st_mode)
        for path in changed:
            copy = self._copy(path)
            if os.path.lexists(copy) and not os.path.lexists(path):
                if _is_folder(copy):
                    shutil.copytree(copy, path, symlinks=True)
                else:
                    shutil.copy2(copy, path, follow_symlinks=False)
        self._arm()

    def _copy(self, path: str) -> str:
        return self.fresh + path.removeprefix(self.root)

    def _arm(self) -> None:
        """Make the next read of a secret show, and remember how everything looks."""
        for path in self.secrets:
            # Read before its last change: even file systems with relative access times note the next read.
            os.utime(path, (1_000_000_000, 1_000_000_001))
        self.before = self.look()


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _drain(reading: int) -> tuple[bytes, bool]:
    output, left = b"", time.monotonic() + _LONGEST_RUN
    while True:
        ready, _, _ = select.select([reading], [], [], max(0.0, left - time.monotonic()))
        if not ready:
            return output, False
        piece = os.read(reading, 65536)
        if not piece:
            return output, True
        if len(output) < _MOST_OUTPUT:
            output += piece
        elif time.monotonic() > left:
            return output, False


def _kill(pid: int) -> None:
    """End the command and all that it left, also in sessions of their own: nothing else lives in here."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass  # Everything has ended.
    os.waitpid(pid, 0)


def _files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (f"{place}/{name}" for name in names if not os.path.islink(f"{place}/{name}"))


def _was_read(path: str) -> bool:
    try:
        facts = os.stat(path)
    except OSError:
        return False  # That it is gone counts as a change.
    return facts.st_atime_ns > facts.st_mtime_ns


def _connections() -> tuple[str, ...]:
    """The kernel's counts of connections and packets in this network namespace."""
    counted: list[str] = []
    with open("/proc/net/snmp", encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[0] == "Tcp:":
                counted.append(words[5])
            elif words[0] in ("Udp:", "Icmp:"):
                counted += words[1:5]
    return tuple(counted)


if __name__ == "__main__":
    main()

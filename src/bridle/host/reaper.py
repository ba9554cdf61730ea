"""Ends process groups that would outlive this process, however it dies."""

import os
import subprocess
from collections.abc import Mapping

from bridle.types.ids import new_uuid

_SHELL = "/bin/sh"
_WATCH = """\
trap '' HUP INT QUIT TERM
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="${groups%% "$group" *} ${groups#* "$group" }" ;; esac ;;
    =) orderly=1 ;;
  esac
done
read -r more <&1 && groups="$groups$more "
if [ -z "$orderly" ]; then
  for mark in $(grep -las "BRIDLE_BROOD=$1" /proc/[0-9]*/environ); do
    mark=${mark%/environ}
    groups="$groups${mark#/proc/} "
  done
fi
[ "$groups" = ' ' ] && exit
for group in $groups; do kill -s TERM -- "-$group" || kill -s TERM "$group"; done 2>/dev/null
sleep 0.3 || sleep 1
for group in $groups; do kill -s KILL -- "-$group" || kill -s KILL "$group"; done 2>/dev/null
"""
_ENLIST = 'echo "+ $$" >&0; exec </dev/null; exec "$@"'


class Reaper:
    """A small shell that reads group ids from a pipe and kills those still listed when the pipe closes.

    Children list themselves before they become the program that was asked for, so there is no moment at
    which our death leaves one behind. Groups that live for a moment only are put into a ledger instead, which
    the shell does not read before the end: it need not wake for them. They carry a mark in their environment,
    by which the shell finds those that we had no time to put down. The shell is started with the first child.
    """

    def __init__(self) -> None:
        self._watch: subprocess.Popen[bytes] | None = None
        self._ledger = -1
        self._in_ledger: set[int] = set()
        self._brood = new_uuid()

    @property
    def mark(self) -> Mapping[str, str]:
        """What children that do not list themselves must have in their environment."""
        return {"BRIDLE_BROOD": self._brood}

    def enlisting(self, argv: list[str]) -> list[str]:
        """A command line that lists its own process group, then becomes `argv`; needs `pipe` as its stdin."""
        return [_SHELL, "-c", _ENLIST, "sh", *argv]

    def pipe(self) -> int:
        """The descriptor to give to a child as its standard input."""
        if self._watch is not None and self._watch.poll() is not None:
            self._watch.wait()
            _close_input(self._watch)
            self._watch = None
        if self._watch is None:
            self._ledger = self._ledger if self._ledger >= 0 else _make_ledger()
            self._watch = _start(self._ledger, self._brood)
        return _input(self._watch)

    def enlist(self, group: int) -> None:
        """Put a group into the ledger that has not listed itself."""
        self.pipe()
        self._in_ledger.add(group)
        self._write_ledger()

    def forget(self, group: int) -> None:
        """Take a group that has ended off the list."""
        if group in self._in_ledger:
            self._in_ledger.discard(group)
            self._write_ledger()
            return
        if self._watch is None or self._watch.poll() is not None:
            return
        try:
            os.write(_input(self._watch), f"- {group}\n".encode())
        except BrokenPipeError:
            pass  # It was killed a moment ago, and its list with it.

    def close(self) -> None:
        """End the shell; groups that are still listed are killed shortly after."""
        if self._watch is None:
            return
        watch, self._watch = self._watch, None
        try:
            os.write(_input(watch), b"= 0\n")
        except BrokenPipeError:
            pass  # It was killed, and its list with it.
        _close_input(watch)
        watch.wait()
        os.close(self._ledger)
        self._ledger = -1

    def _write_ledger(self) -> None:
        # Only the first line is ever read, so what is longer from before does no harm behind it.
        if self._ledger >= 0:
            os.pwrite(self._ledger, f"{' '.join(map(str, self._in_ledger))}\n".encode(), 0)


def _make_ledger() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("bridle-groups")
    import tempfile

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def _start(ledger: int, brood: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [_SHELL, "-c", _WATCH, "sh", brood],
        stdin=subprocess.PIPE,
        stdout=ledger,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": "/usr/bin:/bin"},
        start_new_session=True,
        bufsize=0,
    )


def _close_input(watch: subprocess.Popen[bytes]) -> None:
    assert watch.stdin is not None
    watch.stdin.close()


def _input(watch: subprocess.Popen[bytes]) -> int:
    assert watch.stdin is not None
    return watch.stdin.fileno()

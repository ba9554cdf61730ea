"""The private folder of a sandbox."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bridle.host.sandbox.private_dir import close_private_dir, open_private_dir

_HOLDS = """
import sys
from bridle.host.sandbox.private_dir import open_private_dir
print(open_private_dir({"TMPDIR": sys.argv[1]}).folder, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def base() -> Iterator[Path]:
    """A folder with a short name, because the names of sockets are short."""
    with tempfile.TemporaryDirectory(prefix="room-") as folder:
        yield Path(folder)


def _holder(base: Path) -> tuple[subprocess.Popen[str], str]:
    argv = [sys.executable, "-c", _HOLDS, str(base)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def test_what_a_killed_process_left_is_removed_by_the_next_and_what_lives_stays(base: Path):
    killed, left = _holder(base)
    alive, held = _holder(base)
    foreign = base / "bridle-0123456789abcdef"
    foreign.mkdir()
    try:
        assert os.path.dirname(left) == os.path.realpath(base)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()

        close_private_dir(open_private_dir({"TMPDIR": str(base)}))

        assert not os.path.exists(left)
        assert os.path.isdir(held) and foreign.is_dir()
    finally:
        alive.communicate()

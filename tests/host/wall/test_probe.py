"""What the kernel offers is tried for real, and commands run in whichever way there is."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.wall.probe import KernelSupport, describe, means

_ROOT = Path(__file__).parents[3]

_WITHOUT_LANDLOCK = """
import asyncio, ctypes, os, struct, sys
from pathlib import Path
libc = ctypes.CDLL(None, use_errno=True)
def step(code, value, yes=0, no=0):
    return struct.pack("=HBBI", code, yes, no, value)
def without(*numbers):
    program = step(0x20, 0) + b"".join(step(0x15, n, 0, 1) + step(0x06, 0x50026) for n in numbers)
    program += step(0x06, 0x7FFF0000)
    code = ctypes.create_string_buffer(program, len(program))
    head = (ctypes.c_uint64 * 2)(len(program) // 8, ctypes.addressof(code))
    libc.prctl(38, 1, 0, 0, 0)
    assert libc.prctl(22, 2, ctypes.byref(head), 0, 0) == 0
without(*(int(word) for word in sys.argv[2].split(",")))
from tests.fakes.judged import FakeJudged
from bridle.host.wall import probe
async def main():
    judged = FakeJudged(Path(sys.argv[1]))
    (judged.project / ".git").mkdir()
    print(probe.means().way("read"), probe.means().way("edit"))
    print((await judged.run("cat a.txt; cat ../outside/secret.txt", readable=())).said.split())
    print((await judged.run("touch pwned", "read")).code != 0, (judged.project / "pwned").exists())
    print((await judged.run("touch made", "edit")).code, (judged.project / "made").exists())
    print((await judged.run("touch .npmrc .git/x", "edit")).code != 0, os.listdir(judged.project / ".git"))
    print((judged.project / ".npmrc").exists())
    await judged.shells.close()
asyncio.run(main())
"""


def _run(tmp_path: Path, numbers: str) -> list[str]:
    """What a program says that may not make the calls with these numbers."""
    done = subprocess.run(
        (sys.executable, "-c", _WITHOUT_LANDLOCK, str(tmp_path), numbers),
        capture_output=True, text=True, timeout=60, check=False, cwd=_ROOT,
        env={**os.environ, "PYTHONPATH": f"{_ROOT}:{_ROOT / 'src'}"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


_LANDLOCK, _MOUNT, _SECCOMP = "444,445,446", "165", "317"


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.skipif(find_bubblewrap(None) is None, reason="bubblewrap is missing")
def test_without_landlock_bubblewrap_holds_reading_and_the_filter_edits(tmp_path: Path):
    ways, said, read, made, kept, absent = _run(tmp_path, _LANDLOCK)
    assert ways == "bubblewrap filter"
    assert "canary-4711-outside" not in said and "'one'" in said
    assert (read, made, kept, absent) == ("True False", "0 True", "True []", "False")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_with_the_filter_alone_nothing_is_changed(tmp_path: Path):
    ways, _, read, made, kept, absent = _run(tmp_path, f"{_LANDLOCK},{_MOUNT}")
    assert ways == "filter filter"
    assert (read, made, kept, absent) == ("True False", "0 True", "True []", "False")


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
def test_where_the_kernel_offers_nothing_commands_run_as_before(tmp_path: Path):
    ways, _, read, made, *_ = _run(tmp_path, f"{_LANDLOCK},{_MOUNT},{_SECCOMP}")
    assert (ways, read, made) == ("nothing nothing", "False True", "0 True")


def test_the_best_way_is_chosen():
    assert KernelSupport(landlock=True, calls=True, bubblewrap=True).way("edit") == "landlock"
    assert KernelSupport(calls=True, bubblewrap=True).way("read") == "bubblewrap"
    assert KernelSupport(bubblewrap=True).way("edit") == "bubblewrap"
    assert KernelSupport().way("read") == "nothing"


def test_it_is_told_in_a_sentence():
    offer = describe()
    assert offer.way == means().way("read")
    assert offer.sentence.endswith(".") and offer.way in (
        offer.sentence if offer.way != "nothing" else "nothing"
    )

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.host.lock import FileLock, Locked

_HOLD = """
import sys
from bridle.host.lock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextmanager
def held_elsewhere(path: Path) -> Generator["subprocess.Popen[str]"]:
    with subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_free_lock_is_taken_and_names_us(tmp_path: Path):
    with FileLock(str(tmp_path / "l")) as lock:
        assert lock.holder() == os.getpid()
    assert lock.holder() is None


def test_a_lock_is_private(tmp_path: Path):
    with FileLock(str(tmp_path / "l")):
        assert (tmp_path / "l").stat().st_mode & 0o777 == 0o600


def test_a_lock_of_another_process_is_not_taken_and_says_who_has_it(tmp_path: Path):
    with held_elsewhere(tmp_path / "l") as process:
        lock = FileLock(str(tmp_path / "l"))
        assert not lock.try_acquire()
        assert lock.holder() == process.pid


def test_waiting_ends_with_an_error_that_names_the_holder(tmp_path: Path):
    impatient = FileLock(str(tmp_path / "l"), seconds=0.02)
    with held_elsewhere(tmp_path / "l") as process, pytest.raises(Locked) as caught, impatient:
        pass
    assert caught.value.holder == process.pid
    assert str(process.pid) in str(caught.value)


async def test_a_waiter_gets_the_lock_when_it_is_let_go_and_the_loop_stays_free(tmp_path: Path):
    first = FileLock(str(tmp_path / "l"))
    assert first.try_acquire()

    async def wait() -> None:
        async with FileLock(str(tmp_path / "l")):
            pass

    async with asyncio.timeout(50):
        waiter = asyncio.create_task(wait())
        await asyncio.sleep(0)
        assert not waiter.done()
        first.release()
        await waiter


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path):
    with held_elsewhere(tmp_path / "l") as process:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        with FileLock(str(tmp_path / "l"), seconds=5) as lock:
            assert lock.holder() == os.getpid()


def test_a_link_in_the_place_of_the_lock_is_refused_and_its_target_unharmed(tmp_path: Path):
    (tmp_path / "precious").write_text("text", encoding="utf-8")
    (tmp_path / "l").symlink_to(tmp_path / "precious")
    with pytest.raises(OSError):
        FileLock(str(tmp_path / "l")).try_acquire()
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "text"

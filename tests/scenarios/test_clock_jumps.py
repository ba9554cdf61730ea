"""R10: a clock that jumps by years, forwards and backwards, changes nothing but what is written as time."""

import os
from pathlib import Path

from bridle.host.lock import FileLock
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program

_JUMPING = """
import itertools, time
_real, _real_ns, _jumps = time.time, time.time_ns, itertools.cycle((0, 3e8, -3e8, 9e4, -9e4, -1e9))
time.time = lambda: max(1.0, _real() + next(_jumps))
time.time_ns = lambda: max(1, _real_ns() + int(next(_jumps)) * 10**9)
"""


async def test_conversation_stays_in_order_while_the_clock_jumps(tmp_path: Path):
    clock = tmp_path / "clock"
    clock.mkdir()
    (clock / "sitecustomize.py").write_text(_JUMPING)
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "echo counted"}}
    script = [step("looking", call), step("first"), fault(529), step("second"), step("third")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, PYTHONPATH=str(clock))
        said = [await program.run("-p", "one")]
        said += [await program.run("-p", "-c", word) for word in ("two", "three")]
        last = str(server.requests[-1].body["messages"])
    assert [(done.code, done.out) for done in said] == [(0, "first\n"), (0, "second\n"), (0, "third\n")]
    words = ("one", "looking", "counted", "first", "two", "second", "three")
    places = [last.index(f"'{word}") if word != "counted" else last.index(word) for word in words]
    assert places == sorted(places)
    assert len(program.transcripts()) == 1


def test_lock_is_free_or_held_whatever_its_file_says_about_time(tmp_path: Path):
    path = tmp_path / "lock"
    for when in (0, 4_000_000_000):
        with FileLock(str(path)):
            os.utime(path, (when, when))
            assert not FileLock(str(path)).try_acquire()
        os.utime(path, (when, when))
        lock = FileLock(str(path))
        assert lock.try_acquire()
        lock.release()

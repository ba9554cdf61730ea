"""Every damage to a chain is named by its index; what a crash leaves is no damage."""

import asyncio
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.features.audit.chain import Chain
from bridle.features.audit.check import ChainCheck, Fault, inspect, verify
from bridle.features.audit.keys import head_file, key_file, load_key
from bridle.features.audit.records import Head, Key, hash_of, read_head, write_head
from bridle.types.errors import ConfigError

_KEY = Key(b"k" * 32)
_SESSION = "one"


def _chain(path: Path, warned: list[str] | None = None, witness: str = "") -> Chain:
    say = [] if warned is None else warned
    return Chain(str(path), _SESSION, _KEY, warn=say.append, witness=witness)


def _written(folder: Path, count: int) -> Path:
    path = folder / f"{_SESSION}.jsonl"
    chain = _chain(path)
    for number in range(count - 1):
        chain.append("note", {"number": number})
    chain.close()
    return path


def _verify(path: Path, witness: str = "") -> ChainCheck:
    return verify(str(path), _SESSION, _KEY, witness=witness)


@pytest.fixture(scope="module")
def ten(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[bytes], Head]:
    path = _written(tmp_path_factory.mktemp("chain"), 10)
    head = read_head(_KEY, _SESSION, head_file(str(path)))
    assert head is not None
    return path.read_bytes().splitlines(keepends=True), head


def _faults(lines: list[bytes], head: Head | None) -> tuple[Fault, ...]:
    return inspect(b"".join(lines), _SESSION, _KEY, head=head).faults


def test_a_whole_chain_verifies(tmp_path: Path):
    found = _verify(_written(tmp_path, 10))
    assert (found.faults, len(found.records), found.is_sealed) == ((), 10, True)


def test_every_changed_byte_is_named(ten: tuple[list[bytes], Head]):
    lines, head = ten
    for index, line in enumerate(lines):
        for place in range(len(line) - 1):
            for flip in (1, 0x20):
                changed = bytearray(line)
                changed[place] ^= flip
                if b"\n" in changed[:-1]:
                    continue
                damaged = [*lines[:index], bytes(changed), *lines[index + 1 :]]
                faults = _faults(damaged, head)
                assert Fault(index, "changed") in faults, (index, place)
                assert {fault.index for fault in faults} == {index}


@pytest.mark.parametrize("index", range(10))
def test_a_removed_and_a_doubled_record_are_named(ten: tuple[list[bytes], Head], index: int):
    lines, head = ten
    kind = "cut" if index == 9 else "removed"
    assert _faults([*lines[:index], *lines[index + 1 :]], head) == (Fault(index, kind),)
    for place in range(11):
        assert Fault(index, "doubled") in _faults([*lines[:place], lines[index], *lines[place:]], head)


def test_swapped_records_are_named(ten: tuple[list[bytes], Head]):
    lines, head = ten
    for first in range(10):
        for second in range(first + 1, 10):
            swapped = [*lines]
            swapped[first], swapped[second] = lines[second], lines[first]
            assert _faults(swapped, head) == (Fault(first, "moved"), Fault(second, "moved"))


def test_a_cut_end_is_named_at_every_byte(ten: tuple[list[bytes], Head]):
    lines, head = ten
    whole, at = b"".join(lines), 0
    for index, line in enumerate(lines):
        for size in range(at, at + len(line)):
            found = inspect(whole[:size], _SESSION, _KEY, head=head)
            assert found.faults == tuple(Fault(cut, "cut") for cut in range(index, 10))
        at += len(line)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_no_other_order_or_choice_of_records_verifies(ten: tuple[list[bytes], Head], data: st.DataObject):
    lines, head = ten
    order = data.draw(st.lists(st.integers(0, 9), max_size=14))
    assert (_faults([lines[index] for index in order], head) == ()) == (order == [*range(10)])


def test_records_of_another_session_or_key_do_not_fit(tmp_path: Path):
    path = _written(tmp_path, 3)
    assert {each.damage for each in verify(str(path), "two", _KEY).faults} >= {"changed"}
    assert {each.damage for each in verify(str(path), _SESSION, Key(b"x" * 32)).faults} >= {"changed"}


def test_a_missing_head_is_named(tmp_path: Path):
    path = _written(tmp_path, 3)
    Path(head_file(str(path))).unlink()
    assert _verify(path).faults == (Fault(2, "head"),)


def test_a_witness_names_a_chain_that_went_back(tmp_path: Path):
    witness = str(tmp_path / "heads")
    path = tmp_path / f"{_SESSION}.jsonl"
    first = _chain(path, witness=witness)
    first.append("note", {"number": 1})
    first.close()
    kept, head = path.read_bytes(), Path(head_file(str(path))).read_bytes()
    second = _chain(path, witness=witness)
    second.append("note", {"number": 2})
    second.close()
    assert _verify(path, witness).faults == ()
    path.write_bytes(kept)
    Path(head_file(str(path))).write_bytes(head)
    assert _verify(path).faults == ()
    assert _verify(path, witness).faults == (Fault(3, "cut"),)
    other = _chain(path)
    for number in range(3):
        other.append("note", {"number": number})
    assert _verify(path, witness).faults == (Fault(3, "witness"),)


def test_the_next_session_continues_after_a_crash_at_any_byte(tmp_path: Path):
    path = _written(tmp_path, 3)
    whole = path.read_bytes()
    head = Path(head_file(str(path)))
    lines = whole.splitlines()
    for size in range(len(whole) + 1):
        # A process that is killed has written the head of the record before the unfinished one.
        done = whole[:size].count(b"\n")
        last = write_head(_KEY, _SESSION, done - 1, hash_of(lines[done - 1])) if done else b""
        head.write_bytes(last)
        path.write_bytes(whole[:size])
        warned: list[str] = []
        chain = _chain(path, warned)
        chain.append("note", {"again": True})
        chain.close()
        found = _verify(path)
        assert (found.faults, warned) == ((), []), size
        torn = size > 0 and not whole[:size].endswith(b"\n")
        assert ("recovered" in [each.kind for each in found.records]) == torn


_WRITER = """
import sys
from bridle.features.audit.chain import Chain
from bridle.features.audit.records import Key
chain = Chain(sys.argv[1], "one", Key(b"k" * 32), warn=print)
number = int(sys.argv[2])
count = 0
while count != number:
    assert chain.append("note", {"count": count}) is not None
    count += 1
    if count == 20:
        print("many", flush=True)
"""


def test_a_killed_process_leaves_a_valid_chain(tmp_path: Path):
    path = tmp_path / f"{_SESSION}.jsonl"
    for _ in range(3):
        words = [sys.executable, "-c", _WRITER, str(path), "-1"]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "many\n"
            process.send_signal(signal.SIGKILL)
        assert _verify(path).faults == ()


async def test_two_processes_write_one_chain(tmp_path: Path):
    path = tmp_path / f"{_SESSION}.jsonl"
    words = (sys.executable, "-c", _WRITER, str(path), "200")
    processes = [
        await asyncio.create_subprocess_exec(*words, stdout=asyncio.subprocess.PIPE) for _ in range(2)
    ]
    for process in processes:
        await process.communicate()
        assert process.returncode == 0
    found = _verify(path)
    assert found.faults == ()
    assert sum(each.kind == "note" for each in found.records) == 400


@pytest.mark.parametrize("has_head", [True, False])
def test_a_damaged_chain_is_kept_and_another_begun(tmp_path: Path, has_head: bool):
    path = _written(tmp_path, 4)
    if not has_head:
        Path(head_file(str(path))).unlink()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:2]))
    warned: list[str] = []
    chain = _chain(path, warned)
    chain.append("note", {})
    chain.close()
    (aside,) = (each for each in tmp_path.iterdir() if "damaged" in each.name and each.suffix != ".head")
    assert aside.read_bytes() == b"".join(lines[:2])
    assert [each.kind for each in _verify(path).records] == ["set_aside", "note", "seal"]
    assert len(warned) == 1
    assert aside.name in warned[0]


def test_a_folder_that_cannot_be_written_is_said_once(tmp_path: Path):
    (tmp_path / "file").write_text("")
    warned: list[str] = []
    chain = _chain(tmp_path / "file" / "one.jsonl", warned)
    assert [chain.append("note", {}) for _ in range(3)] == [None] * 3
    assert len(warned) == 1
    os.unlink(tmp_path / "file")
    chain.append("note", {})
    chain.close()
    records = _verify(tmp_path / "file" / "one.jsonl").records
    assert [(each.kind, each.data.get("lost")) for each in records][:2] == [("gap", 3), ("note", None)]


_FULL = """
import resource, sys
from bridle.features.audit.chain import Chain
from bridle.features.audit.records import Key
resource.setrlimit(resource.RLIMIT_FSIZE, (4000, 4000))
said = []
chain = Chain(sys.argv[1], "one", Key(b"k" * 32), warn=said.append)
for number in range(100):
    chain.append("note", {"number": number})
print(len(said))
"""


def test_a_full_disk_leaves_whole_records(tmp_path: Path):
    path = tmp_path / f"{_SESSION}.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _FULL, str(path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    found = _verify(path)
    assert (found.faults, found.unfinished) == ((), 0)


def test_a_clock_that_jumps_is_no_fault(tmp_path: Path):
    path = tmp_path / f"{_SESSION}.jsonl"
    years = iter((2026, 1999, 2050, 1970))
    chain = Chain(str(path), _SESSION, _KEY, warn=print, now=lambda: datetime(next(years), 1, 1, tzinfo=UTC))
    for _ in range(3):
        chain.append("note", {})
    chain.close()
    assert _verify(path).faults == ()


def test_the_key_is_private_and_made_once(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    with pytest.raises(ConfigError, match="No audit key"):
        load_key(env)
    key = load_key(env, create=True)
    assert load_key(env, create=True).id == key.id
    path = Path(key_file(env))
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        load_key(env)
    path.chmod(0o600)
    path.write_text("short")
    with pytest.raises(ConfigError, match="damaged"):
        load_key(env)

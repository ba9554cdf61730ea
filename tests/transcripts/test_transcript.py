import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.transcripts.transcript import NoTranscript, Transcript
from bridle.types.errors import SessionError


def unexpected(warning: str) -> None:
    raise AssertionError(warning)


def test_nothing_is_made_before_the_first_line(tmp_path: Path):
    transcript = Transcript(str(tmp_path / "home" / "s.jsonl"), warn=unexpected)
    transcript.append([])
    transcript.close()
    assert list(tmp_path.iterdir()) == []


def test_file_and_folders_are_for_the_user_alone(tmp_path: Path):
    path = tmp_path / "home" / "projects" / "p" / "s.jsonl"
    transcript = Transcript(str(path), warn=unexpected)
    transcript.append([{"a": 1}, {"b": 2}])
    transcript.close()
    assert path.read_bytes() == b'{"a":1}\n{"b":2}\n'
    assert path.stat().st_mode & 0o777 == 0o600
    for folder in (path.parent, path.parent.parent, path.parent.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700


def test_a_torn_last_line_is_closed_before_the_next(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    path.write_bytes(b'{"a":1}\n{"b":')
    transcript = Transcript(str(path), warn=unexpected)
    transcript.append([{"c": 3}])
    transcript.append([{"d": 4}])
    transcript.close()
    assert path.read_bytes() == b'{"a":1}\n{"b":\n{"c":3}\n{"d":4}\n'


async def test_sync_writes_and_a_closed_transcript_can_be_synced(tmp_path: Path):
    transcript = Transcript(str(tmp_path / "s.jsonl"), warn=unexpected)
    await transcript.sync()
    transcript.append([{"a": 1}])
    await transcript.sync()
    transcript.close()
    await transcript.sync()
    assert (tmp_path / "s.jsonl").read_bytes() == b'{"a":1}\n'


def test_a_second_writer_is_told_to_fork(tmp_path: Path):
    path = str(tmp_path / "s.jsonl")
    first, second = Transcript(path, warn=unexpected), Transcript(path, warn=unexpected)
    first.append([{"a": 1}])
    with pytest.raises(SessionError, match="--fork-session"):
        second.claim()
    with pytest.raises(SessionError):
        second.append([{"b": 2}])
    second.close()
    first.close()
    second.claim()
    second.append([{"c": 3}])
    second.close()
    assert (tmp_path / "s.jsonl").read_bytes() == b'{"a":1}\n{"c":3}\n'


def test_claiming_does_not_make_the_file(tmp_path: Path):
    Transcript(str(tmp_path / "s.jsonl"), warn=unexpected).claim()
    assert list(tmp_path.iterdir()) == []


def test_a_link_in_the_place_of_the_file_is_refused(tmp_path: Path):
    (tmp_path / "precious").write_text("text", encoding="utf-8")
    (tmp_path / "s.jsonl").symlink_to(tmp_path / "precious")
    warnings: list[str] = []
    transcript = Transcript(str(tmp_path / "s.jsonl"), warn=warnings.append)
    transcript.claim()
    transcript.append([{"a": 1}])
    assert (tmp_path / "precious").read_text(encoding="utf-8") == "text"
    assert len(warnings) == 1


async def test_a_home_that_cannot_be_written_is_told_once_and_made_up_for_later(tmp_path: Path):
    (tmp_path / "home").write_text("a file in the place of the folder", encoding="utf-8")
    warnings: list[str] = []
    transcript = Transcript(str(tmp_path / "home" / "s.jsonl"), warn=warnings.append)
    transcript.append([{"a": 1}])
    transcript.append([{"b": 2}])
    await transcript.sync()
    assert len(warnings) == 1
    (tmp_path / "home").unlink()
    transcript.append([{"c": 3}])
    transcript.close()
    assert (tmp_path / "home" / "s.jsonl").read_bytes() == b'{"a":1}\n{"b":2}\n{"c":3}\n'
    assert len(warnings) == 1


_FULL_DISK = """
import json, os, resource, sys
from bridle.transcripts.transcript import Transcript

path, limit = sys.argv[1], int(sys.argv[2])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
warnings = []
transcript = Transcript(path, warn=warnings.append)
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
for number in range(6):
    transcript.append([{"n": number}, {"text": "x" * 20}])
full = open(path, "rb").read().decode()
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
transcript.append([{"n": 6}])
transcript.close()
print(json.dumps({"warnings": warnings, "full": full}))
"""


@pytest.mark.parametrize("limit", [0, 1, 7, 8, 39, 40, 41, 60, 100])
def test_a_full_disk_leaves_whole_lines_and_nothing_is_lost_when_there_is_room_again(
    tmp_path: Path, limit: int
):
    path = tmp_path / "s.jsonl"
    done = subprocess.run(
        [sys.executable, "-c", _FULL_DISK, str(path), str(limit)], capture_output=True, text=True, check=True
    )
    told = json.loads(done.stdout)
    assert len(told["warnings"]) == 1
    assert told["full"] == "" or told["full"].endswith("\n")
    assert len(told["full"].splitlines()) % 2 == 0, "no half of a batch"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert [line["n"] for line in lines if "n" in line] == list(range(7))


_WRITER = """
import sys
from bridle.transcripts.transcript import Transcript

transcript = Transcript(sys.argv[1], warn=print)
for number in range(300):
    transcript.append([{"who": sys.argv[2], "n": number, "text": "y" * 3000}])
transcript.close()
"""


def test_processes_in_one_project_do_not_damage_each_others_files(tmp_path: Path):
    names = ["a", "b", "c"]
    processes = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path / "new" / f"{name}.jsonl"), name])
        for name in names
    ]
    assert [process.wait() for process in processes] == [0, 0, 0]
    for name in names:
        with open(tmp_path / "new" / f"{name}.jsonl", encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        assert [(line["who"], line["n"]) for line in lines] == [(name, n) for n in range(300)]


async def test_no_transcript_writes_nothing(tmp_path: Path):
    before = os.listdir(tmp_path)
    nothing = NoTranscript()
    nothing.append([{"a": 1}])
    await nothing.sync()
    nothing.close()
    assert os.listdir(tmp_path) == before

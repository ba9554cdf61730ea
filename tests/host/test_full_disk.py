"""R4: on a full disk every writer leaves the file that was there, and no part of a new one."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_SOURCE = Path(__file__).parents[2] / "src/bridle"
_LIMITED = """
import errno, os, resource, sys

folder, limit = sys.argv[1], int(sys.argv[2])
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
def tried(act):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, hard))
    try:
        act()
    except OSError as error:
        return errno.errorcode[error.errno]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    return "done"
"""
_WRITERS = {
    "atomic": "from bridle.host.files import write_atomic\nact = lambda: write_atomic(f'{folder}/old', DATA)",
    "quick": (
        "from bridle.host.files import replace_quickly\nact = lambda: replace_quickly(f'{folder}/old', DATA)"
    ),
    "new": "from bridle.host.files import write_new\nact = lambda: write_new(f'{folder}/new', DATA)",
    "copy": (
        "from bridle.host.files import copy_quickly\n"
        "act = lambda: copy_quickly(os.__file__, f'{folder}/copy')"
    ),
    "lease": (
        "from bridle.host.leases import LeaseStore\nfrom bridle.host.owners import Owner\n"
        "owner = Owner(pid=os.getpid(), birth='', session='s')\n"
        "broker = LeaseStore(folder)\nact = lambda: broker.lease('/x/' + 'y' * 200, owner)"
    ),
    "job": (
        "from bridle.host.jobs.records import replace_file\nact = lambda: replace_file(f'{folder}/old', DATA)"
    ),
    "result": (
        "from bridle.engine.calls.results import persist\nfrom bridle.types.tool import ToolOutput\n"
        "act = lambda: persist(ToolOutput(content=DATA.decode(), data=None), call_id='c', storage=folder)"
    ),
}


@pytest.mark.parametrize("limit", [0, 40])
@pytest.mark.parametrize("name", _WRITERS)
def test_nothing_is_left_of_what_did_not_fit(tmp_path: Path, name: str, limit: int):
    (tmp_path / "old").write_text("kept")
    script = f"{_LIMITED}\nDATA = b'x' * 5000\n{_WRITERS[name]}\nprint(tried(act))"
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path), str(limit)], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() in ("EFBIG", "done"), done.stderr
    left = {path.name: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {key: data for key, data in left.items() if not key.endswith(".lock") or data} == {"old": b"kept"}


def test_writers_write_when_there_is_room(tmp_path: Path):
    (tmp_path / "old").write_text("kept")
    for name, script in _WRITERS.items():
        subprocess.run(
            [sys.executable, "-c", f"{_LIMITED}\nDATA = b'x' * 5000\n{script}\nact()", str(tmp_path), "0"],
            check=True,
        )
        assert not list(tmp_path.rglob("*.tmp")), name
    assert (tmp_path / "old").read_bytes() == (tmp_path / "new").read_bytes() == b"x" * 5000


def test_temporary_names_are_made_where_they_are_removed_again():
    """Whatever needs one calls `host/files.py`; only holders of jobs run without the packages for that."""
    made = re.compile(r"""\.tmp["']""")
    found = [
        os.path.relpath(path, _SOURCE)
        for path in _SOURCE.rglob("*.py")
        if made.search(path.read_text(encoding="utf-8"))
    ]
    assert sorted(found) == ["host/files.py", "host/jobs/records.py"]

"""S34: what is read without a thread can neither wait for a writer nor for another machine."""

import os
from pathlib import Path

import pytest

from bridle.tools.files.local_disks import is_small_and_local


def test_only_a_small_regular_file_is_read_at_once(tmp_path: Path):
    (tmp_path / "large").write_bytes(b"x" * 101)
    (tmp_path / "small").write_bytes(b"x" * 100)
    (tmp_path / "link").symlink_to(tmp_path / "small")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    for name in ("large", "link", "folder", "pipe", "missing", "small/below", "nul\0"):
        assert not is_small_and_local(str(tmp_path / name), most_bytes=100), name


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="there is no /proc")
def test_what_the_kernel_makes_up_is_no_file_of_a_disk():
    assert not is_small_and_local("/proc/self/status", most_bytes=100_000)


@pytest.mark.skipif(not os.path.exists("/dev/shm"), reason="there is no file system in memory")
def test_a_file_in_memory_is_local():
    path = Path("/dev/shm", f"bridle-test-{os.getpid()}")
    path.write_text("x")
    try:
        assert is_small_and_local(str(path), most_bytes=100)
    finally:
        path.unlink()

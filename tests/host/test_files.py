import errno
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

import pytest

from bridle.host.files import read_bytes, write_atomic


def test_a_new_file_gets_the_ordinary_mode_and_missing_parents(tmp_path: Path):
    path = tmp_path / "a" / "b" / "new.txt"
    before = os.umask(0o022)
    try:
        write_atomic(str(path), b"hello")
    finally:
        os.umask(before)
    assert path.read_bytes() == b"hello"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o755


def test_a_private_file_makes_private_parents(tmp_path: Path):
    """S36"""
    path = tmp_path / "home" / "bridle" / "secret"
    write_atomic(str(path), b"x", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.parent.parent.stat().st_mode) == 0o700


def test_an_existing_file_keeps_its_mode_whatever_mode_is_asked_for(tmp_path: Path):
    """S35"""
    path = tmp_path / "run.sh"
    path.write_bytes(b"old")
    path.chmod(0o751)
    write_atomic(str(path), b"new", mode=0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o751)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_an_existing_file_keeps_its_owner(tmp_path: Path):
    """S35"""
    path = tmp_path / "theirs"
    path.write_bytes(b"old")
    os.chown(path, 12345, 23456)
    path.chmod(0o2640)
    write_atomic(str(path), b"new")
    status = path.stat()
    assert (status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)) == (12345, 23456, 0o2640)


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path):
    """S35"""
    target = tmp_path / "dotfiles" / "settings.json"
    target.parent.mkdir()
    target.write_bytes(b"old")
    hop = tmp_path / "hop"
    hop.symlink_to("dotfiles/settings.json")
    link = tmp_path / "link"
    link.symlink_to(hop)
    write_atomic(str(link), b"new")
    assert (os.readlink(link), os.readlink(hop)) == (str(hop), "dotfiles/settings.json")
    assert target.read_bytes() == b"new"


def test_a_dangling_link_gets_its_target(tmp_path: Path):
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "there")
    write_atomic(str(link), b"new")
    assert link.is_symlink()
    assert (tmp_path / "there").read_bytes() == b"new"


def test_a_loop_of_links_is_refused_and_left_alone(tmp_path: Path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.symlink_to(b)
    b.symlink_to(a)
    with pytest.raises(OSError) as caught:
        write_atomic(str(a), b"new")
    assert caught.value.errno == errno.ELOOP
    assert a.is_symlink() and b.is_symlink()


def test_directories_and_pipes_are_refused(tmp_path: Path):
    with pytest.raises(IsADirectoryError):
        write_atomic(str(tmp_path), b"x")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        write_atomic(str(tmp_path / "pipe"), b"x")
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_a_file_in_the_place_of_a_parent_is_an_error(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"old")
    with pytest.raises(OSError):
        write_atomic(str(tmp_path / "file" / "below"), b"x")
    assert (tmp_path / "file").read_bytes() == b"old"


_AS_SOMEBODY = """
import os, sys
from bridle.host.files import write_atomic

folder = sys.argv[1]
if os.geteuid() == 0:
    for path in (folder, *(os.path.join(folder, name) for name in os.listdir(folder))):
        os.chown(path, 4321, 4321)
    os.setgroups([])
    os.setgid(4321)
    os.setuid(4321)
write_atomic(os.path.join(folder, "free"), b"new")
try:
    write_atomic(os.path.join(folder, "frozen"), b"new")
except PermissionError:
    sys.exit(7)
"""


def test_a_read_only_file_is_not_replaced():
    # Not below tmp_path, which another user cannot enter.
    with TemporaryDirectory() as folder:
        free, frozen = Path(folder, "free"), Path(folder, "frozen")
        free.write_bytes(b"old")
        frozen.write_bytes(b"old")
        frozen.chmod(0o444)
        command = [sys.executable, "-c", _AS_SOMEBODY, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (7, "")
        assert (free.read_bytes(), frozen.read_bytes()) == (b"new", b"old")


_CRASHES = """
import os, signal, sys
from bridle.host.files import write_atomic

path, old, new = sys.argv[1], b"o" * 100_000, b"n" * 200_000

def crash_at(number):
    left = number
    def count(frame, event, argument):
        nonlocal left
        if event in ("c_call", "c_return"):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    write_atomic(path, new)
    os._exit(0)

seen = set()
for number in range(1, 1000):
    with open(path, "wb") as file:
        file.write(old)
    os.chmod(path, 0o640)
    if (child := os.fork()) == 0:
        crash_at(number)
    status = os.waitpid(child, 0)[1]
    with open(path, "rb") as file:
        content = file.read()
    assert content in (old, new), f"half a file after {number}"
    assert os.stat(path).st_mode & 0o777 == 0o640, f"mode lost after {number}"
    seen.add(content[:1])
    if status == 0:
        break
assert seen == {b"o", b"n"} and number > 20, (seen, number)
"""


def test_killed_before_or_after_any_call_the_file_is_the_old_or_the_new_one(tmp_path: Path):
    """S35"""
    command = [sys.executable, "-c", _CRASHES, str(tmp_path / "file")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


class _FullDisk:
    """Makes the n-th call of a function of the operating system fail."""

    def __init__(self, names: set[str], number: int) -> None:
        self.names = names
        self.left = number

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call" and getattr(argument, "__name__", "") in self.names:
            self.left -= 1
            if self.left == 0:
                raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("name", ["open", "write", "fstat", "fchmod", "fsync", "rename"])
def test_a_failing_call_leaves_the_old_file_and_nothing_else(tmp_path: Path, name: str):
    """R4"""
    path = tmp_path / "file"
    path.write_bytes(b"old")
    number = 2 if name == "open" else 1
    sys.setprofile(_FullDisk({name}, number))
    try:
        with pytest.raises(OSError) as caught:
            write_atomic(str(path), b"new")
    finally:
        sys.setprofile(None)
    assert caught.value.errno == errno.ENOSPC
    assert [(each.name, each.read_bytes()) for each in tmp_path.iterdir()] == [("file", b"old")]


def test_reading_is_bounded(tmp_path: Path):
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10)
    assert read_bytes(str(path), 10) == b"x" * 10
    with pytest.raises(OSError) as caught:
        read_bytes(str(path), 9)
    assert caught.value.errno == errno.EFBIG


def test_files_that_lie_about_their_size_are_bounded_too():
    with pytest.raises(OSError) as caught:
        read_bytes("/proc/self/maps", 10)
    assert caught.value.errno == errno.EFBIG


def test_reading_a_pipe_or_a_directory_fails_at_once(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):
        read_bytes(str(tmp_path / "pipe"), 10)
    with pytest.raises(IsADirectoryError):
        read_bytes(str(tmp_path), 10)


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed")
def test_the_file_is_synced_before_it_gets_its_name_and_the_folder_after(tmp_path: Path):
    """S35"""
    program = "import sys; from bridle.host.files import write_atomic; write_atomic(sys.argv[1], b'x')"
    log = tmp_path / "log"
    path = tmp_path / "folder" / "file"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=fsync,rename,renameat,renameat2"]
    subprocess.run([*command, sys.executable, "-c", program, str(path)], check=True)
    calls = [line.split(None, 1)[1] for line in log.read_text().splitlines() if str(path.parent) in line]
    assert [call.partition("(")[0].rstrip("at2") for call in calls] == ["fsync", "rename", "fsync"]
    assert calls[2].startswith(f"fsync({calls[2].split('(')[1].split('<')[0]}<{path.parent}>)")

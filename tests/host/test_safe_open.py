import errno
import os
import stat
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from bridle.host.files import write_checked
from bridle.host.safe_open import (
    Location,
    PathChanged,
    as_approved,
    folder_of,
    locate,
    open_checked,
    open_folder,
    status_checked,
)


def read(descriptor: int) -> bytes:
    with open(descriptor, "rb") as file:
        return file.read()


def open_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_a_path_is_followed_to_its_end(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "alias").symlink_to("real")
    path = str(tmp_path / "alias" / "new" / "file")
    assert locate(path, {}) == Location(path, str(tmp_path / "real" / "new" / "file"))


def test_only_what_was_approved_is_accepted_once_somebody_decided(tmp_path: Path):
    """S34"""
    path, target = tmp_path / "link", tmp_path / "a"
    path.symlink_to(target)
    approved = {str(path): str(target)}
    assert locate(str(path), approved).target == str(target)
    with pytest.raises(PathChanged):
        locate(str(tmp_path / "b"), approved)
    path.unlink()
    path.symlink_to(tmp_path / "b")
    with pytest.raises(PathChanged) as caught:
        locate(str(path), approved)
    assert caught.value.strerror == "its target changed; try again"


def test_a_circle_of_links_leads_nowhere(tmp_path: Path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        locate(str(tmp_path / "a"), {})
    assert caught.value.errno == errno.ELOOP and not isinstance(caught.value, PathChanged)


@pytest.mark.parametrize("part", ["top", "top/middle", "top/middle/file"])
def test_a_link_that_was_put_anywhere_on_the_way_is_refused(tmp_path: Path, part: str):
    """S34"""
    (tmp_path / "top" / "middle").mkdir(parents=True)
    (tmp_path / "top" / "middle" / "file").write_text("mine")
    location = locate(str(tmp_path / "top" / "middle" / "file"), {})
    assert read(open_checked(location)) == b"mine"
    os.rename(tmp_path / part, tmp_path / "moved")
    (tmp_path / part).symlink_to(tmp_path / "moved")
    assert Path(location.target).read_text() == "mine"

    before = open_descriptors()
    with pytest.raises(PathChanged):
        open_checked(location)
    with pytest.raises(PathChanged):
        status_checked(location)
    with pytest.raises(PathChanged):
        write_checked(location, b"x")
    assert open_descriptors() == before
    assert Path(location.target).read_text() == "mine"


def test_what_is_missing_and_what_is_no_directory_is_told_apart_from_links(tmp_path: Path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileNotFoundError):
        open_checked(locate(str(tmp_path / "no" / "file"), {}))
    with pytest.raises(NotADirectoryError) as caught:
        open_checked(locate(str(tmp_path / "file" / "below"), {}))
    assert caught.value.filename == str(tmp_path / "file" / "below")


def test_missing_parents_are_made_without_following_links(tmp_path: Path):
    """S34"""
    location = locate(str(tmp_path / "a" / "b" / "file"), {})
    with folder_of(location, create=True, private=True) as (folder, name):
        assert name == "file" and os.path.samestat(os.fstat(folder), os.stat(tmp_path / "a" / "b"))
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700

    (tmp_path / "elsewhere").mkdir()
    planned = locate(str(tmp_path / "c" / "d" / "file"), {})
    (tmp_path / "c").symlink_to("elsewhere")
    with pytest.raises(PathChanged), folder_of(planned, create=True):
        pass
    assert os.listdir(tmp_path / "elsewhere") == []


def test_the_root_of_the_disk_is_a_folder_like_any_other():
    handle = open_folder(locate("/", {}))
    assert os.path.samestat(os.fstat(handle), os.stat("/"))
    os.close(handle)
    assert stat.S_ISDIR(status_checked(locate("/", {})).st_mode)


def test_a_pipe_is_not_waited_for(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    os.close(open_checked(locate(str(tmp_path / "pipe"), {})))


_AS_SOMEBODY = """
import os, sys
from bridle.host.safe_open import locate, open_checked

if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(4321)
    os.setuid(4321)
folder = sys.argv[1]
os.mkdir(f"{folder}/dark")
with open(f"{folder}/dark/file", "w") as file:
    file.write("x")
os.chmod(f"{folder}/dark", 0o311)
print(os.read(open_checked(locate(f"{folder}/dark/file", {})), 10))
"""


def test_a_directory_that_may_not_be_listed_is_passed_through():
    # Not below tmp_path, which another user cannot enter.
    with TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        command = [sys.executable, "-c", _AS_SOMEBODY, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.stdout, done.stderr) == ("b'x'\n", "")


@pytest.mark.parametrize("part", ["top", "top/file"])
def test_a_path_approved_as_free_of_links_is_refused_once_a_link_is_put_there(tmp_path: Path, part: str):
    """S34"""
    (tmp_path / "top").mkdir()
    path = str(tmp_path / "top" / "file")
    Path(path).write_text("mine")
    assert read(open_checked(as_approved(path, {path: path}))) == b"mine"
    os.rename(tmp_path / part, tmp_path / "moved")
    (tmp_path / part).symlink_to(tmp_path / "moved")
    with pytest.raises(PathChanged):
        open_checked(as_approved(path, {path: path}))


def test_a_path_approved_to_lead_elsewhere_is_followed_again(tmp_path: Path):
    """S34"""
    path, target = tmp_path / "link", tmp_path / "a"
    path.symlink_to(target)
    approved = {str(path): str(target)}
    assert as_approved(str(path), approved) == Location(str(path), str(target))
    path.unlink()
    path.symlink_to(tmp_path / "b")
    with pytest.raises(PathChanged):
        as_approved(str(path), approved)
    with pytest.raises(PathChanged):
        as_approved(str(tmp_path / "b"), approved)


def test_what_is_there_is_seen_before_it_is_opened(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    seen: list[int] = []

    def look(status: os.stat_result) -> None:
        seen.append(status.st_mode)
        raise PermissionError

    before = open_descriptors()
    with pytest.raises(PermissionError):
        open_checked(locate(str(tmp_path / "pipe"), {}), look=look)
    assert stat.S_ISFIFO(seen[0]) and open_descriptors() == before

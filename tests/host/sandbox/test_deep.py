"""S33, S50: what is protected stays as it is at any depth, by whatever call, behind walls of every kind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.confined import FakePlace

_DEEP = "open/1/2/3/4/5/6/7/8"
_FOLDERS = (".git", ".claude", ".Vscode", ".config/git", ".husky")
_SHELL = [
    "rm {0}/{1}/file",
    "rm -rf {0}/{1}",
    "rm -rf {0}",
    "unlink {0}/{1}/file",
    "rmdir {0}/{1}/empty",
    "find {0} -delete",
    "mv {0}/{1}/file {0}/out",
    "mv {0}/{1} {0}/out",
    "mv {0}/plain {0}/{1}/file",
    "mv --exchange {0}/plain {0}/{1}/file",
    "cp {0}/plain {0}/{1}/new",
    "ln {0}/plain {0}/{1}/new",
    "ln {0}/{1}/file {0}/twin",
    "chmod 777 {0}/{1}/file",
    "chmod -R 777 {0}/{1}",
    "chmod 700 {0}/{1}",
    "chmod 777 {0}/../8/{1}/../{1}/file",
    "chmod 777 /proc/self/cwd/{0}/{1}/file",
    "ln -s {1} {0}/way && chmod 777 {0}/way/file",
    "ln -s {1}/file {0}/way2 && chmod 777 {0}/way2",
    "cd {0}/{1} && chmod 777 file . && rm file",
    "touch -d 2001-01-01 {0}/{1}/file",
    "touch -hd 2001-01-01 {0}/{1}",
    "exec 3< {0}/{1}/file && chmod 777 /proc/self/fd/3",
    "exec 3< {0}/{1}/file && chmod 777 /dev/fd/3",
    "chown $(id -u):$(id -g) {0}/{1}/file",
    "truncate -s 0 {0}/{1}/file",
    "sed -i s/k/x/ {0}/{1}/file",
    "mkdir open/node_modules; mv -n open/1 open/node_modules/1; rm -rf open/node_modules/1",
    "mv open/1 open/venv; rm -rf open/venv",
    "mkdir open/target; mv --exchange open/1 open/target; rm -rf open/target",
    'mv open/1 "$TMPDIR/"; rm -rf "$TMPDIR/1"',
]
_CALLS = """
import ctypes, os
base, name = {0!r}, {1!r}
path = f"{{base}}/{{name}}/file"
libc = ctypes.CDLL(None, use_errno=True)
folder = os.open(f"{{base}}/{{name}}", os.O_RDONLY)
held = os.open(path, os.O_RDONLY)
looked = os.open(path, os.O_PATH)
for act in (
    lambda: os.fchmod(held, 0o777), lambda: os.chmod("file", 0o777, dir_fd=folder),
    lambda: os.chmod(f"/proc/self/fd/{{looked}}", 0o777), lambda: os.chmod(folder, 0o777),
    lambda: os.fchown(held, os.getuid(), os.getgid()), lambda: os.lchown(path, os.getuid(), os.getgid()),
    lambda: os.chown("file", os.getuid(), os.getgid(), dir_fd=folder, follow_symlinks=False),
    lambda: os.utime(held, (1, 1)), lambda: os.utime(path, (1, 1)), lambda: os.utime(folder),
    lambda: os.utime("file", dir_fd=folder, follow_symlinks=False),
    lambda: os.setxattr(path, "user.a", b"1"), lambda: os.setxattr(held, "user.a", b"1"),
    lambda: os.setxattr(path, "user.a", b"1", follow_symlinks=False),
    lambda: os.removexattr(path, "user.kept"), lambda: os.removexattr(held, "user.kept"),
    lambda: os.unlink("file", dir_fd=folder), lambda: os.rmdir("empty", dir_fd=folder),
    lambda: os.rename("file", "other", src_dir_fd=folder, dst_dir_fd=folder),
    lambda: libc.syscall({2}, -100, path.encode(), 0o777, 0),
    lambda: libc.syscall(452, -100, path.encode(), 0o777, 0),
    lambda: libc.syscall(452, held, b"", 0o777, 0x1000),
    lambda: libc.futimens(held, None), lambda: libc.utimes(path.encode(), None),
    lambda: libc.fchownat(held, b"", os.getuid(), os.getgid(), 0x1000),
):
    try:
        act()
    except OSError:
        pass
"""


@pytest.mark.parametrize("name", _FOLDERS)
async def test_protected_folders_stay_whole_at_any_depth(any_place: FakePlace, name: str):
    _fill(any_place, name)
    before = _picture(any_place.project / _DEEP / name)
    await any_place.bash("\n".join(f"({line.format(_DEEP, name)}) 2> /dev/null" for line in _SHELL))
    assert (await any_place.python(_CALLS.format(_DEEP, name, 268))).code == 0
    await any_place.close()
    assert _picture(any_place.project / _DEEP / name) == before
    left = sorted(os.listdir(any_place.project / _DEEP))
    assert "out" not in left
    assert "twin" not in left


@pytest.mark.parametrize("name", [".mcp.json", ".BASHRC", "lefthook.yml", "pyrightconfig.json"])
async def test_protected_files_stay_at_any_depth(any_place: FakePlace, name: str):
    _fill(any_place, "usual")
    file = any_place.project / _DEEP / name
    file.write_text("kept")
    any_place.give(any_place.project)
    before = (file.lstat().st_mode, file.lstat().st_mtime_ns)
    said = await any_place.bash(
        f"cd {_DEEP}; rm {name}; rm -f {name}; mv {name} x; chmod 777 {name}; echo x > {name};"
        f" mv plain {name}; touch {name}; find . -name {name} -delete;"
        f" python3 -c 'import os; os.remove(\"{name}\")'; true"
    )
    assert said.code == 0
    assert (file.read_text(), file.lstat().st_mode, file.lstat().st_mtime_ns) == ("kept", *before)


async def test_everything_else_is_removed_and_changed_as_ever(any_place: FakePlace):
    _fill(any_place, "usual")
    said = await any_place.bash(
        f"set -e; cd {_DEEP}; chmod 640 plain; stat -c %a plain; touch -d 2001-02-03T04:05:06Z plain;"
        " stat -c %Y plain; ln -s plain link; touch -hd @5 link; stat -c %Y link plain; chmod 600 link;"
        " stat -c %a plain; exec 3< plain; chmod 644 /dev/fd/3; stat -c %a plain; mkdir d; rmdir d;"
        " ! rmdir usual 2> /dev/null; ! rm missing 2> /dev/null; ! rm usual 2> /dev/null;"
        " ! chmod 600 missing 2> /dev/null; : > f; chown $(id -u) f; cp -a plain copy; stat -c '%a %Y' copy;"
        " rm -rf usual link copy f; ls"
    )
    assert said.output.split() == [
        "640", "981173106", "5", "981173106", "600", "644", "644", "981173106", "plain",
    ], said.output  # fmt: skip


async def test_calls_on_descriptors_and_attributes_behave_as_the_kernel_does(any_place: FakePlace):
    _fill(any_place, "usual")
    said = await any_place.python(
        "import errno, os, socket, tempfile\n"
        f"os.chdir({_DEEP!r})\n"
        "held = os.open('plain', os.O_RDONLY); os.fchmod(held, 0o640); os.utime(held, ns=(1, 2))\n"
        "print(oct(os.stat('plain').st_mode), os.stat('plain').st_atime_ns, os.stat('plain').st_mtime_ns)\n"
        "memory = os.memfd_create('x'); os.fchmod(memory, 0o600); print(oct(os.fstat(memory).st_mode))\n"
        "with tempfile.TemporaryFile(dir='.') as file:\n"
        "    os.fchmod(file.fileno(), 0o604); print(oct(os.fstat(file.fileno()).st_mode))\n"
        "reading, writing = os.pipe(); os.fchmod(writing, 0o600); os.fchown(writing, -1, -1)\n"
        "def fails(act, *given):\n"
        "    try: act(*given); return 'done'\n"
        "    except OSError as error: return errno.errorcode[error.errno]\n"
        "print(fails(os.fchmod, 99, 0o600), fails(os.chmod, '', 0o600), fails(os.chmod, 'plain/x', 0o600),"
        " fails(os.unlink, 'usual'), fails(os.rmdir, 'plain'), fails(os.rmdir, 'usual'),"
        " fails(os.unlink, ''), fails(os.unlink, 'plain/'), fails(os.rmdir, '.'))\n"
        "os.symlink('loop', 'loop'); print(fails(os.chmod, 'loop', 0o600), fails(os.unlink, 'loop'))\n"
    )
    assert said.output.splitlines() == [
        "0o100640 1 2",
        "0o100600",
        "0o100604",
        "EBADF ENOENT ENOTDIR EISDIR ENOTDIR ENOTEMPTY ENOENT ENOTDIR EINVAL",
        "ELOOP done",
    ]


async def test_nothing_outside_gets_another_mode_or_owner(any_place: FakePlace):
    (any_place.outside / "old").write_text("kept")
    (any_place.outside / "old").chmod(0o644)
    any_place.give(any_place.base)
    before = _picture(any_place.outside)
    script = (
        "chmod 777 ../outside/old ../outside; chmod -R a+w ../outside; touch -d 2001-01-01 ../outside/old;"
        " ln -s ../../outside/old open/way; chmod 777 open/way; exec 3< ../outside/old; chmod 777 /dev/fd/3;"
        " chmod 777 /proc/self/root$PWD/../outside/old; rm ../outside/old; true"
    )
    assert (await any_place.bash(script)).code == 0
    await any_place.python(
        "import os\n"
        "for act in (lambda: os.fchmod(os.open('../outside/old', 0), 0o777),"
        " lambda: os.setxattr('../outside/old', 'user.a', b'1'),"
        " lambda: os.utime('../outside/old', (1, 1))):\n"
        "    try: act()\n"
        "    except OSError: pass\n"
    )
    assert _picture(any_place.outside) == before


async def test_older_kernels_hold_what_exists_at_any_depth(any_place: FakePlace):
    any_place.oversees = False
    _fill(any_place, ".git")
    before = _picture(any_place.project / _DEEP / ".git")
    said = await any_place.bash(
        f"cd {_DEEP}; rm -rf .git; mv .git x; chmod -R 777 .git; echo x > .git/file;"
        " chmod 777 .git/file; true"
    )
    assert said.code == 0
    assert _picture(any_place.project / _DEEP / ".git") == before


async def test_command_lines_of_others_are_not_seen(any_place: FakePlace):
    other = subprocess.Popen(
        [sys.executable, "-c", "input()", "--password=hunter2"],
        stdin=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        said = await any_place.bash(
            f"cat /proc/{other.pid}/cmdline /proc/{other.pid}/task/*/cmdline; cat /proc/[0-9]*/cmdline;"
            f" cat /proc/{other.pid}/comm /proc/{other.pid}/status; ps auxww;"
            f" cd /proc/{other.pid} && cat cmdline"
        )
        assert "hunter2" not in said.output
        own = await any_place.run("/bin/cat", "/proc/self/cmdline")
        assert own.output == "/bin/cat\0/proc/self/cmdline\0"
        assert "MemTotal" in (await any_place.bash("cat /proc/meminfo /proc/cpuinfo")).output
    finally:
        other.communicate(b"\n")


def _fill(place: FakePlace, name: str) -> None:
    folder = place.project / _DEEP / name
    (folder / "empty").mkdir(parents=True)
    (folder / "file").write_text("kept")
    (place.project / _DEEP / "plain").write_text("plain")
    if name != "usual":
        os.setxattr(folder / "file", "user.kept", b"1")
    place.give(place.project)


def _picture(folder: Path) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = []
    for path in (folder, *sorted(folder.rglob("*"))):
        info = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        owner = (info.st_uid, info.st_gid, info.st_nlink, info.st_mtime_ns)
        found.append((str(path), info.st_mode, owner, data, tuple(os.listxattr(path))))
    return found

"""S50, R6: opening a device or a pipe inside answers as the kernel does outside, and never hangs."""

import os
import subprocess

import pytest

from tests.fakes.confined import FakePlace

_TRIED = """
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def tried(name, flags):
    try:
        os.close(os.open(name, flags, 0o600))
        return "opened"
    except OSError as error:
        return errno.errorcode[error.errno]
ACCESS = {"reading": os.O_RDONLY, "writing": os.O_WRONLY, "both": os.O_RDWR}
MORE = {"": 0, "now": os.O_NONBLOCK, "create": os.O_CREAT, "append": os.O_APPEND, "cut": os.O_TRUNC,
        "create now": os.O_CREAT | os.O_NONBLOCK, "no terminal": os.O_NOCTTY}
"""
_ALL_FLAGS = "for a in ACCESS:\n  for m in MORE:\n    print(a, m, tried(NAME, ACCESS[a] | MORE[m]))"

_TERMINAL_USERS = [
    "echo hi > /dev/tty",
    "echo hi >> /dev/tty",
    "(exec 3<> /dev/tty)",
    "read line < /dev/tty",
    "echo hi | tee /dev/tty > /dev/null",
    "setsid -w bash -c 'echo hi > /dev/tty'",
    "ln -s /dev/tty open/way && echo hi > open/way",
    "echo hi > /proc/self/root/dev/tty",
    "mkfifo open/p && truncate -s 0 open/p",
    "truncate -s 0 /dev/tty",
    "cp /etc/hostname /dev/tty",
    "dd if=/dev/zero of=/dev/tty count=1",
]


@pytest.mark.parametrize("name", ["/dev/tty", "/dev/fd/3", "open/link", "open/socket", "/dev/pts/99"])
async def test_devices_without_another_end_answer_at_once(any_place: FakePlace, name: str):
    script = (
        f"{_TRIED}\nNAME = {name!r}\nos.symlink('/dev/tty', 'open/link')\n"
        "os.mknod('open/socket', 0o140600)\nheld = os.open('/dev/tty', os.O_PATH)\nos.dup2(held, 3)\n"
        f"{_ALL_FLAGS}\n"
    )
    inside = await any_place.python(script)
    assert inside.code == 0, inside.output
    (any_place.project / "open/link").unlink()
    (any_place.project / "open/socket").unlink()
    outside = subprocess.run(
        [any_place.person.python, "-I", "-S", "-c", script],
        cwd=any_place.project,
        user=any_place.person.uid,
        group=any_place.person.uid,
        extra_groups=[],
        capture_output=True,
        text=True,
        check=True,
        start_new_session=True,
    )
    assert "opened" not in inside.output
    if any_place.way != "landlock":
        # Landlock alone cannot make what it does not let through look absent.
        assert inside.output == outside.stdout


async def test_commands_that_want_a_terminal_are_told_that_there_is_none(any_place: FakePlace):
    said = await any_place.bash("\n".join(f"({line}) 2> /dev/null; echo $?" for line in _TERMINAL_USERS))
    codes = said.output.split()
    assert dict(zip(_TERMINAL_USERS, codes, strict=True)) == dict.fromkeys(_TERMINAL_USERS, "1")


async def test_programs_that_ask_for_a_password_fail_at_once(any_place: FakePlace):
    said = await any_place.run(
        any_place.person.python, "-I", "-W", "ignore", "-c", "import getpass; getpass.getpass()"
    )
    assert said.code != 0
    assert "EOFError" in said.output


@pytest.mark.parametrize("program", ["ssh -o StrictHostKeyChecking=ask x@127.0.0.1", "sudo -k true"])
async def test_ssh_and_sudo_do_not_hang(any_place: FakePlace, program: str):
    if subprocess.run(["which", program.split(maxsplit=1)[0]], capture_output=True, check=False).returncode:
        pytest.skip(f"{program.split(maxsplit=1)[0]} is not installed")
    assert (await any_place.bash(program)).code != 0


async def test_a_terminal_of_the_commands_own_is_its_terminal(place: FakePlace):
    said = await place.python(
        "import os, pty\n"
        "pid, master = pty.fork()\n"
        "if pid == 0:\n"
        "    with open('/dev/tty', 'w') as file: file.write('on its terminal')\n"
        "    with open('/dev/tty', 'r+b', buffering=0) as file: print(os.isatty(file.fileno()), flush=True)\n"
        "    os._exit(0)\n"
        "text = b''\n"
        "while True:\n"
        "    try: text += os.read(master, 100)\n"
        "    except OSError: break\n"
        "print(text, os.waitpid(pid, 0)[1])\n"
    )
    assert said.output == "b'on its terminalTrue\\r\\n' 0\n", said.output


@pytest.mark.parametrize(
    ("script", "printed"),
    [
        ("mkfifo p; (echo late > p) & cat p", "late"),
        ("mkfifo p; (cat p) & echo late > p; wait", "late"),
        ("mkfifo p; exec 3<> p; echo held >&3; read -u 3 line; echo $line", "held"),
        ("mkfifo p; (exec 4> p; echo one >&4) & (exec 5< p; cat <&5) & wait", "one"),
    ],
)
async def test_pipes_still_wait_for_their_other_end(any_place: FakePlace, script: str, printed: str):
    said = await any_place.bash(f"cd open; {script}")
    assert (said.code, said.output) == (0, f"{printed}\n")


@pytest.mark.parametrize("flags", ["os.O_RDONLY | os.O_CREAT", "os.O_RDONLY | os.O_CREAT | os.O_CLOEXEC"])
async def test_a_reader_that_might_create_waits_for_its_writer(any_place: FakePlace, flags: str):
    said = await any_place.python(
        "import os\n"
        "os.mkfifo('open/p')\n"
        "first, go = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.read(first, 1)\n"
        "    out = os.open('open/p', os.O_WRONLY); os.write(go, b'x'); os.write(out, b'all'); os._exit(0)\n"
        "os.write(go, b'g')\n"
        f"held = os.open('open/p', {flags})\n"
        "print(os.read(held, 9), os.get_blocking(held))\n"
    )
    assert said.output == "b'all' True\n", said.output


async def test_named_pipes_answer_each_flag_as_outside(any_place: FakePlace):
    script = (
        f"{_TRIED}\nos.mkfifo('open/p')\n"
        "for a, m in (('reading', 'now'), ('writing', 'now'), ('both', ''), ('both', 'now'),"
        " ('both', 'create'), ('reading', 'create now'), ('writing', 'create now')):\n"
        "    print(a, m, tried('open/p', ACCESS[a] | MORE[m]))\n"
        "print(tried('open/p', os.O_CREAT | os.O_EXCL | os.O_WRONLY), libc.truncate(b'open/p', 0),"
        " ctypes.get_errno())\n"
    )
    said = await any_place.python(script)
    assert said.output.splitlines() == [
        "reading now opened",
        "writing now ENXIO",
        "both  opened",
        "both now opened",
        "both create opened",
        "reading create now opened",
        "writing create now ENXIO",
        "EEXIST -1 22",
    ]


async def test_killed_waiters_leave_nothing_open(any_place: FakePlace):
    said = await any_place.bash(
        "cd open; mkfifo p; for n in 1 2 3; do (exec > p) & kill -9 $!; wait $!; done 2> /dev/null;"
        " (exec 3< p) & kill -9 $!; wait $! 2> /dev/null; echo x > after && cat after"
    )
    assert said.output == "x\n"
    assert os.path.exists(any_place.project / "open/after")

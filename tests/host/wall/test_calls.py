"""S50: system calls that reach other processes, the kernel or the network are closed to judged commands."""

import json
import os

import pytest

from bridle.host.wall.filters import judged_filter, supervised_calls
from tests.fakes.judged import FakeJudged

_PROBE = r"""
import ctypes, errno, json, os, socket, struct
c = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    done = c.syscall(number, *arguments)
    return "done" if done >= 0 else errno.errorcode.get(ctypes.get_errno(), "?")
def tried(what, *arguments):
    try:
        what(*arguments)
    except OSError as error:
        return errno.errorcode.get(error.errno, "?")
    return "done"
parent = os.getppid()
said = {
    "ptrace": call(101, 16, parent, 0, 0),
    "process_vm_writev": call(311, parent, 0, 0, 0, 0, 0),
    "io_uring": call(425, 1, 0),
    "mount": call(165, b"none", b"/tmp", b"tmpfs", 0, 0),
    "unshare": call(272, 1 << 28),
    "setns": call(308, 0, 0),
    "chroot": call(161, b"/"),
    "bpf": call(321, 0, 0, 0),
    "perf": call(298, 0, 0, -1, -1, 0),
    "keyctl": call(250, 0),
    "userfaultfd": call(323, 0),
    "sethostname": call(170, b"x", 1),
    "reboot": call(169, 0, 0, 0, 0),
    "kexec": call(246, 0, 0, 0, 0),
    "syslog": call(103, 3, 0, 0),
    "open_by_handle": call(304, 0, 0, 0),
    "openat2": call(437, -100, b"x", struct.pack("QQQ", 0o101, 0o644, 0), 24),
    "clone3": call(435, 0, 0),
    "setpriority": call(141, 0, parent, 5),
    "setpriority_user": call(141, 2, 0, 5),
    "prlimit": call(302, parent, 7, 0, 0),
    "affinity": call(203, parent, 8, b"\1" + b"\0" * 7),
    "ioprio": call(251, 1, parent, 0),
    "ioprio_user": call(251, 3, 0, 0),
    "shmget": call(29, 0, 4096, 0o1600),
    "msgget": call(68, 0, 0o1600),
    "semget": call(64, 0, 1, 0o1600),
    "mq_open": call(240, b"x", 0o102, 0o600, 0),
    "pidfd_getfd": call(438, 0, 0, 0),
    "swapon": call(167, b"x", 0),
    "setxattr": call(188, b"a.txt", b"user.a", b"1", 1, 0),
    "file_setattr": call(469, -100, b"a.txt", 0, 0, 0),
    "utime": call(132, b"a.txt", 0),
    "fcntl_owner": call(72, 0, 8, parent),
    "tiocsti": call(16, 0, 0x5412, b"x"),
    "setflags": call(16, os.open("a.txt", os.O_RDONLY), 0x40086602, struct.pack("l", 16)),
    "datagram_pair": tried(socket.socketpair, socket.AF_UNIX, socket.SOCK_DGRAM),
    "uevents": tried(socket.socket, socket.AF_NETLINK, socket.SOCK_RAW, 15),
    **{
        f"family_{n}": tried(socket.socket, n, t)
        for n in (1, 2, 3, 5, 9, 10, 17, 21, 29, 31, 38, 40, 44) for t in (1, 2, 3, 5)
    },
}
print(json.dumps({name: how for name, how in said.items() if how == "done"}))
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="the numbers are those of x86-64")
@pytest.mark.parametrize("level", ["read", "edit"])
async def test_no_call_reaches_beyond_the_command(judged: FakeJudged, level: str):
    (judged.project / "probe.py").write_text(_PROBE)
    ran = await judged.run("exec python3 probe.py", "edit" if level == "edit" else "read")
    assert json.loads(ran.said) == {}


def test_filters_are_made_for_both_machines():
    for machine in ("x86_64", "aarch64", "arm64"):
        assert len(judged_filter(machine)) % 8 == 0
        assert {"openat", "kill", "socket"} <= set(supervised_calls(machine).values())
    with pytest.raises(KeyError):
        judged_filter("riscv64")


async def test_a_superuser_cannot_change_the_network(judged: FakeJudged):
    if os.geteuid() != 0:
        pytest.skip("for the superuser only")
    script = (
        "import socket, struct; s = socket.socket(16, 3, 0); "
        "s.send(struct.pack('=IHHII', 32, 16, 5, 1, 0) + struct.pack('=BBHiII', 0, 0, 0, 1, 0, 1)); "
        "print(struct.unpack_from('=i', s.recv(4096), 16)[0])"
    )
    ran = await judged.run(f'python3 -c "{script}"')
    assert ran.said.strip() == "-1"

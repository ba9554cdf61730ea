import errno
import os

import pytest

from bridle.host.sandbox.policy import Network, Policy
from bridle.host.sandbox.syscall_filter import call_filter
from tests.fakes.confined import FakePlace

_CALL = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*arguments):
    return (libc.syscall(*arguments), ctypes.get_errno())
"""
_X86_64 = os.uname().machine == "x86_64"
_CALLS = {
    "ptrace": "call(101, 16, os.getppid(), 0, 0)",
    "traceme": "call(101, 0, 0, 0, 0)",
    "io_uring_setup": "call(425, 1, ctypes.create_string_buffer(200))",
    "mount": "call(165, b'none', b'/tmp', b'tmpfs', 0, 0)",
    "umount": "call(166, b'/proc', 2)",
    "pivot_root": "call(155, b'/', b'/')",
    "chroot": "call(161, b'/')",
    "open_tree": "call(428, -100, b'/', 1)",
    "fsopen": "call(430, b'tmpfs', 0)",
    "mount_setattr": "call(442, -100, b'/', 0, (ctypes.c_uint64 * 4)(0, 1, 0, 0), 32)",
    "unshare user": "call(272, 0x10000000)",
    "unshare net": "call(272, 0x40000000)",
    "setns": "call(308, os.open('/proc/self/ns/net', 0), 0)",
    "clone user": "call(56, 0x10000000 | 17, 0, 0, 0, 0)",
    "keyctl": "call(250, 0, -3, 0)",
    "add_key": "call(248, b'user', b'x', b'y', 1, -3)",
    "bpf": "call(321, 0, 0, 0)",
    "userfaultfd": "call(323, 0)",
    "perf_event_open": "call(298, ctypes.create_string_buffer(200), 0, -1, -1, 0)",
    "process_vm_readv": "call(310, os.getppid(), 0, 0, 0, 0, 0)",
    "pidfd_getfd": "call(438, 0, 0, 0)",
    "open_by_handle_at": "call(304, -100, ctypes.create_string_buffer(64), 0)",
    "kexec": "call(246, 0, 0, 0, 0)",
    "init_module": "call(175, 0, 0, 0)",
    "inject into a terminal": "call(16, 0, 0x5412, b'x')",
}


@pytest.mark.skipif(not _X86_64, reason="the numbers are those of x86-64")
@pytest.mark.parametrize("name", _CALLS)
async def test_dangerous_calls_are_refused(place: FakePlace, name: str):
    said = await place.python(f"{_CALL}\nprint(*{_CALLS[name]})")
    assert said.output == f"-1 {errno.EPERM}\n"


@pytest.mark.skipif(not _X86_64, reason="the numbers are those of x86-64")
async def test_new_calls_whose_flags_cannot_be_seen_are_absent(place: FakePlace):
    said = await place.python(f"{_CALL}\nprint(*call(435, 0, 0), *call(0x40000000 + 39))")
    assert said.output == f"-1 {errno.ENOSYS} -1 {errno.ENOSYS}\n"


async def test_threads_and_children_still_work(place: FakePlace):
    said = await place.run(
        place.person.python,
        "-I",
        "-c",
        "import subprocess, threading, multiprocessing as m\n"
        "t = threading.Thread(target=print, args=('thread',)); t.start(); t.join()\n"
        "print(subprocess.run(['/bin/echo', 'child'], capture_output=True, text=True).stdout, end='')\n"
        "with m.get_context('fork').Pool(2) as pool: print(sum(pool.map(abs, [-1, -2])))",
    )
    assert said.output == "thread\nchild\n3\n"


_FAMILIES = """
import _socket
for name, family, kind, protocol in (
    ("unix", 1, 1, 0), ("unix datagram", 1, 2, 0), ("packet", 17, 3, 768), ("vsock", 40, 1, 0),
    ("kernel crypto", 38, 5, 0), ("netlink audit", 16, 3, 9), ("bluetooth", 31, 3, 1), ("raw", 2, 3, 1),
    ("inet", 2, 1, 0), ("inet6", 10, 1, 0), ("udp", 2, 2, 0), ("netlink route", 16, 3, 0),
):
    try:
        _socket.socket(family, kind, protocol)
        print(name)
    except OSError:
        pass
"""


async def test_only_families_that_lead_nowhere_can_be_used(place: FakePlace):
    said = await place.python(_FAMILIES)
    assert set(said.output.splitlines()) <= {"inet", "inet6", "udp", "netlink route"}


async def test_landlock_alone_has_no_sockets_at_all(narrow: FakePlace):
    said = await narrow.python(_FAMILIES)
    assert said.output == ""


async def test_half_of_a_pair_cannot_be_pointed_elsewhere(place: FakePlace):
    said = await place.python(
        "import _socket\n"
        "a, b = _socket.socketpair(1, 1); print('stream')\n"
        "try: _socket.socketpair(1, 2)\n"
        "except PermissionError: print('refused')"
    )
    assert said.output == "stream\nrefused\n"


async def test_sockets_of_the_file_system_can_be_opened_by_the_user(place: FakePlace):
    place.open(Policy(network=Network(all_unix_sockets=True)))
    said = await place.python("import _socket\n_socket.socket(1, 1); print('unix')")
    assert said.output == "unix\n"


async def test_nothing_is_gained_from_setuid_programs(place: FakePlace):
    said = await place.bash(
        "grep -E '^(CapPrm|CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status | tr -d '\\t';"
        ' for p in su sudo mount ping; do p=$(command -v $p) && [ -u "$p" ] && $p --version > /dev/null 2>&1;'
        " done; grep nosuid /proc/self/mountinfo | grep -c ' / / '"
    )
    assert said.output.splitlines() == [
        "CapPrm:0000000000000000",
        "CapEff:0000000000000000",
        "CapBnd:0000000000000000",
        "NoNewPrivs:1",
        "Seccomp:2",
        "1",
    ]


def test_filters_are_known_for_both_machines():
    for machine in ("x86_64", "aarch64"):
        program = call_filter(machine, internet=True, unix_sockets=False)
        assert len(program) % 8 == 0
        assert len(program) // 8 < 4096
    with pytest.raises(KeyError):
        call_filter("pdp11", internet=True, unix_sockets=False)

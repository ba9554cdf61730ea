"""The system calls that a confined program is refused, as a program for the kernel's filter."""

import struct

from msgspec import Struct

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | 1
_ABSENT = 0x00050000 | 38
_HAND_OVER = 0x7FC00000
_NUMBER, _ARCHITECTURE = 0, 4
_X32 = 0x40000000
_NAMESPACE_FLAGS = 0x7E020000
_TERMINAL_INJECTION = (0x5412, 0x541C)
_UNIX, _INET, _INET6, _NETLINK = 1, 2, 10, 16
_STREAM, _SEQUENCED = 1, 5

_REFUSED = {
    "acct": (163, 89), "add_key": (248, 217), "bpf": (321, 280), "chroot": (161, 51),
    "clock_settime": (227, 112), "delete_module": (176, 106), "fanotify_init": (300, 262),
    "finit_module": (313, 273), "fsconfig": (431, 431), "fsmount": (432, 432), "fsopen": (430, 430),
    "fspick": (433, 433), "init_module": (175, 105), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_uring_setup": (425, 425), "ioperm": (173, None), "iopl": (172, None),
    "kcmp": (312, 272), "kexec_file_load": (320, 294), "kexec_load": (246, 104), "keyctl": (250, 219),
    "lookup_dcookie": (212, 18), "modify_ldt": (154, None), "mount": (165, 40), "mount_setattr": (442, 442),
    "move_mount": (429, 429), "open_by_handle_at": (304, 265), "open_tree": (428, 428),
    "open_tree_attr": (467, 467), "perf_event_open": (298, 241), "pidfd_getfd": (438, 438),
    "pivot_root": (155, 41), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "ptrace": (101, 117), "quotactl": (179, 60), "quotactl_fd": (443, 443), "reboot": (169, 142),
    "request_key": (249, 218), "setdomainname": (171, 162), "sethostname": (170, 161), "setns": (308, 268),
    "settimeofday": (164, 170), "swapoff": (168, 225), "swapon": (167, 224), "syslog": (103, 116),
    "umount2": (166, 39), "unshare": (272, 97), "userfaultfd": (323, 282), "vhangup": (153, 58),
}  # fmt: skip
"""On x86-64 and on 64-bit ARM."""

_QUIET = {
    "brk": (12, 214), "clock_gettime": (228, 113), "clock_nanosleep": (230, 115), "close": (3, 57),
    "exit": (60, 93), "exit_group": (231, 94), "fstat": (5, 80), "futex": (202, 98), "getpid": (39, 172),
    "getrandom": (318, 278), "gettid": (186, 178), "gettimeofday": (96, 169), "madvise": (28, 233),
    "mmap": (9, 222), "mprotect": (10, 226), "mremap": (25, 216), "munmap": (11, 215), "read": (0, 63),
    "rt_sigaction": (13, 134), "rt_sigprocmask": (14, 135), "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124), "setitimer": (38, 103), "write": (1, 64),
}  # fmt: skip
"""What a program needs that only computes and talks over what it has open."""

_NAMING = {
    "creat": (85, None), "link": (86, None), "linkat": (265, 37), "mkdir": (83, None), "mkdirat": (258, 34),
    "mknod": (133, None), "mknodat": (259, 33), "rename": (82, None), "renameat": (264, 38),
    "renameat2": (316, 276), "rmdir": (84, None), "symlink": (88, None), "symlinkat": (266, 36),
    "truncate": (76, 45), "unlink": (87, None), "unlinkat": (263, 35),
}  # fmt: skip
"""Calls that make, move, cut or remove what has a name."""
_MARKING = {
    "chmod": (90, None), "chown": (92, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchown": (93, 55),
    "fchownat": (260, 54), "fremovexattr": (199, 16), "fsetxattr": (190, 7), "lchown": (94, None),
    "lremovexattr": (198, 15), "lsetxattr": (189, 6), "removexattr": (197, 14), "setxattr": (188, 5),
}  # fmt: skip
"""Calls that change the mode, the owner or the attributes of what is there."""
_TIMING = {
    "futimesat": (261, None), "utime": (132, None), "utimensat": (280, 88), "utimes": (235, None),
}  # fmt: skip
_OVERSEEN = _NAMING | _MARKING | _TIMING
_OPENING = {"open": (2, None, 1), "openat": (257, 56, 2)}
"""Calls that do so with some flags, and which argument those are."""
_NEWER = {"fchmodat2": 452, "file_setattr": 469, "openat2": 437, "removexattrat": 466, "setxattrat": 463}
"""Calls that do the same as others; programs fall back to those."""
_TO_WRITE = 0o1 | 0o2 | 0o100 | 0o1000
"""Open for writing or both, create, truncate."""


class _Machine(Struct, frozen=True, kw_only=True):
    column: int
    audit: int
    clone: int
    ioctl: int
    socket: int
    socketpair: int
    seccomp: int
    clone3: int = 435


_MACHINES = {
    "x86_64": _Machine(column=0, audit=0xC000003E, clone=56, ioctl=16, socket=41, socketpair=53, seccomp=317),
    "aarch64": _Machine(
        column=1, audit=0xC00000B7, clone=220, ioctl=29, socket=198, socketpair=199, seccomp=277
    ),
}
_MACHINES["arm64"] = _MACHINES["aarch64"]


def is_known(machine: str) -> bool:
    """Whether the system calls of a machine, as `os.uname` names it, are known."""
    return machine in _MACHINES


def overseen_calls(machine: str) -> tuple[int, dict[int, str]]:
    """The call that hands others over, and those that are handed over: their numbers and names."""
    it = _MACHINES[machine]
    calls = {name: numbers[it.column] for name, numbers in (*_OVERSEEN.items(), *_OPENING.items())}
    return it.seccomp, {number: name for name, number in calls.items() if number is not None}


def call_filter(
    machine: str, *, internet: bool, unix_sockets: bool, overseen: bool = False, marking: bool = True
) -> bytes:
    """A filter program; `internet` is for a network namespace of one's own, where it leads nowhere.

    When `overseen`, calls that open files for writing, and that make, remove or change what has a name, are
    handed over to another process. Without `marking`, modes, owners and attributes stay as they are.

    Raises:
        KeyError: the machine is not known.
    """
    it = _MACHINES[machine]
    refused = sorted(n for numbers in _REFUSED.values() if (n := numbers[it.column]) is not None)
    parts = [
        # A program for another instruction set could make the same calls under other numbers.
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, it.audit, 1, 0),
        _step(_RETURN, _ABSENT),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _X32, 0, 1),
        _step(_RETURN, _ABSENT),
        *(part for number in refused for part in (_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE))),
        *(_handing_over(it.column) if overseen else () if marking else _keeping_marks(it.column)),
        # Its flags are behind a pointer; callers fall back to clone.
        _step(_EQUAL, it.clone3, 0, 1),
        _step(_RETURN, _ABSENT),
        *_when(it.clone, [_load(0), _step(_ANY_BIT, _NAMESPACE_FLAGS, 0, 1), _step(_RETURN, _REFUSE)]),
        *_when(it.ioctl, _refusing(1, _TERMINAL_INJECTION)),
        *_when(it.socket, _families(internet=internet, unix_sockets=unix_sockets), ends=True),
        *_when(it.socketpair, _pairs(unix_sockets=unix_sockets), ends=True),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(parts)


def quiet_filter(machine: str) -> bytes:
    """A filter program that leaves computing and open descriptors: no names, sockets or other programs.

    Raises:
        KeyError: the machine is not known.
    """
    it = _MACHINES[machine]
    allowed = sorted(numbers[it.column] for numbers in _QUIET.values())
    parts = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, it.audit, 1, 0),
        _step(_RETURN, _ABSENT),
        _step(_LOAD, _NUMBER),
        *(part for number in allowed for part in (_step(_EQUAL, number, 0, 1), _step(_RETURN, _ALLOW))),
        _step(_RETURN, _REFUSE),
    ]
    return b"".join(parts)


def _handing_over(column: int) -> list[bytes]:
    steps: list[bytes] = []
    for numbers in _OVERSEEN.values():
        if (number := numbers[column]) is not None:
            steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _HAND_OVER)]
    for *numbers, flags in _OPENING.values():
        if (number := numbers[column]) is not None:
            asks = [_load(flags), _step(_ANY_BIT, _TO_WRITE, 0, 1), _step(_RETURN, _HAND_OVER)]
            steps += _when(number, asks)
    return [*steps, *_without_newer()]


def _keeping_marks(column: int) -> list[bytes]:
    """For walls that hold no modes and owners, when there is no one to look at each call."""
    steps = _without_newer()
    for numbers in _MARKING.values():
        if (number := numbers[column]) is not None:
            steps += [_step(_EQUAL, number, 0, 1), _step(_RETURN, _REFUSE)]
    return steps


def _without_newer() -> list[bytes]:
    return [
        part for number in _NEWER.values() for part in (_step(_EQUAL, number, 0, 1), _step(_RETURN, _ABSENT))
    ]


def _families(*, internet: bool, unix_sockets: bool) -> list[bytes]:
    families = ((_INET, _INET6) if internet else ()) + ((_UNIX,) if unix_sockets else ())
    steps = [_load(0)]
    for family in families:
        steps += [_step(_EQUAL, family, 0, 1), _step(_RETURN, _ALLOW)]
    if internet:
        # Looking at the own interfaces is how programs learn which addresses to try.
        steps += [_step(_EQUAL, _NETLINK, 0, 3), _load(2), _step(_EQUAL, 0, 0, 1), _step(_RETURN, _ALLOW)]
    return [*steps, _step(_RETURN, _REFUSE)]


def _pairs(*, unix_sockets: bool) -> list[bytes]:
    """Half of a datagram pair can be pointed at any socket of the file system; connected ones cannot."""
    if unix_sockets:
        return [_step(_RETURN, _ALLOW)]
    steps = [_load(0), _step(_EQUAL, _UNIX, 1, 0), _step(_RETURN, _REFUSE), _load(1), _step(_AND, 0xF)]
    for kind in (_STREAM, _SEQUENCED):
        steps += [_step(_EQUAL, kind, 0, 1), _step(_RETURN, _ALLOW)]
    return [*steps, _step(_RETURN, _REFUSE)]


def _refusing(argument: int, values: tuple[int, ...]) -> list[bytes]:
    steps = [_load(argument)]
    for value in values:
        steps += [_step(_EQUAL, value, 0, 1), _step(_RETURN, _REFUSE)]
    return steps


def _when(number: int, steps: list[bytes], *, ends: bool = False) -> list[bytes]:
    """Steps for one system call; unless they return a verdict, the call is allowed after them."""
    body = steps if ends else [*steps, _step(_RETURN, _ALLOW)]
    return [_step(_EQUAL, number, 0, len(body)), *body]


def _load(argument: int) -> bytes:
    return _step(_LOAD, 16 + 8 * argument)


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)


def refused_calls(machine: str) -> tuple[int, ...]:
    """The numbers of the calls that no confined program may make.

    Raises:
        KeyError: the machine is not known.
    """
    column = _MACHINES[machine].column
    return tuple(sorted(n for numbers in _REFUSED.values() if (n := numbers[column]) is not None))

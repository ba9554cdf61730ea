"""The filter of system calls that a judged command runs under."""

import os
import struct
from collections.abc import Mapping
from errno import EACCES, ENOSYS, ENOTSUP, ENOTTY, EPERM
from functools import cache

from bridle.host.sandbox.syscall_filter import refused_calls

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _HAND_OVER, _FAIL = 0x7FFF0000, 0x7FC00000, 0x00050000
_ALLOWED = struct.pack("=HBBI", _RETURN, 0, 0, _ALLOW)
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEWEST = 467
"""Calls that kernels added later are not known, so they are absent here."""
_NAMESPACES = 0x7E020000
_UNIX, _NETLINK = 1, 16
TO_WRITE = 0o1 | 0o2 | 0o100 | 0o1000
"""Flags of which one makes opening a file more than reading it."""

SUPERVISED = {
    "creat": (85, None), "mkdir": (83, None), "mkdirat": (258, 34), "mknod": (133, None),
    "mknodat": (259, 33), "symlink": (88, None), "symlinkat": (266, 36), "link": (86, None),
    "linkat": (265, 37), "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "truncate": (76, 45), "unlink": (87, None), "unlinkat": (263, 35), "rmdir": (84, None),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "utimensat": (280, 88), "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "pidfd_send_signal": (424, 424),
}  # fmt: skip
"""Calls that change what has a name, or reach another process; on x86-64 and on 64-bit ARM."""
OPENING = {"open": (2, None), "openat": (257, 56)}
"""System calls that are refused when they open for writing."""
SOCKET = {"socket": (41, 198)}
"""System calls that are refused for every address family that leaves this machine."""

_ABSENT = {
    "openat2": (437, 437), "clone3": (435, 435), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None),
}  # fmt: skip
"""Programs fall back to calls that can be looked at."""
_UNSUPPORTED = {
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), "setxattrat": (463, 463),
    "removexattrat": (466, 466),
}  # fmt: skip
_REFUSED = {
    "msgget": (68, 186), "msgctl": (71, 187), "semget": (64, 190), "semctl": (66, 191), "shmget": (29, 194),
    "shmctl": (31, 195), "shmat": (30, 196), "mq_open": (240, 180), "mq_unlink": (241, 181),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
}  # fmt: skip
"""Besides what no confined program may do: what other processes share with this one."""
_OWN_ONLY = {
    "sched_setparam": (142, 118), "sched_setscheduler": (144, 119), "sched_setattr": (314, 274),
    "sched_setaffinity": (203, 122), "prlimit64": (302, 261),
}  # fmt: skip
"""Calls that name a process first; zero is the caller itself."""
_OWN_PRIORITY = {(141, 140): 0, (251, 30): 1}
"""Calls that name a kind of target before the target; the kind that means one process."""
_IOCTL, _FCNTL, _CLONE, _SOCKETPAIR = (16, 29), (72, 25), (56, 220), (53, 199)
_PLAIN_IOCTLS = (
    0x5401, 0x5402, 0x5403, 0x5404, 0x5409, 0x540B, 0x540F, 0x5410, 0x5411, 0x5413, 0x541B, 0x5421, 0x5429,
    0x5450, 0x5451, 0x5452, 0x802C542A, 0x80086601, 0x80046601, 0x801C581F, 0x80087601, 0xC020660B, 0x2,
    0x80081272, 0x40049409, 0x4020940D,
)  # fmt: skip
"""What programs ask of terminals, pipes and files; the last two copy into a file that is open for writing."""
_NOTIFYING_FCNTLS = (8, 10, 15, 1024, 1026)


def supervised_calls(machine: str) -> dict[int, str]:
    """The numbers and names of the calls that are handed over to the holder of the listener."""
    column = _column(machine)
    tables = (*SUPERVISED.items(), *OPENING.items(), *SOCKET.items())
    return {number: name for name, numbers in tables if (number := numbers[column]) is not None}


@cache
def judged_filter(machine: str, *, reads: bool = False) -> bytes:
    """A filter program under which a command computes and reads, and everything else is looked at.

    With `reads`, opening for reading is handed over as well; listing folders never is.

    Raises:
        KeyError: the machine is not known.
    """
    it = _column(machine)
    refused = (*refused_calls(machine), *_numbers(_REFUSED, it))
    parts = [
        _step(_LOAD, _ARCHITECTURE),
        _step(_EQUAL, _AUDIT[_plain(machine)], 1, 0),
        _fail(ENOSYS),
        _step(_LOAD, _NUMBER),
        _step(_AT_LEAST, _NEWEST + 1, 0, 1),
        _fail(ENOSYS),
        *_answering(_numbers(SUPERVISED, it), _step(_RETURN, _HAND_OVER)),
        *_answering(refused, _fail(EPERM)),
        *_answering(_numbers(_ABSENT, it), _fail(ENOSYS)),
        *_answering(_numbers(_UNSUPPORTED, it), _fail(ENOTSUP)),
        *_openings(it, reads=reads),
        *_when(_IOCTL[it], [*_listed(1, _PLAIN_IOCTLS), _fail(ENOTTY)]),
        *_when(_FCNTL[it], [_load(1), *_answering(_NOTIFYING_FCNTLS, _fail(EPERM)), _ALLOWED]),
        *_when(_CLONE[it], [_load(0), _step(_ANY_BIT, _NAMESPACES, 0, 1), _fail(EPERM), _ALLOWED]),
        *_when(SOCKET["socket"][it], _families()),
        *_when(_SOCKETPAIR[it], _pairs()),
        *(step for number in _numbers(_OWN_ONLY, it) for step in _when(number, _zero(0))),
        *(
            step
            for numbers, kind in _OWN_PRIORITY.items()
            for step in _when(numbers[it], [_load(0), _step(_EQUAL, kind, 1, 0), _fail(EPERM), *_zero(1)])
        ),
        _ALLOWED,
    ]  # fmt: skip
    return b"".join(parts)


def _openings(column: int, *, reads: bool) -> list[bytes]:
    steps: list[bytes] = []
    # A descriptor without rights, or of a folder, shows nothing of what is in a file.
    harmless = (os.O_DIRECTORY | os.O_PATH) if reads else 0
    for flags, numbers in zip((1, 2), OPENING.values(), strict=True):
        if (number := numbers[column]) is not None:
            handed = [_load(flags), _step(_ANY_BIT, TO_WRITE, 0, 1), _step(_RETURN, _HAND_OVER)]
            handed += [_step(_ANY_BIT, harmless, 1, 0), _step(_RETURN, _HAND_OVER)] if reads else []
            steps += _when(number, [*handed, _ALLOWED])
    return steps


def _families() -> list[bytes]:
    """Looking at the own interfaces is free; the local sockets of other programs are refused quietly, because
    looking up a user's name tries one and does without."""
    return [
        _load(0),
        _step(_EQUAL, _UNIX, 0, 1),
        _fail(EACCES),
        _step(_EQUAL, _NETLINK, 0, 4),
        _load(2),
        _step(_EQUAL, 0, 0, 1),
        _ALLOWED,
        _fail(EPERM),
        _step(_RETURN, _HAND_OVER),
    ]


def _pairs() -> list[bytes]:
    """Half of a datagram pair can be pointed at any socket of the file system; connected ones cannot."""
    steps = [_load(0), _step(_EQUAL, _UNIX, 1, 0), _fail(EPERM), _load(1), _step(0x54, 0xF)]
    for kind in (1, 5):
        steps += [_step(_EQUAL, kind, 0, 1), _ALLOWED]
    return [*steps, _fail(EPERM)]


def _zero(argument: int) -> list[bytes]:
    return [_load(argument), _step(_EQUAL, 0, 1, 0), _fail(EPERM), _ALLOWED]


def _listed(argument: int, values: tuple[int, ...]) -> list[bytes]:
    return [_load(argument), *_answering(values, _ALLOWED)]


def _answering(values: tuple[int, ...], answer: bytes) -> list[bytes]:
    return [step for value in values for step in (_step(_EQUAL, value, 0, 1), answer)]


def _when(number: int, steps: list[bytes]) -> list[bytes]:
    return [_step(_EQUAL, number, 0, len(steps)), *steps]


def _numbers(table: Mapping[str, tuple[int | None, ...]], column: int) -> tuple[int, ...]:
    return tuple(number for numbers in table.values() if (number := numbers[column]) is not None)


def _column(machine: str) -> int:
    return {"x86_64": 0, "aarch64": 1}[_plain(machine)]


def _plain(machine: str) -> str:
    return "aarch64" if machine == "arm64" else machine


def _fail(error: int) -> bytes:
    return _step(_RETURN, _FAIL | error)


def _load(argument: int) -> bytes:
    return _step(_LOAD, _ARGUMENTS + 8 * argument)


def _step(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)

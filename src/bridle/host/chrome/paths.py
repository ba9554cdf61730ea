"""Where the sockets of browsers lie, and what else is kept for them."""

import hashlib
import os
from collections.abc import Mapping

from bridle.host.paths import bridle_dir

_LONGEST_PATH = 100
"""Some systems take little more than this for the name of a socket."""
_LONGEST_NAME = 14
_ENDING = ".sock"


def chrome_dir(env: Mapping[str, str]) -> str:
    """The folder with the extension, the launcher and the sockets."""
    return os.path.join(bridle_dir(env), "chrome")


def extension_dir(env: Mapping[str, str]) -> str:
    """Where the extension lies that browsers load."""
    return os.path.join(chrome_dir(env), "extension")


def launcher(env: Mapping[str, str]) -> str:
    """The program that browsers start."""
    return os.path.join(chrome_dir(env), "native-host")


def socket_of(env: Mapping[str, str], pid: int) -> str:
    """Where the host process of this number listens."""
    folder, start = _socket_names(env)
    return os.path.join(folder, f"{start}{pid}{_ENDING}")


def sockets(env: Mapping[str, str]) -> tuple[str, ...]:
    """The sockets of all browsers, of which some may have ended; the newest first."""
    folder, start = _socket_names(env)
    try:
        names = [name for name in os.listdir(folder) if name.startswith(start) and name.endswith(_ENDING)]
    except OSError:
        return ()
    numbers = {name: name.removeprefix(start).removesuffix(_ENDING) for name in names}
    known = [(int(number), name) for name, number in numbers.items() if number.isdecimal()]
    return tuple(os.path.join(folder, name) for _, name in sorted(known, reverse=True))


def _socket_names(env: Mapping[str, str]) -> tuple[str, str]:
    """The folder of sockets and how their names begin.

    They lie in the user's own folder where its name is short enough for a socket, else in another
    private one.
    """
    wanted = os.path.join(chrome_dir(env), "sockets")
    if len(os.fsencode(wanted)) + _LONGEST_NAME <= _LONGEST_PATH:
        return wanted, ""
    # No variable may have a say: a browser does not have those of a terminal.
    mark = hashlib.sha256(os.fsencode(wanted)).hexdigest()[:12]
    return f"/tmp/bridle-{os.getuid()}", f"chrome-{mark}-"

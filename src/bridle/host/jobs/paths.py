"""Where jobs and their sockets are kept."""

import os
import stat

_LONGEST_SOCKET = 100
"""Systems take little more than this for the name of a socket."""


def jobs_dir(home: str) -> str:
    """The folder that holds one folder for each job; `home` is the folder of the user's configuration."""
    return os.path.join(home, "jobs")


def daemon_dir(home: str) -> str:
    """What belongs to the supervisor."""
    return os.path.join(home, "daemon")


def roster_file(home: str) -> str:
    return os.path.join(daemon_dir(home), "roster.json")


def log_file(home: str) -> str:
    return os.path.join(home, "daemon.log")


def lock_file(home: str) -> str:
    """Locked for as long as the supervisor lives; it holds its number."""
    return os.path.join(daemon_dir(home), "supervisor.lock")


def socket_file(home: str, name: str) -> str:
    """Where the socket of this name is: below the home, or elsewhere when that name would be too long."""
    wanted = os.path.join(daemon_dir(home), "sockets", f"{name}.sock")
    if len(os.fsencode(wanted)) <= _LONGEST_SOCKET:
        return wanted
    import zlib

    # No variable may have a say: every process that manages the same jobs must find the same socket.
    mark = zlib.crc32(os.fsencode(home))
    return os.path.join(f"/tmp/bridle-{os.getuid()}", f"{mark:08x}-{name}.sock")


def private_folder(path: str) -> None:
    """Make a folder that no one else can look into.

    Raises:
        OSError: another user owns it, or it cannot be made.
    """
    os.makedirs(os.path.dirname(path), exist_ok=True)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        facts = os.lstat(path)
        if not stat.S_ISDIR(facts.st_mode) or facts.st_uid != os.getuid():
            raise PermissionError(f"{path} is not a folder that you own") from None
        if stat.S_IMODE(facts.st_mode) & 0o077:
            os.chmod(path, 0o700)

"""What holders and those who talk to them say: a letter, a length, and so many bytes."""

import os
import socket
import struct
from typing import Any

from bridle.host.jobs.paths import private_folder

HEAD = struct.Struct("!cI")
_LARGEST = 4 << 20

ATTACH = b"A"
"""Show me the terminal: `{"rows", "columns"}`."""
INSIDE = b"I"
"""I am the program on the terminal; from then on it says how it stands."""
WATCH = b"W"
"""Report every new record; the end of the connection is the end of the holder."""
FOLLOW = b"F"
"""Send me what is shown; the terminal stays as it is."""
INPUT = b"i"
SIZE = b"w"
LEAVE = b"d"
"""From the program: detach every client. To a client: you were detached."""
STOP = b"S"
"""End the program."""
ADDRESS = b"a"
"""From the program: what a person needs to reach it, which no file may hold. From a client: send me that."""
STATE = b"s"
OUTPUT = b"o"
PAINT = b"p"
"""To the program: a new client is attached, so draw everything."""
OVER = b"x"
"""The program has ended: `{"state", "exitCode"}`."""


class Broken(Exception):
    """The other end sends something else."""


class Frames:
    """Puts frames together from what arrives."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The frames that are whole by now.

        Raises:
            Broken: no frame can be that long.
        """
        self._held += data
        found: list[tuple[bytes, bytes]] = []
        while len(self._held) >= HEAD.size:
            kind, length = HEAD.unpack_from(self._held)
            if length > _LARGEST:
                raise Broken(f"a frame of {length} bytes")
            end = HEAD.size + length
            if len(self._held) < end:
                break
            found.append((kind, bytes(self._held[HEAD.size : end])))
            del self._held[:end]
        return found


def frame(kind: bytes, payload: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(payload)) + payload


def message(kind: bytes, **values: object) -> bytes:
    import json

    return frame(kind, json.dumps(values).encode())


def read_message(payload: bytes) -> dict[str, Any]:
    """The values of a message; nothing when it is none."""
    import json

    try:
        values = json.loads(payload or b"{}")
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def is_own(connection: socket.socket) -> bool:
    """Whether the other end belongs to this user, where the system tells."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    data = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return struct.unpack("3i", data)[1] == os.getuid()


def listen(path: str, kind: socket.SocketKind) -> socket.socket:
    """A socket that no one else can open, not even before its rights are set.

    Raises:
        OSError: its folder belongs to another user, or it cannot be made.
    """
    private_folder(os.path.dirname(path))
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass  # There is no stale socket.
    listener = socket.socket(socket.AF_UNIX, kind)
    before = os.umask(0o177)
    try:
        listener.bind(path)
    finally:
        os.umask(before)
    if kind == socket.SOCK_STREAM:
        listener.listen(64)
    listener.setblocking(False)
    return listener


def connect(path: str, *, seconds: float = 5.0) -> socket.socket:
    """A connection to a holder.

    Raises:
        OSError: no process listens there.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(seconds)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        raise
    return connection

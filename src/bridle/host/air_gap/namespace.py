"""Moves this process into a network namespace of its own, with sockets that lead to a few services."""

import ctypes
import fcntl
import json
import os
import socket
import struct
import sys
from collections.abc import Sequence

from bridle.host.air_gap.forwarder import MAP, READY, serve
from bridle.host.air_gap.service import Service, is_alone
from bridle.types.errors import ConfigError

_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_SET_FLAGS, _UP = 0x8914, 0x1
_OTHERWISE = (
    "Offline mode needs a network namespace, and {why}. Allow user namespaces on this machine, or run bridle "
    "in a container or virtual machine without network."
)


def leave_network(services: Sequence[Service]) -> dict[Service, int]:
    """The local port that leads to each service, once nothing else can be reached any more.

    Raises:
        ConfigError: it can't be done; the process is as it was, or must end.
    """
    if sys.platform != "linux":
        raise ConfigError(_OTHERWISE.format(why="only Linux has them"))
    if not is_alone():
        raise ConfigError("Offline mode must begin with the program: start bridle with --offline.")
    own, theirs = socket.socketpair()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        own.close()
        try:
            serve(theirs, parent)
        finally:
            os._exit(0)
    theirs.close()
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_USER | _NEW_NETWORK) != 0:
        why = os.strerror(ctypes.get_errno())
        own.close()
        os.waitpid(child, 0)
        raise ConfigError(_OTHERWISE.format(why=f"this kernel refuses one ({why})"))
    try:
        _map(own, user, group)
        _bring_up_loopback()
        ways = _hand_over(own, services)
    except OSError as error:
        raise ConfigError(_OTHERWISE.format(why=f"it can't be set up ({error.strerror})")) from error
    # Kept open as long as this process lives: its end is how the forwarder learns that it may end.
    _KEPT.append(own)
    return ways


_KEPT: list[socket.socket] = []


def _map(own: socket.socket, user: int, group: int) -> None:
    """Be the same user in the namespace; root stays root over every user."""
    own.sendall(MAP if user == 0 else READY)
    if user == 0 and own.recv(1) == READY:
        return
    _write("setgroups", "deny")
    _write("uid_map", f"{user} {user} 1")
    _write("gid_map", f"{group} {group} 1")


def _write(name: str, text: str) -> None:
    with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
        file.write(text)


def _bring_up_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP))


def _hand_over(own: socket.socket, services: Sequence[Service]) -> dict[Service, int]:
    """Open a listener in the namespace for each service, and give it to the process outside."""
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in services]
    ways = {service: listener.getsockname()[1] for service, listener in zip(services, listeners, strict=True)}
    names = json.dumps([[service.host, service.port] for service in services]).encode()
    socket.send_fds(own, [names], [listener.fileno() for listener in listeners])
    for listener in listeners:
        listener.close()
    if own.recv(1) != READY:
        raise OSError(0, "the forwarder ended")
    return ways

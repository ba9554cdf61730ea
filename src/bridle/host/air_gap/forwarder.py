"""The process that stays outside the namespace and carries bytes to the services that are allowed."""

import json
import os
import selectors
import signal
import socket
import threading

_PIECE = 64 * 1024
_CONNECT = 30.0
_MAP_ALL = "0 0 4294967295\n"
MAP, READY, FAILED = b"m", b"r", b"f"


def serve(control: socket.socket, parent: int) -> None:
    """Map the users of the parent's namespace if asked, take its listeners, and forward until it is gone."""
    _detach(control)
    services: dict[socket.socket, tuple[str, int]] = {}
    with control:
        if control.recv(1) == MAP:
            control.sendall(READY if _mapped(parent) else FAILED)
        data, files, _, _ = socket.recv_fds(control, _PIECE, 64)
        if not data:
            return
        for number, (host, port) in zip(files, json.loads(data), strict=True):
            services[socket.socket(fileno=number)] = (host, port)
        control.sendall(READY)
        with selectors.DefaultSelector() as ready:
            ready.register(control, selectors.EVENT_READ)
            for listener in services:
                ready.register(listener, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fileobj is control:
                        return
                    listener = next(each for each in services if each is key.fileobj)
                    near, _ = listener.accept()
                    threading.Thread(target=_carry, args=(near, services[listener]), daemon=True).start()


def _detach(control: socket.socket) -> None:
    """Nothing of the terminal or of what the parent has open stays open here."""
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nothing, number)
    last = control.fileno()
    os.closerange(3, last)
    os.closerange(last + 1, 65_536)


def _mapped(parent: int) -> bool:
    """Whether every user and group of this machine is known in the parent's namespace now."""
    try:
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{parent}/{name}", "w", encoding="ascii") as file:
                file.write(_MAP_ALL)
    except OSError:
        return False
    return True


def _carry(near: socket.socket, service: tuple[str, int]) -> None:
    with near:
        try:
            far = socket.create_connection(service, timeout=_CONNECT)
        except OSError:
            return
        with far:
            far.settimeout(None)
            back = threading.Thread(target=_pump, args=(far, near), daemon=True)
            back.start()
            _pump(near, far)
            back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while data := source.recv(_PIECE):
            target.sendall(data)
    except OSError:
        pass  # One side is gone: the other learns it below.
    try:
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return

"""Runs a gateway: one process for each worker, all on one port."""

import os
import signal
import socket
from collections.abc import Callable, Mapping
from typing import Any

from bridle.frontends.gateway.config import GatewayConfig
from bridle.types.errors import UsageError

_BACKLOG = 2048
_PAUSE = 1.0
_GRACE = 10
"""Seconds for answers that are under way when the gateway ends."""


def serve(config: GatewayConfig, env: Mapping[str, str], *, ready: Callable[[], object]) -> None:
    """Serve until a signal ends it; `ready` is called once clients can connect.

    Raises:
        UsageError: a package is missing, or the port is taken.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError("uvicorn is not installed; run: pip install 'bridle[hub]'") from error
    listening = _listen(config)
    ending: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda number, _: ending.append(number))
    workers = {_fork(uvicorn, config, env, listening) for _ in range(config.workers)}
    ready()
    try:
        _watch(workers, ending, lambda: _fork(uvicorn, config, env, listening))
    finally:
        _end(workers)
        listening.close()


def _watch(workers: set[int], ending: list[int], fork: Callable[[], int]) -> None:
    """Wait for a signal; a worker that dies is replaced."""
    while not ending:
        # A signal that comes between the test and the wait is noticed within a second.
        signal.sigtimedwait((signal.SIGCHLD,), _PAUSE)
        for worker in tuple(workers):
            if not ending and os.waitpid(worker, os.WNOHANG)[0]:
                workers.remove(worker)
                workers.add(fork())


def _listen(config: GatewayConfig) -> socket.socket:
    host, port = config.address
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        raise UsageError(f"cannot listen on {config.listen}: {error.strerror}") from error
    listening.listen(_BACKLOG)
    listening.setblocking(False)
    return listening


def _fork(uvicorn: Any, config: GatewayConfig, env: Mapping[str, str], listening: socket.socket) -> int:
    if worker := os.fork():
        return worker
    try:
        _work(uvicorn, config, env, listening)
    finally:
        os._exit(0)


def _work(uvicorn: Any, config: GatewayConfig, env: Mapping[str, str], listening: socket.socket) -> None:
    from bridle.frontends.gateway.app import Gateway

    app = Gateway(config, env).app()
    settings = uvicorn.Config(
        app, log_level="critical", access_log=False, server_header=False, lifespan="on",
        timeout_keep_alive=75, timeout_graceful_shutdown=_GRACE,
    )  # fmt: skip
    uvicorn.Server(settings).run(sockets=[listening])


def _end(workers: set[int]) -> None:
    for worker in workers:
        try:
            os.kill(worker, signal.SIGTERM)
        except ProcessLookupError:
            pass  # It has ended before us.
    for worker in workers:
        try:
            os.waitpid(worker, 0)
        except ChildProcessError:
            pass  # It was waited for already.

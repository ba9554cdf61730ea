"""Runs a gateway: one process for each worker, all on one port."""

import os
import socket
from collections.abc import Mapping
from typing import Any

from bridle.frontends.gateway.config import GatewayConfig
from bridle.types.errors import UsageError

_BACKLOG = 2048


def serve(config: GatewayConfig, env: Mapping[str, str]) -> None:
    """Serve until a signal ends it.

    Raises:
        UsageError: a package is missing, or the port is taken.
    """
    try:
        import uvicorn
    except ImportError as error:
        raise UsageError("the gateway needs more packages: install bridle[hub]") from error
    listening = _listen(config)
    children = [_fork(uvicorn, config, env, listening) for _ in range(config.workers - 1)]
    try:
        _work(uvicorn, config, env, listening)
    finally:
        _end(children)
        listening.close()


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
    if child := os.fork():
        return child
    try:
        _work(uvicorn, config, env, listening)
    finally:
        os._exit(0)


def _work(uvicorn: Any, config: GatewayConfig, env: Mapping[str, str], listening: socket.socket) -> None:
    from bridle.frontends.gateway.app import Gateway

    app = Gateway(config, env).app()
    settings = uvicorn.Config(app, log_level="critical", access_log=False, server_header=False, lifespan="on",
                              timeout_keep_alive=75, h11_max_incomplete_event_size=65_536)  # fmt: skip
    uvicorn.Server(settings).run(sockets=[listening])


def _end(children: list[int]) -> None:
    import signal

    for child in children:
        try:
            os.kill(child, signal.SIGTERM)
            os.waitpid(child, 0)
        except (ProcessLookupError, ChildProcessError):
            pass  # It has ended before us.

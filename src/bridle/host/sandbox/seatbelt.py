"""The sandbox of macOS: a profile for sandbox-exec."""

import os.path
import re
import socket
from collections.abc import Callable, Iterator, Sequence

from bridle.host.sandbox.denials import DeniedFiles
from bridle.host.sandbox.policy import (
    FILES,
    FILES_WHEN_PRESENT,
    FOLDERS,
    WORKTREES,
    Policy,
    is_within_any,
    own_files,
    real,
)
from bridle.host.sandbox.proxy import Proxy
from bridle.types.sandbox import NOTHING_DENIED, Denials

PROGRAM = "/usr/bin/sandbox-exec"

_BASE = """\
(version 1)
(deny default)
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow sysctl-read)
(allow user-preference-read)
(allow iokit-get-properties)
(allow ipc-posix-shm)
(allow ipc-posix-sem)
(allow pseudo-tty)
(allow file-ioctl (literal "/dev/null") (literal "/dev/tty") (regex #"^/dev/(ttys|pty|ptmx)"))
(allow mach-lookup
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.cfprefsd.agent")
  (global-name "com.apple.cfprefsd.daemon")
  (global-name "com.apple.logd")
  (global-name "com.apple.SecurityServer")
  (global-name "com.apple.bsd.dirhelper"))
(allow file-read*)"""
_ESCAPES = {"^": "\\^", "\\": "\\\\", '"': '\\"'}
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr", "/dev/dtracehelper")


class SeatbeltWalls:
    """The walls of one session on macOS; made inside its event loop."""

    def __init__(
        self,
        policy: Policy,
        *,
        roots: Callable[[], tuple[str, ...]],
        temporary: str,
        proxy: Proxy | None,
    ) -> None:
        self.ports: tuple[int, int] | None = None
        self._policy = policy
        self._roots = roots
        self._temporary = temporary
        self._denied = DeniedFiles()
        if proxy is not None:
            network = policy.network
            self.ports = (
                network.http_port or _listen(proxy),
                network.socks_port or _listen(proxy),
            )

    def wrap(
        self,
        argv: Sequence[str],
        *,
        cwd: str,
        keep: tuple[int, ...],
        denials: Denials = NOTHING_DENIED,
        search: str = "",
    ) -> tuple[str, ...]:
        """The command line that runs another inside.

        Raises:
            ToolError: more is denied than can be held.
        """
        del cwd, keep
        policy = self._denied.narrowed(self._policy, denials, search=search, shell=argv[0], oversees=False)
        roots = (*real((*self._roots(), *self._policy.writable)), os.path.realpath(self._temporary))
        own = tuple(path for path in real(own_files()) if is_within_any(path, roots))
        text = profile(
            policy,
            roots=roots,
            never=(*real(policy.never_writable), *own),
            ports=self.ports or (),
        )
        return (PROGRAM, "-p", text, *argv)

    async def close(self) -> None:
        """The listeners belong to the proxy, which is closed with the session."""


def profile(policy: Policy, *, roots: Sequence[str], never: Sequence[str], ports: Sequence[int]) -> str:
    """The rules in the language of sandbox-exec, where later ones win."""
    lines = [_BASE]
    if policy.filesystem:
        lines += _files(policy, roots, never)
    else:
        lines.append("(allow file-write*)")
    lines += _network(policy, ports)
    return "\n".join(lines) + "\n"


def _files(policy: Policy, roots: Sequence[str], never: Sequence[str]) -> Iterator[str]:
    yield from (f"(deny file-read* {_subpath(path)})" for path in policy.unreadable)
    yield from (f"(allow file-read* {_subpath(path)})" for path in policy.readable_again)
    # Programs resolve their own path component by component.
    yield '(allow file-read-metadata (literal "/"))'
    yield from (f"(allow file-write* (literal {_quoted(path)}))" for path in _DEVICES)
    yield from (f"(allow file-write* {_subpath(path)})" for path in roots)
    yield from (f"(deny file-write* {_subpath(path)})" for path in (*never, *policy.unreadable))
    for root in roots:
        yield f"(deny file-write* {_names(root)})"
        yield f"(allow file-write* {_subpath(os.path.join(root, WORKTREES))})"
        yield f"(deny file-write* {_names(os.path.join(root, WORKTREES))})"
        yield f"(deny file-write-unlink (literal {_quoted(root)}))"


def _network(policy: Policy, ports: Sequence[int]) -> Iterator[str]:
    network = policy.network
    for port in ports:
        yield f'(allow network-outbound (remote ip "localhost:{port}"))'
    if network.local_binding:
        yield '(allow network-bind (local ip "localhost:*"))'
        yield '(allow network-inbound (local ip "localhost:*"))'
        yield '(allow network-outbound (remote ip "localhost:*"))'
    if network.all_unix_sockets:
        yield "(allow system-socket (socket-domain AF_UNIX))"
        yield '(allow network-bind (local unix-socket (path-regex #"^/")))'
        yield '(allow network-outbound (remote unix-socket (path-regex #"^/")))'
    elif network.unix_sockets:
        yield "(allow system-socket (socket-domain AF_UNIX))"
        for path in network.unix_sockets:
            yield f"(allow network-bind (local unix-socket {_subpath(path)}))"
            yield f"(allow network-outbound (remote unix-socket {_subpath(path)}))"
    for name in network.mach_lookup:
        kind = "global-name-prefix" if name.endswith("*") else "global-name"
        yield f"(allow mach-lookup ({kind} {_quoted(name.rstrip('*'))}))"
    if network.weaker:
        yield '(allow mach-lookup (global-name "com.apple.trustd.agent"))'
    if policy.apple_events:
        yield "(allow appleevent-send)"
        yield '(allow mach-lookup (global-name "com.apple.coreservices.appleevents"))'


def _names(root: str) -> str:
    """Every protected name below a folder, at any depth and in any letter case."""
    folders = "|".join(_any_case(name) for name in FOLDERS)
    files = "|".join(_any_case(name) for name in (*FILES, *FILES_WHEN_PRESENT))
    return _pattern(root, f"/(.*/)?(({folders})(/.*)?|({files}))")


def _pattern(root: str, rest: str) -> str:
    escaped = re.sub(r"[^A-Za-z0-9/_-]", lambda found: _ESCAPES.get(found[0], f"[{found[0]}]"), root)
    return f'(regex #"^{escaped.rstrip("/")}{rest}$")'


def _any_case(name: str) -> str:
    return "".join(
        f"[{c.lower()}{c.upper()}]" if c.isalpha() else c if c.isalnum() or c in "/_-" else f"[{c}]"
        for c in name
    )


def _subpath(path: str) -> str:
    return f"(subpath {_quoted(path.rstrip('/') or '/')})"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _listen(proxy: Proxy) -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    proxy.serve(listener)
    return int(listener.getsockname()[1])

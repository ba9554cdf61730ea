"""Tools of remote servers as they were last time, so that a session need not wait to know them."""

import hashlib
import os
import os.path
import time
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host.files import make_folders, read_bytes, write_atomic
from bridle.host.paths import bridle_dir
from bridle.types.services.mcp import Server
from bridle.types.variables import is_on

_LARGEST = 32 * 1024 * 1024
_STRIKES = 3


class _Entry(Struct, frozen=True):
    saved_at: float
    tools: list[dict[str, Any]]
    strikes: int = 0


class DiscoveryCache(Struct, frozen=True, kw_only=True):
    """A file for each server. What is younger than `fresh` is not written again, what is older than `stale`
    is not used, and what failed to be refreshed `strikes` times is dropped."""

    folder: str
    fresh: float = 900.0
    stale: float = 14_400.0
    strikes: int = _STRIKES

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "DiscoveryCache | None":
        """The cache, where a variable asks for one."""
        if not is_on(env, "MCP_DISCOVERY_CACHE"):
            return None
        return cls(
            folder=os.path.join(bridle_dir(env), "mcp-discovery"),
            fresh=_number(env, "MCP_DISCOVERY_CACHE_TTL_S", 900),
            stale=_number(env, "MCP_DISCOVERY_CACHE_MAX_STALE_S", 14_400),
            strikes=_number(env, "MCP_DISCOVERY_CACHE_STRIKES", _STRIKES),
        )

    def find(self, server: Server) -> list[dict[str, Any]] | None:
        """The tools as the server listed them last, unless that is too long ago."""
        entry = self._read(server)
        if entry is None or not 0 <= time.time() - entry.saved_at <= self.stale:
            return None
        return entry.tools

    def save(self, server: Server, tools: list[dict[str, Any]]) -> None:
        """Keep what a server lists; a disk that takes nothing costs only the time of the next start."""
        known = self._read(server)
        now = time.time()
        same = known is not None and known.tools == tools and not known.strikes
        if not same or known is None or now - known.saved_at >= self.fresh:
            self._write(server, _Entry(now, tools))

    def strike(self, server: Server) -> None:
        """The server could not be reached."""
        if (entry := self._read(server)) is None:
            return
        if entry.strikes + 1 >= self.strikes:
            try:
                os.unlink(self._path(server))
            except FileNotFoundError:
                pass  # Another session was quicker.
            return
        self._write(server, _Entry(entry.saved_at, entry.tools, entry.strikes + 1))

    def _read(self, server: Server) -> _Entry | None:
        try:
            return msgspec.json.decode(read_bytes(self._path(server), _LARGEST), type=_Entry)
        except (OSError, msgspec.DecodeError, RecursionError):
            return None

    def _write(self, server: Server, entry: _Entry) -> None:
        try:
            make_folders(self.folder, private=True)
            write_atomic(self._path(server), msgspec.json.encode(entry), mode=0o600)
        except OSError:
            pass  # See `save`.

    def _path(self, server: Server) -> str:
        shape = msgspec.json.encode([server.name, server.config])
        return os.path.join(self.folder, f"{hashlib.sha256(shape).hexdigest()[:32]}.json")


def _number(env: Mapping[str, str], name: str, usual: int) -> int:
    text = env.get(name, "").strip()
    return int(text) if text.isdecimal() else usual

"""How long servers are waited for, from the variables that users set."""

from collections.abc import Mapping

from msgspec import Struct

_MOST_LOCAL = 3
_MOST_REMOTE = 20


class Timeouts(Struct, frozen=True, kw_only=True):
    """Times in seconds."""

    connect: float = 30.0
    """From the first byte to the list of tools."""
    call: float = 100_000.0
    silence: float | None = None
    """How long a call may go without a sign of life."""
    first_turn: float = 5.0
    """How long the first request waits for servers."""
    first_delay: float = 1.0
    longest_delay: float = 30.0
    attempts: int = 5
    give_up: float = 600.0
    """After so long a lost server is not looked for any more, however many attempts are left."""
    steady: float = 60.0
    """A connection that held so long is a fresh start for counting attempts."""
    reconnect_wait: float = 10.0
    """How long a call waits for a server that is being reconnected."""
    refresh_pause: float = 0.5
    """The least time between two looks at a list that a server says has changed."""
    probes: bool = True
    """Whether a server is first asked if it does without a handshake."""
    local_slots: int = _MOST_LOCAL
    remote_slots: int = _MOST_REMOTE

    @classmethod
    def of(cls, env: Mapping[str, str]) -> "Timeouts":
        """The times that the environment asks for; what is not a number above zero counts as not set."""
        return cls(
            connect=_number(env, "MCP_TIMEOUT", 30_000) / 1000,
            call=_number(env, "MCP_TOOL_TIMEOUT", 100_000_000) / 1000,
            silence=_number(env, "CLAUDE_CODE_MCP_TOOL_IDLE_TIMEOUT", 0) / 1000 or None,
            first_turn=_number(env, "MCP_CONNECT_TIMEOUT_MS", 5_000) / 1000,
            probes=env.get("MCP_PROTOCOL_NEGOTIATION", "auto").strip().lower() != "legacy",
            local_slots=_number(env, "MCP_SERVER_CONNECTION_BATCH_SIZE", _MOST_LOCAL),
            remote_slots=_number(env, "MCP_REMOTE_SERVER_CONNECTION_BATCH_SIZE", _MOST_REMOTE),
        )


def _number(env: Mapping[str, str], name: str, usual: int) -> int:
    text = env.get(name, "").strip()
    return int(text) if text.isdecimal() and 0 < int(text) < 10**12 else usual

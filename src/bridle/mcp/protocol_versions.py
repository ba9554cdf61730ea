"""Revisions of the protocol, and what tells them apart."""

MODERN = "2026-07-28"
"""The newest revision without a handshake: every request says who asks and in which revision."""
HANDSHAKE = "2025-11-25"
"""The newest revision that begins with `initialize`."""

HANDSHAKES = frozenset(("2024-11-05", "2025-03-26", "2025-06-18", HANDSHAKE))
MODERNS = (MODERN,)

REVISION = "io.modelcontextprotocol/protocolVersion"
"""Where a request says in which revision it is written."""


def is_modern(revision: str) -> bool:
    """Whether a revision has no handshake, no sessions and no requests by the server."""
    return revision >= MODERN

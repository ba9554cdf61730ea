"""What can go wrong between bridle and a server, as far as someone reacts to it."""

from bridle.types.errors import McpError

HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022
URL_ELICITATION_REQUIRED = -32042

MODERN_CODES = frozenset((HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION))
"""Codes that only servers use which need no handshake."""


class ConnectionLost(McpError):
    """The server is gone, or cannot be reached: whatever was asked of it has no answer."""


class NotAuthorized(McpError):
    """The server wants a login."""


class SessionExpired(McpError):
    """The server has forgotten this client; a new handshake fixes it."""


class Refused(McpError):
    """The server answered a request with an HTTP status instead of a message."""

    def __init__(self, message: str, *, status: int, code: int | None = None) -> None:
        super().__init__(message, code=code)
        self.status = status


class TimedOut(McpError):
    """No answer came in time."""

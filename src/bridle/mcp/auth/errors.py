"""What can go wrong while logging in, as far as someone reacts to it."""

from bridle.types.errors import McpError

_DEAD = ("invalid_grant", "invalid_client", "unauthorized_client")


class LoginFailed(McpError):
    """There is no login; the message says why and what to do."""


class OAuthRefused(LoginFailed):
    """An authorization server answered a request with an error."""

    def __init__(self, message: str, *, error: str, status: int) -> None:
        super().__init__(message)
        self.error = error
        self.status = status

    @property
    def is_final(self) -> bool:
        """Whether the same request will never succeed: what it was made with is void."""
        return self.error in _DEAD

"""Requests that a hub does not do."""

from typing import Any

from bridle.types.errors import BridleError

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    409: "conflict_error",
    410: "expired_error",
    413: "request_too_large",
    421: "invalid_request_error",
    429: "rate_limit_error",
    503: "overloaded_error",
}


class Refusal(BridleError):
    """An answer that is an error."""

    def __init__(self, status: int, text: str, kind: str = "", *, retry_after: int | None = None) -> None:
        super().__init__(text)
        self.status = status
        self.kind = kind or _KINDS.get(status, "api_error")
        self.retry_after = retry_after

    def body(self) -> dict[str, Any]:
        """In the form that clients of the wire read."""
        return {"type": "error", "error": {"type": self.kind, "message": str(self)}}

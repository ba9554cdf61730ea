"""The error of a refused remote request."""

from collections.abc import Mapping
from typing import Any

from bridle.types.errors import BridleError


class RequestRefused(BridleError):
    """Nothing was done; the status and the message go to the client."""

    def __init__(self, status: int, message: str, **beside: Any) -> None:
        super().__init__(message)
        self.status = status
        self.beside: Mapping[str, Any] = beside

"""What a request from elsewhere is told when nothing comes of it."""

from collections.abc import Mapping
from typing import Any

from bridle.types.errors import BridleError


class RequestRefused(BridleError):
    """Nothing was done; the status and the sentence go to whoever asked."""

    def __init__(self, status: int, message: str, **beside: Any) -> None:
        super().__init__(message)
        self.status = status
        self.beside: Mapping[str, Any] = beside

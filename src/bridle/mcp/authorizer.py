"""The seam for logging in to remote servers."""

from collections.abc import Mapping
from typing import Protocol


class Authorizer(Protocol):
    """Knows how one server is logged in to."""

    async def headers(self, method: str, url: str) -> Mapping[str, str]:
        """What a request carries to be let in, now; empty when there is no login."""
        ...

    def note_nonce(self, url: str, nonce: str) -> None:
        """The server wants this in the proofs of the next requests (`DPoP-Nonce`)."""
        ...

    async def challenged(self, status: int, challenge: str) -> bool:
        """A request was refused with 401 or 403 and this `WWW-Authenticate`.

        Returns whether the same request is worth one more try with the headers as they are then.
        """
        ...

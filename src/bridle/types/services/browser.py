"""Tabs of the user's browser, as far as a session may use them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct

from bridle.types.services.service import Service


class BrowserTab(Struct, frozen=True, kw_only=True):
    """A tab that the session opened, or that the user shares."""

    id: int
    url: str
    title: str
    shared: bool


class Browser(Protocol):
    """The browser that a session works with."""

    async def tabs(self) -> Sequence[BrowserTab]:
        """The tabs that the session may use.

        Raises:
            ToolError: no browser is connected.
        """
        ...

    async def ask(self, method: str, params: Mapping[str, Any]) -> dict[str, Any]:
        """What the extension answers to a request.

        Raises:
            ToolError: no browser is connected, or it refuses.
        """
        ...


BROWSER: Service[Browser] = Service(
    "browser", missing="No browser is connected to this session. The user can turn it on with /chrome on."
)

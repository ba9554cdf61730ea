"""The plugins of a session as all packages see them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bridle.types.services.service import Service


class SessionPlugins(Protocol):
    """They stay as they are until a reload."""

    def listing(self) -> Sequence[Mapping[str, Any]]:
        """Those that are enabled, as they are listed for hosts."""
        ...

    def faults(self) -> Sequence[Mapping[str, Any]]:
        """What is wrong with the others: plugin, type, message and path."""
        ...

    async def reload(self) -> str:
        """Read them again and say in a sentence what is there now."""
        ...


PLUGINS: Service[SessionPlugins] = Service("plugins", missing="This session has no plugins.")

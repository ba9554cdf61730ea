"""The plugins of a session as everybody sees them."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from bridle.types.services.service import Service


class SessionPlugins(Protocol):
    """They stay as they are until somebody asks for them to be read again."""

    def listing(self) -> Sequence[Mapping[str, Any]]:
        """Those that are on, as hosts are told of them."""
        ...

    def faults(self) -> Sequence[Mapping[str, Any]]:
        """What is wrong with the others: plugin, type, message and path."""
        ...

    async def reload(self) -> str:
        """Read them again and say in a sentence what is there now."""
        ...


PLUGINS: Service[SessionPlugins] = Service("plugins", missing="This session has no plugins.")

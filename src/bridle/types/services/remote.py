"""Remote control: what a session offers to others, and what the program around it brings for that."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from bridle.types.services.service import Service


class RemoteListener(Protocol):
    """Lets remote clients reach a session: the server, and a way to show something to the user alone."""

    async def open(self, name: Callable[[], str], on_people: Callable[[str | None], None]) -> None:
        """Begin to listen, with a new key; `on_people` is called with who comes, and with None when one goes.

        Raises:
            UsageError: nothing can listen there, or the session has not begun.
        """
        ...

    async def close(self) -> None:
        """Disconnect every client and drop the key."""
        ...

    def join(self, name: Callable[[], str], *, waits: bool) -> None:
        """Show the session at the hub that this machine has joined, as soon as its agent runs.

        With `waits`, questions that no one here can answer wait for someone there.

        Raises:
            UsageError: the session has not begun.
        """
        ...

    async def leave(self) -> None:
        """Stop showing the session at the hub."""
        ...

    @property
    def hub(self) -> Literal["", "joining", "joined"]:
        """Whether the session is shown at the hub."""
        ...

    @property
    def address(self) -> str | None:
        """Where the session is reached, without the key; None while it is not shared."""
        ...

    @property
    def address_with_key(self) -> str:
        """What to open; where the screen is recorded, how to see that."""
        ...

    @property
    def people(self) -> Sequence[str]:
        """Who is connected; a name stands once for each connection."""
        ...

    def show(self, text: str) -> None:
        """Tell the user something that no transcript and no log may keep."""
        ...

    def changed(self) -> None:
        """Something that the user sees of it has changed."""
        ...


class RemoteControl(Protocol):
    """The sharing of a session, for front ends and other features."""

    @property
    def reply(self) -> tuple[str, str] | None:
        """Where answers reach this session and what it is called; None while it is not shared."""
        ...

    @property
    def address_with_key(self) -> str:
        """What opens the session; empty while it is not shared."""
        ...

    async def share(self, name: str) -> None:
        """Share the session, or give what is shared another name.

        Raises:
            UsageError: it may not be, or cannot.
        """
        ...

    async def stop(self) -> bool:
        """Stop sharing; False when nothing was shared."""
        ...

    @property
    def sign(self) -> str:
        """A few words for the footer; empty while nothing is shared."""
        ...


REMOTE: Service[RemoteControl] = Service("remote", missing="This session cannot be shared.")

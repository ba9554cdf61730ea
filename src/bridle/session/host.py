"""The program around a session: what it brings, and the other end of the channel."""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from bridle.engine.session_tools import Offer
from bridle.host.stdio import complain
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Follow
from bridle.types.channel import Channel
from bridle.types.model import Provider

if TYPE_CHECKING:
    from bridle.engine.feature import Feature
    from bridle.features.context import FeatureContext
    from bridle.types.services.remote import RemoteListener

Exchange = Callable[[str, Mapping[str, Any]], Awaitable[Any]]
"""Puts a message to an MCP server inside the host program and returns its answer."""


def _warn(text: str) -> None:
    complain(f"warning: {text}")


def _nothing() -> None:
    """The default: no one listens."""


class Host(Struct, frozen=True, kw_only=True):
    """What a program puts in place of what would be chosen for a session, or beside it."""

    env: Mapping[str, str] | None = None
    """The environment of the session; None for that of this process."""
    cwd: str | None = None
    """The folder of the session; None for that of this process."""
    setup: Setup | None = None
    """The settings, where they were read before."""
    provider: Provider | None = None
    """Answers instead of the model's own service."""
    around: Callable[[Provider], Provider] | None = None
    """Wraps the provider, to record or to watch."""
    tools: Offer | None = None
    features: "tuple[Callable[[FeatureContext], Feature | None], ...]" = ()
    """Opens more features, behind those of bridle."""
    warn: Callable[[str], None] = _warn
    """Shows what does not work as it was asked for."""
    tell: Callable[[str], None] = complain
    """Shows what else the user should know, such as what is waited for."""
    follow: Follow | None = None
    """Gets every line of the transcript."""
    shows_views: bool = False
    """Commands may open views on a screen."""
    defers: bool = True
    """Hooks may put calls off to a later run."""
    greets: bool = True
    """Hooks are notified that the session begins."""

    @property
    def answers(self) -> bool:
        """Whether no other process could ask the provider."""
        return self.provider is not None or self.around is not None


class Connection(Struct, frozen=True, kw_only=True):
    """The other end of a session: its channel, and what a host program adds to that."""

    channel: Channel
    exchange: Exchange | None = None
    """Reaches MCP servers inside the host program."""
    work: Callable[[], None] = _nothing
    """A turn is about to begin."""
    rest: Callable[[], None] = _nothing
    """No turn is owed for now."""
    listener: "RemoteListener | None" = None
    """Lets remote clients reach the session."""


class Begun(Struct, frozen=True, kw_only=True):
    """A session whose settings are read and whose conversation is open, before anything of it runs."""

    setup: Setup
    session: Session
    host: Host

"""What every part of a session is made from."""

from collections.abc import Callable

from msgspec import Struct

from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.model_facts import Facts
from bridle.engine.runtime import Runtime
from bridle.engine.server import Server
from bridle.session.host import Connection, Host
from bridle.session.parts.plugins import OpenPlugins
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.channel import Channel
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace


class CurrentRuntime:
    """The runtime of a session as it is now, for parts that need it when something happens."""

    def __init__(self) -> None:
        self.server: Server | None = None

    def __call__(self) -> Runtime:
        assert self.server is not None, "the session is not put together yet"
        return self.server.runtime


class SessionBase(Struct, frozen=True, kw_only=True):
    """What is there before the parts, and what they are made from."""

    setup: Setup
    session: Session
    host: Host
    connection: Connection
    channel: Channel
    """That of the connection; in a teammate's process its leader shares it."""
    workspace: Workspace
    hooks: LazyHooks
    sandbox: Sandbox | None
    plugins: OpenPlugins
    storage: str
    """Where large outputs go."""
    roots: tuple[str, ...]
    """Working folders besides the current one."""
    facts: Facts
    """What is known of a model."""
    window: Callable[[], int]
    """How many tokens the model that answers now can hold."""
    wake: Callable[[Prompt], None]
    """Says something to the model as soon as it rests."""
    runtime: CurrentRuntime

    def warn(self, text: str) -> None:
        """Tell the user what could not be had."""
        self.host.warn(text)

    def earlier(self) -> tuple[str, ...]:
        """The storage of the conversations that this one is a copy of, the nearest first."""
        if not self.session.entries:
            return ()
        from bridle.transcripts.origins import origin_folders

        return origin_folders(self.session, self.setup.env)

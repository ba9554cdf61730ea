"""What every part of a session stands on."""

from collections.abc import Callable

from msgspec import Struct

from bridle.engine.hook_door import HookDoor
from bridle.engine.runtime import ModelFacts
from bridle.session.parts.plugins import OpenPlugins
from bridle.session.setup import Setup
from bridle.sessions.session import Session
from bridle.types.channel import Channel
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace


class SessionBase(Struct, frozen=True, kw_only=True):
    """What is there before the parts, and what they are made from."""

    setup: Setup
    session: Session
    channel: Channel
    workspace: Workspace
    hooks: HookDoor
    sandbox: Sandbox | None
    plugins: OpenPlugins
    storage: str
    """Where large outputs go."""
    facts: Callable[[str], ModelFacts]
    """What is known of a model."""
    wake: Callable[[Prompt], None]
    """Says something to the model as soon as it rests."""
    warn: Callable[[str], None]

    def earlier(self) -> tuple[str, ...]:
        """The same of the conversations that this one is a copy of, the nearest first."""
        if not self.session.entries:
            return ()
        from bridle.sessions.origins import origin_folders

        return origin_folders(self.session, self.setup.env)

    def window(self) -> int:
        """How many tokens the model that answers now can hold."""
        return self.facts(self.session.state.model).context_window

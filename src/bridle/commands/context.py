"""What a command works with: the session, its parts, and what only the program around them can do."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct, field

from bridle.config.load import Config
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.engine.runtime import Runtime
from bridle.engine.server import Server
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath
from bridle.types.command import Commands
from bridle.types.origin import TYPED, Origin
from bridle.types.services.checkpoints import Checkpoints
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace


class LiveConfig(Protocol):
    """The settings of a running session."""

    def config(self) -> Config:
        """The settings as they stand."""
        ...

    def refresh(self) -> None:
        """Let what was just written to a settings file count now."""
        ...


class Goal:
    """Set and cleared by `/goal`; the terminal shows it."""

    def __init__(self) -> None:
        self.condition: str | None = None
        self.checks = 0
        """How often the condition was checked."""
        self.missing = ""
        """What was missing at the last check."""
        self._take_away: Callable[[], None] = lambda: None

    def set(self, condition: str, take_away: Callable[[], None]) -> None:
        """Set the goal; `take_away` removes its check."""
        self.clear()
        self.condition, self._take_away = condition, take_away

    def clear(self) -> str | None:
        """Clear the goal and return it."""
        before, self.condition = self.condition, None
        self.checks, self.missing = 0, ""
        self._take_away()
        self._take_away = lambda: None
        return before


class CommandContext(Struct, frozen=True, kw_only=True):
    """Handed to every command; a front end makes one for its session."""

    session: Session
    server: Server
    """Holds the runtime, which changes from turn to turn."""
    commands: Commands
    hooks: LazyHooks
    place: TranscriptPath
    """Where conversations are kept."""
    settings: LiveConfig
    env: Mapping[str, str]
    called_by: Prompt = Prompt(content="", origin=TYPED)
    """The prompt that called the command; a view of the terminal is opened by a key of this machine."""
    trusted: bool = True
    screen: bool = False
    """The user is at a terminal: screens can be opened and the clipboard used."""
    open_checkpoints: Callable[[], Checkpoints | None] = lambda: None
    """The kept files of the conversation as it is now."""
    begin: Callable[[], None] = lambda: None
    """Reports the start of a turn; called by commands that report while they work."""
    leave: Callable[[], None] = lambda: None
    """Takes no more prompts and ends the program after the last one."""
    goal: Goal = field(default_factory=Goal)
    """What the session works toward."""
    hook_faults: Callable[[], Sequence[str]] = lambda: ()
    """What keeps configured hooks from running."""
    reload_extensions: Callable[[], Awaitable[str]] | None = None
    """Reads skills, commands and plugins again and says in a sentence what is there now."""

    @property
    def origin(self) -> Origin:
        """Where the command was called from."""
        return self.called_by.origin.at_start

    @property
    def runtime(self) -> Runtime:
        return self.server.runtime

    @property
    def workspace(self) -> Workspace:
        return self.server.runtime.workspace

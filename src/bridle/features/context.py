"""What a feature is opened with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.config.schema import Settings
from bridle.transcripts.session import Session
from bridle.types.sandbox import Sandbox
from bridle.types.turn import Prompt
from bridle.types.variables import is_off
from bridle.types.workspace import Workspace

if TYPE_CHECKING:
    from bridle.engine.hooks.lazy_hooks import LazyHooks
    from bridle.engine.runtime import ModelFacts, Runtime
    from bridle.extensions.index import ExtensionFiles
    from bridle.features.agents.registry import AgentServers
    from bridle.features.teams.membership import Membership
    from bridle.types.agent import AgentDefinition
    from bridle.types.services.mcp import McpServers
    from bridle.types.services.monitors import PluginMonitor
    from bridle.types.services.plugins import SessionPlugins
    from bridle.types.services.remote import RemoteListener
    from bridle.types.services.schedules import Clock


def _not_yet() -> "Runtime":
    raise AssertionError("the session is not open yet")


class CommandCaller(Protocol):
    """What the slash command of a feature is called with."""

    @property
    def session(self) -> Session: ...

    @property
    def runtime(self) -> "Runtime": ...

    @property
    def env(self) -> Mapping[str, str]: ...

    @property
    def begin(self) -> Callable[[], None]:
        """Reports the start of a turn; called by commands that report while they work."""
        ...


class FeatureContext(Struct, frozen=True, kw_only=True):
    """The session that a feature belongs to."""

    session: Session
    workspace: Workspace
    project: str
    """The folder that the session began in."""
    storage: str
    env: Mapping[str, str]
    inherited: Mapping[str, str] = {}
    """The environment of the user, before settings added to it."""
    options: SessionOptions = SessionOptions()
    runtime: "Callable[[], Runtime]" = _not_yet
    """What turns work with now; not before the session is put together."""
    extension_files: "ExtensionFiles | None" = None
    """Where files that extend the session lie; None for nowhere."""
    earlier: Callable[[], tuple[str, ...]] = tuple
    """The storage of conversations that this one is a copy of."""
    defers_tools: Callable[[], bool] = lambda: False
    """Whether a rarely used tool costs its name alone until it is needed."""
    config: Config
    """The settings when the session began; `Feature.reconfigure` tells of changes."""
    own_settings: Mapping[str, Mapping[str, Any]] = {}
    """The settings of features from packages, by feature: what `bridleFeatures` says, else the defaults."""
    agent_texts: Mapping[str, Mapping[str, str]] = {}
    """Descriptions and prompts of built-in agents from a lock file; none without one."""
    facts: "Callable[[str], ModelFacts]"
    """What is known of a model."""
    plugins: "SessionPlugins | None" = None
    agent: "AgentDefinition | None" = None
    """What the main thread is, where it is to be an agent."""
    member: "Membership | None" = None
    """The team that this process is a teammate in."""
    answers: bool = False
    """The model answers in this process, so that no other process could ask it."""
    resolve_model: Callable[[str, str], str] = lambda name, parent: name
    """The full id of a model that an agent names, in a session whose model is the second."""
    may_choose_for_agent: Callable[[str, str], bool] = lambda name, parent: True
    """Whether anyone other than the user may choose this model instead of the parent's."""
    is_approved: Callable[[str], bool] = lambda file: True
    """Whether the user has approved a file of the project as it is now."""
    skill_text: "Callable[[str], Awaitable[str | None]] | None" = None
    """The text of a skill that an agent begins with."""
    open_agent_servers: "Callable[[AgentDefinition, str], Awaitable[AgentServers | None]] | None" = None
    """Connects the MCP servers that an agent brings along."""
    plugin_monitors: "Callable[[], Sequence[PluginMonitor]]" = tuple
    plugin_language_servers: Callable[[], Mapping[str, Mapping[str, Any]]] = dict
    """The entries of plugins by their names."""
    wake: Callable[[Prompt], None]
    """Gives the session a prompt."""
    tell: Callable[[str], None]
    """Says something to the user."""
    warn: Callable[[str], None] = lambda _: None
    """Warns of something that is wrong outside the conversation."""
    trusted: bool
    lasting: bool
    """The session takes more prompts after its first answer."""
    interactive: bool = False
    """It runs at a terminal."""
    attended: bool = False
    """Someone answers questions while it runs."""
    wants_editor: bool = False
    """The user asked for their editor."""
    listener: "RemoteListener | None" = None
    """Lets remote clients reach the session, where the program around it can."""
    hooks: "LazyHooks | None" = None
    servers: "McpServers | None" = None
    """The MCP servers of the session."""
    window: Callable[[], int] = lambda: 200_000
    """How many tokens the model that answers now can hold."""
    offers: Callable[[str], bool] = lambda tool: True
    """Whether the session offers a tool; known when all of it is put together."""
    may_choose_model: Callable[[str], bool] = lambda name: True
    """Whether a project may choose a model."""
    leader: tuple[str, str] | None = None
    """The run that a teammate works for, and its name in it."""
    closed: bool = False
    """No file of users or projects extends the session."""
    sandbox: Sandbox | None = None
    clock: "Clock | None" = None
    """None for that of the machine."""

    @property
    def settings(self) -> Settings:
        return self.config.settings

    @property
    def works_aside(self) -> bool:
        """Whether models may be asked between turns."""
        wanted = self.config.settings.bridle_background_work is not False
        if not wanted or self.leader is not None or self.closed:
            return False
        return not is_off(self.env, "BRIDLE_BACKGROUND_WORK")

    @property
    def extends(self) -> bool:
        """Whether the project may start something in this session."""
        return self.trusted and not self.closed

"""What is settled before a session is opened."""

from msgspec import Struct

from bridle.cli.args import Args
from bridle.config.load import Config
from bridle.types.agent import AgentDefinition
from bridle.types.permission import Rule


class Setup(Struct, frozen=True, kw_only=True):
    """What is settled before the session is opened."""

    args: Args
    config: Config
    env: dict[str, str]
    """For bridle and for what it starts; a host may change it while the session runs."""
    cwd: str
    trusted: bool
    model: str
    rules: tuple[Rule, ...]
    problems: tuple[str, ...]
    agent: AgentDefinition | None = None
    """What the main thread is, where it is to be an agent."""

"""What is settled before a session is opened."""

import os.path
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.config.load import Config
from bridle.config.options import SessionOptions
from bridle.config.problems import Problem
from bridle.types.agent import AgentDefinition
from bridle.types.permission import Rule

if TYPE_CHECKING:
    from bridle.extensions.plugins.plugin import Plugins
    from bridle.extensions.plugins.session_cache import CachedPlugins
    from bridle.features.teams.membership import Membership
    from bridle.session.lock.file import PromptLock


class Setup(Struct, frozen=True, kw_only=True):
    """What is settled before the session is opened."""

    options: SessionOptions
    config: Config
    env: dict[str, str]
    """For bridle and for what it starts; a host may change it while the session runs."""
    inherited: Mapping[str, str] = {}
    """What it was before settings added to it."""
    cwd: str
    trusted: bool
    model: str
    rules: tuple[Rule, ...]
    problems: tuple[str, ...]
    left_out: tuple[Problem, ...] = ()
    """What the settings of the folder say that does not count, because it is not trusted."""
    agent: AgentDefinition | None = None
    """What the main thread is, where it is to be an agent."""
    advisor: str | None = None
    """The model that advises from the start."""
    member: "Membership | None" = None
    """The team that this process is a teammate in."""
    early: "Early | None" = None
    """The plugins as they were found with the settings."""
    lock: "PromptLock | None" = None
    """Where texts for models come from instead of this version (`--locked`)."""


def may_leave_out(setup: Setup) -> bool:
    """Whether a folder that is not trusted brings anything that does not count."""
    return bool(setup.left_out) or os.path.exists(os.path.join(setup.cwd, ".mcp.json"))


class Early(Struct, frozen=True, kw_only=True):
    """Plugins that were read before there is a session, so that it need not read them again."""

    folders: tuple[str, ...] = ()
    """Those that flags name; archives are unpacked later and are not among them."""
    plugins: "Plugins | None" = None
    """None where there are none at all."""
    remembered: "CachedPlugins | None" = None
    """Where they were not read: what is to be confirmed yet."""

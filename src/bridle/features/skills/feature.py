"""Skills as a feature: the model gets a list and calls them, and users call them as slash commands."""

from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature, RunningCall
from bridle.extensions.index import ExtensionFiles
from bridle.extensions.roots import BUNDLED, Root
from bridle.extensions.skills import Skill, SkillCatalog
from bridle.extensions.usage import SkillUsage
from bridle.features.context import FeatureContext
from bridle.features.skills.session import SessionSkills, SkillContext
from bridle.permissions.tool_names import SKILL
from bridle.types.permission import Rule
from bridle.types.services.service import Service
from bridle.types.services.session import DELEGATE, SKILLS
from bridle.types.variables import is_on, whole_number

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.transcripts.session import Session
    from bridle.types.command import Command
    from bridle.types.services.mcp import McpServers
    from bridle.types.tool import Tool

SESSION_SKILLS: Service[SessionSkills] = Service("session_skills", missing="This session has no skills.")


class SkillsFeature(Feature):
    name = "skills"

    def __init__(self, skills: SessionSkills) -> None:
        self._skills = skills

    def part(self, key: Service[Any]) -> Any:
        return self._skills if key is SESSION_SKILLS else None

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        if key is not SKILLS:
            return None

        return partial(self._skills.use, turn, delegate=turn.runtime.features.offered(DELEGATE, call, turn))

    def commands(self) -> "Sequence[Command]":
        return self._skills.commands()

    def listing(self, tools: Collection[str]) -> str | None:
        return self._skills.listing()

    def agent_listing(self, tools: Collection[str]) -> str | None:
        return self._skills.agent_listing() if SKILL in tools else None

    def reminder(self, session: "Session") -> str | None:
        return self._skills.news(session)

    def rules(self, tool: "Tool", subject: str) -> tuple[Rule, ...]:
        """A skill that only brings text is called without a question."""
        return self._skills.rules_for(subject) if tool.name == SKILL else ()

    def settle(self, running: RunningCall) -> None:
        """Skills of the folders that a call has touched count from now on."""
        self._skills.touch(running.allowed.case.touched)

    def restore(self, turn: "Turn") -> tuple[str | None]:
        return (self._skills.restored(turn.session),)

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._skills.reconfigure(now.settings)

    def for_agent(self, work: "Assignment") -> Feature:
        return self


def open_skills(context: FeatureContext) -> SkillsFeature | None:
    """None where slash commands are turned off, or no file extends the session."""
    files, hooks = context.extension_files, context.hooks
    if context.closed or context.options.disable_slash_commands or files is None or hooks is None:
        return None
    config, env = context.config, context.env
    approved_content = config.approved_content
    skill_context = SkillContext(
        settings=config.settings,
        usage=SkillUsage(env),
        hooks=hooks,
        cwd=context.project,
        storage=context.storage,
        window=context.window,
        trusted=context.trusted,
        covers=_always if approved_content is None else approved_content.covers_file,
        resolve_model=lambda name: _resolve(name, context),
        may_choose=context.may_choose_model,
        tells=lambda: context.offers(SKILL),
        budget=whole_number(env, "SLASH_COMMAND_TOOL_CHAR_BUDGET"),
        offers=context.offers,
    )
    catalog = SkillCatalog(
        files.index, lambda: _roots(files, context), others=lambda: _served(context.servers)
    )
    if context.trusted:
        _look_at_wide(catalog, skill_context.covers)
    return SkillsFeature(SessionSkills(catalog, skill_context))


def _roots(files: ExtensionFiles, context: FeatureContext) -> tuple[Root, ...]:
    settings, env = context.settings, context.env
    unwanted = settings.disable_bundled_skills or is_on(env, "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS")
    found = (*files.roots("skills"), *files.roots("commands"), *(() if unwanted else (BUNDLED,)))
    if not is_on(env, "CLAUDE_CODE_DISABLE_POLICY_SKILLS"):
        return found
    return tuple(root for root in found if root.source != "managed")


def _look_at_wide(skills: SkillCatalog, covers: Callable[[str], bool]) -> None:
    """Note how the skills that widen rights are now: a folder trusted for one run is bound to that."""
    for skill in skills.all().values():
        if skill.shared and skill.allowed_tools:
            covers(skill.file)


def _resolve(name: str, context: FeatureContext) -> str:
    from bridle.providers import catalog

    return catalog.resolve(name, context.env, own=context.config.raw.get("bridleModels"))


def _always(path: str) -> bool:
    del path
    return True


def _served(servers: "McpServers | None") -> Sequence[Skill]:
    """Skills of MCP servers; what makes skills of them is imported with the first."""
    if servers is None or not servers.skills():
        return ()
    from bridle.features.skills.served import served_skills

    return served_skills(servers)

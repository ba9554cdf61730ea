"""The skills of one session: those for the model, those for users, and those in use."""

import asyncio
import os.path
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from msgspec import Struct

from bridle.config.schema import Settings
from bridle.engine.hooks.lazy_hooks import LazyHooks
from bridle.extensions.listing import budget_of, cost_of, lines_within, list_skills, tokens_of
from bridle.extensions.roots import nested_roots
from bridle.extensions.skills import Skill, SkillCatalog
from bridle.extensions.usage import SkillUsage
from bridle.permissions.tool_names import SKILL
from bridle.types.command import Command, CommandResult
from bridle.types.errors import ConfigError, ToolError
from bridle.types.nearest import did_you_mean
from bridle.types.permission import Effect, Rule
from bridle.types.services.session import SkillUse

if TYPE_CHECKING:
    from bridle.engine.runtime import Runtime
    from bridle.engine.turn import Turn
    from bridle.transcripts.session import Session
    from bridle.types.origin import Origin
    from bridle.types.tool import Delegate
    from bridle.types.turn import Prompt

_MOST_NEWS = 20
_RESTORED = "# Skills in use\nKeep following these where they apply to the task."


class SkillContext(Struct, frozen=True, kw_only=True):
    """What the skills need from the session."""

    settings: Settings
    usage: SkillUsage
    hooks: LazyHooks
    cwd: str
    storage: str
    window: Callable[[], int]
    """The tokens that the model's window holds."""
    trusted: bool = True
    covers: Callable[[str], bool] = lambda path: True
    """Whether a file of the project is as the user approved it."""
    resolve_model: Callable[[str], str] = lambda name: name
    may_choose: Callable[[str], bool] = lambda name: True
    """Whether a skill of the project may choose this model."""
    tells: Callable[[], bool] = lambda: True
    """Whether the model gets a list of skills at all."""
    budget: int | None = None
    """The characters that the list of skills may take, where the user has said so."""
    offers: Callable[[str], bool] = lambda tool: True
    """Whether the model has a tool."""


class Caller(Protocol):
    """The part of a command's context that a skill needs."""

    @property
    def session(self) -> "Session": ...

    @property
    def runtime(self) -> "Runtime": ...

    @property
    def origin(self) -> "Origin": ...

    @property
    def called_by(self) -> "Prompt": ...


class _Bounds(TypedDict):
    """What the list of skills is limited by."""

    budget: int
    longest: int
    scores: Mapping[str, float]
    bare: frozenset[str]


class SessionSkills:
    """Files are read again on each call. Skills in use are kept with the conversation that uses them."""

    def __init__(self, catalog: SkillCatalog, context: SkillContext) -> None:
        self.catalog = catalog
        self.context = context
        self.settings = context.settings
        self._only: frozenset[str] | None = None
        self._touched: set[str] = set()
        """Skills for certain files that have been touched."""
        self._sorted: tuple[Mapping[str, Skill] | None, list[Skill]] = (None, [])
        """All skills, and those among them that are for certain files."""
        self._callable: tuple[Mapping[str, Skill], list[Skill]] | None = None
        """What the model may call of the skills that there were: asked at every step."""
        self._listed: set[str] | None = None
        self.hooked: set[str] = set()
        """Skills whose hooks listen already."""

    def restrict(self, names: Collection[str] | None) -> None:
        """Let the model know of these skills only; None for all."""
        self._only = None if names is None else frozenset(names)
        self._callable = None

    def for_model(self) -> list[Skill]:
        """The skills that the model may call, in the order of their weight."""
        every = self.catalog.all()
        if self._callable is None or self._callable[0] is not every:
            overrides = self.settings.skill_overrides or {}
            found = [
                skill
                for skill in every.values()
                if skill.for_model
                and all(map(self.context.offers, skill.needs))
                and overrides.get(skill.name) not in ("off", "user-invocable-only")
                and (self._only is None or skill.name in self._only)
                and (not skill.paths or skill.name in self._touched)
            ]
            self._callable = every, found
        return self._callable[1]

    def for_user(self) -> list[Skill]:
        """The skills that are slash commands."""
        overrides = self.settings.skill_overrides or {}
        every = self.catalog.all().values()
        return [skill for skill in every if skill.for_user and overrides.get(skill.name) != "off"]

    def names(self) -> list[str]:
        """The skills that the user or the model can call, for host programs."""
        callable_ones = {skill.name for skill in (*self.for_model(), *self.for_user())}
        return [skill.name for skill in self.catalog.all().values() if skill.name in callable_ones]

    def shown(self) -> list[str]:
        """The skills, without plain commands, that are slash commands: what hosts list as skills."""
        return [skill.name for skill in self.for_user() if skill.form == "skill"]

    def listing(self) -> str | None:
        """The list of skills for the model when a conversation begins; None for none."""
        if not self.context.tells():
            return None
        skills = self.for_model()
        self._listed = {skill.name for skill in skills}
        return self._list(skills)

    def agent_listing(self) -> str | None:
        """The list of skills for an agent that may call them; None for none."""
        return self._list(self.for_model()) if self.context.tells() else None

    def news(self, session: "Session") -> str | None:
        """Skills that are new since the last list; None for none, and for agents."""
        if self._listed is None or not self.context.tells() or session.agent_id is not None:
            return None
        fresh = [skill for skill in self.for_model() if skill.name not in self._listed]
        self._listed |= {skill.name for skill in fresh}
        return self._list(fresh[:_MOST_NEWS])

    def touch(self, paths: Sequence[str]) -> None:
        """Files were touched: skills of their folders, and skills meant for such files, count from now on."""
        cwd = self.context.cwd
        for path in paths:
            self.catalog.enter(nested_roots("skills", path, cwd))
        known = self.catalog.all()
        if known is not self._sorted[0]:
            self._sorted = known, [skill for skill in known.values() if skill.paths]
        waiting = [skill for skill in self._sorted[1] if skill.name not in self._touched]
        if not waiting:
            return
        from bridle.context.globs import matches

        for skill in waiting:
            below = [os.path.relpath(path, cwd) for path in paths if path.startswith(f"{cwd.rstrip('/')}/")]
            if any(matches(pattern, path) for pattern in skill.paths for path in below):
                self._touched.add(skill.name)
                self._callable = None

    def restored(self, session: "Session") -> str | None:
        """The texts of the skills used, for a conversation that has lost them: the last used first."""
        parts = [f"## {name}\n{text}" for name, text in reversed(session.state.skills)]
        return "\n\n".join((_RESTORED, *parts)) if parts else None

    def rules_for(self, name: str) -> tuple[Rule, ...]:
        """What lets the model call a skill unasked: one that only brings text widens no rights."""
        skill = self.catalog.find(name)
        if skill is None:
            return (Rule(Effect.ALLOW, SKILL, name, "session"),)
        if skill.source == "mcp":
            return ()  # Words of a server are asked about like its tools.
        wide = bool(skill.allowed_tools or skill.hooks) and skill.source not in ("bundled", "managed")
        counts = self.context.trusted or not skill.shared
        return () if wide and counts else (Rule(Effect.ALLOW, SKILL, name, "session"),)

    def commands(self) -> tuple[Command, ...]:
        """The skills as slash commands."""
        return tuple(self._command(skill) for skill in self.for_user())

    async def use(self, turn: "Turn", name: str, arguments: str, delegate: "Delegate | None") -> SkillUse:
        """Run a skill for the Skill tool. Without agents (`delegate` is None) every skill joins the turn.

        Raises:
            ToolError: there is no such skill, the model may not call it, or one of its commands failed.
        """
        from bridle.features.skills.use import use_skill

        skill = self.catalog.find(name)
        callable_ones = {each.name for each in self.for_model()}
        if skill is None or (skill.name not in callable_ones and not skill.paths):
            raise ToolError(self._refusal(name, skill, callable_ones))
        return await use_skill(self, skill, arguments, turn, delegate)

    async def text_for(self, name: str) -> str | None:
        """The text of a skill that an agent begins with, as it is written; None when there is none."""
        skill = self.catalog.find(name)
        if skill is None:
            return None
        try:
            body = (await skill.load()).strip()
        except (OSError, ToolError):
            return None
        if skill.folder is None or skill.source == "bundled":
            return body
        return f"Base directory for this skill: {skill.folder}\n\n{body}"

    def reconfigure(self, settings: Settings) -> None:
        """Use other settings."""
        self.settings = settings
        self._callable = None

    def reload(self) -> str:
        """Look at the disk now; a sentence about what is there."""
        self.catalog.reload()
        wrong = len(self.catalog.problems)
        count = len(self.names())
        return f"{count} skills and commands found" + (f", {wrong} with problems." if wrong else ".")

    async def note_use(self, session: "Session", skill: Skill, text: str | None) -> None:
        """Count the use, and keep the text with the conversation where it is part of it."""
        if text is not None:
            from bridle.transcripts.state_lines import note_skill

            note_skill(session, skill.name, text)
        try:
            await asyncio.to_thread(self.context.usage.note, skill.name)
        except (ConfigError, OSError):
            pass  # Counts are a convenience; a home that cannot be written is no reason to fail.

    def mentions(self) -> Mapping[str, int]:
        """About how many tokens each skill takes in the list that the model is given."""
        if not self.context.tells():
            return {}
        lines = lines_within(self.for_model(), **self._bounds())
        return {name: tokens_of(line) for name, line in lines.items()}

    def _list(self, skills: Sequence[Skill]) -> str | None:
        return list_skills(skills, **self._bounds())

    def _bounds(self) -> "_Bounds":
        settings = self.settings
        overrides: Mapping[str, str] = settings.skill_overrides or {}
        return {
            "budget": self.context.budget
            or budget_of(self.context.window(), settings.skill_listing_budget_fraction),
            "longest": max(1, settings.skill_listing_max_desc_chars or 1_536),
            "scores": self.context.usage.scores(),
            "bare": frozenset(name for name, word in overrides.items() if word == "name-only"),
        }

    def _refusal(self, name: str, skill: Skill | None, callable_ones: Collection[str]) -> str:
        if skill is not None:
            return f"Only the user can call {skill.name}: ask them to type /{skill.name}."
        shown = ", ".join(sorted(callable_ones)[:50]) or "none"
        return f"Unknown skill {name}{did_you_mean(name, callable_ones) or '.'} Available skills: {shown}."

    def _command(self, skill: Skill) -> Command:
        async def run(arguments: str, caller: Any) -> CommandResult:
            from bridle.features.skills.use import ask_with

            return await ask_with(self, skill, arguments, caller)

        return Command(
            name=skill.name,
            description=" ".join(skill.description.split())[:250],
            about=" ".join(skill.description.split()),
            title=skill.title if skill.title.count(":") == skill.name.count(":") else "",
            run=run,
            source=skill.source,
            origin=skill.file,
            argument_hint=skill.argument_hint,
            aliases=skill.aliases,
            # From anywhere but a person it passes the gate like a call of the Skill tool.
            reach="anyone",
            tokens=cost_of(skill) if skill.for_model else 0,
        )

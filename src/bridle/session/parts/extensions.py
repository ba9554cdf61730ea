"""What files bring to a session, by what flags and settings say: skills, commands, agents, output styles."""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.config.load import Config
from bridle.engine.mcp_servers import LazyServers
from bridle.engine.skills import Basis, SessionSkills
from bridle.extensions.agents import AgentFiles
from bridle.extensions.index import ExtensionFiles, Index
from bridle.extensions.places import BUNDLED, Kind, Root, roots_of, whereabouts
from bridle.extensions.skills import Skill, SkillCatalog
from bridle.extensions.usage import SkillUsage
from bridle.host.paths import bridle_dir
from bridle.providers import catalog
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.session.parts.agents import may_choose
from bridle.types.variables import is_on, whole_number

if TYPE_CHECKING:
    from bridle.extensions.styles import OutputStyle

_MOST_TOLD = 5

PluginRoots = Callable[[Kind], Sequence[Root]]
"""The component folders of the plugins that are turned on."""


class Extensions(Struct, frozen=True, kw_only=True):
    """The extension files of a session; each kind is looked at when it is needed."""

    index: Index
    roots: Callable[[Kind], tuple[Root, ...]]
    """The folders of a kind: the administrator's, the user's, the project's, plugins'."""
    agents: AgentFiles
    skills: SessionSkills | None
    """None where slash commands are turned off."""

    def skill_listing(self) -> str | None:
        """What the model is told of skills when a conversation begins."""
        return None if self.skills is None else self.skills.listing()

    async def skill_text(self, name: str) -> str | None:
        """The text of a skill that an agent begins with."""
        return None if self.skills is None else await self.skills.text_for(name)

    def styles(self) -> "Mapping[str, OutputStyle]":
        """Every output style by its name in small letters."""
        from bridle.extensions.styles import load_styles

        return load_styles(self.index, self.roots("output-styles"))

    def style_names(self) -> tuple[str, ...]:
        """The output styles that can be chosen."""
        return tuple(style.name for style in self.styles().values())

    def style(self, wanted: str | None) -> "OutputStyle | None":
        """The output style that counts; None for the usual manner."""
        plugins = any(root.source == "plugin" for root in self.roots("output-styles"))
        if wanted is None and not plugins:
            return None
        from bridle.extensions.styles import choose_style

        return choose_style(self.styles(), wanted)

    def problems(self) -> tuple[str, ...]:
        """What is wrong with skills, commands and agents, the first few in full."""
        if self.skills is not None:
            self.skills.catalog.all()
        skills = () if self.skills is None else self.skills.catalog.problems
        every = (*skills, *self.agents.problems())
        more = len(every) - _MOST_TOLD
        rest = (f"{more} more extension files have problems: see /doctor",) if more > 0 else ()
        return (*map(str, every[:_MOST_TOLD]), *rest)


def agent_files(
    config: Config,
    env: Mapping[str, str],
    *,
    cwd: str,
    closed: bool,
    plugins: PluginRoots = lambda _: (),
) -> AgentFiles:
    """The agents of files before there is a session, for one that is to be an agent itself."""
    where = whereabouts(config, env, cwd=cwd)
    return AgentFiles(
        open_index(env), lambda: () if closed else (*roots_of("agents", where), *plugins("agents"))
    )


def open_index(env: Mapping[str, str]) -> Index:
    return Index(os.path.join(bridle_dir(env), "index"))


class Style(Struct, frozen=True, kw_only=True):
    """What an output style does to the system prompt."""

    text: str = ""
    keeps_coding: bool = True


def chosen_style(extensions: Extensions, wanted: str | None, *, warn: Callable[[str], None]) -> Style:
    """The output style that counts, read; one that is not there is told and changes nothing."""
    style = extensions.style(wanted)
    if style is None:
        if wanted is not None and wanted.lower() not in extensions.styles():
            warn(f"there is no output style {wanted!r}: /output-style lists those that are")
        return Style()
    try:
        return Style(text=style.read(), keeps_coding=style.keeps_coding)
    except OSError as error:
        warn(f"{style.file}: the output style cannot be read: {error.strerror or error}")
        return Style()


def extension_files(base: SessionBase) -> ExtensionFiles:
    """The files that extend a session; in bare and safe mode none count."""
    setup = base.setup
    config, env = setup.config, setup.env
    closed = choices.is_closed(setup.options, env)

    def roots(kind: Kind) -> tuple[Root, ...]:
        if closed:
            return ()
        own = roots_of(kind, whereabouts(config, env, cwd=setup.cwd, extra=base.workspace.roots[1:]))
        return (*own, *base.plugins.roots(kind))

    return ExtensionFiles(open_index(env), roots)


def open_extensions(
    base: SessionBase, files: ExtensionFiles, *, offered: Sequence[str], servers: LazyServers | None
) -> Extensions:
    """What the extension files bring to a session that offers these tools."""
    setup = base.setup
    options, env, config = setup.options, setup.env, setup.config
    closed = choices.is_closed(options, env)
    index, roots = files.index, files.roots

    def skill_roots() -> tuple[Root, ...]:
        unwanted = config.settings.disable_bundled_skills or is_on(env, "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS")
        found = (*roots("skills"), *roots("commands"), *(() if unwanted else (BUNDLED,)))
        if not is_on(env, "CLAUDE_CODE_DISABLE_POLICY_SKILLS"):
            return found
        return tuple(root for root in found if root.source != "managed")

    skills = None
    if not closed and not options.disable_slash_commands:
        skills = SessionSkills(
            SkillCatalog(index, skill_roots, others=lambda: _served(servers)),
            Basis(
                settings=config.settings,
                usage=SkillUsage(env),
                hooks=base.hooks,
                cwd=setup.cwd,
                storage=base.storage,
                window=base.window,
                trusted=setup.trusted,
                covers=_covers(config),
                resolve_model=lambda name: catalog.resolve(name, env, own=config.raw.get("bridleModels")),
                may_choose=lambda name: may_choose(name, setup),
                tells="Skill" in offered,
                budget=whole_number(env, "SLASH_COMMAND_TOOL_CHAR_BUDGET"),
                offers=offered.__contains__,
            ),
        )
        if setup.trusted:
            _look_at_wide(skills.catalog, skills.basis.covers)
    agents = AgentFiles(index, lambda: roots("agents"))
    extensions = Extensions(index=index, roots=roots, agents=agents, skills=skills)
    # Host programs show nobody what is written to standard error.
    if not env.get("CLAUDE_CODE_ENTRYPOINT", "").startswith("sdk-"):
        for problem in extensions.problems():
            base.warn(problem)
    return extensions


def _look_at_wide(skills: SkillCatalog, covers: Callable[[str], bool]) -> None:
    """Note how the skills that widen rights are now: a folder trusted for one run is bound to that."""
    for skill in skills.all().values():
        if skill.shared and skill.allowed_tools:
            covers(skill.file)


def _covers(config: Config) -> Callable[[str], bool]:
    vouched = config.vouched
    return (lambda path: True) if vouched is None else vouched.covers_file


def _served(servers: LazyServers | None) -> Sequence[Skill]:
    """Skills of MCP servers; what makes skills of them is imported with the first."""
    if servers is None or not servers.skills():
        return ()
    from bridle.engine.served_skills import served_skills

    return served_skills(servers)

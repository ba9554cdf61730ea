"""What files bring to a session, by what flags and settings say: skills, commands, agents, output styles."""

import os.path
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.config.load import Config
from bridle.extensions.agents import AgentFiles
from bridle.extensions.index import ExtensionFiles, Index
from bridle.extensions.roots import Kind, Root, roots_of, whereabouts
from bridle.features.skills.session import SessionSkills
from bridle.host.paths import bridle_dir
from bridle.session import choices
from bridle.session.base import SessionBase
from bridle.types.variables import is_hosted

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
        kinds: tuple[Kind, ...] = ("skills", "commands", "agents")
        roots = (root.plugin_root for kind in kinds for root in self.roots(kind))
        theirs = tuple(f"{root}{os.sep}" for root in roots if root is not None)
        # Users cannot fix the files of others; authors have `bridle plugin validate`.
        every = [each for each in (*skills, *self.agents.problems()) if not each.file.startswith(theirs)]
        more = len(every) - _MOST_TOLD
        rest = (f"{more} more extension files have problems; see /doctor",) if more > 0 else ()
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
    """Read the chosen output style; a missing one is reported and changes nothing."""
    style = extensions.style(wanted)
    if style is None:
        if wanted is not None and wanted.lower() not in extensions.styles():
            warn(f"unknown output style {wanted!r}; list styles with /output-style")
        return Style()
    try:
        return Style(text=style.read(), keeps_coding=style.keeps_coding)
    except OSError as error:
        warn(f"can't read the output style {style.file}: {error.strerror or error}")
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

    index = open_index(env)
    return ExtensionFiles(index=index, roots=roots, agents=AgentFiles(index, lambda: roots("agents")))


def open_extensions(base: SessionBase, files: ExtensionFiles, skills: SessionSkills | None) -> Extensions:
    """What the extension files bring to a session besides skills; problems in them are reported."""
    env = base.setup.env
    index, roots = files.index, files.roots
    extensions = Extensions(index=index, roots=roots, agents=files.agents, skills=skills)
    # Host programs do not show what is written to standard error.
    if not is_hosted(env):
        for problem in extensions.problems():
            base.warn(problem)
    return extensions

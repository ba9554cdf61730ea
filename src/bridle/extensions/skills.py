"""The skills and command files of a session: every source, one name each, read when they are used."""

import os.path
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from bridle.config.problems import Problem
from bridle.extensions.cache import FreshLookup
from bridle.extensions.frontmatter import summary_of, text_of, truth, words
from bridle.extensions.index import Found, Index, read_body
from bridle.extensions.roots import Root, Source

_EFFORTS = ("low", "medium", "high", "xhigh", "max")
_LONGEST_PATTERN = 500
_UNTYPED = r"[^\w.:-]"


class Skill(Struct, frozen=True, kw_only=True, array_like=True):
    """A skill or a command file; what its header says is looked up in `values`."""

    name: str
    values: Mapping[str, Any]
    source: Source
    body: str | None = None
    """Its text, where that is in no file."""
    opening: str = ""
    summary: str = ""
    """What it says of itself in one line, worked out beforehand: hundreds are listed at every start."""
    file: str = ""
    form: Literal["skill", "command"] = "skill"
    root: Root | None = None
    """The folder of the plugin that it comes from."""

    @property
    def folder(self) -> str | None:
        """Where files lie that belong to the skill; None for a command file."""
        has = self.form == "skill" and self.source != "mcp" and self.file
        return self.file.rpartition("/")[0] if has else None

    @property
    def shared(self) -> bool:
        """Whether it came with the folder of a project, in a plugin or as a file of its own."""
        return self.source == "project" or (self.root is not None and self.root.shared)

    def read(self) -> str:
        """The body as it is now.

        Raises:
            OSError: the file cannot be read any more.
        """
        return read_body(self.file) if self.body is None else self.body

    async def load(self) -> str:
        """The body, wherever it is.

        Raises:
            OSError: the file cannot be read any more.
            ToolError: the server that has the text does not give it.
        """
        return self.read()

    @property
    def description(self) -> str:
        return text_of(self.values.get("description")) or self.opening or "Skill"

    @property
    def when_to_use(self) -> str:
        return text_of(self.values.get("when_to_use") or self.values.get("when-to-use")) or ""

    @property
    def argument_hint(self) -> str:
        hint = self.values.get("argument-hint")
        # Unquoted brackets are a list to YAML, and people do not quote them.
        return text_of(f"[{', '.join(map(str, hint))}]" if isinstance(hint, list) else hint) or ""

    @property
    def argument_names(self) -> tuple[str, ...]:
        named = self.values.get("arguments")
        return tuple(named.replace(",", " ").split()) if isinstance(named, str) else words(named)

    @property
    def aliases(self) -> tuple[str, ...]:
        if self.source == "bundled":
            return words(self.values.get("aliases"))
        # A skill answers to the name of its header too, where its folder has another one.
        prefix, colon, last = self.name.rpartition(":")
        own = text_of(self.values.get("name"))
        if own is None or re.search(_UNTYPED, own) is not None:
            return ()
        # Those of plugins answer without the name of the plugin too.
        plain = (own,) if colon and self.source == "plugin" and self.form == "skill" else ()
        return plain if own == last else (*plain, f"{prefix}{colon}{own}")

    @property
    def title(self) -> str:
        """The name that its header gives it, behind those of its plugin or folders."""
        return "" if self.source == "bundled" or not self.aliases else self.aliases[-1]

    @property
    def needs(self) -> tuple[str, ...]:
        """The tools without which it is not listed for the model."""
        return words(self.values.get("needs")) if self.source == "bundled" else ()

    @property
    def for_model(self) -> bool:
        """Whether the model may call it."""
        said = self.values.get("disable-model-invocation")
        return said is None or truth(said) is not True

    @property
    def for_user(self) -> bool:
        """Whether it is a slash command."""
        return truth(self.values.get("user-invocable")) is not False

    @property
    def allowed_tools(self) -> tuple[str, ...]:
        return words(self.values.get("allowed-tools"))

    @property
    def disallowed_tools(self) -> tuple[str, ...]:
        return words(self.values.get("disallowed-tools"))

    @property
    def model(self) -> str | None:
        named = text_of(self.values.get("model"))
        return None if named is None or named.lower() == "inherit" else named

    @property
    def effort(self) -> str | None:
        level = text_of(self.values.get("effort"))
        return level if level in _EFFORTS else None

    @property
    def agent(self) -> str | None:
        """The agent that follows it instead of the conversation; None for a skill that joins it."""
        if self.values.get("context") != "fork":
            return None
        return text_of(self.values.get("agent")) or "general-purpose"

    @property
    def background(self) -> bool | None:
        return truth(self.values.get("background"))

    @property
    def hooks(self) -> Mapping[str, Any]:
        hooks = self.values.get("hooks")
        return hooks if isinstance(hooks, dict) else {}

    @property
    def paths(self) -> tuple[str, ...]:
        """Patterns of files that make it worth knowing; none where it always is. Commands have none."""
        said = self.values.get("paths")
        if said is None or self.form == "command":
            return ()
        # A longer one could take minutes to compare with a path.
        return tuple(pattern[:_LONGEST_PATTERN] for pattern in words(said))

    @property
    def shell(self) -> str:
        return (text_of(self.values.get("shell")) or "bash").lower()


class SkillCatalog:
    """Looks at the disk when it is asked, and believes what it saw for less than a second."""

    def __init__(
        self,
        index: Index,
        roots: Callable[[], Sequence[Root]],
        *,
        others: Callable[[], Sequence[Skill]] = lambda: (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = index
        self._roots = roots
        """The folders of skills and commands, the weightiest first."""
        self._others = others
        """Skills without files, such as those of MCP servers."""
        self._nested: dict[str, Root] = {}
        self._found = FreshLookup(self._look, clock)

    def all(self) -> Mapping[str, Skill]:
        """Every skill by its name."""
        # Servers tell when something has changed, so what they have is never remembered.
        skills = self._found.get().skills
        fresh = {each.name: each for each in self._others() if each.name not in skills}
        return {**skills, **fresh} if fresh else skills

    @property
    def problems(self) -> tuple[Problem, ...]:
        """What is left out, hidden or misread."""
        return self._found.get().problems

    def find(self, name: str) -> Skill | None:
        skills = self.all()
        bare = name.strip().removeprefix("/")
        return skills.get(bare) or next((each for each in skills.values() if bare in each.aliases), None)

    def enter(self, roots: Sequence[Root]) -> bool:
        """Count folders below the project too, from now on; whether there were any that are new."""
        fresh = {root.path: root for root in roots if root.path not in self._nested and _exists(root)}
        self._nested |= fresh
        if fresh:
            self._found.forget()
        return bool(fresh)

    def reload(self) -> None:
        """Look at the disk now."""
        self._found.forget()
        self._found.get()

    def _look(self) -> "_Found":
        roots = (*self._roots(), *self._nested.values())
        return self._index.conclude("skills", roots, _Found, self._draw)

    def _draw(self, found: Sequence[Found]) -> "_Found":
        """The skills that files are; of equal names the first counts."""
        skills: dict[str, Skill] = {}
        problems = [problem for each in found if each.entry.fault and (problem := each.problem) is not None]
        for each in found:
            skill = skill_of(each)
            other = skills.get(skill.name)
            if other is not None and each.root.path in self._nested:
                skill = replace(skill, name=f"{each.root.prefix}:{skill.name}")
                other = skills.get(skill.name)
            if other is None:
                skills[skill.name] = skill
                problems += _doubts(skill)
            elif skill.source != "bundled" and not _is_same(skill.file, other.file):
                problems.append(Problem(file=skill.file, message=_hidden(skill, other)))
        return _Found(skills, tuple(problems))


class _Found(Struct, array_like=True):
    skills: dict[str, Skill] = {}
    """By name, the weightiest first."""
    problems: tuple[Problem, ...] = ()


def skill_of(found: Found) -> Skill:
    """The skill that a file is; its name comes from its place."""
    root, entry, file = found.root, found.entry, found.path
    is_skill = root.kind == "skills"
    if is_skill:
        name = file.rsplit("/", 2)[-2]
    else:
        below = entry.path or file.rpartition("/")[2]
        name = below.removesuffix(".md").replace("/", ":")
    return Skill(
        name=f"{root.prefix}:{name}" if root.source == "plugin" and root.prefix else name,
        values=entry.values,
        source=root.source,
        opening="" if text_of(entry.values.get("description")) else entry.opening,
        summary=summary_of(entry.values, entry.opening),
        file=file,
        form="skill" if is_skill else "command",
        root=root if root.source == "plugin" else None,
    )


def _hidden(skill: Skill, other: Skill) -> str:
    return f"ignored: /{skill.name} is already defined in {other.file or other.source}; rename this one"


def _doubts(skill: Skill) -> Iterator[Problem]:
    """What counts, but not as its author will have meant it."""
    if skill.for_user and re.search(_UNTYPED, skill.name):
        message = (
            f"{skill.name!r} is not a valid command name, so only the model can call it; use letters, "
            "digits, dots and dashes"
        )
        yield Problem(file=skill.file, message=message)
    if not isinstance(skill.values.get("hooks", {}), dict | None):
        yield Problem(file=skill.file, key="hooks", message="ignored: write events with lists")


def _is_same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other)


def _exists(root: Root) -> bool:
    return os.path.isdir(root.path)

"""Workflow files: scripts that orchestrate agents, where they are and what they say of themselves."""

import os.path
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.config.problems import Problem
from bridle.config.schema import Settings
from bridle.extensions.cache import FreshLookup
from bridle.extensions.index import LARGEST_FILE, Found, Index
from bridle.extensions.roots import Root, Source
from bridle.host.files import read_bytes
from bridle.types.errors import ConfigError
from bridle.types.variables import is_on

BUNDLED_WORKFLOWS = Root(
    kind="workflows", path=os.path.join(os.path.dirname(__file__), "bundled", "workflows"), source="bundled"
)
"""Those that come with bridle; any other of the same name goes before them."""

_NAME = r"\w[\w.-]{0,63}"
_LONGEST_TEXT = 4_000
_MOST_PHASES = 50


class WorkflowPhase(Struct, frozen=True):
    title: str
    detail: str = ""
    model: str | None = None


class WorkflowMeta(Struct, frozen=True, kw_only=True):
    """What a script says of itself in `export const meta`."""

    name: str
    description: str
    when_to_use: str = ""
    phases: tuple[WorkflowPhase, ...] = ()


class WorkflowFile(Struct, frozen=True, kw_only=True):
    """A script that can be run by its name."""

    name: str
    """With the plugin before it, where it comes from one: `plugin:name`."""
    meta: WorkflowMeta
    path: str
    source: Source
    plugin: str | None = None
    """As users name it."""

    @property
    def description(self) -> str:
        return self.meta.description

    @property
    def when_to_use(self) -> str:
        return self.meta.when_to_use

    @property
    def phases(self) -> tuple[WorkflowPhase, ...]:
        return self.meta.phases

    def read(self) -> str:
        """The script as the file has it now.

        Raises:
            OSError: the file cannot be read any more.
        """
        return read_bytes(self.path, LARGEST_FILE).decode("utf-8", "replace")


def read_meta(source: str) -> WorkflowMeta:
    """What a script says of itself, read without running it.

    Raises:
        ConfigError: it says nothing, not in plain literals, or not enough; one sentence that names the place.
    """
    # Most sessions have no script to read.
    from bridle.extensions.literals import read_literal

    meta = _meta(read_literal(source))
    if isinstance(meta, _Fault):
        raise ConfigError(f"{meta.key} {meta.message}")
    return meta


def workflow_roots(settings: Settings, env: Mapping[str, str], found: Sequence[Root]) -> tuple[Root, ...]:
    """The folders that were found, with our own behind them where it is wanted."""
    unwanted = settings.disable_bundled_skills or is_on(env, "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS")
    return (*found, *(() if unwanted else (BUNDLED_WORKFLOWS,)))


def are_workflows_on(settings: Settings, env: Mapping[str, str]) -> bool:
    """Whether there are workflows at all: they are on unless they were switched off."""
    if is_on(env, "CLAUDE_CODE_DISABLE_WORKFLOWS") or settings.disable_workflows:
        return False
    return settings.enable_workflows is not False


class WorkflowFiles:
    """The workflows of files as they are now."""

    def __init__(
        self,
        index: Index,
        roots: Callable[[], Sequence[Root]],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._found = FreshLookup(lambda: load_workflows(index, roots()), clock)
        """In the folders that `workflow_roots` says, the weightiest first."""

    def all(self) -> Mapping[str, WorkflowFile]:
        """Every workflow by its name."""
        return self._found.get()[0]

    def problems(self) -> tuple[Problem, ...]:
        """What was left out, and why."""
        return self._found.get()[1]


def load_workflows(
    index: Index, roots: Sequence[Root]
) -> tuple[dict[str, WorkflowFile], tuple[Problem, ...]]:
    """The workflows below the roots by name, and what was left out; of equal names the first counts."""
    files: dict[str, WorkflowFile] = {}
    problems: list[Problem] = []
    for found in index.look(roots):
        file = found.problem or _file(found)
        if isinstance(file, Problem):
            problems.append(file)
            continue
        other = files.setdefault(file.name, file)
        hidden = other is not file and os.path.realpath(other.path) != os.path.realpath(file.path)
        if hidden and file.source != "bundled":
            message = f"ignored: the workflow {file.name!r} is already defined in {other.path}"
            problems.append(Problem(file=file.path, key="meta.name", message=message))
    return files, tuple(problems)


class _Fault(Struct, frozen=True):
    key: str
    message: str


def _file(found: Found) -> WorkflowFile | Problem:
    meta = _meta(found.entry.values)
    if isinstance(meta, _Fault):
        return Problem(file=found.path, key=meta.key, message=meta.message)
    root = found.root
    return WorkflowFile(
        name=f"{root.prefix}:{meta.name}" if root.prefix else meta.name,
        meta=meta,
        path=found.path,
        source=root.source,
        plugin=root.owner or None,
    )


def _meta(value: Any) -> WorkflowMeta | _Fault:
    if not isinstance(value, dict):
        return _Fault("meta", "must be an object with a name and a description")
    name, description = value.get("name"), value.get("description")
    if not isinstance(name, str) or not re.fullmatch(_NAME, name):
        return _Fault("meta.name", "must be a word of letters, digits, dots and dashes")
    if not isinstance(description, str) or not description.strip():
        return _Fault("meta.description", "is missing: describe what the workflow does")
    phases = value.get("phases") or []
    if not isinstance(phases, list) or len(phases) > _MOST_PHASES:
        return _Fault("meta.phases", f"must be a list of at most {_MOST_PHASES} objects with a title")
    listed = tuple(_phase(each) for each in phases)
    if not all(phase.title for phase in listed):
        return _Fault("meta.phases", "must be a list of objects with a title")
    return WorkflowMeta(
        name=name,
        description=_text(description),
        when_to_use=_text(value.get("whenToUse")),
        phases=listed,
    )


def _phase(value: Any) -> WorkflowPhase:
    given = {"title": value} if isinstance(value, str) else value if isinstance(value, dict) else {}
    return WorkflowPhase(
        _text(given.get("title")), _text(given.get("detail")), _text(given.get("model")) or None
    )


def _text(value: Any) -> str:
    return value.strip()[:_LONGEST_TEXT] if isinstance(value, str) else ""

"""The words after `bridle plugin …`, and what the commands work with."""

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from bridle.cli.say import tell
from bridle.config.load import Config, load
from bridle.config.state import is_trusted
from bridle.extensions.plugins.around import Around
from bridle.extensions.plugins.loaded import Plugins, Wish
from bridle.extensions.plugins.loading import load_plugins, switches
from bridle.extensions.plugins.names import Scope
from bridle.extensions.plugins.sources import Source
from bridle.types.errors import UsageError


class Words(Struct, frozen=True, kw_only=True):
    plain: tuple[str, ...]
    switches: frozenset[str]
    values: Mapping[str, tuple[str, ...]]

    def on(self, name: str) -> bool:
        return name in self.switches

    def text(self, name: str) -> str | None:
        given = self.values.get(name)
        return given[-1] if given else None

    @property
    def scope(self) -> Scope | None:
        match self.text("scope"):
            case None:
                return None
            case "user" | "project" | "local" | "managed" as scope:
                return scope
            case other:
                raise UsageError(f"there is no scope {other!r}: user, project or local")

    def one(self, what: str) -> str:
        if len(self.plain) != 1:
            raise UsageError(f"name one {what}; see bridle plugin --help")
        return self.plain[0]


_SHORT = {"-s": "scope", "-y": "yes", "-a": "all", "-f": "force", "-m": "message"}


def read_words(
    argv: Sequence[str],
    *,
    switches: Sequence[str] = (),
    values: Sequence[str] = (),
    most: int | None = None,
) -> Words:
    """Sort words into plain ones, of which there may be so many, switches and values.

    Raises:
        UsageError: an option is unknown or lacks its value, or there is a word too many.
    """
    plain: list[str] = []
    on: set[str] = set()
    given: dict[str, tuple[str, ...]] = {}
    waiting = list(argv)
    while waiting:
        word = waiting.pop(0)
        if word == "--":
            plain += waiting
            break
        if not word.startswith("-") or word == "-":
            plain.append(word)
            continue
        name, equals, value = word.partition("=")
        name = _SHORT.get(name, name.removeprefix("--"))
        if name in switches and not equals:
            on.add(name)
        elif name in values:
            if not equals and not waiting:
                raise UsageError(f"{word} needs a value")
            given[name] = (*given.get(name, ()), value if equals else waiting.pop(0))
        else:
            raise UsageError(f"there is no option {word} here; see bridle plugin --help")
    if most is not None and len(plain) > most:
        raise UsageError(f"{plain[most]!r} is one word too many; see bridle plugin --help")
    return Words(plain=tuple(plain), switches=frozenset(on), values=given)


class Scene(Struct, frozen=True, kw_only=True):
    """Where a command was given."""

    around: Around
    config: Config
    trusted: bool

    def asking(self, *, yes: bool) -> Around:
        """The same, where commands that make plugins are run once somebody has agreed to that."""

        def may_run(source: Source) -> bool:
            return confirm(f"Run {' '.join(source.words)!r} to make the plugin?", yes=yes, required=True)

        return replace(self.around, may_run=may_run)

    def plugins(self) -> Plugins:
        """The plugins that a session here would have."""
        around = self.around
        return load_plugins(Wish(config=self.config, env=around.env, cwd=around.cwd, trusted=self.trusted))


def scene_of(env: Mapping[str, str]) -> Scene:
    cwd = os.getcwd()
    config = load(cwd=cwd, env=env, flag=None, setting_sources=None)
    _, fixed = switches(config)
    around = Around(env=env, cwd=cwd, settings=config.settings, enabled_by_management=fixed)
    return Scene(around=around, config=config, trusted=is_trusted(env, cwd))


def confirm(question: str, *, yes: bool, required: bool = False) -> bool:
    """Ask at a terminal; elsewhere the command itself is the answer, unless it is `required`.

    Raises:
        UsageError: somebody must be asked and nobody can be.
    """
    if yes:
        return True
    if not (os.isatty(0) and os.isatty(1)):
        if required:
            raise UsageError("somebody has to agree to this: use -y")
        return True
    # An event loop takes the first interrupt for itself, and would hear of it only after the answer.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        tell(f"{question} [y/N] ")
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    finally:
        signal.signal(signal.SIGINT, before)

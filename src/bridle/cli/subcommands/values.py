"""A subcommand as a value: what it is called, what it takes, and which function runs it."""

from collections.abc import Callable, Sequence

from bridle.cli.flags import FLAGS, Flag

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal

    Amount = Literal["one", "optional", "many", "some"]
    Completes = Literal["", "file", "folder", "topic", "sessions", "agents", "models", "jobs"]


class Argument:
    """A word, or words, that a subcommand takes by their place.

    `many` are any number, `some` at least one. A `topic` is completed with the pages of the documentation,
    sessions, agents, models and jobs with those that there are.
    Words of a `passed` argument come after `--`. From an argument that is `raw` for a command line on, what
    looks like an option is a word too.
    """

    __slots__ = ("amount", "choices", "completes", "help", "name", "passed", "raw")

    def __init__(
        self,
        name: str,
        help: str,
        amount: "Amount" = "one",
        *,
        choices: tuple[str, ...] = (),
        completes: "Completes" = "",
        passed: bool = False,
        raw: Callable[[Sequence[str]], bool] | None = None,
    ) -> None:
        self.name = name
        self.help = help
        self.amount: Amount = amount
        self.choices = choices
        self.completes: Completes = completes
        self.passed = passed
        self.raw = raw

    @property
    def is_required(self) -> bool:
        return self.amount in ("one", "some")

    @property
    def is_repeated(self) -> bool:
        return self.amount in ("many", "some")

    @property
    def shown(self) -> str:
        """How a usage line shows it."""
        word = "|".join(self.choices) if self.choices else f"<{self.name}>"
        dots = "…" if self.is_repeated else ""
        if self.passed:
            return f"-- {word}{dots}" if self.is_required else f"[-- {word}{dots}]"
        return f"{word}{dots}" if self.is_required else f"[{word}{dots}]"


class Subcommand:
    """A command of bridle, or a group of them.

    `run` is a module below `bridle.cli` and a function in it, which takes what was given and the environment.
    A group has `commands`; without one of their names it runs `default`, if it has one, or shows its help.
    """

    __slots__ = (
        "aliases", "arguments", "commands", "default", "details", "examples", "hidden", "name", "options",
        "run", "summary",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        summary: str,
        run: str = "",
        *,
        arguments: "tuple[Argument, ...]" = (),
        options: tuple[Flag, ...] = (),
        commands: "tuple[Subcommand, ...]" = (),
        default: str = "",
        aliases: tuple[str, ...] = (),
        details: str = "",
        examples: tuple[str, ...] = (),
        hidden: bool = False,
    ) -> None:
        self.name = name
        self.summary = summary
        self.run = run
        self.arguments = arguments
        self.options = options
        self.commands = commands
        self.default = default
        self.aliases = aliases
        self.details = details
        self.examples = examples
        self.hidden = hidden

    def find(self, name: str) -> "Subcommand | None":
        """A command of this group by its name or another name for it."""
        return next((each for each in self.commands if name == each.name or name in each.aliases), None)


def switch(*names: str, help: str = "") -> Flag:
    """An option without a value; without help it works and is not listed."""
    return Flag(names, "switch", help)


def option(
    *names: str,
    value: str,
    help: str = "",
    choices: tuple[str, ...] = (),
    default: str = "",
) -> Flag:
    """An option with a value; the last one counts."""
    return Flag(names, "value", help, value, choices=choices, default=default)


def number(
    *names: str, value: str, help: str, default: str = "", most: int = 999_999, decimal: bool = False
) -> Flag:
    """An option with a number from 1 up, or above 0 where it is `decimal`."""
    kind = "decimal" if decimal else "whole"
    return Flag(names, "value", help, value, default=default, number=kind, most=most)


def repeated(*names: str, value: str, help: str) -> Flag:
    """An option with a value that may be given several times."""
    return Flag(names, "each", help, value)


def session_flags(*names: str) -> tuple[Flag, ...]:
    """Flags of a session that a subcommand takes too."""
    known = {name: flag for flag in FLAGS for name in flag.names}
    return tuple(known[name] for name in names)


COMPLETED_FLAGS = {
    **dict.fromkeys(("-r", "--resume"), "sessions"),
    "--agent": "agents",
    **dict.fromkeys(("--model", "--fallback-model", "--advisor"), "models"),
}
"""Flags whose value a shell completes with names that bridle looks up."""

HELP = Flag(("-h", "--help"), "switch", "show this help")
JSON = switch("--json", help="print JSON")
YES = switch("-y", "--yes", help="do not ask")

"""The help of a subcommand."""

from collections.abc import Sequence
from textwrap import wrap

from bridle.cli.flags import Flag
from bridle.cli.subcommands.values import HELP, Subcommand

_WIDTH = 100
_WIDEST_NAME = 38


def help_text(command: Subcommand, path: Sequence[str]) -> str:
    """What `--help` prints: usage, what it does, arguments, options and examples."""
    parts = [
        f"Usage: {usage(command, path)}",
        f"{command.summary}.",
        *([command.details] if command.details else ()),
        _section("Other names", [(", ".join(command.aliases), "")] if command.aliases else []),
        _section("Commands", [(_named(each), each.summary) for each in command.commands if not each.hidden]),
        _section("Arguments", [(each.shown.strip("[]"), each.help) for each in command.arguments]),
        _section("Options", [_row(flag) for flag in (*command.options, HELP) if flag.help]),
        _section("Examples", [(example, "") for example in command.examples]),
        _more(command, path),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def usage(command: Subcommand, path: Sequence[str]) -> str:
    """The usage line of a command."""
    words = ["bridle", *path]
    if command.commands:
        words.append("[command]" if command.default else "<command>")
    if any(flag.help for flag in command.options):
        words.append("[options]")
    return " ".join((*words, *(each.shown for each in command.arguments)))


def _row(flag: Flag) -> tuple[str, str]:
    names = ", ".join(flag.names)
    value = "|".join(flag.choices) or f"<{flag.value}>" if flag.kind != "switch" else ""
    dots = "…" if flag.kind in ("each", "many", "pairs") else ""
    about = f"{flag.help} (default: {flag.default})" if flag.default else flag.help
    return f"{names} {value}{dots}".rstrip(), about


def _section(title: str, rows: Sequence[tuple[str, str]]) -> str:
    if not rows:
        return ""
    column = min(_WIDEST_NAME, max(len(name) for name, _ in rows)) + 2
    return "\n".join((f"{title}:", *(_lines(name, about, column) for name, about in rows)))


def _lines(name: str, about: str, column: int) -> str:
    if not about:
        return f"  {name}"
    wrapped = wrap(about, _WIDTH - column - 2)
    indent = "\n" + " " * (column + 2)
    if len(name) + 2 > column:
        return f"  {name}{indent}{indent.join(wrapped)}"
    return f"  {name:<{column}}{indent.join(wrapped)}"


def _named(command: Subcommand) -> str:
    shown = " ".join(each.shown for each in command.arguments)
    return f"{command.name} {shown}".rstrip() if len(shown) < _WIDEST_NAME // 2 else command.name


def _more(command: Subcommand, path: Sequence[str]) -> str:
    if not command.commands:
        return ""
    start = " ".join(("bridle", *path))
    alone = f"{start} is short for {start} {command.default}. " if command.default else ""
    return f"{alone}See {start} <command> --help for details."

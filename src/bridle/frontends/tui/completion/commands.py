"""Slash commands and their arguments."""

import re
from collections.abc import Sequence

from bridle.frontends.tui.completion.completion import Completion
from bridle.frontends.tui.completion.fuzzy import Found, lowered, match
from bridle.types.command import Command

_CHOICES = re.compile(r"[\[<(]([^\[\]<>()]*\|[^\[\]<>()]*)[\]>)]")
_WORD = re.compile(r"[\w.:-]+$")
_PREFIX = 1_000
_ALIAS = -5


def complete_command(query: str, commands: Sequence[Command], *, limit: int = 20) -> list[Completion]:
    """Commands whose name or alias matches, those that begin with the query first."""
    hits: list[tuple[int, str, Command, Found, str]] = []
    for command in commands:
        if not command.hidden and (best := _best(query, command)) is not None:
            found, name = best
            hits.append((-found.score, command.name, command, found, name))
    hits.sort(key=lambda hit: (hit[0], len(hit[1]) if query else 0, hit[1]))
    return [_completion(command, found, name) for _, _, command, found, name in hits[:limit]]


def complete_argument(query: str, command: Command, *, limit: int = 20) -> list[Completion]:
    """Values that the command names for its first argument."""
    if " " in query.strip():
        return []
    hits: list[tuple[int, int, str, Found]] = []
    for index, choice in enumerate(_choices(command)):
        if (found := match(lowered(query.strip()), choice)) is not None:
            is_prefix = choice.startswith(query.strip())
            hits.append((-found.score - _PREFIX * is_prefix, index, choice, found))
    hits.sort(key=lambda hit: hit[:2])
    return [
        Completion(text=choice, label=choice, positions=found.positions, kind="argument")
        for _, _, choice, found in hits[:limit]
    ]


def argument_choices(hint: str) -> tuple[str, ...]:
    """The words in a hint such as `[auto|off|n]`; what stands for a value, not for itself, is left out."""
    found = _CHOICES.search(hint)
    if found is None:
        return ()
    words = (word.strip() for word in found[1].split("|"))
    return tuple(word for word in words if len(word) > 1 and _WORD.fullmatch(word))


def find_command(name: str, commands: Sequence[Command]) -> Command | None:
    """A command by its name or alias."""
    return next((each for each in commands if name == each.name or name in each.aliases), None)


def _choices(command: Command) -> tuple[str, ...]:
    """Values for the first argument: those that the command knows, else those in its hint."""
    known = command.complete("") if command.complete is not None else ()
    return known or argument_choices(command.argument_hint)


def _best(query: str, command: Command) -> tuple[Found, str] | None:
    """The name or alias that matches best."""
    small = lowered(query)
    found: list[tuple[Found, str]] = []
    for name in (command.name, *command.aliases):
        if (hit := match(small, name)) is None:
            continue
        score = hit.score + (_PREFIX if lowered(name).startswith(small) else 0)
        score += _ALIAS if name != command.name else 0
        found.append((Found(score, hit.positions), name))
    return max(found, key=lambda each: each[0].score, default=None)


def _completion(command: Command, found: Found, name: str) -> Completion:
    is_alias = name != command.name
    label = f"/{command.name} ({name})" if is_alias else f"/{name}"
    shift = len(command.name) + 3 if is_alias else 1
    foreign = command.source not in ("builtin", "bundled")
    detail = f"{command.description} ({command.source})".strip() if foreign else command.description
    return Completion(
        text=f"/{command.name} ",
        label=f"{label} {command.argument_hint}".rstrip(),
        detail=detail,
        positions=tuple(at + shift for at in found.positions),
        kind="command",
    )

"""Turns the command line into the options of a session, and back for a process that continues it."""

from collections.abc import Collection
from typing import Any

from bridle.cli.args import Args
from bridle.cli.flags import FLAGS
from bridle.config.options import SessionOptions, field_of
from bridle.types.errors import UsageError

_NUMBERS = {"max-turns": 1, "max-total-tokens": 1, "task-budget": 1, "max-thinking-tokens": 0}
"""Flags that take a whole number, and the least that each takes."""


def session_options(args: Args, *, interactive: bool = False, job: str | None = None) -> SessionOptions:
    """What the flags ask of a session.

    Raises:
        UsageError: a number is off, or a flag needs a terminal.
    """
    values: dict[str, Any] = {
        field: tuple(value) if isinstance(value, list) else value
        for key, value in args.values.items()
        if (field := field_of(key)) in SessionOptions.__struct_fields__
    }
    if args.has("tmux"):
        raise UsageError("--tmux needs a terminal: leave it out in print mode and in pipes")
    numbers: dict[str, Any] = {
        "max_budget_usd": args.amount("max-budget-usd"),
        **{field_of(key): args.whole(key, least=least) for key, least in _NUMBERS.items()},
    }
    words = " ".join(args.words)
    return SessionOptions(**{**values, **numbers}, prompt=words, interactive=interactive, job=job)


def flags_of(options: SessionOptions, *, without: Collection[str] = ()) -> list[str]:
    """A command line that asks for the same again; the prompt is not part of it."""
    line: list[str] = []
    for flag in FLAGS:
        if flag.key in without:
            continue
        name = flag.names[-1]
        match getattr(options, field_of(flag.key), None):
            case True:
                line.append(name)
            case None | False | ():
                # An empty list was not said, but for the one that takes every tool away.
                if flag.key == "tools" and options.tools is not None:
                    line.append(f"{name}=")
            case tuple() as values:
                line += [f"{name}={value}" for value in values]
            case value:
                line.append(f"{name}={value}")
    return line

"""Which variables of the user's environment a server that comes with a project would be given."""

from collections.abc import Iterator, Mapping
from typing import Any

from bridle.config import approvals
from bridle.config.mcp.entry import VARIABLE
from bridle.config.variables import may_hold_credential

_KIND: approvals.Kind = "variables"
_MOST_CHARS = 200
NEVER_GIVEN = "names {}: only servers in .mcp.json can get your credentials, with your approval"
"""Of servers that plugins and agents of the project bring."""


def given_variables(raw: Any, env: Mapping[str, str]) -> dict[str, str]:
    """The variables that are set and that a server would be given, each with where it would go."""
    names: dict[str, list[str]] = {}
    for place, text in _texts(raw, ""):
        for match in VARIABLE.finditer(text):
            if env.get(match[1]) and place not in names.setdefault(match[1], []):
                names[match[1]].append(place)
    goal = _goal(raw)
    return {name: f"{', '.join(places)} of {goal}" for name, places in names.items() if places}


def withheld(env: Mapping[str, str], cwd: str, *, name: str, raw: Any) -> tuple[str, ...]:
    """The credentials that a server of the project names, and that no approval has named."""
    wanted = credentials(raw, env)
    if not wanted or approvals.is_approved(env, cwd, kind=_KIND, name=name, definition=raw):
        return ()
    return wanted


def credentials(raw: Any, env: Mapping[str, str]) -> tuple[str, ...]:
    """The variables that a server names and that may hold a credential of a model service or a cloud."""
    return tuple(sorted(name for name in given_variables(raw, env) if may_hold_credential(name)))


def approve_variables(env: Mapping[str, str], cwd: str, *, name: str, raw: Any) -> None:
    """Remember that the user has seen which variables exactly this server is given, and agreed.

    Raises:
        ConfigError: the file of approvals does not parse, or another process keeps it locked.
        OSError: it cannot be written.
    """
    if credentials(raw, env):
        approvals.approve(env, cwd, kind=_KIND, name=name, definition=raw)


def unfilled(env: Mapping[str, str], names: tuple[str, ...]) -> Mapping[str, str]:
    """The environment in which some variables stand for themselves, so that they are not filled in."""
    return {**env, **{name: f"${{{name}}}" for name in names}} if names else env


def refusal(names: tuple[str, ...]) -> str:
    """Why a server is not given its variables."""
    listed = ", ".join(names)
    return f"needs your approval to receive {listed}; run `bridle trust` to review it"


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    match value:
        case str() if "${" in value:
            yield place or "it", value
        case list():
            for each in value:
                yield from _texts(each, place)
        case dict():
            for key, each in value.items():
                yield from _texts(each, f"{place}.{key}" if place else str(key))
        case _:
            pass


def _goal(raw: Any) -> str:
    if not isinstance(raw, dict):
        return "it"
    return str(raw.get("url") or raw.get("command") or "it")[:_MOST_CHARS]

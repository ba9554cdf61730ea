"""Names of servers, tools and prompts as the model and the permission rules know them."""

from collections.abc import Iterable, Iterator

from bridle.types.services.mcp import normalized

_LONGEST = 128
"""What model services take as the name of a tool."""
_NUMBER = 7
"""Characters that a number behind a name may take."""


def tool_name(server: str, tool: str, *, prefixed: bool = True) -> str:
    """`mcp__<server>__<tool>`, or the tool alone; a name that is too long ends in a digest of the whole."""
    name = f"mcp__{normalized(server)}__{normalized(tool)}" if prefixed else normalized(tool)
    if len(name) <= _LONGEST:
        return name
    import hashlib  # Few names are so long.

    return f"{name[: _LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


class UniqueNames:
    """Gives each name once: those that have been there before get a number behind them."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._numbers: dict[str, int] = {}

    def __call__(self, name: str) -> str:
        unique, stem = name, name[: _LONGEST - _NUMBER]
        while unique in self._seen:
            self._numbers[stem] = self._numbers.get(stem, 1) + 1
            unique = f"{stem}_{self._numbers[stem]}"
        self._seen.add(unique)
        return unique


def distinct(names: Iterable[str]) -> Iterator[str]:
    """Names, each made unique."""
    return map(UniqueNames(), names)

"""Names of servers, tools and prompts as the model and the permission rules know them."""

from collections.abc import Iterable, Iterator

from bridle.types.mcp import normalised

_LONGEST = 128
"""What model services take as the name of a tool."""


def tool_name(server: str, tool: str, *, prefixed: bool = True) -> str:
    """`mcp__<server>__<tool>`, or the tool alone; a name that is too long ends in a digest of the whole."""
    name = f"mcp__{normalised(server)}__{normalised(tool)}" if prefixed else normalised(tool)
    if len(name) <= _LONGEST:
        return name
    import hashlib  # Few names are so long.

    return f"{name[: _LONGEST - 9]}_{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def distinct(names: Iterable[str]) -> Iterator[str]:
    """The same names with a number behind those that have been there before."""
    seen: set[str] = set()
    for name in names:
        unique, number = name, 2
        while unique in seen:
            unique, number = f"{name[: _LONGEST - 5]}_{number}", number + 1
        seen.add(unique)
        yield unique

"""Deferred tools: the list of their names for the model, and the tools that find and call them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from bridle.types.model import ToolDefinition
from bridle.types.on_demand import CALL, SEARCH

USUAL_RESULTS = 5
_MOST_LISTED = 6_000
"""Characters of names that one reminder may have."""
_DESCRIPTION = (
    "Search for and load deferred tools.\n\n"
    '- "select:NotebookEdit,mcp__files__read" loads these tools for the next step\n- "send message" '
    'lists tools that match these words, best first; "+github issue" requires github in the name'
    "\n\nSearch before you say that you cannot do something."
)

NEWS = f"# More tools\nLoad them with {SEARCH} before you call them:"
AGAIN = f"Tools that {SEARCH} can load:"
"""Headings of the list of names: the first time, and after a compaction."""

DEFINITION: ToolDefinition = {
    "name": SEARCH,
    "description": _DESCRIPTION,
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": 'Search words, or "select:" and exact names, separated by commas.',
            },
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "description": "Maximum number of results.",
                "default": USUAL_RESULTS,
            },
        },
        "required": ["query"],
    },
}

CALL_DEFINITION: ToolDefinition = {
    "name": CALL,
    "description": f"Call a tool that {SEARCH} loaded and that is not in your tool list.",
    "input_schema": {
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "The tool."},
            "input": {"type": "object", "description": "The tool's input."},
        },
        "required": ["name", "input"],
    },
}


class Findable(Struct, frozen=True):
    """A tool as searches see it."""

    name: str
    description: str
    hint: str = ""


def listing(names: Sequence[str]) -> str:
    """Names in so few words that thousands of them fit: all, or how many each server has."""
    text = "\n".join(names)
    if len(text) <= _MOST_LISTED:
        return text
    counts: dict[str, int] = {}
    for name in names:
        source = name.split("__")[1] if name.startswith("mcp__") and name.count("__") > 1 else name
        counts[source] = counts.get(source, 0) + 1
    lines = [f"{source}: {count} tools" if count > 1 else source for source, count in counts.items()]
    short = "\n".join(lines)
    if len(short) > _MOST_LISTED:
        short = short[:_MOST_LISTED].rpartition("\n")[0] + "\n…"
    return f"{short}\n(list truncated; search for what you need)"


def listed_before(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The names that a conversation has listed already, without those that were only counted."""
    for message in messages:
        content: Any = message["content"] if message["role"] == "user" else ""
        for block in () if isinstance(content, str) else content:
            text = block.get("text", "")
            for heading in (NEWS, AGAIN):
                _, found, names = text.partition(f"{heading}\n")
                if found:
                    yield from names.partition("\n\n")[0].split("\n")


def weight_of(definitions: Iterable[Mapping[str, Any] | None], most: int) -> int:
    """How many characters definitions take, counted no further than `most`."""
    total = 0
    for definition in definitions:
        total += 0 if definition is None else len(msgspec.json.encode(definition))
        if total > most:
            break
    return total


def found_before(results: Iterable[Any]) -> list[str]:
    """The tools that an earlier part of the conversation has loaded, in that order."""
    names: dict[str, None] = {}
    for result in results:
        match result:
            case {"matches": list() as found, "total_deferred_tools": int()}:
                loaded: list[Any] = result.get("loaded", found)
                names.update({name: None for name in loaded if isinstance(name, str)})
            case _:
                pass
    return list(names)

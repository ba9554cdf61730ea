"""Tools that are told to the model by name alone, and the tool with which it looks for more about them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any

from msgspec import Meta, Struct, structs

from bridle.tools.toolbox import SEARCH
from bridle.types.errors import ToolError
from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool

_USUAL_RESULTS = 5
_MOST_RESULTS = 50
_MOST_LISTED = 6_000
"""Characters of names that one reminder may have."""
_SUMMARY = 160
_DESCRIPTION = (
    "Find and load tools that are known by name only.\n\n"
    '- "select:NotebookEdit,mcp__files__read" loads these tools; call them from the next step on\n'
    '- "send message" lists tools that fit these words, best first; "+github issue" wants github in the '
    "name\n\n"
    "Search before you say that something cannot be done."
)


class SearchInput(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str, Meta(description='Words, or "select:" and the exact names with commas between them.')
    ]
    max_results: Annotated[int, Meta(description="How many tools to list.", ge=1)] = _USUAL_RESULTS


DEFINITION: ToolDefinition = {
    "name": SEARCH,
    "description": _DESCRIPTION,
    "input_schema": {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "description": 'Words, or "select:" and the exact names with commas between them.',
            },
            "max_results": {
                "type": "integer",
                "minimum": 1,
                "description": "How many tools to list.",
                "default": _USUAL_RESULTS,
            },
        },
        "required": ["query"],
    },
}


class Findable(Struct, frozen=True):
    """A tool as searches see it."""

    name: str
    description: str
    hint: str = ""


def search_tool(
    findable: Callable[[], Sequence[Findable]],
    load: Callable[[Iterable[str]], None],
    waiting: Callable[[], tuple[str, ...]],
) -> Tool:
    """The tool that searches among what is hidden; `waiting` names servers that are still being connected."""

    @tool(SEARCH, SearchInput, read_only=True)
    async def run(input: SearchInput, ctx: ToolContext) -> ToolOutput:
        """Find tools that are known by name only and load them."""
        del ctx
        hidden = findable()
        found = find(input.query, hidden, limit=min(input.max_results, _MOST_RESULTS))
        loaded = [each.name for each in found] if _selects(input.query, found) else []
        load(loaded)
        late = waiting()
        data: dict[str, Any] = {
            "matches": [each.name for each in found],
            "loaded": loaded,
            "query": input.query,
            "total_deferred_tools": len(hidden),
            **({"pending_mcp_servers": list(late)} if late and not found else {}),
        }
        return ToolOutput(content=_told(input.query, found, loaded, len(hidden), late), data=data)

    return structs.replace(run, definition=DEFINITION)


def find(query: str, findable: Sequence[Findable], *, limit: int) -> list[Findable]:
    """What a query means: tools by name, or those that fit its words, best first.

    Raises:
        ToolError: the query is empty.
    """
    query = query.strip()
    if not query:
        raise ToolError("query must name tools or have words to look for.")
    if query.lower().startswith("select:"):
        names = [name.strip() for name in query[7:].split(",") if name.strip()]
        known = {each.name.lower(): each for each in findable}
        return [known[name.lower()] for name in dict.fromkeys(names) if name.lower() in known]
    exact = [each for each in findable if each.name.lower() == query.lower()]
    if exact:
        return exact
    if re.fullmatch(r"mcp__[\w-]+", query):
        return [each for each in findable if each.name.lower().startswith(query.lower())][:limit]
    words = query.lower().split()
    needed = [word[1:] for word in words if word.startswith("+") and len(word) > 1]
    terms = needed + [word for word in words if not word.startswith("+")]
    scored = [
        (-_score(each, terms), each.name, each)
        for each in findable
        if all(word in each.name.lower() for word in needed)
    ]
    ranked = sorted(entry for entry in scored if entry[0] < 0)
    return [each for _, _, each in ranked[:limit]]


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
    return f"{short}\n(too many to name; search for what you need)"


def _score(each: Findable, terms: Sequence[str]) -> int:
    parts = _parts(each.name)
    weight = 12 if each.name.startswith("mcp__") else 10
    description, hint = each.description.lower(), each.hint.lower()
    total = 0
    for term in terms:
        if term in parts:
            total += weight
        elif any(term in part for part in parts):
            total += weight // 2
        if hint and _has_word(hint, term):
            total += 4
        if _has_word(description, term):
            total += 2
    return total


def _parts(name: str) -> set[str]:
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.removeprefix("mcp__"))
    return {part for part in re.split(r"[\s_\-]+", spaced.lower()) if part}


def _has_word(text: str, word: str) -> bool:
    # Most texts do not have the word at all, and that is cheaper to see.
    return word in text and re.search(rf"\b{re.escape(word)}\b", text) is not None


def _selects(query: str, found: Sequence[Findable]) -> bool:
    """Whether a query names its tools; words only list what fits, because each loaded tool costs."""
    return query.strip().lower().startswith("select:") or [each.name.lower() for each in found] == [
        query.strip().lower()
    ]


def _told(
    query: str, found: Sequence[Findable], loaded: Sequence[str], total: int, late: tuple[str, ...]
) -> str:
    if found:
        lines = [f"- {each.name}: {_first(each.description)}".rstrip(": ") for each in found]
        names = ",".join(each.name for each in found[:2])
        head = (
            "Loaded; call them like any other tool:"
            if loaded
            else f'Not loaded yet; load what you need, as in "select:{names}":'
        )
        return "\n".join((head, *lines))
    text = f"No tool fits {query[:200]!r}; {total} were searched."
    if late:
        text += f" Still being connected, so try again later: {', '.join(late)[:500]}."
    return text


def _first(description: str) -> str:
    line = description.strip().partition("\n")[0]
    return line if len(line) <= _SUMMARY else f"{line[:_SUMMARY]}…"


def hinted(each: Tool) -> Tool:
    """A tool that is called although the model has not seen what it takes: its errors say how to see that."""

    async def run(input: Any, ctx: ToolContext) -> ToolOutput:
        try:
            output = await each.run(input, ctx)
        except ToolError as error:
            raise ToolError(f"{error}{_hint(each.name)}") from error
        if output.is_error and isinstance(output.content, list):
            extra: Any = {"type": "text", "text": _hint(each.name).strip()}
            return structs.replace(output, content=[*output.content, extra])
        return output

    return structs.replace(each, run=run)


def _hint(name: str) -> str:
    return f' You have not seen what {name} takes: {SEARCH} with the query "select:{name}" shows it.'


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


def weight_of(definitions: Iterable[Mapping[str, Any] | None], most: int) -> int:
    """How many characters definitions take, counted no further than `most`."""
    import msgspec

    total = 0
    for definition in definitions:
        total += 0 if definition is None else len(msgspec.json.encode(definition))
        if total > most:
            break
    return total

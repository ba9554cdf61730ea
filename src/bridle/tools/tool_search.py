"""Search among deferred tools, which the model knows by name alone."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from bridle.tools.deferred import CALL_DEFINITION, DEFINITION, USUAL_RESULTS, Findable
from bridle.types.block import ResultContent, text_block
from bridle.types.errors import ToolError
from bridle.types.model import ToolDefinition
from bridle.types.on_demand import CALL, SEARCH
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool

_MOST_RESULTS = 50
_SUMMARY = 160
_MOST_SHOWN = 40_000
"""Characters of definitions that one result may have; what is beyond is not loaded."""


class SearchInput(Struct, frozen=True, forbid_unknown_fields=True):
    query: Annotated[
        str, Meta(description='Search words, or "select:" and exact names, separated by commas.')
    ]
    max_results: Annotated[int, Meta(description="Maximum number of results.", ge=1)] = USUAL_RESULTS


class CallInput(Struct, frozen=True):
    name: str
    input: dict[str, Any]


@tool(CALL, CallInput)
async def _call(input: CallInput, ctx: ToolContext) -> ToolOutput:
    """Call a tool that was loaded; a call that can be read is made under the name of that tool instead."""
    del ctx
    raise ToolError(f"{CALL} cannot call {input.name}: call it by its name.")


CALL_TOOL = structs.replace(_call, definition=CALL_DEFINITION)


def search_tool(
    findable: Callable[[], Sequence[Findable]],
    load: Callable[[str], ToolDefinition | None],
    waiting: Callable[[], tuple[str, ...]],
) -> Tool:
    """The tool that searches among what is hidden; `waiting` names servers that are still being connected."""

    @tool(SEARCH, SearchInput, read_only=True)
    async def run(input: SearchInput, ctx: ToolContext) -> ToolOutput:
        """Find tools that are known by name only and load them."""
        names = set(ctx.offered())
        hidden = [each for each in findable() if each.name in names]
        found = find(input.query, hidden, limit=min(input.max_results, _MOST_RESULTS))
        shown = _shown(found, load) if _selects(input.query, found) else {}
        late = waiting()
        data: dict[str, Any] = {
            "matches": [each.name for each in found],
            "loaded": list(shown),
            "query": input.query,
            "total_deferred_tools": len(hidden),
            **({"pending_mcp_servers": list(late)} if late and not found else {}),
        }
        if shown:
            return ToolOutput(content=_loaded(found, shown), data=data)
        return ToolOutput(content=_told(input.query, found, len(hidden), late), data=data)

    return structs.replace(run, definition=DEFINITION)


def find(query: str, findable: Sequence[Findable], *, limit: int) -> list[Findable]:
    """What a query means: tools by name, or those that fit its words, best first.

    Raises:
        ToolError: the query is empty.
    """
    query = query.strip()
    if not query:
        raise ToolError("The query is empty: give tool names or search words.")
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


def _shown(
    found: Sequence[Findable], load: Callable[[str], ToolDefinition | None]
) -> dict[str, ToolDefinition]:
    """The definitions of what is loaded, as many as one result can hold and at least one."""
    shown: dict[str, ToolDefinition] = {}
    room = _MOST_SHOWN
    for each in found:
        if (definition := load(each.name)) is None:
            continue
        room -= len(_described(definition))
        if room < 0 and shown:
            break
        shown[each.name] = definition
    return shown


def _loaded(found: Sequence[Findable], shown: Mapping[str, ToolDefinition]) -> list[ResultContent]:
    """What was loaded, for services that know references to tools and as text for all others."""
    first = next(iter(shown))
    head = f'Loaded. Call them with {CALL}, as in {{"name": "{first}", "input": {{…}}}}:'
    texts = [head, *(_described(definition) for definition in shown.values())]
    if left := [each.name for each in found if each.name not in shown]:
        texts.append(f"Not loaded (too many at once): {', '.join(left)}.")
    references: list[ResultContent] = [{"type": "tool_reference", "tool_name": name} for name in shown]
    return [text_block("\n\n".join(texts)), *references]


def _described(definition: ToolDefinition) -> str:
    schema = msgspec.json.encode(definition.get("input_schema", {})).decode()
    text = f"# {definition['name']}\n{definition.get('description', '').strip()}\nParameters: {schema}"
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def _told(query: str, found: Sequence[Findable], total: int, late: tuple[str, ...]) -> str:
    if found:
        lines = [f"- {each.name}: {_first(each.description)}".rstrip(": ") for each in found]
        names = ",".join(each.name for each in found[:2])
        return "\n".join((f'Not loaded yet; load what you need with "select:{names}":', *lines))
    text = f"No tool matches {query[:200]!r}; {total} were searched."
    if late:
        text += f" Still connecting, try again later: {', '.join(late)[:500]}."
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
    return f' Load the schema of {name} first: call {SEARCH} with the query "select:{name}".'

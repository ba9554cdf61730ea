from pathlib import Path
from typing import Any, Literal

import msgspec
import pytest

from bridle.features.agents.tools import AgentToolbox
from bridle.providers.trimming import SlimToolbox
from bridle.tools.catalog import traits_of
from bridle.tools.deferred import Findable, found_before, listed_before, listing
from bridle.tools.deferred_toolbox import DeferredToolbox
from bridle.tools.tool_search import find
from bridle.tools.toolbox import Deferral, choose
from bridle.types.errors import ToolError
from bridle.types.on_demand import CALL, SEARCH, is_deferred
from bridle.types.tool import Tool, ToolContext, ToolOutput
from tests.fakes.tool_context import make_context

TOOLS = (
    Findable("mcp__slack__send_message", "Send a message to a channel."),
    Findable("mcp__slack__list_channels", "List channels."),
    Findable("mcp__github__create_issue", "Open an issue.", "bug report ticket"),
    Findable("NotebookEdit", "Change a cell of a notebook."),
)


def _names(query: str, limit: int = 5) -> list[str]:
    return [each.name for each in find(query, TOOLS, limit=limit)]


def test_select_loads_exactly_the_named_tools_in_their_order():
    assert _names("select:NotebookEdit, mcp__slack__send_message,nothing") == [
        "NotebookEdit",
        "mcp__slack__send_message",
    ]


def test_words_are_looked_for_in_names_first():
    assert _names("send message")[0] == "mcp__slack__send_message"
    assert _names("notebook") == ["NotebookEdit"]
    assert _names("ticket") == ["mcp__github__create_issue"]


def test_word_with_a_plus_must_be_in_the_name():
    assert _names("+github message") == ["mcp__github__create_issue"]
    assert _names("+jira issue") == []


def test_no_more_tools_than_wanted_are_found():
    assert len(_names("slack", limit=1)) == 1


def test_prefix_of_a_server_finds_its_tools():
    assert _names("mcp__slack") == ["mcp__slack__send_message", "mcp__slack__list_channels"]


def test_empty_query_is_refused():
    with pytest.raises(ToolError):
        find("  ", TOOLS, limit=5)


def test_many_names_are_told_as_numbers():
    names = [f"mcp__s{server}__tool_{number}" for server in range(50) for number in range(200)]
    text = listing(names)
    assert "s7: 200 tools" in text
    assert len(text) < 7_000


def test_deferral_follows_the_variable_and_the_service():
    def when(**env: str) -> str:
        return Deferral.of(env).when

    assert when() == "always"
    assert when(ENABLE_TOOL_SEARCH="false") == "never"
    assert when(ENABLE_TOOL_SEARCH="auto") == "crowded"
    assert Deferral.of({"ENABLE_TOOL_SEARCH": "auto:25"}).percent == 25
    assert when(ANTHROPIC_BASE_URL="https://gateway.example") == "always"
    assert when(ANTHROPIC_BASE_URL="https://api.anthropic.com") == "always"
    assert when(ANTHROPIC_BASE_URL="https://gateway.example", ENABLE_TOOL_SEARCH="true") == "always"


def _tool(name: str, *, deferred: bool = True, size: int = 100) -> Tool:
    async def run(input: Any, ctx: ToolContext) -> ToolOutput:
        raise ToolError("wrong input.")

    base = choose(base=("Read",)).find("Read")
    assert base is not None
    return msgspec.structs.replace(
        base,
        name=name,
        input=dict[str, Any],
        run=run,
        deferred=deferred,
        definition={"name": name, "description": "d" * size, "input_schema": {"type": "object"}},
    )


def _context(folder: Path, box: DeferredToolbox) -> ToolContext:
    return msgspec.structs.replace(make_context(folder), offered=box.names)


class _Conversation:
    pass


def _changing(
    offered: list[tuple[Tool, ...]], when: Literal["always", "never", "crowded"] = "always"
) -> DeferredToolbox:
    own = choose(base=("Read", "WebFetch"))
    return DeferredToolbox(own, lambda: offered[0], deferral=Deferral(when=when), window=lambda: 200_000)


def _box(*tools: Tool, when: Literal["always", "never", "crowded"] = "always") -> DeferredToolbox:
    return _changing([tools], when)


def _told(box: DeferredToolbox) -> list[str]:
    return [each["name"] for each in box.definitions() if not is_deferred(each)]


def _loaded(box: DeferredToolbox) -> list[str]:
    return [each["name"] for each in box.definitions() if is_deferred(each)]


def test_loading_a_tool_leaves_the_list_of_tools_as_it_is():
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__always", deferred=False))
    listed = [CALL, "Read", SEARCH, "mcp__a__always"]
    assert (_told(box), _loaded(box)) == (listed, [])
    assert box.load("WebFetch") is not None and box.load("mcp__a__one") is not None
    assert (_told(box), _loaded(box)) == (listed, ["WebFetch", "mcp__a__one"])
    assert set(box.names()) == {"Read", "WebFetch", SEARCH, "mcp__a__always", "mcp__a__one"}
    assert box.load("mcp__a__none") is None


async def test_search_tool_loads_what_it_finds(tmp_path: Path):
    box = _box(_tool("mcp__a__one"))
    search = box.find(SEARCH)
    assert search is not None
    output = await search.run(search.input(query="select:mcp__a__one"), _context(tmp_path, box))
    assert output.data == {
        "matches": ["mcp__a__one"],
        "loaded": ["mcp__a__one"],
        "query": "select:mcp__a__one",
        "total_deferred_tools": 2,
    }
    assert _loaded(box) == ["mcp__a__one"]
    assert found_before([None, output.data]) == ["mcp__a__one"]
    text, reference = output.content
    assert reference == {"type": "tool_reference", "tool_name": "mcp__a__one"}
    assert "d" * 100 in str(text) and 'Parameters: {"type":"object"}' in str(text) and CALL in str(text)


async def test_what_was_loaded_can_be_loaded_once_more(tmp_path: Path):
    """A conversation that was made shorter may have lost what an earlier search told."""
    box = _box(_tool("mcp__a__one"))
    search = box.find(SEARCH)
    assert search is not None
    for _ in range(2):
        output = await search.run(search.input(query="select:mcp__a__one"), _context(tmp_path, box))
        assert output.data is not None and output.data["loaded"] == ["mcp__a__one"]
    assert "mcp__a__one" in (box.again(box) or "")


async def test_no_more_is_loaded_at_once_than_one_result_can_show(tmp_path: Path):
    names = [f"mcp__a__t{number}" for number in range(10)]
    box = _box(*(_tool(name, size=9_000) for name in names))
    search = box.find(SEARCH)
    assert search is not None
    output = await search.run(search.input(query="select:" + ",".join(names)), _context(tmp_path, box))
    assert output.data is not None and output.data["loaded"] == names[:4] == _loaded(box)[:4]
    assert len(_loaded(box)) <= 5 and "too many at once): mcp__a__t4," in str(output.content)


async def test_search_finds_only_what_the_caller_has(tmp_path: Path):
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__two"))
    search = box.find(SEARCH)
    assert search is not None
    context = msgspec.structs.replace(make_context(tmp_path), offered=lambda: ("Read", "mcp__a__two"))
    output = await search.run(search.input(query="select:mcp__a__one,mcp__a__two"), context)
    assert output.data is not None and output.data["loaded"] == ["mcp__a__two"]
    assert output.data["total_deferred_tools"] == 1


async def test_words_list_tools_and_load_none(tmp_path: Path):
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__two"))
    search, before = box.find(SEARCH), _told(box)
    assert search is not None
    output = await search.run(search.input(query="one two"), _context(tmp_path, box))
    assert output.data is not None
    assert set(output.data["matches"]) == {"mcp__a__one", "mcp__a__two"}
    assert output.data["loaded"] == [] and _told(box) == before
    assert '"select:mcp__a__' in str(output.content)
    assert found_before([output.data]) == []


def test_what_an_older_search_found_was_loaded():
    assert found_before([{"matches": ["a"], "query": "a", "total_deferred_tools": 3}]) == ["a"]


async def test_hidden_tool_runs_when_called_and_its_error_says_how_to_see_it(tmp_path: Path):
    box = _box(_tool("mcp__a__one"))
    hidden = box.find("mcp__a__one")
    assert hidden is not None
    with pytest.raises(ToolError, match="select:mcp__a__one"):
        await hidden.run({}, _context(tmp_path, box))
    assert _told(box) == [CALL, "Read", SEARCH] and _loaded(box) == []


def test_few_tools_are_told_at_once_where_only_room_counts():
    box = _box(_tool("mcp__a__one"), when="crowded")
    assert _told(box) == ["Read", "WebFetch", "mcp__a__one"]
    assert box.find(SEARCH) is None and box.find(CALL) is None


def test_too_many_tools_are_hidden_where_only_room_counts_and_what_was_told_stays():
    offered: list[tuple[Tool, ...]] = [(_tool("mcp__b__one"),)]
    box = _changing(offered, "crowded")
    before = _told(box)
    offered[0] = (_tool("mcp__b__one"), *(_tool(f"mcp__a__{n}", size=2_000) for n in range(100)))
    after = _told(box)
    assert "mcp__b__one" in before and "mcp__b__one" in after
    assert SEARCH in after and "mcp__a__5" not in after


def test_new_tools_come_behind_those_that_are_there():
    offered: list[tuple[Tool, ...]] = [(_tool("mcp__z__one"),)]
    box = _changing(offered, "never")
    first = _told(box)
    offered[0] = (_tool("mcp__a__one"), _tool("mcp__z__one"))
    assert _told(box) == [*first, "mcp__a__one"]


def test_each_conversation_hears_the_names_once():
    box, one, other = _box(_tool("mcp__a__one")), _Conversation(), _Conversation()
    assert "mcp__a__one" in (box.news(one, box) or "")
    assert box.news(one, box) is None
    assert "mcp__a__one" in (box.news(other, box) or "")
    assert "mcp__a__one" in (box.again(box) or "")


def test_model_with_a_small_window_is_told_tools_from_outside_at_once():
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__two", size=9_000))
    slim = SlimToolbox(box, 8_192, lambda name: traits_of(name).essential)
    assert slim.names() == ("Read", "mcp__a__one", "mcp__a__two")
    assert box.news(_Conversation(), slim) is None


def test_names_that_a_conversation_has_heard_are_found_in_it():
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__two"))
    for text in (box.news(_Conversation(), box), box.again(box)):
        told = f"<system-reminder>\n{text}\n\n# Something else\nRead\n</system-reminder>"
        heard = list(listed_before([{"role": "user", "content": [{"type": "text", "text": told}]}]))
        assert heard == ["WebFetch", "mcp__a__one", "mcp__a__two"]
    assert list(listed_before([{"role": "user", "content": "go"}])) == []


def test_what_is_told_again_is_what_is_offered():
    box = _box(_tool("mcp__a__one"), _tool("mcp__a__two"))
    some = AgentToolbox(box, lambda name: name not in ("mcp__a__one", "WebFetch"))
    assert box.again(some) == "Tools that ToolSearch can load:\nmcp__a__two"
    assert box.again(AgentToolbox(box, lambda name: name != SEARCH)) is None

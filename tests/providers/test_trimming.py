from msgspec.json import encode

from bridle.providers.trimming import SlimToolbox, is_small, trimmed
from bridle.tools.catalog import traits_of
from bridle.tools.definitions import load
from bridle.types.model import ToolDefinition
from bridle.types.tool import Tool


def _is_essential(name: str) -> bool:
    return traits_of(name).essential


def foreign(name: str, size: int) -> ToolDefinition:
    schema = {"type": "object", "properties": {"x" * size: {"type": "string"}}}
    return {"name": f"mcp__{name}", "description": "Does something.", "input_schema": schema}


def test_a_small_window_gets_the_tools_that_work_needs_most():
    short = trimmed(tuple(load().values()), 8_192, _is_essential)
    # The file lists the advisor too, which sessions have only where somebody chose one.
    assert [each["name"] for each in short] == ["Advisor", "Bash", "Edit", "Glob", "Grep", "Read", "Write"]
    assert len(encode(short)) < 8_192


def test_descriptions_are_a_sentence_and_schemas_keep_their_meaning():
    long = tuple(load().values())
    short = trimmed(long, 8_192, _is_essential)
    full = {each["name"]: each for each in long}
    for each in short:
        before = full[each["name"]].get("input_schema", {})
        after = each.get("input_schema", {})
        assert len(each.get("description", "")) <= 160
        assert after["properties"].keys() == before["properties"].keys()
        assert after.get("required") == before.get("required")


def test_tools_of_servers_stay_while_there_is_room():
    tools = (foreign("small", 10), foreign("huge", 9_000), foreign("other", 10))
    assert [each["name"] for each in trimmed(tools, 8_192, _is_essential)] == ["mcp__small", "mcp__other"]


def test_a_call_to_any_tool_of_the_session_is_still_found():
    class Box:
        def names(self) -> tuple[str, ...]:
            return tuple(load())

        def definitions(self) -> tuple[ToolDefinition, ...]:
            return tuple(load().values())

        def find(self, name: str) -> Tool | None:
            del name

    slim = SlimToolbox(Box(), 8_192, _is_essential)
    assert slim.names() == ("Advisor", "Bash", "Edit", "Glob", "Grep", "Read", "Write")
    assert slim.definitions() is slim.definitions()
    assert slim.find("Read") is None


def test_only_windows_below_sixteen_thousand_tokens_are_small():
    assert [is_small(size) for size in (4_096, 16_383, 16_384, 200_000)] == [True, True, False, False]

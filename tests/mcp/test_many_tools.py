"""R11: what is kept of a tool does not grow with how many there are, and nothing is kept twice."""

from typing import Any

from bridle.mcp.catalogue import read_tools
from bridle.mcp.names import distinct
from tests.fakes.counting import steps_of

_SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}


def _listed(count: int, **more: Any) -> list[dict[str, Any]]:
    return [{"name": f"t{n}", "inputSchema": {**_SCHEMA, **more}} for n in range(count)]


def test_equal_schemas_are_kept_once():
    tools, _ = read_tools("s", _listed(50), checks_headers=False)
    assert len({id(tool.schema) for tool in tools}) == 1
    assert tools[0].schema == _SCHEMA
    assert len({id(tool.header_paths) for tool in tools}) == 1


def test_different_schemas_are_not_copied():
    listed = _listed(3)
    for number, each in enumerate(listed):
        each["inputSchema"] = {"type": "object", "properties": {f"p{number}": {}}}
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert [tool.schema for tool in tools] == [each["inputSchema"] for each in listed]
    assert all(tool.schema is each["inputSchema"] for tool, each in zip(tools, listed, strict=True))


def test_only_so_many_schemas_are_looked_for_among_others():
    listed = [{"name": f"t{n}", "inputSchema": {"type": "object", "n": n % 1_500}} for n in range(3_000)]
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert len({id(tool.schema) for tool in tools}) == 1_000 + 2 * 500
    assert [tool.schema["n"] for tool in tools] == [n % 1_500 for n in range(3_000)]


def test_text_that_cannot_be_encoded_is_put_right():
    listed = [{"name": "t", "inputSchema": {"type": "object", "description": "\ud800"}}]
    tools, _ = read_tools("s", listed, checks_headers=False)
    assert "\ud800" not in str(tools[0].schema)


def test_names_that_are_all_the_same_cost_the_same_each():
    def work(count: int) -> int:
        return steps_of(lambda: list(distinct(["again"] * count)))

    few, many = work(200), work(800)
    assert many <= few * 4.2
    assert len(set(distinct(["x" * 200, *(["again"] * 5_000), "again_2"]))) == 5_002

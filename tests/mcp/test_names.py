"""S44: no server can take the name of a built-in tool or of a tool of another server."""

import re

from hypothesis import given
from hypothesis import strategies as st

from bridle.mcp.catalog import read_tools
from bridle.tools.catalog import CATALOG

_TAKEN = {"type": "object", "properties": {}}


@given(st.text(min_size=1, max_size=200), st.lists(st.text(min_size=1, max_size=300), max_size=5))
def test_names_are_plain_begin_with_their_server_and_stand_for_one_tool(server: str, names: list[str]):
    listed = [{"name": name, "inputSchema": _TAKEN} for name in (*names, "Bash", "Bash", "../Read")]
    tools, _ = read_tools(server, listed, checks_headers=False)
    found = [tool.full_name for tool in tools]
    assert len(set(found)) == len(found) == len(listed)
    for name in found:
        assert re.fullmatch(r"mcp__[A-Za-z0-9_-]+", name) and len(name) <= 128


def test_no_built_in_tool_has_the_name_of_a_servers_tool():
    assert not [entry.name for entry in CATALOG if entry.name.startswith("mcp__")]

"""Facts about a tool stand on the tool: other packages ask for its traits and do not know its name."""

import ast
from collections.abc import Iterator
from functools import cache

from bridle.permissions import tool_names
from bridle.tools.catalog import CATALOG, FORMER, MADE_ELSEWHERE, traits_of
from bridle.tools.definitions import find_tool
from bridle.types.tool import NO_TRAITS
from tests.architecture.modules import modules, nodes

_KNOWING = {
    "tools/": "the tools",
    "permissions/tool_names.py": "the words of permission rules, and what the gate knows by name on purpose",
    "types/agent.py": "the tool that starts agents, which rules, hooks and hosts name",
    "types/on_demand.py": "the tools that search for tools",
    "types/question.py": "a choice and a rule for a host, as hosts know them",
    "types/services/session.py": "the advisor, which is also listed under its name where money is spent",
    "engine/structured_output.py": "makes the tool",
    "mcp/resource_tools.py": "makes the tools",
    "context/sections.py": "the system prompt speaks of tools",
    "features/agents/builtin.py": "agents with lists of tools",
    "features/agents/main_agent.py": "an agent with a list of tools",
    "transcripts/usage/model_calls.py": "rows of older conversations, which name their calls",
    "providers/offline/": "acts as a model, which calls tools by name",
    "sdk/options.py": "rules for skills, as the SDK writes them",
    "frontends/tui/chat/": "the transcript on the screen",
    "frontends/tui/dialogs/permission.py": "the dialog for one tool's question",
    "frontends/tui/render/tools/files.py": "the look of three tools",
}
"""Where the name of a tool may stand, and why."""
_WORDS = {
    "config/sandbox/settings.py": {"Write"},
    "extensions/frontmatter.py": {"Skill"},
    "extensions/skills.py": {"Skill"},
    "frontends/tui/keymap/defaults.py": {"Task"},
    "frontends/tui/render/tools/agents.py": {"Agent"},
    "frontends/tui/render/tools/workflow.py": {"Workflow"},
}
"""Words that happen to be names: the end of a key, a title, a context of key bindings."""
_NAMES = frozenset(
    (*MADE_ELSEWHERE, *FORMER, *(name for each in CATALOG for name in (each.name, *each.aliases)))
)


def test_only_these_files_know_a_tool_by_name():
    knowing = {
        (file, name)
        for file in modules()
        if not file.startswith(tuple(_KNOWING))
        for name in _named(file)
        if name not in _WORDS.get(file, ())
    }
    assert knowing == set()


def test_every_file_that_may_know_a_name_knows_one():
    unused = [
        place for place in _KNOWING if not any(_named(file) for file in modules() if file.startswith(place))
    ]
    unused += [file for file, words in _WORDS.items() if not words <= set(_named(file))]
    assert unused == []


def test_a_tool_has_the_traits_of_its_listing():
    assert [each.name for each in CATALOG if find_tool(each).traits != each.traits] == []


def test_names_of_older_transcripts_lead_to_the_same_traits():
    assert [name for each in CATALOG for name in each.aliases if traits_of(name) != each.traits] == []


def test_nothing_is_known_of_a_tool_from_outside():
    assert traits_of("mcp__server__tool") == NO_TRAITS


def test_the_gate_and_the_catalog_name_the_same_tools():
    known = _NAMES | {tool_names.ENTER}
    named = {*tool_names.READERS, *tool_names.EDITORS, *tool_names.NO_EFFECT, *tool_names.SHELLS}
    named |= {*tool_names.OLD_NAMES, *tool_names.OLD_NAMES.values(), *tool_names.BY_SUBJECT}
    assert named <= known
    aliases = {alias: each.name for each in CATALOG for alias in each.aliases}
    assert tool_names.OLD_NAMES.items() <= aliases.items()
    writes = {each.name for each in CATALOG if each.traits.kind in ("edit", "write", "notebook")}
    assert writes == tool_names.EDITORS


@cache
def _named(module: str) -> list[str]:
    """The names of tools among the texts of a module that are no docstrings, also in lists of words."""
    docs = {id(node.value) for node in nodes(module) if isinstance(node, ast.Expr)}
    return [
        name
        for node in nodes(module)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs
        for name in _names_in(node.value)
    ]


def _names_in(text: str) -> Iterator[str]:
    words = text.split()
    listed = [word for word in words if word in _NAMES]
    if text in _NAMES or (len(listed) >= 3 and len(listed) * 2 > len(words)):
        yield from listed

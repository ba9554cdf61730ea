"""The grammar's view of a command line: a second reading, and all there is where the first one fails."""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_EXPANSIONS = frozenset({
    "command_substitution", "process_substitution", "expansion", "simple_expansion", "arithmetic_expansion",
})  # fmt: skip
_PLAIN = bytes(byte if byte < 0x80 else ord("%") for byte in range(256))
"""Bytes beyond ASCII mean nothing to the shell, and some of them crash the grammar's scanner."""
_LONE_DASH = re.compile(rb"(?<=[ \t])-(?=[ \t]*<<|[ \t]+\d+[<>])")
"""A dash alone before a here-document or a redirection with a number (`tar xf - 2>&1`), which the grammar
loses; only places are taken from what it sees."""


def parse(text: str) -> "Node":
    """Parse a command line whose characters are bytes."""
    from tree_sitter import Parser

    plain = _LONE_DASH.sub(b"_", text.encode("latin-1").translate(_PLAIN))
    return Parser(_language()).parse(plain).root_node


def descendants(node: "Node") -> Iterator["Node"]:
    """Every node below, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.children))


def expansion_ends(nodes: Iterable["Node"], text: str) -> dict[int, int]:
    """From the start of each expansion among the nodes of a tree to its end."""
    return {first_visible(text, node.start_byte): node.end_byte for node in nodes if node.type in _EXPANSIONS}


def first_visible(text: str, start: int) -> int:
    """Where an expansion begins: inside a string the grammar puts the blanks before it into it."""
    while start < len(text) and text[start] in " \t\n":
        start += 1
    return start


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())

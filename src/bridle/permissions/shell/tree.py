"""The grammar's view of a command line, checked against what bash could mean."""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from bridle.permissions.shell.words import Source

if TYPE_CHECKING:
    from tree_sitter import Language, Node

_EXPANSIONS = frozenset({
    "command_substitution", "process_substitution", "expansion", "simple_expansion", "arithmetic_expansion",
})  # fmt: skip
_OPAQUE = frozenset({"string", "heredoc_body", "expansion", "ansi_c_string", "raw_string"})
_KEEPS_LINES = frozenset({"raw_string", "ansi_c_string"})
_CONTINUED = re.compile(r"(?<!\\)(?:\\\\)*\\\n")
_GAP = re.compile(r"(?:[ \t\n]|\\\n)*")
_BEFORE_COMMENT = frozenset(" \t\n;|&()")
_BEFORE_DESCRIPTOR = frozenset(" \t\n;|&()<>")
_COMPUTES = frozenset({"arithmetic_expansion", "compound_statement"})
_UNSURE_IN_ARITHMETIC = re.compile(r"""['"\\`\n]|(?:^|[\s(])#""")
_DEEPEST = 100
_MOST_COMMANDS = 50
_MOST_ASSIGNMENTS = 150
TOO_DEEP = "the command is nested too deeply"
TOO_MANY = f"the command has more than {_MOST_COMMANDS} parts"


_PLAIN = bytes(byte if byte < 0x80 else ord("%") for byte in range(256))
"""Bytes beyond ASCII mean nothing to the shell, and some of them crash the grammar's scanner."""


_LONE_DASH = re.compile(rb"(?<=[ \t])-(?=[ \t]*<<)")
"""A dash alone before a here-document, which the grammar loses; only places are taken from what it sees."""


class Tree(Struct, frozen=True):
    """A parsed command line."""

    root: "Node"
    source: Source
    fault: str | None
    """Why the tree is not to be trusted."""


def parse(text: str, home: str) -> Tree:
    """Parse a command line whose characters are bytes."""
    from tree_sitter import Parser

    plain = _LONE_DASH.sub(b"_", text.encode("latin-1").translate(_PLAIN))
    root = Parser(_language()).parse(plain).root_node
    ends: dict[int, int] = {}
    fault = _survey(root, text, ends)
    return Tree(root, Source(text, ends, home), fault)


def descendants(node: "Node") -> Iterator["Node"]:
    """Every node below, without recursion."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        waiting.extend(reversed(current.children))


@cache
def _language() -> "Language":
    import tree_sitter_bash
    from tree_sitter import Language

    return Language(tree_sitter_bash.language())


def _survey(root: "Node", text: str, ends: dict[int, int]) -> str | None:
    """Note where expansions end; say what is wrong with the tree."""
    fault: str | None = None
    covered = commands = assignments = 0
    kept: list[tuple[int, int]] = []
    # A node, its depth, and whether its characters were already accounted for by one above it.
    waiting: list[tuple[Node, int, bool]] = [(root, 0, False)]
    while waiting:
        node, depth, inside = waiting.pop()
        kind, start, end = node.type, node.start_byte, node.end_byte
        if depth > _DEEPEST:
            fault = TOO_DEEP
        elif (node.is_error and not _opens_both_ways(node)) or node.is_missing:
            fault = fault or "the command does not parse"
        commands += kind == "command"
        assignments += kind == "variable_assignment"
        if kind in _KEEPS_LINES:
            kept.append((start, end))
        if kind in _EXPANSIONS:
            ends[_first_visible(text, start)] = end
        elif kind == "comment" and not _is_comment(text, start, end):
            fault = fault or "a comment is not clearly one"
        elif kind == "file_descriptor" and not _is_descriptor(text, start, end):
            fault = fault or "a number before a redirection is not clearly one"
        if kind in _COMPUTES and not _is_arithmetic(text, start, end):
            fault = fault or "two parentheses are not clearly arithmetic"
        children = node.children
        if not inside and (not children or kind in _OPAQUE):
            if start > covered and not _GAP.fullmatch(text, covered, start):
                fault = fault or "a piece of the command belongs to nothing"
            covered = max(covered, end)
            inside = True
        waiting.extend((child, depth + 1, inside) for child in reversed(children))
    if not _GAP.fullmatch(text, covered):
        fault = fault or "the end of the command belongs to nothing"
    if not fault and any(not _stands_alone(text, found, kept) for found in _CONTINUED.finditer(text)):
        fault = "a line is continued inside a word"
    many = commands > _MOST_COMMANDS or assignments > _MOST_ASSIGNMENTS
    return TOO_MANY if many and fault != TOO_DEEP else fault


def _stands_alone(text: str, continued: re.Match[str], kept: list[tuple[int, int]]) -> bool:
    """Whether a continuation joins nothing: it stands behind a blank, or in quotes that keep it."""
    before = continued.end() - 3
    if before < 0 or text[before] in " \t":
        return True
    return any(start < before and continued.end() < end for start, end in kept)


def _is_descriptor(text: str, start: int, end: int) -> bool:
    begins = start == 0 or text[start - 1] in _BEFORE_DESCRIPTOR
    return begins and text[start:end].isdigit() and text[max(0, start - 2) : start] != "\\\n"


def _is_arithmetic(text: str, start: int, end: int) -> bool:
    """Bash takes `((` for two subshells unless the parentheses between match up to a final `))`."""
    opening = text.find("((", start, end)
    if opening < 0 or opening > _first_visible(text, start) + 1:
        return True
    inner = text[opening + 2 : end - 2]
    if not text.startswith("))", end - 2) or _UNSURE_IN_ARITHMETIC.search(inner):
        return False
    depth = 0
    for letter in inner:
        depth += (letter == "(") - (letter == ")")
        if depth < 0:
            return False
    return depth == 0


def _opens_both_ways(node: "Node") -> bool:
    """The grammar has no `<>`; it sees `<` and an error of one character."""
    parent = node.parent
    return parent is not None and parent.type == "file_redirect" and node.text == b">"


def _first_visible(text: str, start: int) -> int:
    # Inside a string the grammar puts the blanks before an expansion into it.
    while start < len(text) and text[start] in " \t\n":
        start += 1
    return start


def _is_comment(text: str, start: int, end: int) -> bool:
    begins = start == 0 or text[start - 1] in _BEFORE_COMMENT
    glued = text[max(0, start - 2) : start] == "\\\n"
    return begins and not glued and (end == len(text) or text[end] == "\n")

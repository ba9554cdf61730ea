"""Whether the grammar sees the tokens that were read from the text by the rules of bash."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from bridle.permissions.shell.syntax.grammar_tree import first_visible
from bridle.permissions.shell.syntax.nodes import Script, Token

if TYPE_CHECKING:
    from tree_sitter import Node

_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_EXPANSIONS = {
    "command_substitution": "$(",
    "process_substitution": "$(",
    "expansion": "${",
    "simple_expansion": "$",
    "arithmetic_expansion": "$((",
}
_NO_TOKEN = frozenset({"program", "\n", "file_descriptor", "heredoc_content"})
_BODIES = frozenset({"do_group", "compound_statement", "comment"})
_CLOSES = frozenset({"<&-", ">&-"})
_WORDS = frozenset({"w", "c", "="})
_NAME = re.compile(r"[A-Za-z_]\w*|\d", re.ASCII)
_IN_PATTERN = re.compile(r"\\.|'[^']*'|(\$(?:[A-Za-z_]\w*|\d))", re.ASCII | re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)


def disagreement(root: "Node", script: Script) -> str | None:
    """Why a tree is not what was read; None when every token is the same."""
    if root.has_error and "<>" not in script.text:
        return "the command does not parse"
    theirs = _Tokens(script.text)
    theirs.visit(root)
    if theirs.error:
        return "the command does not parse"
    found = sorted(theirs.found)
    if found != script.tokens and _joined(found, script.text) != script.tokens:
        return "the command is ambiguous"
    return None


def _joined(tokens: list[Token], text: str) -> list[Token]:
    """The tokens with words put together that the grammar tears apart: nothing stands between them.

    It ends a word behind the `$` of a second variable, as in `$x/$y/z`. For bash a word ends at a blank or at
    an operator only, so that what begins there belongs to it.
    """
    joined: list[Token] = []
    ends: dict[int, int] = {}
    """Which word ends at a place."""
    unnamed = -1
    """Where the rest of an assignment ends that was taken for a command's name, which is yet to come."""
    for begin, end, seen in tokens:
        kind = seen
        torn = kind in _WORDS and begin in ends and text[begin - 1] == "$"
        if torn and _NAME.match(text, begin):
            index = ends.pop(begin)
            start, _, first = joined[index]
            unnamed = end if (first, kind) == ("=", "c") else unnamed
            joined[index] = (start, end, first)
            ends[end] = index
            continue
        if 0 <= unnamed < begin and not kind.startswith("$"):
            sets = kind == "w" and _ASSIGNMENT.match(text, begin, end)
            kind, unnamed = ("=", end) if sets else ("c" if kind == "w" else kind, -1)
        if kind in _WORDS:
            ends[end] = len(joined)
        joined.append((begin, end, kind))
    return sorted(joined)


class _Tokens:
    """Gathers the tokens of a tree, statement by statement and word by word."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found: list[Token] = []
        self.error = False
        self._waiting: list[Node] = []

    def visit(self, root: "Node") -> None:
        self._waiting.append(root)
        while self._waiting:
            node = self._waiting.pop()
            kind = node.type
            if reader := _READERS.get(kind):
                reader(self, node)
            elif children := node.children:
                self._waiting.extend(children)
            elif kind == "ERROR":
                self.error = True
            elif kind not in _NO_TOKEN:
                self.found.append((node.start_byte, node.end_byte, kind))

    def _inside(self, node: "Node") -> None:
        """Gather the expansions of a word, and the commands in them."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            kind = current.type
            if kind == "ERROR":
                self.error = True
            sign = _EXPANSIONS.get(kind)
            if sign is None:
                waiting.extend(current.children)
                if kind == "$":
                    self._lone_sign(current)
                elif kind == "extglob_pattern":
                    self._pattern(current)
                continue
            start = first_visible(self.text, current.start_byte)
            self.found.append((start, current.end_byte, sign))
            if kind not in _SUBSTITUTIONS:
                waiting.extend(current.children[1:])
            elif not self.text.startswith("`", start):
                self._waiting.extend(current.children[1:-1])

    def _lone_sign(self, node: "Node") -> None:
        """Gather the variable whose name the grammar takes for the beginning of another word."""
        if node.end_byte - node.start_byte > 1:  # The number of the shell, `$$`.
            self.found.append((node.start_byte, node.end_byte, "$"))
        elif name := _NAME.match(self.text, node.end_byte):
            self.found.append((node.start_byte, name.end(), "$"))

    def _pattern(self, node: "Node") -> None:
        """Gather the variables of a pattern that the grammar does not look into."""
        for found in () if node.children else _IN_PATTERN.finditer(self.text, node.start_byte, node.end_byte):
            if found[1]:
                self.found.append((*found.span(1), "$"))

    def _word(self, node: "Node", sign: str = "w") -> None:
        self.found.append((node.start_byte, node.end_byte, sign))
        if node.children or node.type == "extglob_pattern":
            self._inside(node)

    def command(self, node: "Node") -> None:
        named = False
        for child in node.children:
            kind = child.type
            if kind == "variable_assignment":
                self._assignment(child, "w" if named else "=")
            elif kind in _READERS:
                self._waiting.append(child)
            else:
                self._word(child, "w" if named else "c")
                named = True

    def _assignment(self, node: "Node", sign: str) -> None:
        self.found.append((node.start_byte, node.end_byte, sign))
        for child in node.children:
            if child.type != "array":
                self._inside(child)
                continue
            for each in child.children[1:-1]:
                if each.type == "comment":
                    self._waiting.append(each)
                elif each.type != "\n":
                    self._word(each)

    def assignment(self, node: "Node") -> None:
        self._assignment(node, "=")

    def redirect(self, node: "Node") -> None:
        operator = ""
        start = node.end_byte
        for child in node.children:
            kind = child.type
            if kind == "file_descriptor":
                continue
            if child.is_error or not child.is_named:
                operator += self.text[child.start_byte : child.end_byte]
                start = min(start, child.start_byte)
                continue
            if kind == "comment":
                self._waiting.append(child)
            else:
                self._word(child)
        if operator in _CLOSES:
            self.found.append((start + 2, start + 3, "w"))
            operator = operator[:2]
        self.found.append((start, start + len(operator), operator))

    def document(self, node: "Node") -> None:
        for child in node.children:
            match child.type:
                case "<<" | "<<-":
                    self.found.append((child.start_byte, child.end_byte, child.type))
                case "heredoc_start":
                    self.found.append((child.start_byte, child.end_byte, "w"))
                case "heredoc_body":
                    self._inside(child)
                case "heredoc_end":
                    begin = self.text.rfind("\n", 0, child.start_byte) + 1
                    self.found.append((begin, begin, "<<"))
                case kind if kind in _READERS or not child.is_named:
                    self._waiting.append(child)
                case "pipeline" | "list" | "subshell" | "negated_command" | "redirected_statement":
                    self._waiting.append(child)
                case kind if kind.endswith("_statement"):
                    self._waiting.append(child)
                case _:
                    self._word(child)

    def test(self, node: "Node") -> None:
        condition = self.text.startswith("[[", node.start_byte)
        self.found.append((node.start_byte, node.end_byte, "[[" if condition else "["))
        self._inside(node)

    def loop(self, node: "Node") -> None:
        for child in node.children:
            if child.type in _BODIES or not child.is_named:
                self._waiting.append(child)
            else:
                self._word(child)

    def counting(self, node: "Node") -> None:
        start = end = node.start_byte
        for child in node.children:
            if child.type == "((":
                start = child.start_byte
            elif child.type == "))":
                end = child.end_byte
                self.found.append((start, end, "(("))
            elif child.type in _BODIES or child.type == "for" or (child.type == ";" and end > start):
                self._waiting.append(child)
            else:
                self._inside(child)

    def compound(self, node: "Node") -> None:
        if node.children and node.children[0].type == "((":
            self.found.append((node.start_byte, node.end_byte, "(("))
            self._inside(node)
        else:
            self._waiting.extend(node.children)

    def choice(self, node: "Node") -> None:
        for child in node.children:
            if child.type == "case_item" or not child.is_named or child.type == "comment":
                self._waiting.append(child)
            else:
                self._word(child)

    def branch(self, node: "Node") -> None:
        inside = False
        for child in node.children:
            if inside or not child.is_named or child.type == "comment":
                self._waiting.append(child)
            else:
                self._word(child)
            inside = inside or child.type == ")"

    def function(self, node: "Node") -> None:
        name = node.child_by_field_name("name")
        for child in node.children:
            if child == name:
                self._word(child)
            else:
                self._waiting.append(child)

    def expansion(self, node: "Node") -> None:
        self._inside(node)

    def comment(self, node: "Node") -> None:
        self.found.append((node.start_byte, node.end_byte, "#"))


_READERS: dict[str, Callable[[_Tokens, "Node"], None]] = {
    "command": _Tokens.command,
    "declaration_command": _Tokens.command,
    "unset_command": _Tokens.command,
    "variable_assignment": _Tokens.assignment,
    "file_redirect": _Tokens.redirect,
    "herestring_redirect": _Tokens.redirect,
    "heredoc_redirect": _Tokens.document,
    "test_command": _Tokens.test,
    "for_statement": _Tokens.loop,
    "c_style_for_statement": _Tokens.counting,
    "compound_statement": _Tokens.compound,
    "case_statement": _Tokens.choice,
    "case_item": _Tokens.branch,
    "function_definition": _Tokens.function,
    "comment": _Tokens.comment,
    "subshell": lambda tokens, node: tokens._waiting.extend(node.children),
}

"""What simple commands are put together from: words, assignments, redirections, here-documents."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from bridle.permissions.shell.simple import Assignment, Redirection
from bridle.permissions.shell.words import (
    Disagreement,
    Source,
    Word,
    is_inert,
    read_value,
    read_word,
    shown_name,
)

if TYPE_CHECKING:
    from tree_sitter import Node

REDIRECTS = frozenset({"file_redirect", "heredoc_redirect", "herestring_redirect"})
_MOST_WORDS = 600
_MOST_REDIRECTIONS = 200
_NO_WORDS = frozenset({"comment", ";", "&", "\n", ";;", ";&", ";;&", "&&", "||"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:(\[)|\+?=)", re.ASCII)
_BLANKS = re.compile(r"(?:[ \t\n]|\\\n)+")
_SAME_LINE = re.compile(r"(?:[ \t]|\\\n)*")
_QUOTING = re.compile(r"""['"\\]""")
_IN_DOCUMENT = re.compile(r"\\.|`|\$[({\[]|\$[A-Za-z_]\w*", re.DOTALL | re.ASCII)


class Pieces:
    """The pieces of one simple command."""

    def __init__(self) -> None:
        self.words: list[Word] = []
        self.assignments: list[Assignment] = []
        self.redirections: list[Redirection] = []
        self.behind: list[tuple[int, int]] = []
        """Where redirections and words behind them stand."""
        self.inner: list[Node | int] = []
        """Nodes that may hold substitutions, and places where a backquote opens one."""


class Gathering:
    """Takes simple commands to pieces and notes the first thing that is in doubt."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.fault: str | None = None

    def doubt(self, reason: str) -> None:
        """Note why the command line is not to be trusted, unless there is a reason already."""
        self.fault = self.fault or reason

    def gather(self, node: "Node | None", redirects: Iterable["Node"]) -> Pieces:
        """The pieces of a simple command and of the redirections around it."""
        pieces = Pieces()
        children = self._some(node.children if node else (), _MOST_WORDS)
        for before, child in pairwise(children):
            # A command ends where its line does, also where the grammar reads on.
            if not _SAME_LINE.fullmatch(self.text, before.end_byte, child.start_byte):
                self.doubt("a command goes on where its line ends")
        for child in children:
            self._piece(child, pieces)
        for redirect in self._some(tuple(redirects), _MOST_REDIRECTIONS):
            self._redirect(redirect, pieces)
        return pieces

    def _some(self, nodes: Sequence["Node"], most: int) -> Sequence["Node"]:
        """The first nodes: a command with far more of them is not judged any more, only searched."""
        if len(nodes) > most:
            self.doubt(f"a command has more than {most} words or redirections")
        return nodes[:most]

    def word(self, node: "Node") -> Word:
        """The word at a node."""
        return self._between(node.start_byte, node.end_byte)

    def assignment(self, node: "Node") -> Assignment:
        """The assignment at a node."""
        start, end = node.start_byte, node.end_byte
        raw = self.source.written(start, end)
        found = _ASSIGNMENT.match(self.text, start, end)
        value = node.child_by_field_name("value")
        name = found[1] if found else raw
        if found is None:
            self.doubt("an assignment is not clearly one")
        if found is None or found[2] or (value is not None and value.type == "array"):
            return Assignment(name, Word(raw, raw, "an array", inert=False), raw, plain=False)
        try:
            return Assignment(name, read_value(self.source, found.end(), end), raw)
        except Disagreement as problem:
            self.doubt(str(problem))
            return Assignment(name, Word(raw, raw, str(problem), inert=False), raw, plain=False)

    def split(self, node: "Node") -> Iterator[Word]:
        """The words of `[ … ]`, which the grammar sees as an expression."""
        yield from (self._between(start, end) for start, end in self._stretches(node))

    def operands(self, node: "Node") -> tuple[Word, ...]:
        """What stands between `[[` and `]]`, operators included; those must be words of their own."""
        found = [self.source.written(start, end) for start, end in self._stretches(node)]
        if len(found) < 3 or found[0] != "[[" or found[-1] != "]]" or "]]" in found[:-1]:
            self.doubt("two brackets are not clearly a condition")
        return tuple(Word(raw, raw, "part of a condition") for raw in found[1:-1])

    def _stretches(self, node: "Node") -> Iterator[tuple[int, int]]:
        position, end = node.start_byte, node.end_byte
        while position < end:
            if blank := _BLANKS.match(self.text, position, end):
                if not _SAME_LINE.fullmatch(blank[0]):
                    self.doubt("a command goes on where its line ends")
                position = blank.end()
                continue
            stop = position
            while stop < end and not _BLANKS.match(self.text, stop, end):
                stop = self._skip(stop)
            yield position, min(stop, end)
            position = stop

    def _between(self, start: int, end: int) -> Word:
        try:
            return read_word(self.source, start, end)
        except Disagreement as problem:
            self.doubt(str(problem))
            raw = self.source.written(start, end)
            return Word(raw, _QUOTING.sub("", raw), str(problem), inert=False)

    def _skip(self, position: int) -> int:
        if (known := self.source.ends.get(position)) is not None:
            return known
        letter = self.text[position]
        if letter == "\\":
            return position + 2
        if letter not in "'\"":
            return position + 1
        end = position + 1
        while end < len(self.text) and self.text[end] != letter:
            known = self.source.ends.get(end) if letter == '"' else None
            end = known or end + (2 if letter == '"' and self.text[end] == "\\" else 1)
        return end + 1

    def _piece(self, child: "Node", pieces: Pieces) -> None:
        if child.type in REDIRECTS:
            self._redirect(child, pieces)
            return
        if child.type in _NO_WORDS or child.type == "subshell":
            return
        pieces.inner.append(child)
        if child.type == "variable_assignment":
            assignment = self.assignment(child)
            pieces.assignments.append(assignment)
            if pieces.words:
                pieces.words.append(self.word(child) if assignment.plain else assignment.value)
            return
        pieces.words.append(self.word(child))

    def _redirect(self, node: "Node", pieces: Pieces) -> None:
        if node.type == "heredoc_redirect":
            self._here_document(node, pieces)
            return
        pieces.inner.append(node)
        operator, start = "", node.start_byte
        if start and self.text[start - 1] == "}":
            self.doubt("a variable may stand for a descriptor")
        targets: list[Node] = []
        for child in node.children:
            if child.type in ("file_descriptor", "comment"):
                continue
            if child.is_error or not child.is_named:
                operator += self.text[child.start_byte : child.end_byte]
            else:
                targets.append(child)
        target = self.word(targets[0]) if targets else None
        end = targets[0].end_byte if targets else node.end_byte
        pieces.redirections.append(Redirection(operator.strip(), target, self.source.written(start, end)))
        pieces.behind.append((start, end))
        # The grammar takes the words behind a target for more targets.
        for extra in targets[1:]:
            self._extra(extra, pieces)

    def _extra(self, node: "Node", pieces: Pieces) -> None:
        pieces.words.append(self.word(node))
        pieces.behind.append((node.start_byte, node.end_byte))

    def _here_document(self, node: "Node", pieces: Pieces) -> None:
        start = next((child for child in node.children if child.type == "heredoc_start"), None)
        arguments = node.children_by_field_name("argument")
        for child in node.children:
            if child.type in REDIRECTS:
                self._redirect(child, pieces)
            elif child in arguments:
                pieces.inner.append(child)
                self._extra(child, pieces)
        if start is None:
            self.doubt("a here-document has no end")
            return
        raw = self.source.written(node.start_byte, start.end_byte)
        first, last = self._here_body(node, start)
        content = self.source.written(first, last)
        document = None
        if self.text[start.start_byte : start.end_byte] == _delimiter(self.text, start):
            pieces.inner += [child for child in node.children if child.type == "heredoc_body"]
            document = self._document(first, last, pieces)
        pieces.redirections.append(Redirection("<<", None, raw, content, document))
        pieces.behind.append((node.start_byte, start.end_byte))

    def _here_body(self, node: "Node", start: "Node") -> tuple[int, int]:
        """Where the text of a here-document begins and ends."""
        delimiter = _delimiter(self.text, start)
        body = next((child for child in node.children if child.type == "heredoc_body"), None)
        end = next((child for child in node.children if child.type == "heredoc_end"), None)
        if end is None or self.text[end.start_byte : end.end_byte].strip("\t") != delimiter:
            self.doubt("a here-document has no clear end")
        elif self.text[end.end_byte : end.end_byte + 1] not in ("", "\n"):
            self.doubt("more stands on the line that ends a here-document")
        if body is None:
            return start.end_byte, start.end_byte
        first = self.text.rfind("\n", 0, body.start_byte + 1) + 1
        last = end.start_byte if end is not None else body.end_byte
        lines = self.text[first:last].split("\n")
        if any(line.lstrip("\t") == delimiter for line in lines[:-1]) or lines[-1].strip("\t"):
            self.doubt("a here-document has no clear end")
        return first, last

    def _document(self, first: int, last: int, pieces: Pieces) -> Word:
        """What bash fills in in a here-document; the grammar does not see every backquote."""
        inert, names = True, list[str]()
        while found := _IN_DOCUMENT.search(self.text, first, last):
            start, first = found.span()
            if found[0].startswith("\\"):
                continue
            if (known := self.source.ends.get(start)) is not None:
                first = known
            elif found[0] == "`":
                pieces.inner.append(start)
                closing = self.text.find("`", first, last)
                first = closing + 1 if closing >= 0 else last
            elif found[0] in ("$(", "${", "$["):
                self.doubt("a here-document holds something that cannot be followed")
            expansion = self.text[start:first]
            inert = inert and is_inert(expansion)
            if name := shown_name(expansion):
                names.append(name)
        return Word("", "", inert=inert, names=tuple(names))


def _delimiter(text: str, start: "Node") -> str:
    return _QUOTING.sub("", text[start.start_byte : start.end_byte])

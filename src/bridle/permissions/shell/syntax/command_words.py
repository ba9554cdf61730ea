"""What simple commands are put together from: words, assignments, redirections, here-documents."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from bridle.permissions.shell.syntax.nodes import HereDocument, Redirect, Script, Span
from bridle.permissions.shell.syntax.simple_command import Assignment, Redirection
from bridle.permissions.shell.syntax.words import (
    BEHIND_PLAIN,
    Disagreement,
    Source,
    Word,
    is_inert,
    read_value,
    read_word,
    settled_word,
    shown_name,
)
from bridle.permissions.shell.values.expressions import only_fills_in

_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:(\[)|\+?=(\()?)", re.ASCII)
_EXPANSIONS = frozenset({"$", "${", "$((", "$("})
_BLANKS = re.compile(r"\t[ \t]*| [ \t]+")
"""Runs of blanks that are more than a single one."""
_QUOTING = re.compile(r"""['"\\]""")


class CommandReader:
    """Takes simple commands to pieces and notes the first thing that is in doubt."""

    def __init__(self, script: Script, home: str) -> None:
        self.script = script
        self.text = script.text
        self.source = Source(script.text, script.ends, home)
        self.fault: str | None = None
        self._expansions = [(start, end) for start, end, kind in script.tokens if kind in _EXPANSIONS]
        self.fills_in = bool(self._expansions)
        """Whether there is an expansion anywhere in the command line."""

    def doubt(self, reason: str) -> None:
        """Note why the command line is not to be trusted, unless there is a reason already."""
        self.fault = self.fault or reason

    def written(self, start: int, end: int) -> str:
        """The text between two places, with runs of blanks made one."""
        return squeezed(self.source.written(start, end))

    def word(self, span: Span) -> Word:
        """The word at a place."""
        try:
            return read_word(self.source, *span)
        except Disagreement as problem:
            self.doubt(str(problem))
            raw = self.source.written(*span)
            return Word(raw, _QUOTING.sub("", raw), str(problem), inert=False)

    def words(self, spans: Iterable[Span]) -> list[Word]:
        """The words at several places."""
        text, home = self.text, self.source.home
        return [
            (text[end : end + 1] in BEHIND_PLAIN and settled_word(text[start:end], home))
            or self.word((start, end))
            for start, end in spans
        ]

    def assigns(self, span: Span) -> bool:
        """Whether a word has the form of an assignment."""
        return _ASSIGNMENT.match(self.text, *span) is not None

    def assignment(self, span: Span) -> Assignment:
        """The assignment at a place."""
        start, end = span
        raw = self.source.written(start, end)
        found = _ASSIGNMENT.match(self.text, start, end)
        if found is None or found[2] or found[3]:
            name = found[1] if found else raw
            return Assignment(name, Word(raw, raw, "an array", inert=False), raw, plain=False)
        try:
            return Assignment(found[1], read_value(self.source, found.end(), end), raw)
        except Disagreement as problem:
            self.doubt(str(problem))
            return Assignment(found[1], Word(raw, raw, str(problem), inert=False), raw, plain=False)

    def redirection(self, redirect: Redirect) -> Redirection:
        """A redirection, with the text of a here-document."""
        raw = self.source.written(redirect.start, redirect.target[1])
        if here := self.script.documents.get(redirect.start):
            document = None if here.quoted else self._document(here)
            return Redirection("<<", None, raw, self.source.written(here.first, here.last), document)
        return Redirection(redirect.operator, self.word(redirect.target), raw)

    def expansions(self, start: int, end: int) -> Iterator[Span]:
        """The expansions between two places that stand in no other."""
        index = bisect_left(self._expansions, (start, start))
        while index < len(self._expansions) and self._expansions[index][0] < end:
            found = self._expansions[index]
            yield found
            index = bisect_left(self._expansions, (found[1], 0), index + 1)

    def computations(self, start: int, end: int) -> Iterator[str]:
        """The expansions between two places that do more than look at a variable, however deep they stand."""
        index = bisect_left(self._expansions, (start, start))
        for begin, behind in self._expansions[index:]:
            if begin >= end:
                return
            written = self.source.written(begin, behind)
            if not is_inert(written):
                yield written

    def evaluations(self, start: int, end: int) -> Iterator[str]:
        """The expansions between two places that may run what a variable holds, however deep they stand."""
        index = bisect_left(self._expansions, (start, start))
        for begin, behind in self._expansions[index:]:
            if begin >= end:
                return
            text = self.text
            if text.startswith("${", begin):
                if not only_fills_in(text[begin:behind]):
                    yield self.source.written(begin, behind)
            elif text.startswith(("$((", "$["), begin) and not is_inert(text[begin:behind]):
                yield self.source.written(begin, behind)

    def _document(self, here: HereDocument) -> Word:
        """What bash fills in in a here-document."""
        inert, names = True, list[str]()
        for start, end in self.expansions(here.first, here.last):
            expansion = self.text[start:end]
            inert = inert and is_inert(expansion)
            if name := shown_name(expansion):
                names.append(name)
        return Word("", "", inert=inert, names=tuple(names))


def squeezed(text: str) -> str:
    """A command with runs of blanks made one."""
    if "  " in text or "\t" in text:
        text = _BLANKS.sub(" ", text)
    return text.strip(" \t\n")

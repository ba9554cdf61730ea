"""What bash itself takes a command line for: it prints what it has parsed, and runs nothing."""

import re
import subprocess
from typing import Any

from bridle.permissions.shell.syntax.nodes import (
    Arithmetic,
    Case,
    Command,
    Condition,
    Counting,
    For,
    Function,
    Group,
    If,
    Listing,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    Script,
    Span,
    Statement,
    Subshell,
    While,
)
from bridle.permissions.shell.syntax.parser import read_script
from bridle.permissions.shell.syntax.words import Disagreement, Source, read_word

BASH = "/bin/bash"
Shape = Any
"""A command line without anything that bash prints otherwise than it was written."""


def printed(command: str) -> str | None:
    """The command line as bash prints it; None where bash finds it wrong."""
    done = subprocess.run(
        [BASH, "--norc", "--noprofile", "--pretty-print", "/dev/stdin"],
        input=command.encode("latin-1"),
        capture_output=True,
        timeout=60,
        check=False,
        env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"},
    )
    return None if done.returncode or done.stderr else done.stdout.decode("latin-1")


def shape(text: str) -> Shape:
    """Every command, word, redirection and here-document, and how they hang together."""
    return _Shaper(read_script(text)).listing(None)


class _Shaper:
    def __init__(self, script: Script) -> None:
        self.script = script
        self.text = script.text
        self.source = Source(script.text, script.ends, "/home/someone")

    def listing(self, listing: Listing | None) -> Shape:
        return [self._statement(each) for each in (listing or self.script.body).statements]

    def _statement(self, statement: Statement) -> Shape:
        return [(joint, self._node(node)) for joint, node in statement.chain], statement.background

    def _node(self, node: Node) -> Shape:
        match node:
            case Command():
                return (
                    [self._assignment(span) for span in node.assignments],
                    [self._word(span) for span in node.words],
                    self._redirects(node.redirects),
                )
            case Condition():
                # A word alone is printed as a test of its length.
                words = [self._word(span) for span in node.words]
                return ["[[", *(word for word in words if word != "-n")]
            case Arithmetic():
                return "((", self._inside(node.start, node.end)
            case Pipeline():
                return node.negated, [self._node(each) for each in node.commands]
            case Subshell():
                return "(", self.listing(node.body)
            case Group():
                return "{", self.listing(node.body)
            case Redirected():
                return self._node(node.body), self._redirects(node.redirects)
            case If():
                return self._if(node)
            case While():
                return self.text[node.start : node.start + 5], self.listing(node.condition), self._body(node)
            case For():
                words = ['"$@"'] if node.words is None else [self._word(span) for span in node.words]
                return "for", node.selects, self._word(node.variable), words, self._body(node)
            case Counting():
                return "for ((", re.sub(r"\s", "", self.text[slice(*node.head)]), self._body(node)
            case Case():
                return (
                    "case",
                    self._word(node.word),
                    [
                        ([self._word(span) for span in patterns], self.listing(body))
                        for patterns, body in node.branches
                    ],
                )
            case Function():
                body = self._node(node.body)
                # A body that is no group is printed as the only command of one.
                grouped = isinstance(node.body, Group)
                return "function", self._word(node.name), body if grouped else ("{", [([("", body)], False)])

    def _body(self, node: While | For | Counting) -> Shape:
        return self.listing(node.body)

    def _if(self, node: If) -> Shape:
        """What bash prints is one choice within the other."""
        otherwise = [] if node.otherwise is None else self.listing(node.otherwise)
        for tested, body in reversed(node.branches):
            found = ("if", self.listing(tested), self.listing(body), otherwise)
            otherwise = [([("", found)], False)]
        return otherwise[0][0][0][1]

    def _redirects(self, redirects: tuple[Redirect, ...]) -> Shape:
        return [self._redirect(each) for each in redirects]

    def _redirect(self, redirect: Redirect) -> Shape:
        here = self.script.documents.get(redirect.start)
        if here is None:
            return redirect.operator, self._word(redirect.target)
        body = self.text[here.first : here.last]
        if redirect.operator == "<<-":
            body = re.sub(r"^\t+", "", body, flags=re.MULTILINE)
        return "<<", body

    def _word(self, span: Span) -> Shape:
        """A word without its quotes, or where something is filled in, as it is written."""
        if any(span[0] <= start < span[1] for start, _, kind in self.script.tokens if kind[0] == "$"):
            return self._inside(*span)
        try:
            return read_word(self.source, *span).value
        except Disagreement:
            return " ".join(self.text[slice(*span)].split())

    def _assignment(self, span: Span) -> Shape:
        """An assignment; of an array, its words."""
        if not re.match(r"\w+\+?=\(", self.text[slice(*span)]):
            return self._word(span)
        return [
            self._word((start, end))
            for start, end, kind in self.script.tokens
            if kind == "w" and span[0] < start < span[1] and not self._is_substituted(start, span[0])
        ]

    def _is_substituted(self, place: int, outer: int) -> bool:
        return any(outer < each.start < place < each.end for each in self.script.inner)

    def _inside(self, start: int, end: int) -> Shape:
        """The text between two places, with substitutions as commands."""
        pieces: list[Shape] = []
        for each in self.script.inner:
            if each.body is not None and start <= each.start < end:
                pieces += [self.text[start : each.start], self.listing(each.body)]
                start = each.end
        return (*pieces, self.text[start:end])

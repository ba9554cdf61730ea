"""Every simple command of a command line, with the directories that each may run in."""

import re
from bisect import bisect_left

from msgspec.structs import replace

from bridle.permissions.shell.syntax.command_words import CommandReader, squeezed
from bridle.permissions.shell.syntax.lexer import TOO_DEEP
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
from bridle.permissions.shell.syntax.simple_command import (
    Assignment,
    Kind,
    LineState,
    Loop,
    Redirection,
    Simple,
)
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.shell.values.directories import Outcome, follow, join
from bridle.permissions.shell.values.listed_files import listing_of
from bridle.permissions.shell.values.variable_values import begun
from bridle.permissions.shell.values.variables import may_be_set
from bridle.permissions.word_lists import listed

_DECLARES = listed("declare typeset export readonly local unset unsetenv")
_CHANGES_DIRECTORY = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|({])\.\s")
_BACKQUOTED = re.compile(r"\\([\\`$])")
_DEEPEST_BACKQUOTES = 8
_NOWHERE = LineState(None)
_NO_PLACES = frozenset[str]()


class Walk:
    """A pass over one command line that gathers its simple commands."""

    def __init__(self, script: Script, home: str, *, depth: int = 0) -> None:
        self.script = script
        self.text = script.text
        self.home = home
        self.depth = depth
        self.gathering = CommandReader(script, home)
        self.simples: list[Simple] = []
        self.functions: set[str] = set()
        self.variables: set[str] = set()
        """Names that the command line sets itself."""
        self.loops: list[Loop] = []
        self.visited: set[str] = set()
        """Directories that it leads to."""
        self.backquoted: list[tuple[str, LineState]] = []
        """What stands between backquotes and where it runs; read afterwards, so depth does not add up."""
        self.feeds = depth > 0
        """Whether what is visited prints for another command, for a file or into a word."""
        self._starts = [each.start for each in script.inner]

    @property
    def fault(self) -> str | None:
        return self.gathering.fault

    def run(self, at: LineState) -> None:
        """Visit the whole command line."""
        self.listing(self.script.body, at)

    def inside(self, script: Script, at: LineState) -> "Walk":
        """Visit what stands between backquotes."""
        walk = Walk(script, self.home, depth=self.depth + 1)
        walk.functions, walk.variables, walk.visited = self.functions, self.variables, self.visited
        walk.simples, walk.loops = self.simples, self.loops
        walk.run(at)
        if walk.fault:
            self.gathering.doubt(walk.fault)
        return walk

    def listing(self, listing: Listing, at: LineState) -> Outcome:
        """Visit statements that run one after the other."""
        outcome = Outcome(at, at)
        for statement in listing.statements:
            here = outcome.either
            outcome = self._statement(statement, here)
            if statement.background:
                outcome = Outcome(here, here)
        return outcome

    def _statement(self, statement: Statement, at: LineState) -> Outcome:
        (_, first), *others = statement.chain
        outcome = self.visit(first, at)
        for joint, node in others:
            if joint == "&&":
                after = self.visit(node, outcome.well)
                outcome = Outcome(after.well, join(outcome.ill, after.ill))
            else:
                after = self.visit(node, outcome.ill)
                outcome = Outcome(join(outcome.well, after.well), after.ill)
        return outcome

    def visit(self, node: Node, at: LineState) -> Outcome:
        """Visit one command."""
        match node:
            case Command():
                return self._command(node, at)
            case Pipeline():
                return self._pipeline(node, at)
            case Redirected():
                return self._redirected(node, at)
            case Group():
                return self.listing(node.body, at)
            case Subshell():
                self.listing(node.body, at)
                return Outcome(at, at)
            case Condition():
                return self._condition(node, at)
            case Arithmetic():
                after = self._arithmetic(node.start, node.end, at)
                return Outcome(after, after)
            case If():
                return self._if(node, at)
            case While():
                return self._while(node, at)
            case For():
                return self._for(node, at)
            case Counting():
                return self._counting(node, at)
            case Case():
                return self._case(node, at)
            case Function():
                return self._function(node, at)

    # Compound commands

    def _pipeline(self, node: Pipeline, at: LineState) -> Outcome:
        outcome = Outcome(at, at)
        fed: tuple[Simple, ...] = ()
        # With `|&` errors are passed on, too.
        follows = "|&" not in self.text
        around = self.feeds
        for index, each in enumerate(node.commands, 1):
            before = len(self.simples)
            self.feeds = around or index < len(node.commands)
            outcome = self.visit(each, at)
            if follows and isinstance(each, While) and len(self.simples) > before:
                self.simples[before] = replace(self.simples[before], fed_by=fed)
            follows = follows and isinstance(each, Command) and len(self.simples) == before + 1
            if follows:
                self.simples[-1] = replace(self.simples[-1], fed_by=fed)
                fed = (*fed, self.simples[-1])
        self.feeds = around
        if len(node.commands) > 1:
            return Outcome(at, at)
        return Outcome(outcome.ill, outcome.well) if node.negated else outcome

    def _if(self, node: If, at: LineState) -> Outcome:
        ends: list[LineState] = []
        for tested, body in node.branches:
            condition = self.listing(tested, at)
            ends.append(self.listing(body, condition.well).either)
            at = condition.ill
        ends.append(self.listing(node.otherwise, at).either if node.otherwise else at)
        after = ends[0]
        for each in ends[1:]:
            after = join(after, each)
        return Outcome(after, after)

    def _while(self, node: While, at: LineState) -> Outcome:
        at = self._loses_way(node.start, node.end, at)
        condition = self.listing(node.condition, at)
        after = LineState(at.places, condition.either.certain)
        self.listing(node.body, after)
        return Outcome(after, after)

    def _counting(self, node: Counting, at: LineState) -> Outcome:
        at = self._loses_way(node.start, node.end, at)
        after = self._arithmetic(*node.head, at)
        self.listing(node.body, after)
        return Outcome(after, after)

    def _for(self, node: For, at: LineState) -> Outcome:
        at = self._loses_way(node.start, node.end, at)
        words = [self._value(span, at) for span in node.words or ()]
        inside = self._variable(node, words, at)
        self.listing(node.body, inside)
        after = inside if any(word.doubt is None for word in words) else at
        return Outcome(after, after)

    def _variable(self, node: For, words: list[Word], at: LineState) -> LineState:
        """A loop sets its variable, which may be one that matters."""
        name = self.gathering.source.written(*node.variable)
        self.variables.add(name)
        # `select` may set it to nothing, and a loop without a list goes through what the shell was given.
        shown = words and not node.selects
        self.loops.append(Loop(name, tuple(words) if shown else None, at.certain))
        if not may_be_set(name):
            setting = Assignment(name, Word(name, name, "a loop"), name, plain=False)
            self._emit(f"for {name}", at, "assignment", assignments=(setting,))
        return LineState(at.places, at.certain | {name})

    def _case(self, node: Case, at: LineState) -> Outcome:
        at = self._loses_way(node.start, node.end, at)
        self._value(node.word, at)
        for patterns, body in node.branches:
            for span in patterns:
                self._unread(span, at)
            self.listing(body, at)
        return Outcome(at, at)

    def _function(self, node: Function, at: LineState) -> Outcome:
        self.functions.add(self.gathering.word(node.name).value)
        around, self.feeds = self.feeds, True
        self.visit(node.body, _NOWHERE)
        self.feeds = around
        return Outcome(at, at)

    def _redirected(self, node: Redirected, at: LineState) -> Outcome:
        """A compound command opens its files where it begins."""
        around, self.feeds = self.feeds, True
        outcome = self.visit(node.body, at)
        self.feeds = around
        self._redirections(node.redirects, at)
        return outcome

    def _redirections(self, redirects: tuple[Redirect, ...], at: LineState) -> None:
        for each in redirects:
            self._target(each, at)
        self._emit(
            self.gathering.written(redirects[0].start, redirects[-1].target[1]),
            at,
            "redirection",
            redirections=tuple(map(self.gathering.redirection, redirects)),
            evaluates=self._evaluations(redirects[0].start, redirects[-1].target[1], redirects)
            if self.gathering.fills_in
            else (),
        )

    def _loses_way(self, start: int, end: int, at: LineState) -> LineState:
        """What runs more than once, or perhaps not at all, and changes the directory, may run anywhere."""
        return LineState(None, at.certain) if _CHANGES_DIRECTORY.search(self.text, start, end) else at

    # Simple commands

    def _command(self, node: Command, at: LineState) -> Outcome:
        gathering = self.gathering
        kind = self._kind(node)
        assignments = [gathering.assignment(span) for span in node.assignments] if node.assignments else []
        words = gathering.words(node.words)
        if kind == "declaration":
            self._declared(node, words, assignments)
        elif kind == "test":
            self._unread((node.words[0][0], node.words[-1][1]), at)
        elif kind == "assignment":
            for index, span in enumerate(node.assignments):
                before, each = len(self.simples), assignments[index]
                self._unread(span, at)
                assignments[index] = replace(each, value=self._with_listing(each.value, before, at))
        if kind in ("command", "declaration") and self._starts:
            for start, end in node.assignments:
                self._inside(start, end, at)
            for index, span in enumerate(node.words):
                words[index] = self._listed(words[index], span, at)
        end = (node.words or node.assignments or ((0, 0),))[-1][1]
        for each in node.redirects:
            self._target(each, at)
            end = max(end, each.target[1])
        simple = self._emit(
            gathering.written(node.start, end),
            at,
            kind,
            words=tuple(words),
            assignments=tuple(assignments),
            redirections=tuple(map(gathering.redirection, node.redirects)) if node.redirects else (),
            evaluates=self._evaluations(node.start, end, node.redirects) if gathering.fills_in else (),
        )
        well, ill = follow(simple, at, self.home, self.functions)
        if well is at and ill is at:
            self.visited |= at.places or _NO_PLACES
            return Outcome(at, at)
        self.visited |= well.places or _NO_PLACES
        return Outcome(well, ill)

    def _kind(self, node: Command) -> Kind:
        if not node.words:
            return "assignment" if node.assignments else "redirection"
        name = self.text[slice(*node.words[0])]
        if name == "[":
            return "test"
        return "declaration" if name in _DECLARES and not node.assignments else "command"

    def _declared(self, node: Command, words: list[Word], assignments: list[Assignment]) -> None:
        """What `declare` and the like set are assignments, too."""
        for index, span in enumerate(node.words[1:], 1):
            if self.gathering.assigns(span):
                assignment = self.gathering.assignment(span)
                assignments.append(assignment)
                words[index] = words[index] if assignment.plain else assignment.value

    def _condition(self, node: Condition, at: LineState) -> Outcome:
        self._unread((node.start, node.end), at)
        operands = [self.gathering.source.written(*span) for span in node.words]
        self._emit(
            self.gathering.written(node.start, node.end),
            at,
            "condition",
            operands=tuple(Word(raw, raw, "part of a condition") for raw in operands),
        )
        return Outcome(at, at)

    def _arithmetic(self, start: int, end: int, at: LineState) -> LineState:
        self._unread((start, end), at)
        simple = self._emit(self.gathering.written(start, end), at, "arithmetic")
        return LineState(at.places, at.certain | begun(simple))

    # Words

    def _value(self, span: Span, at: LineState) -> Word:
        """A word that a loop or a choice is about."""
        word = self._listed(self.gathering.word(span), span, at)
        if not word.inert:
            self._emit(squeezed(word.raw), at, "arithmetic")
        return word

    def _listed(self, word: Word, span: Span, at: LineState) -> Word:
        """Visit what is substituted in a word; the word, with what it lists if it does only that."""
        before = len(self.simples)
        self._inside(*span, at)
        return self._with_listing(word, before, at)

    def _with_listing(self, word: Word, before: int, at: LineState) -> Word:
        if len(word.pieces) != 1 or not word.pieces[0].text.startswith("$("):
            return word
        listing = listing_of(word, self.simples[before:], at.places)
        return word if listing is None else replace(word, listing=listing)

    def _target(self, redirect: Redirect, at: LineState) -> None:
        self._inside(*redirect.target, at)
        here = self.script.documents.get(redirect.start)
        if here is not None and not here.quoted:
            self._inside(here.first, here.last, at)

    def _evaluations(self, start: int, end: int, redirects: tuple[Redirect, ...]) -> tuple[str, ...]:
        found = list(self.gathering.evaluations(start, end))
        for each in redirects:
            here = self.script.documents.get(each.start)
            if here is not None and not here.quoted:
                found += self.gathering.evaluations(here.first, here.last)
        return tuple(found)

    def _unread(self, span: Span, at: LineState) -> None:
        """Visit what is computed and substituted in text that is not judged word by word."""
        self._inside(*span, at)
        for written in self.gathering.computations(*span):
            self._emit(written, at, "arithmetic")

    def _inside(self, start: int, end: int, at: LineState) -> None:
        """Visit the substitutions between two places, which run in shells of their own."""
        starts = self._starts
        index = bisect_left(starts, start) if starts else 0
        around, self.feeds = self.feeds, True
        while index < len(starts) and starts[index] < end:
            each = self.script.inner[index]
            if each.body is not None:
                self.listing(each.body, at)
            elif self.depth >= _DEEPEST_BACKQUOTES:
                self.gathering.doubt(TOO_DEEP)
            else:
                content = self.text[each.start + 1 : each.end - 1]
                self.backquoted.append((_BACKQUOTED.sub(r"\1", content), at))
            index = bisect_left(starts, each.end, index + 1)
        self.feeds = around

    def _emit(
        self,
        text: str,
        at: LineState,
        kind: Kind,
        *,
        words: tuple[Word, ...] = (),
        assignments: tuple[Assignment, ...] = (),
        redirections: tuple[Redirection, ...] = (),
        operands: tuple[Word, ...] = (),
        evaluates: tuple[str, ...] = (),
    ) -> Simple:
        simple = Simple(
            text=text,
            words=words,
            assignments=assignments,
            redirections=redirections,
            places=at.places,
            certain=at.certain,
            kind=kind,
            operands=operands,
            evaluates=evaluates,
            feeds=self.feeds,
        )
        if text:
            self.simples.append(simple)
        if assignments:
            self.variables.update(each.name for each in assignments)
        if words and words[0].value == "read":
            self.variables.update(word.value for word in words[1:])
        return simple

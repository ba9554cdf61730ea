"""Every simple command in a parsed command line, with the directories that each may run in."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bridle.permissions.shell.directories import Outcome, follow, join
from bridle.permissions.shell.flat import TAKES_REDIRECTS, squeezed
from bridle.permissions.shell.pieces import REDIRECTS, Gathering, Pieces
from bridle.permissions.shell.simple import Assignment, At, Kind, Loop, Simple
from bridle.permissions.shell.tree import Tree, descendants, parse
from bridle.permissions.shell.values import begun
from bridle.permissions.shell.variables import may_be_set
from bridle.permissions.shell.words import Word, is_inert

if TYPE_CHECKING:
    from tree_sitter import Node

_SIMPLE: dict[str, Kind] = {
    "command": "command",
    "declaration_command": "declaration",
    "unset_command": "declaration",
    "test_command": "test",
    "variable_assignment": "assignment",
    "variable_assignments": "assignment",
}
_EXPRESSIONS = frozenset({"test_command", "variable_assignment"})
_BODIES = frozenset({"do_group", "compound_statement"})
_CLAUSES = frozenset({"elif_clause", "else_clause"})
_SUBSTITUTIONS = frozenset({"command_substitution", "process_substitution"})
_UNSEEN = re.compile(r"\$\(|`|[<>]\(|\$\[")
_CHANGES_DIRECTORY = re.compile(r"\b(?:cd|pushd|popd|eval|source)\b|(?:^|[\s;&|({])\.\s")
_DEEPEST_BACKQUOTES = 8
_NOWHERE = At(None)


class Walk:
    """A pass over one command line that gathers its simple commands."""

    def __init__(self, tree: Tree, *, depth: int = 0) -> None:
        self.root = tree.root
        self.source = tree.source
        self.text = tree.source.text
        self.depth = depth
        self.gathering = Gathering(tree.source)
        self.gathering.fault = tree.fault
        self.simples: list[Simple] = []
        self.functions: set[str] = set()
        self.variables: set[str] = set()
        """Names that the command line sets itself."""
        self.loops: list[Loop] = []
        self.visited: set[str] = set()
        """Directories that it leads to."""
        self._waiting: list[tuple[str, At]] = []
        """What stands between backquotes and where it runs; read afterwards, so depth does not add up."""

    @property
    def fault(self) -> str | None:
        return self.gathering.fault

    def run(self, at: At) -> None:
        """Visit the whole command line."""
        self.sequence(self.root.children, at)
        for text, place in self._waiting:
            walk = Walk(parse(text, self.source.home), depth=self.depth + 1)
            walk.functions, walk.variables, walk.visited = self.functions, self.variables, self.visited
            walk.loops = self.loops
            walk.run(place)
            self.simples += walk.simples
            if walk.fault:
                self.gathering.doubt(walk.fault)

    def sequence(self, nodes: Iterable["Node"], at: At) -> Outcome:
        """Visit statements that run one after the other."""
        outcome = Outcome(at, at)
        listed = list(nodes)
        for index, node in enumerate(listed):
            if not node.is_named or node.type == "comment":
                continue
            here = outcome.either
            outcome = self.visit(node, here)
            if index + 1 < len(listed) and listed[index + 1].type == "&":
                outcome = Outcome(here, here)
        return outcome

    def visit(self, node: "Node", at: At, redirects: Sequence["Node"] = ()) -> Outcome:
        """Visit one statement; redirections behind it belong to the last command in it."""
        if node.type == "redirected_statement":
            return self._redirected(node, at, redirects)
        if node.type == "list":
            return self._list(node, at, redirects)
        if not redirects:
            return self._statement(node, at)
        return self._with_redirects(node, at, redirects)

    def _statement(self, node: "Node", at: At) -> Outcome:
        if node.type in _SIMPLE:
            return self._simple(node, (), at)
        match node.type:
            case "pipeline":
                for child in node.children:
                    self.sequence([child], at)
                return Outcome(at, at)
            case "subshell":
                self.sequence(node.children, at)
                return Outcome(at, at)
            case "negated_command":
                outcome = self.sequence(node.children, at)
                return Outcome(outcome.ill, outcome.well)
            case "compound_statement" if node.children and node.children[0].type == "((":
                return self._arithmetic(node, node.start_byte, node.end_byte, at)
            case "compound_statement" | "do_group" | "else_clause":
                return self.sequence(node.children, at)
            case "if_statement" | "elif_clause":
                return self._if(node, at)
            case "while_statement" | "for_statement" | "c_style_for_statement":
                return self._loop(node, at)
            case "case_statement":
                return self._case(node, at)
            case "function_definition":
                return self._function(node, at)
            case _:
                self.gathering.doubt("the command has a form that is not known")
                return self.sequence(node.children, _NOWHERE)

    def _list(self, node: "Node", at: At, redirects: Sequence["Node"]) -> Outcome:
        # Lists lean to the left, as deep as they are long.
        chain: list[tuple[str, Node]] = []
        current = node
        while current.type == "list" and len(current.children) >= 3:
            chain.append((current.children[1].type, current.children[-1]))
            current = current.children[0]
        outcome = self.visit(current, at)
        for operator, right in reversed(chain):
            behind = redirects if right is chain[0][1] else ()
            if operator == "&&":
                after = self.visit(right, outcome.well, behind)
                outcome = Outcome(after.well, join(outcome.ill, after.ill))
            elif operator == "||":
                after = self.visit(right, outcome.ill, behind)
                outcome = Outcome(join(outcome.well, after.well), after.ill)
            else:
                outcome = self.visit(right, outcome.either, behind)
        return outcome

    def _if(self, node: "Node", at: At) -> Outcome:
        condition = self.sequence(_between(node, ("if", "elif"), "then"), at)
        body = [child for child in _after(node, "then") if child.type not in _CLAUSES]
        after = self.sequence(body, condition.well).either
        clauses = [child for child in node.children if child.type in _CLAUSES]
        if not any(clause.type == "else_clause" for clause in clauses):
            after = join(after, condition.ill)
        for clause in clauses:
            after = join(after, self.visit(clause, condition.ill).either)
        return Outcome(after, after)

    def _loop(self, node: "Node", at: At) -> Outcome:
        if _CHANGES_DIRECTORY.search(self.text, node.start_byte, node.end_byte):
            at = At(None, at.certain)
        inside = after = at
        if node.type == "while_statement":
            condition = self.sequence(_between(node, ("while", "until"), "do_group"), at)
            inside = after = At(at.places, condition.either.certain)
        elif node.type == "for_statement":
            words = [self._value(value, at) for value in node.children_by_field_name("value")]
            inside = self._variable(node, words, at)
            after = inside if any(word.doubt is None for word in words) else at
        else:
            closing = next((child for child in node.children if child.type == "))"), node)
            head = self._arithmetic(node, node.children[0].end_byte, closing.end_byte, at)
            inside = after = head.well
        for child in node.children:
            if child.type in _BODIES:
                self.visit(child, inside)
        return Outcome(after, after)

    def _variable(self, node: "Node", words: list[Word], at: At) -> At:
        """A loop sets its variable, which may be one that matters."""
        variable = node.child_by_field_name("variable")
        if variable is None:
            return at
        name = self.source.written(variable.start_byte, variable.end_byte)
        self.variables.add(name)
        # `select` may set it to nothing, and a loop without a list goes through what the shell was given.
        shown = words and node.children[0].type == "for"
        self.loops.append(Loop(name, tuple(words) if shown else None, at.certain))
        if not may_be_set(name):
            setting = Assignment(name, Word(name, name, "a loop"), name, plain=False)
            self._emit(
                Simple(
                    text=f"for {name}",
                    assignments=(setting,),
                    places=at.places,
                    certain=at.certain,
                    kind="assignment",
                )
            )
        return At(at.places, at.certain | {name})

    def _case(self, node: "Node", at: At) -> Outcome:
        if _CHANGES_DIRECTORY.search(self.text, node.start_byte, node.end_byte):
            at = At(None, at.certain)
        for value in node.children_by_field_name("value"):
            self._value(value, at)
        for item in (child for child in node.children if child.type == "case_item"):
            for value in item.children_by_field_name("value"):
                self._unverified(value, at)
            self.sequence(_after(item, ")"), at)
        return Outcome(at, at)

    def _value(self, node: "Node", at: At) -> Word:
        """A word that a loop or a choice is about."""
        word = self.gathering.word(node)
        self._inside(node, at)
        if not word.inert:
            self._compute(squeezed(word.raw), at)
        return word

    def _function(self, node: "Node", at: At) -> Outcome:
        name = node.child_by_field_name("name")
        if name is not None:
            self.functions.add(self.gathering.word(name).value)
        for child in node.children:
            if child.type in REDIRECTS:
                self._alone([child], _NOWHERE, compound=True)
            elif child.is_named and child != name:
                self.visit(child, _NOWHERE)
        return Outcome(at, at)

    def _arithmetic(self, node: "Node", start: int, end: int, at: At) -> Outcome:
        for child in node.children:
            if child.type not in _BODIES:
                self._unverified(child, at)
        simple = self._compute(squeezed(self.source.written(start, end)), at)
        at = At(at.places, at.certain | begun(simple))
        return Outcome(at, at)

    def _redirected(self, node: "Node", at: At, more: Sequence["Node"]) -> Outcome:
        redirects = [child for child in node.children if child.type in REDIRECTS] + list(more)
        body = node.child_by_field_name("body")
        if body is not None:
            return self.visit(body, at, redirects)
        return self._continued(redirects, self._alone(redirects, at, compound=False), at)

    def _with_redirects(self, node: "Node", at: At, redirects: Sequence["Node"]) -> Outcome:
        """A command and its redirections; of several in a pipe they are those of the last."""
        if node.type == "negated_command":
            outcome = self.visit(node.children[-1], at, redirects)
            return Outcome(outcome.ill, outcome.well)
        if node.type == "pipeline":
            *first, last = node.children
            for child in first:
                self.sequence([child], at)
            self.visit(last, at, redirects)
            return self._continued(redirects, Outcome(at, at), at)
        if node.type in TAKES_REDIRECTS:
            return self._continued(redirects, self._simple(node, redirects, at), at)
        outcome = self._statement(node, at)
        self._alone(redirects, at, compound=True)
        return self._continued(redirects, outcome, at)

    def _continued(self, redirects: Sequence["Node"], outcome: Outcome, at: At) -> Outcome:
        for redirect in redirects:
            if redirect.type == "heredoc_redirect":
                outcome = self._continuation(redirect, outcome, at)
        return outcome

    def _continuation(self, redirect: "Node", outcome: Outcome, at: At) -> Outcome:
        """What stands on the line behind `<<END`: the grammar hangs it below the here-document."""
        for child in redirect.children:
            if child.type == "pipeline":
                self.visit(child, at)
                outcome = Outcome(at, at)
        right = redirect.child_by_field_name("right")
        if right is None:
            return outcome
        after = self.visit(right, outcome.either)
        either = join(outcome.either, after.either)
        return Outcome(either, either)

    def _simple(self, node: "Node", redirects: Iterable["Node"], at: At) -> Outcome:
        kind = _SIMPLE[node.type]
        operands: tuple[Word, ...] = ()
        if node.type in _EXPRESSIONS:
            pieces = self.gathering.gather(None, redirects)
            self._unverified(node, at)
        else:
            pieces = self.gathering.gather(node, redirects)
        if node.type == "variable_assignment":
            pieces.assignments.append(self.gathering.assignment(node))
        elif kind == "test":
            kind = "condition" if self.text.startswith("[[", node.start_byte) else "test"
            if kind == "test":
                pieces.words[:0] = list(self.gathering.split(node))
            else:
                operands = self.gathering.operands(node)
        for child in node.children:
            if child.type == "subshell":
                self.visit(child, at)
        self._substitutions(pieces, at)
        written = [(node.start_byte, node.end_byte), *_outside(node, pieces.behind)]
        simple = self._emit(
            Simple(
                text=squeezed(" ".join(self.source.written(start, end) for start, end in written)),
                words=tuple(pieces.words),
                assignments=tuple(pieces.assignments),
                redirections=tuple(pieces.redirections),
                places=at.places,
                certain=at.certain,
                kind="redirection" if kind == "command" and not pieces.words else kind,
                operands=operands,
            )
        )
        well, ill = follow(simple, at, self.source.home, self.functions)
        self.visited |= well.places or frozenset()
        return Outcome(well, ill)

    def _alone(self, redirects: Iterable["Node"], at: At, *, compound: bool) -> Outcome:
        """Redirections of a compound command, or of nothing."""
        pieces = self.gathering.gather(None, redirects)
        if compound and pieces.words:
            self.gathering.doubt("words stand behind the redirections of a compound command")
        self._substitutions(pieces, at)
        self._emit(
            Simple(
                text=squeezed(" ".join(self.source.written(start, end) for start, end in pieces.behind)),
                words=tuple(pieces.words),
                redirections=tuple(pieces.redirections),
                places=at.places,
                certain=at.certain,
                kind="command" if pieces.words else "redirection",
            )
        )
        return Outcome(at, at)

    def _substitutions(self, pieces: Pieces, at: At) -> None:
        for inner in pieces.inner:
            if isinstance(inner, int):
                self._backquoted(inner, at)
            else:
                self._inside(inner, at)

    def _unverified(self, node: "Node", at: At) -> None:
        """Visit the substitutions of text that is not read word by word: the grammar must know them all."""
        self._inside(node, at)
        for child in descendants(node):
            written = self.source.written(child.start_byte, child.end_byte).strip()
            if child.type in ("expansion", "arithmetic_expansion") and not is_inert(written):
                self._compute(written, at)
        position = node.start_byte
        while found := _UNSEEN.search(self.text, position, node.end_byte):
            position = self.source.ends.get(found.start(), -1)
            if position < 0:
                self.gathering.doubt("a substitution cannot be followed")
                return

    def _inside(self, node: "Node", at: At) -> None:
        """Visit the substitutions below a node, which run in shells of their own."""
        waiting = [node]
        while waiting:
            current = waiting.pop()
            if current.type not in _SUBSTITUTIONS:
                waiting.extend(reversed(current.children))
            elif self.text.startswith("`", current.start_byte):
                if self._backquoted(current.start_byte, at) != current.end_byte:
                    self.gathering.doubt("a backquote is not clearly closed")
            else:
                self.sequence(current.children, at)

    def _backquoted(self, start: int, at: At) -> int:
        """Keep what stands between backquotes, to be read as a command line; returns the place behind."""
        end = start + 1
        while end < len(self.text) and self.text[end] != "`":
            end += 2 if self.text[end] == "\\" else 1
        if self.depth >= _DEEPEST_BACKQUOTES:
            self.gathering.doubt("the command is nested too deeply")
            return end + 1
        self._waiting.append((re.sub(r"\\([\\`$])", r"\1", self.text[start + 1 : end]), at))
        return end + 1

    def _compute(self, text: str, at: At) -> Simple:
        return self._emit(Simple(text=text, places=at.places, certain=at.certain, kind="arithmetic"))

    def _emit(self, simple: Simple) -> Simple:
        if simple.text:
            self.simples.append(simple)
        self.variables.update(each.name for each in simple.assignments)
        if simple.words and simple.words[0].value == "read":
            self.variables.update(word.value for word in simple.words[1:])
        return simple


def _outside(node: "Node", spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return [(start, end) for start, end in spans if start >= node.end_byte]


def _between(node: "Node", after: tuple[str, ...], before: str) -> list["Node"]:
    found: list[Node] = []
    inside = False
    for child in node.children:
        if child.type == before:
            break
        if inside:
            found.append(child)
        inside = inside or child.type in after
    return found


def _after(node: "Node", word: str) -> list["Node"]:
    for index, child in enumerate(node.children):
        if child.type == word:
            return list(node.children[index + 1 :])
    return []

"""The grammar of bash: lists, pipelines and compound commands."""

import re
from collections.abc import Callable

from bridle.permissions.shell.syntax.command_parser import Commands
from bridle.permissions.shell.syntax.lexer import Continued, Fault
from bridle.permissions.shell.syntax.nodes import (
    Arithmetic,
    Case,
    Command,
    Counting,
    For,
    Function,
    Group,
    If,
    Joint,
    Listing,
    Node,
    Pipeline,
    Redirected,
    Script,
    Span,
    Statement,
    Subshell,
    While,
)

_MOST_JOINED = 30
_AHEAD = r"(?=[ \t\n|&;()<>]|\Z)"
_OPENER = re.compile(rf"(?:if|while|until|for|select|case|function|\{{|\[\[){_AHEAD}")
_CLOSER = re.compile(rf"(?:then|do|done|fi|esac|elif|else|\}}){_AHEAD}")
_MAY_OPEN = frozenset("iwufsc{[(t")
"""What the words of `_OPENER` and `time` begin with."""
_TIMED = re.compile(r"time[ \t]+(?=\()")
_NAME = re.compile(r"[A-Za-z_]\w*(?=[ \t\n;]|\Z)", re.ASCII)
_QUOTING = re.compile(r"""['"\\$`<>]""")


def read_script(text: str) -> Script:
    """Read a command line of which every character is a byte; raises Fault where that is not certain."""
    for _ in range(_MOST_JOINED):
        parser = _Parser(text)
        try:
            return parser.script()
        except Continued:
            text = parser.text
    raise Fault("too many line continuations inside words")


class _Parser(Commands):
    """One pass over a command line."""

    def script(self) -> Script:
        body = self.listing()
        if self.at < len(self.text):
            raise Fault("the command does not parse")
        if self.pending:
            raise Fault("a here-document has no end")
        return Script(self.text, body, sorted(self.tokens), self.ends, self.inner, self.documents)

    # Lists and pipelines

    def listing(self) -> Listing:
        """Statements up to whatever closes them."""
        self._deeper()
        statements: list[Statement] = []
        while True:
            self.lines()
            if self.text[self.at : self.at + 1] in ("", ")", ";") or _CLOSER.match(self.text, self.at):
                break
            statement, compound = self._statement()
            statements.append(statement)
            letter = self.text[self.at : self.at + 1]
            if letter == "&":
                self._sign("&")
            elif letter == ";" and not self.text.startswith((";;", ";&"), self.at):
                self._sign(";")
            elif letter not in ("", "\n", ")", ";") and not (compound and _CLOSER.match(self.text, self.at)):
                raise Fault("the command does not parse")
        self.depth -= 1
        return Listing(tuple(statements))

    def _statement(self) -> tuple[Statement, bool]:
        """Pipelines joined by `&&` and `||`, and whether the last command is a compound one."""
        chain: list[tuple[Joint, Node]] = []
        joint: Joint = ""
        while True:
            node = self._pipeline()
            chain.append((joint, node))
            if self.text.startswith("&&", self.at):
                joint = "&&"
            elif self.text.startswith("||", self.at):
                joint = "||"
            else:
                last = node.commands[-1] if isinstance(node, Pipeline) else node
                background = self.text.startswith("&", self.at)
                return Statement(tuple(chain), background), not isinstance(last, Command)
            self._sign(joint)
            self.lines()

    def _pipeline(self) -> Node:
        negated = False
        while self.text.startswith("!", self.at) and self._keyword("!"):
            negated = not negated
            self.blanks()
        commands = [self._command()]
        self.blanks()
        while self.text.startswith("|", self.at) and not self.text.startswith("||", self.at):
            self._sign("|&" if self.text.startswith("|&", self.at) else "|")
            self.lines()
            commands.append(self._command())
            self.blanks()
        if len(commands) == 1 and not negated:
            return commands[0]
        return Pipeline(tuple(commands), negated)

    def _command(self) -> Node:
        """A command, with no blank before it."""
        if self.text[self.at : self.at + 1] not in _MAY_OPEN:
            return self.simple()
        if found := _TIMED.match(self.text, self.at):
            self._timed(found.end())
        start = self.at
        if self.text.startswith("(", start):
            node = self._parentheses(start)
        elif found := _OPENER.match(self.text, start):
            self.at = found.end()
            if found[0] == "[[":
                node = self.condition(start)
            else:
                self.tokens.append((start, self.at, found[0]))
                node = _READERS[found[0]](self, start)
        else:
            return self.simple()
        redirects = self.redirects()
        return Redirected(node, redirects) if redirects else node

    def _timed(self, end: int) -> None:
        """`time` before parentheses measures them and does nothing else."""
        self.tokens.append((self.at, self.at + len("time"), "c"))
        self.at = end

    # Compound commands

    def _parentheses(self, start: int) -> Node:
        if self.text.startswith("((", start):
            self.at += 2
            self.computed("))")
            self._count(0, 1, 0)
            self.tokens.append((start, self.at, "(("))
            return Arithmetic(start, self.at)
        self._sign("(")
        body = self._body()
        self._sign(")")
        return Subshell(body)

    def _group(self, _: int) -> Node:
        body = self._body()
        self._expect("}")
        return Group(body)

    def _if(self, _: int) -> Node:
        branches: list[tuple[Listing, Listing]] = []
        while True:
            condition = self._body()
            self._expect("then")
            branches.append((condition, self._body()))
            if not self._keyword("elif"):
                break
        otherwise = self._body() if self._keyword("else") else None
        self._expect("fi")
        return If(tuple(branches), otherwise)

    def _while(self, start: int) -> Node:
        condition = self._body()
        self._expect("do")
        body = self._body()
        self._expect("done")
        return While(start, self.at, condition, body)

    def _for(self, start: int) -> Node:
        selects = self.text.startswith("select", start)
        self.blanks()
        if self.text.startswith("((", self.at):
            return self._counting(start)
        found = _NAME.match(self.text, self.at)
        if found is None:
            raise Fault("the command does not parse")
        variable = found.span()
        self.at = found.end()
        self.tokens.append((*variable, "w"))
        self.lines()
        words = self._values() if self._keyword("in") else None
        body = self._loop_body()
        return For(start, self.at, variable, words, selects, body)

    def _values(self) -> tuple[Span, ...]:
        words: list[Span] = []
        self.blanks()
        while self.text[self.at : self.at + 1] not in ("\n", ";"):
            words.append(self.take_word())
            self.blanks()
        return tuple(words)

    def _counting(self, start: int) -> Node:
        head = self.at
        self.at += 2
        self.computed("))")
        span = (head, self.at)
        self._count(0, 1, 0)
        self.tokens.append((*span, "(("))
        self.blanks()
        return Counting(start, self.at, span, self._loop_body())

    def _loop_body(self) -> Listing:
        if self.text.startswith(";", self.at) and not self.text.startswith(";;", self.at):
            self._sign(";")
        self.lines()
        closing = "}" if self._keyword("{") else "done"
        if closing == "done":
            self._expect("do")
        body = self._body()
        self._expect(closing)
        return body

    def _case(self, start: int) -> Node:
        self.blanks()
        word = self.take_word()
        self.lines()
        self._expect("in")
        self.lines()
        branches: list[tuple[tuple[Span, ...], Listing]] = []
        while not self._keyword("esac"):
            branches.append((self._patterns(), self.listing()))
            ending = next((each for each in (";;&", ";;", ";&") if self.text.startswith(each, self.at)), None)
            if ending is None:
                self._expect("esac")
                break
            self._sign(ending)
            self.lines()
        return Case(start, self.at, word, tuple(branches))

    def _patterns(self) -> tuple[Span, ...]:
        if self.text.startswith("(", self.at):
            self._sign("(")
        patterns: list[Span] = []
        while True:
            self.blanks()
            patterns.append(self.take_word())
            self.blanks()
            if self.text.startswith(")", self.at):
                self._sign(")")
                return tuple(patterns)
            self._sign("|")

    def _named_function(self, _: int) -> Node:
        self.blanks()
        name = self.take_word()
        self.blanks()
        return self.function(name) if self.text.startswith("(", self.at) else self._defined(name)

    def function(self, name: Span) -> Node:
        self._sign("(")
        self.blanks()
        self._sign(")")
        return self._defined(name)

    def _defined(self, name: Span) -> Node:
        if _QUOTING.search(self.text, *name):
            raise Fault("the name of a function is ambiguous")
        self.lines()
        self._deeper()
        body = self._command()
        self.depth -= 1
        if isinstance(body, Command | Function):
            raise Fault("the command does not parse")
        return Function(name, body)

    # Signs and words

    def _body(self) -> Listing:
        found = self.listing()
        if not found.statements:
            raise Fault("the command does not parse")
        return found

    def _sign(self, sign: str) -> None:
        if not self.text.startswith(sign, self.at):
            raise Fault("the command does not parse")
        self.tokens.append((self.at, self.at + len(sign), sign))
        self.at += len(sign)

    def _keyword(self, word: str) -> bool:
        """Go over a reserved word, if it stands here."""
        self.blanks()
        end = self.at + len(word)
        if not self.text.startswith(word, self.at) or self.text[end : end + 1] not in _BEHIND_WORD:
            return False
        self.tokens.append((self.at, end, word))
        self.at = end
        return True

    def _expect(self, word: str) -> None:
        if not self._keyword(word):
            raise Fault("the command does not parse")


_BEHIND_WORD = frozenset(("", " ", "\t", "\n", "|", "&", ";", "(", ")", "<", ">"))
_READERS: dict[str, Callable[[_Parser, int], Node]] = {
    "if": _Parser._if,
    "while": _Parser._while,
    "until": _Parser._while,
    "for": _Parser._for,
    "select": _Parser._for,
    "case": _Parser._case,
    "function": _Parser._named_function,
    "{": _Parser._group,
}

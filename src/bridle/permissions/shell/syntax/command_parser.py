"""Simple commands, redirections and conditions, as bash takes them from the text."""

import re
from abc import abstractmethod

from bridle.permissions.shell.syntax.lexer import WORD_ENDS, Fault, Lexer
from bridle.permissions.shell.syntax.nodes import Command, Condition, Node, Redirect, Span
from bridle.permissions.word_lists import listed

_MOST_COMMANDS = 50
_MOST_ASSIGNMENTS = 150
_MOST_WORDS = 600
_MOST_REDIRECTIONS = 200
TOO_MANY = f"the command has more than {_MOST_COMMANDS} parts"

_PLAIN = re.compile(r"[^ \t\n|&;()<>'\"\\$`#][^ \t\n|&;()<>'\"\\$`]*(?=[ \t\n|&;()]|\Z)")
"""A word without quotes or expansions."""
_NEXT = re.compile(r"[ \t]*([^ \t\n|&;()<>'\"\\$`#][^ \t\n|&;()<>'\"\\$`]*)(?=[ \t\n|&;()]|\Z)")
"""Such a word with the blanks before it."""
_FIRST = re.compile(r"[A-Za-z_./][\w./+-]*(?=[ \t\n|&;]|\Z)", re.ASCII)
"""A name of a command that is neither an assignment nor the name of a function."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:(\[)|\+?=)", re.ASCII)
_EQUALS = re.compile(r"\+?=")
_ARRAY = re.compile(r"[A-Za-z_]\w*\+?=(?=\()", re.ASCII)
_REDIRECT = re.compile(r"\d{0,5}(<<<|<<-|<<|<>|<&|<(?!\()|>>|>\||>&|>(?!\())|(&>>|&>)")
_BEGINS_REDIRECT = frozenset("<>&{0123456789")
_DESCRIPTOR = re.compile(r"(?:\d+|\{\w+\})[<>]", re.ASCII)
_VARIABLE_AS_DESCRIPTOR = re.compile(r"\{\w+(?:\[[^]]*\])?\}[<>]", re.ASCII)
_ENDS_COMMAND = frozenset(("", "\n", ";", "|", "&", ")"))
_DECLARES = listed("declare export local readonly typeset")
_RESERVED = listed(
    "{ } then do else fi if elif while until for case esac done in function select [[ ]] ! coproc"
)
_TIMES = frozenset({"-p", "--"})
_UNARY = re.compile(r"-[a-hknoprstuvwxzGLNOSR]")
_PATTERNS = frozenset({"=", "==", "!="})
_COMPARES = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"})


class Commands(Lexer):
    """Reads the commands that hold no others."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.commands = self.assignments = 0

    @abstractmethod
    def function(self, name: Span) -> Node:
        """The rest of `name() …`."""

    def simple(self) -> Node:
        """A simple command, or the function that it turns out to define."""
        start = self.at
        assignments: list[Span] = []
        words: list[Span] = []
        redirects: list[Redirect] = []
        while True:
            at = self.at
            if self.text[at : at + 1] in _ENDS_COMMAND and not self.text.startswith("&>", at):
                break
            if not words and (found := _FIRST.match(self.text, at)):
                self.at = found.end()
                self.tokens.append((at, self.at, "c"))
                words.append((at, self.at))
            elif self.text[at] in _BEGINS_REDIRECT and (redirect := self.redirect()):
                redirects.append(redirect)
            elif not words and self._assigns():
                assignments.append((at, self.at))
                self.tokens.append((at, self.at, "="))
            elif self.text.startswith("(", at):
                if len(words) == 1 and not assignments and not redirects:
                    self.tokens[-1] = (*words[0], "w")
                    return self.function(words[0])
                raise Fault("the command does not parse")
            else:
                self._argument(words)
                self.tokens.append((at, self.at, "w" if words else "c"))
                words.append((at, self.at))
            if words:
                self._plain_words(words)
            self.blanks()
        if not assignments and not redirects and not words:
            raise Fault("the command does not parse")
        if words:
            self._check_name(words)
        self._count(len(assignments), len(words), len(redirects))
        return Command(start, tuple(assignments), tuple(words), tuple(redirects))

    def _plain_words(self, words: list[Span]) -> None:
        """Go over words without quotes or expansions."""
        text, tokens, at = self.text, self.tokens, self.at
        while found := _NEXT.match(text, at):
            start, at = found.span(1)
            tokens.append((start, at, "w"))
            words.append((start, at))
        self.at = at

    def take_word(self) -> Span:
        """A word that must stand here."""
        start = self.at
        if found := _PLAIN.match(self.text, start):
            self.at = found.end()
        elif self.word() == start or _DESCRIPTOR.match(self.text, start):
            raise Fault("the command does not parse")
        self.tokens.append((start, self.at, "w"))
        return start, self.at

    def redirects(self) -> tuple[Redirect, ...]:
        """The redirections behind a compound command."""
        found: list[Redirect] = []
        self.blanks()
        while redirect := self.redirect():
            found.append(redirect)
            self.blanks()
        return tuple(found)

    def redirect(self) -> Redirect | None:
        """A redirection, if one stands here."""
        start = self.at
        found = _REDIRECT.match(self.text, start)
        if found is None:
            if _VARIABLE_AS_DESCRIPTOR.match(self.text, start):
                raise Fault("a variable may be a file descriptor")
            return None
        operator = found[1] or found[2]
        self.at = found.end()
        self.tokens.append((self.at - len(operator), self.at, operator))
        self.blanks()
        if operator in (">&", "<&") and self.text.startswith("-", self.at):
            # Only this one character counts, whatever stands behind it.
            target = (self.at, self.at + 1)
            self.at += 1
            self.tokens.append((*target, "w"))
            if self.text[self.at : self.at + 1] not in WORD_ENDS:
                raise Fault("a word follows a closed file descriptor directly")
        else:
            target = self.take_word()
        if operator in ("<<", "<<-"):
            self.expect_document(start, target, tabs=operator == "<<-")
        return Redirect(start, operator, target)

    def condition(self, start: int) -> Condition:
        """The rest of `[[ … ]]`."""
        words: list[Span] = []
        self._deeper()
        self._alternatives(words)
        self.depth -= 1
        if not self.text.startswith("]]", self.at) or self.text[self.at + 2 : self.at + 3] not in _AFTER:
            raise Fault("the end of a condition is ambiguous")
        self.at += 2
        self._count(0, 1, 0)
        self.tokens.append((start, self.at, "[["))
        return Condition(start, self.at, tuple(words))

    def lines(self) -> None:
        """Go over blanks, comments and ends of lines."""
        self.blanks()
        while self.text.startswith("\n", self.at):
            self.newline()
            self.blanks()

    # Assignments

    def _assigns(self) -> bool:
        """Go over an assignment, if one stands here."""
        start = self.at
        found = _ASSIGNMENT.match(self.text, start)
        if found is None:
            return False
        self.at = found.end()
        if found[1]:
            self.at -= 1
            self.matched("]")
            equals = _EQUALS.match(self.text, self.at)
            if equals is None:
                if any(letter in WORD_ENDS for letter in self.text[start : self.at]):
                    raise Fault("a subscript is ambiguous")
                self.at = start
                return False
            self.at = equals.end()
        if self.text.startswith("(", self.at):
            if found[1]:
                raise Fault("the command does not parse")
            self._array()
        else:
            self.word()
        return True

    def _array(self) -> None:
        """Go over the words of an array and its parentheses."""
        if self.pending:
            raise Fault("a here-document does not begin at the end of its line")
        self._deeper()
        self.at += 1
        while True:
            self.lines()
            if self.text.startswith(")", self.at):
                break
            start = self.at
            if self.text.startswith("[", start):
                self.matched("]")
            if self.word() == start:
                raise Fault("an array is ambiguous")
            self.tokens.append((start, self.at, "w"))
        self.at += 1
        self.depth -= 1
        if self.text[self.at : self.at + 1] not in WORD_ENDS:
            raise Fault("an array is ambiguous")

    def _argument(self, words: list[Span]) -> None:
        """Go over a word of a simple command."""
        if found := _PLAIN.match(self.text, self.at):
            self.at = found.end()
            return
        declares = words and self.text[slice(*words[0])] in _DECLARES
        if declares and (found := _ARRAY.match(self.text, self.at)):
            self.at = found.end()
            self._array()
            return
        start = self.at
        if self.word() == start:
            raise Fault("the command does not parse")

    def _check_name(self, words: list[Span]) -> None:
        """A reserved word in the place of a command is none of the forms that are known."""
        name = self.text[slice(*words[0])]
        timed = name == "time"
        if timed:
            names = [self.text[start:end] for start, end in words[1:4]]
            name = next((each for each in names if each not in _TIMES), "time")
            if name == "time" or _ASSIGNMENT.match(name):
                raise Fault("it is unclear which command is timed")
        if name in _RESERVED:
            raise Fault("a reserved word is in the place of a command")
        if name == "[" and not timed:
            self._bracket(words)

    def _bracket(self, words: list[Span]) -> None:
        """Make one token of `[ … ]`, as the grammar does."""
        spans = frozenset(words)
        self.tokens = [each for each in self.tokens if each[:2] not in spans or each[2] not in ("w", "c")]
        self.tokens.append((words[0][0], words[-1][1], "["))

    def _count(self, assignments: int, words: int, redirects: int) -> None:
        self.commands += 1 if words or redirects else 0
        self.assignments += assignments
        if self.commands > _MOST_COMMANDS or self.assignments > _MOST_ASSIGNMENTS:
            raise Fault(TOO_MANY)
        if words > _MOST_WORDS or redirects > _MOST_REDIRECTIONS:
            raise Fault("a command has too many words or redirections")

    # Conditions

    def _alternatives(self, words: list[Span]) -> None:
        self._term(words)
        while True:
            self.lines()
            if not self.text.startswith(("&&", "||"), self.at):
                return
            self._take(2, words)
            self._term(words)

    def _term(self, words: list[Span]) -> None:
        self.lines()
        if self.text.startswith("(", self.at):
            self._deeper()
            self._take(1, words)
            self._alternatives(words)
            if not self.text.startswith(")", self.at):
                raise Fault("a condition does not parse")
            self._take(1, words)
            self.depth -= 1
            return
        first = self._operand(words, "")
        if first == "!":
            self._deeper()
            self._term(words)
            self.depth -= 1
            return
        self.blanks()
        if _UNARY.fullmatch(first):
            self._operand(words, "")
            return
        start = self.at
        if self.text.startswith(("<", ">"), start) and not self.text.startswith("(", start + 1):
            self._take(1, words)
            self.blanks()
            self._operand(words, "")
            return
        if self.text.startswith("\n", start):
            raise Fault("a condition does not parse")
        operator = self._peek()
        if operator in _PATTERNS or operator in _COMPARES or operator == "=~":
            self._take(len(operator), words)
            self.blanks()
            self._operand(words, operator)

    def _peek(self) -> str:
        found = _PLAIN.match(self.text, self.at)
        return found[0] if found else ""

    def _take(self, length: int, words: list[Span]) -> None:
        words.append((self.at, self.at + length))
        self.at += length

    def _operand(self, words: list[Span], operator: str) -> str:
        """Go over one word; some operators let parentheses stand in the one behind them."""
        start = self.at
        while True:
            self.word()
            letter = self.text[self.at : self.at + 1]
            pattern = operator in _PATTERNS and self.at > start and self.text[self.at - 1] in "?*+@!"
            if letter == "(" and (operator == "=~" or pattern):
                self.matched(")")
            elif letter == "|" and operator == "=~":
                self.at += 1
            else:
                break
        written = self.text[start : self.at]
        if not written or written == "]]" or _DESCRIPTOR.match(self.text, start):
            raise Fault("a condition does not parse")
        words.append((start, self.at))
        return written


_AFTER = WORD_ENDS | {"<", ">"}

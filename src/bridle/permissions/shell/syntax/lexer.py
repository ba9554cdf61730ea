"""Words, quotes, expansions and here-documents of a command line, by the rules of bash alone.

The grammar of `tree.py` reads the same text; where the two differ, a person decides. What is not certain to
mean the same to every bash is a fault here, too."""

import re
from abc import ABC, abstractmethod

from bridle.permissions.shell.syntax.nodes import Command, HereDocument, Inner, Listing, Pipeline, Span, Token

DEEPEST = 40
TOO_DEEP = "the command is nested too deeply"

_BLANKS = re.compile(r"[ \t]+")
_BLANK = frozenset((" ", "\t"))
_NO_TOKEN = frozenset(("#", "\\"))
_RUN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
_IN_QUOTES = re.compile(r'[^"\\$`]+')
_IN_BACKQUOTES = re.compile(r"[^`\\\"']+")
_IN_BRACES = re.compile(r"[^}'\"\\$`<>]+")
_IN_DOCUMENT = re.compile(r"[^\\$`]+")
_IN_ARITHMETIC = re.compile(r"[^()\[\]'\"\\$`\n#]+")
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9*@#?$!-])", re.ASCII)
_BRACED = re.compile(r"\$\{[#!]?(?:\w+|[@*#?$!-])(?:\[[@*\w]+\])?[\w./:,=%#*?@^~+ -]*\}", re.ASCII)
"""An expansion in braces without quotes or anything else inside."""
_NAMED = re.compile(r"[#!]?[\w@*#?$!\\-]", re.ASCII)
_ANSI = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
_TRAILING = re.compile(r"\\+\Z")
_SPLICED = re.compile(r"[$`]|[<>]\(")
WORD_ENDS = frozenset(("", " ", "\t", "\n", "|", "&", ";", "(", ")"))


class Fault(ValueError):
    """Why a command line cannot be read with certainty."""


class Continued(Exception):
    """A continued line was joined inside a token, which must be read again."""


class Pending:
    """A here-document whose text is still to come."""

    def __init__(self, start: int, delimiter: str, *, quoted: bool, tabs: bool) -> None:
        self.start = start
        self.delimiter = delimiter
        self.quoted = quoted
        self.tabs = tabs


class Lexer(ABC):
    """A place in a text, and what was found before it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0
        self.tokens: list[Token] = []
        self.ends: dict[int, int] = {}
        self.inner: list[Inner] = []
        self.documents: dict[int, HereDocument] = {}
        self.pending: list[Pending] = []
        self.substituting = 0
        """How many substitutions are open."""

    @abstractmethod
    def listing(self) -> Listing:
        """What stands in a substitution."""

    # Between tokens

    def blanks(self) -> None:
        """Go over blanks, joined lines and a comment."""
        while True:
            letter = self.text[self.at : self.at + 1]
            if letter in _BLANK and (found := _BLANKS.match(self.text, self.at)):
                self.at = found.end()
                letter = self.text[self.at : self.at + 1]
            if letter not in _NO_TOKEN:
                return
            if self.text.startswith("\\\n", self.at):
                self.join()
            elif letter == "#":
                end = self.text.find("\n", self.at)
                end = len(self.text) if end < 0 else end
                self.tokens.append((self.at, end, "#"))
                self.at = end
            else:
                return

    def join(self) -> None:
        """Take out a continuation, as bash does before it looks at anything."""
        at = self.at
        self.text = self.text[:at] + self.text[at + 2 :]
        if at and self.text[at - 1] not in " \t\n":
            raise Continued

    def newline(self) -> None:
        """Go over the end of a line and the here-documents that begin behind it."""
        self.at += 1
        pending, self.pending = self.pending, []
        for each in pending:
            self._document(each)

    # Words

    def word(self) -> int:
        """Go over one word, quotes and expansions included; returns where it ends."""
        while True:
            if found := _RUN.match(self.text, self.at):
                self.at = found.end()
            letter = self.text[self.at : self.at + 1]
            if letter in WORD_ENDS:
                return self.at
            if letter in "<>":
                if self.text[self.at + 1 : self.at + 2] != "(":
                    return self.at
                self.substitution(self.at + 2)
            else:
                self.special(letter)

    def special(self, letter: str) -> None:
        """Go over a quote, an escape or an expansion outside quotes."""
        match letter:
            case "\\":
                self.escape()
            case "'":
                self.at = self._behind("'", self.at + 1)
            case '"':
                self.double()
            case "$" if self.text.startswith("$'", self.at):
                found = _ANSI.match(self.text, self.at)
                if found is None:
                    raise Fault("a quote is not closed")
                self.at = found.end()
            case "$" if self.text.startswith('$"', self.at):
                self.at += 1
                self.double()
            case "$":
                self.dollar(quoted=False)
            case _:
                self.backquote(quoted=False)

    def escape(self) -> None:
        """Go over a backslash and what it takes its meaning from."""
        if self.text.startswith("\\\n", self.at):
            self.join()
        elif self.at + 1 >= len(self.text):
            raise Fault("the command ends with a backslash")
        else:
            self.at += 2

    def double(self) -> None:
        """Go over double quotes."""
        self.at += 1
        while True:
            if found := _IN_QUOTES.match(self.text, self.at):
                self.at = found.end()
            match self.text[self.at : self.at + 1]:
                case '"':
                    self.at += 1
                    return
                case "\\":
                    self.escape()
                case "$":
                    self.dollar(quoted=True)
                case "`":
                    self.backquote(quoted=True)
                case _:
                    raise Fault("a quote is not closed")

    def dollar(self, *, quoted: bool) -> None:
        """Go over whatever a dollar sign begins."""
        text, start = self.text, self.at
        if found := _VARIABLE.match(text, start):
            self.at = found.end()
            self.tokens.append((start, self.at, "$"))
            return
        match text[start + 1 : start + 2]:
            case "(" if text.startswith("((", start + 1):
                self._arithmetic(start, start + 3, "))")
            case "(":
                self.substitution(start + 2)
            case "[":
                self._arithmetic(start, start + 2, "]")
            case "{":
                self._braces(quoted=quoted)
            case _:
                self.at += 1

    def substitution(self, behind: int) -> None:
        """Go over `$(…)`, `<(…)` or `>(…)`; the commands in it are read like any other."""
        start, index, self.at = self.at, len(self.inner), behind
        token = len(self.tokens)
        outer, self.pending = self.pending, []
        documents = len(self.documents)
        self.substituting += 1
        self._deeper()
        body = self.listing()
        if not self.text.startswith(")", self.at):
            raise Fault("a substitution is not closed")
        self.at += 1
        self.depth -= 1
        self.substituting -= 1
        if self.pending or (outer and "\n" in self.text[start : self.at]):
            raise Fault("a here-document does not begin at the end of its line")
        if len(self.documents) > documents and not _is_one_command(body):
            # bash runs what it prints of a substitution, and behind a here-document it loses semicolons.
            raise Fault("a here-document is mixed with other commands in a substitution")
        self.pending = outer
        self.inner.insert(index, Inner(start, self.at, body))
        self.tokens.insert(token, (start, self.at, "$("))
        self.ends[start] = self.at

    def backquote(self, *, quoted: bool) -> None:
        """Go over backquotes; what is between them is read on its own."""
        start = self.at
        self.at += 1
        while True:
            if found := _IN_BACKQUOTES.match(self.text, self.at):
                self.at = found.end()
            letter = self.text[self.at : self.at + 1]
            if letter == "`":
                break
            if letter == "" or self.text.startswith("\\\n", self.at) or (quoted and letter == '"'):
                raise Fault("the end of a backquote is ambiguous")
            if quoted and self.text.startswith('\\"', self.at):
                raise Fault("the end of a backquote is ambiguous")
            self.at += 2 if letter == "\\" else 1
        self.at += 1
        self.inner.append(Inner(start, self.at, None))
        self.tokens.append((start, self.at, "$("))
        self.ends[start] = self.at

    def _braces(self, *, quoted: bool) -> None:
        start = self.at
        if found := _BRACED.match(self.text, start):
            self.at = found.end()
        else:
            if not _NAMED.match(self.text, start + 2):
                raise Fault("an expansion does not work in every bash")
            self._deeper()
            self.tokens.append((start, start, "${"))
            index = len(self.tokens) - 1
            self.at += 2
            self._in_braces(quoted=quoted)
            self.depth -= 1
            del self.tokens[index]
        self.tokens.append((start, self.at, "${"))
        self.ends[start] = self.at

    def _in_braces(self, *, quoted: bool) -> None:
        while True:
            if found := _IN_BRACES.match(self.text, self.at):
                self.at = found.end()
            letter = self.text[self.at : self.at + 1]
            match letter:
                case "}":
                    self.at += 1
                    return
                case "'" if not quoted:
                    self.at = self._behind("'", self.at + 1)
                case '"':
                    self.double()
                case "\\":
                    self.escape()
                case "$" if quoted or self.text[self.at + 1 : self.at + 2] not in ("'", '"'):
                    self.dollar(quoted=quoted)
                case "`":
                    self.backquote(quoted=quoted)
                case "<" | ">" if self.text[self.at + 1 : self.at + 2] != "(":
                    self.at += 1
                case _:
                    raise Fault("the end of an expansion is ambiguous")

    def _arithmetic(self, start: int, behind: int, closing: str) -> None:
        self._deeper()
        self.at = behind
        self.computed(closing)
        self.depth -= 1
        self.tokens.append((start, self.at, "$(("))
        self.ends[start] = self.at

    def computed(self, closing: str) -> None:
        """Go over what is computed, up to and with what closes it."""
        opened: list[str] = []
        while True:
            if found := _IN_ARITHMETIC.match(self.text, self.at):
                self.at = found.end()
            letter = self.text[self.at : self.at + 1]
            if not opened and self.text.startswith(closing, self.at):
                self.at += len(closing)
                return
            if letter == "#" and self.text[self.at - 1] in " \t(":
                raise Fault("double parentheses are ambiguous")
            if letter == "$":
                self.dollar(quoted=True)
            elif letter == "(" and self.text[self.at - 1] in "<>":
                raise Fault("double parentheses are ambiguous")
            elif letter and letter in "([":
                opened.append(")" if letter == "(" else "]")
                self.at += 1
            elif letter and letter in ")]" and opened and opened[-1] == letter:
                opened.pop()
                self.at += 1
            elif letter == "#":
                self.at += 1
            elif self.text.startswith("\\\n", self.at):
                self.join()
            else:
                raise Fault("double parentheses are ambiguous")

    def matched(self, closing: str) -> None:
        """Go over everything up to a closing bracket, as for subscripts and patterns in parentheses."""
        opening = self.text[self.at]
        depth = 0
        while self.at < len(self.text):
            letter = self.text[self.at]
            if letter in "\\'\"$`":
                self.special(letter)
                continue
            if letter == "\n" or (letter in "<>" and self.text.startswith("(", self.at + 1)):
                break
            depth += (letter == opening) - (letter == closing)
            self.at += 1
            if not depth:
                return
        raise Fault("the end of a bracket is ambiguous")

    # Here-documents

    def expect_document(self, start: int, target: Span, *, tabs: bool) -> None:
        """Note that a here-document begins behind this line."""
        written = self.text[target[0] : target[1]]
        if _SPLICED.search(written):
            raise Fault("the end of a here-document is ambiguous")
        delimiter, quoted = _unquoted(written)
        if "\n" in delimiter:
            raise Fault("the end of a here-document is ambiguous")
        self.pending.append(Pending(start, delimiter, quoted=quoted, tabs=tabs))

    def _document(self, each: Pending) -> None:
        """Go over the text of a here-document, up to a line that is its delimiter and nothing else."""
        first = self.at
        while True:
            begin = self.at
            if begin >= len(self.text):
                raise Fault("a here-document has no end")
            end = self._line_end(begin, joins=not each.quoted)
            line = self.text[begin:end]
            if each.tabs:
                line = line.lstrip("\t")
            if line == each.delimiter:
                break
            if self.substituting and line.startswith(each.delimiter) and ")" in line:
                raise Fault("the end of a here-document is ambiguous")
            self.at = end + 1
        here = HereDocument(first, begin, each.quoted)
        self.documents[each.start] = here
        self.tokens.append((begin, begin, "<<"))
        if not each.quoted:
            self._fill_in(here)
        self.at = min(end + 1, len(self.text))

    def _line_end(self, begin: int, *, joins: bool) -> int:
        while True:
            end = self.text.find("\n", begin)
            if end < 0:
                return len(self.text)
            slashes = _TRAILING.search(self.text, begin, end) if joins else None
            if slashes is None or len(slashes[0]) % 2 == 0:
                return end
            self.text = self.text[: end - 1] + self.text[end + 1 :]

    def _fill_in(self, here: HereDocument) -> None:
        """Go over the expansions in a here-document."""
        self.at = here.first
        while self.at < here.last:
            if found := _IN_DOCUMENT.match(self.text, self.at, here.last):
                self.at = found.end()
                continue
            match self.text[self.at]:
                case "\\":
                    self.at += 2
                case "$":
                    start = self.at
                    self.dollar(quoted=True)
                    if self.text.startswith("${", start) and '"' in self.text[start : self.at]:
                        raise Fault("the end of an expansion in a here-document is ambiguous")
                case _:
                    self.backquote(quoted=False)
        if self.at > here.last:
            raise Fault("an expansion in a here-document is not closed")

    def _behind(self, letter: str, start: int) -> int:
        end = self.text.find(letter, start)
        if end < 0:
            raise Fault("a quote is not closed")
        return end + 1

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Fault(TOO_DEEP)


def _is_one_command(body: Listing) -> bool:
    """Whether a substitution holds a single simple command, or a pipe of them."""
    if len(body.statements) != 1 or len(body.statements[0].chain) != 1 or body.statements[0].background:
        return False
    ((_, node),) = body.statements[0].chain
    commands = node.commands if isinstance(node, Pipeline) else (node,)
    return all(isinstance(each, Command) for each in commands)


def _unquoted(written: str) -> tuple[str, bool]:
    """A word without its quotes, and whether it had any."""
    plain = re.sub(
        r"""'([^']*)'|"((?:[^"\\]|\\.)*)"|\\(.)""",
        lambda found: found[1] or re.sub(r'\\(["\\])', r"\1", found[2] or "") or found[3] or "",
        written,
        flags=re.DOTALL,
    )
    return plain, any(mark in written for mark in "'\"\\")

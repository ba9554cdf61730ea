"""Command lines of plain words, as most are: one expression proves that they can be read in one way only.

    git log --oneline | head -5 2>/dev/null && ls -la 'my notes'

Every word of such a line holds nothing but characters that neither end a word nor open anything, wherever
they stand, or quotes around text in which nothing is filled in. Its commands begin with a name that is not
reserved, end with their redirections, and are joined by `|`, `&&`, `||` and `;`. The rules of bash leave no
second way to read it, and the grammar is known to find the same tokens, so that it need not be asked. A line
of which this is not proven here goes the full way.
"""

import re

from bridle.permissions.shell.syntax.nodes import (
    Command,
    Joint,
    Listing,
    Node,
    Pipeline,
    Redirect,
    Script,
    Span,
    Statement,
    Token,
)
from bridle.permissions.word_lists import listed

_MOST_TOKENS = 90
"""So few that no limit of the full way is ever reached."""
_BEHIND = r"(?=[ \t|&;]|\Z)"
_NAME = rf"[A-Za-z_./][\w./+-]*+{_BEHIND}"
_WORD = rf"(?!=)(?>(?:[\w./:=,+@%^*?~-]++|'[ -&(-~]*+'|\"[ #%-\[\]-_a-~]*+\")+){_BEHIND}"
"""Not with an equals sign in front: the grammar takes two of them for an operator."""
_REDIRECT = rf"(?:[12]?>&[12]{_BEHIND}|(?:[12]?>>?+|<|&>>?+)[ \t]*+{_NAME})"
# Before 3.11.5 a repetition of a group with `*+` keeps what its last, failed round has read; these do not.
_COMMAND = rf"{_NAME}(?>(?:[ \t]++{_WORD})*)(?>(?:[ \t]++{_REDIRECT})*)"
_OPERATOR = r"(?:\|\|?+|&&|;)"
_LINE = re.compile(rf"[ \t]*+{_COMMAND}(?>(?:[ \t]*+{_OPERATOR}[ \t]*+{_COMMAND})*)[ \t]*+", re.ASCII)
_TOKEN = re.compile(rf"({_REDIRECT})|({_OPERATOR})|{_WORD}", re.ASCII)
_OPENING = re.compile(r"[12]?([<>&]+)[ \t]*+")
_OTHERWISE = listed("""
    if then elif else fi while until for do done case esac in function select time coproc
    declare typeset export readonly local unset unsetenv
""")
"""Names that bash or the grammar has rules of its own for."""


def read_plain(text: str) -> Script | None:
    """Read a command line of plain words; None for any other."""
    if _LINE.fullmatch(text) is None:
        return None
    line = _Line()
    for found in _TOKEN.finditer(text):
        start, end = found.span()
        if len(line.tokens) > _MOST_TOKENS:
            return None
        if found.lastindex is None:
            if not line.words and found[0] in _OTHERWISE:
                return None
            line.word(start, end)
        elif found[1]:
            line.redirect(start, end, text)
        else:
            line.join(start, end, found[2])
    return Script(text, line.listing(), line.tokens, {}, (), {}, certain=True)


class _Line:
    """Puts commands together from tokens, one after the other."""

    def __init__(self) -> None:
        self.tokens: list[Token] = []
        self.words: list[Span] = []
        self._redirects: list[Redirect] = []
        self._pipe: list[Node] = []
        self._chain: list[tuple[Joint, Node]] = []
        self._joint: Joint = ""
        self._statements: list[Statement] = []

    def word(self, start: int, end: int) -> None:
        self.tokens.append((start, end, "w" if self.words else "c"))
        self.words.append((start, end))

    def redirect(self, start: int, end: int, text: str) -> None:
        opening = _OPENING.match(text, start)
        assert opening is not None
        target = (opening.end(), end)
        self.tokens += ((*opening.span(1), opening[1]), (*target, "w"))
        self._redirects.append(Redirect(start, opening[1], target))

    def join(self, start: int, end: int, operator: str) -> None:
        self.tokens.append((start, end, operator))
        self._pipe.append(self._command())
        if operator == "|":
            return
        self._chain.append((self._joint, _piped(self._pipe)))
        self._pipe = []
        if operator == ";":
            self._statements.append(Statement(tuple(self._chain)))
            self._chain, self._joint = [], ""
        else:
            self._joint = "&&" if operator == "&&" else "||"

    def listing(self) -> Listing:
        """All that was put together, up to the command that is still open."""
        last = _piped([*self._pipe, self._command()])
        return Listing((*self._statements, Statement((*self._chain, (self._joint, last)))))

    def _command(self) -> Command:
        command = Command(self.words[0][0], (), tuple(self.words), tuple(self._redirects))
        self.words, self._redirects = [], []
        return command


def _piped(commands: list[Node]) -> Node:
    return commands[0] if len(commands) == 1 else Pipeline(tuple(commands), negated=False)

"""Programs of awk that only compute and print: every token is known, and none of them opens anything."""

import re

from bridle.permissions.word_lists import listed

_FUNCTIONS = listed("""
    length substr index split sub gsub match sprintf tolower toupper sin cos atan2 exp log sqrt int rand
    srand strftime systime mktime gensub asort asorti patsplit strtonum and or xor lshift rshift compl
    typeof isarray
""")
_KEYWORDS = listed("""
    BEGIN END BEGINFILE ENDFILE if else while for do in next nextfile exit break continue delete return
    function print printf switch case default
""")
_VARIABLES = listed("""
    NR NF FNR FS OFS ORS RS FILENAME RSTART RLENGTH SUBSEP CONVFMT OFMT IGNORECASE RT FIELDWIDTHS FPAT
""")
_NAME = re.compile(r"[A-Z]|(?=[A-Z_0-9]*[a-z])[A-Za-z_]\w*", re.ASCII)
"""Names that are free for variables: those of awk itself, such as ENVIRON, are in capitals."""
_DEFINED = re.compile(r"\bfunction\s+([a-z_]\w*)\s*\(", re.ASCII)
_ASSIGNED = re.compile(r"\b([A-Z][A-Z0-9_]*)\s*(?:\+\+|--|[-+*/%^]?=(?![=~]))", re.ASCII)
_SPECIAL = listed("ENVIRON PROCINFO SYMTAB FUNCTAB ARGV ARGC ARGIND ERRNO BINMODE LINT TEXTDOMAIN")
_RESERVED = listed("""
    getline system close fflush func extension stopme adump include load namespace eval bindtextdomain
    dcgettext dcngettext mkbool intdiv
""")
_TOKEN = re.compile(
    r"""(?P<blank>[ \t\r]+|\\\n|\#[^\n]*)|(?P<newline>\n)|(?P<string>"(?:[^"\\\n]|\\[^\n])*")"""
    r"|(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*=?|\+\+|--|[-+*%^]=|[=!<>]=|&&|\|\||>>|[-+*%^=<>!~?:,;(){}\[\]$]|/)",
    re.ASCII,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:\w+:\]|[^\[\]/\n\\])*\])*/")
_STATEMENT_ENDS = frozenset({";", "\n", "}"})
_GO_ON = frozenset({",", "{", "&&", "||", "do", "else", "?", ":", "(", "["})
"""Behind these a new line does not end a statement."""
_STREAMS = frozenset({'"/dev/stderr"', '"/dev/stdout"', '"/dev/null"'})
_CONDITIONS = frozenset({"if", "while", "for", "switch"})
_LONGEST = 4_000


def only_prints(program: str) -> bool:
    """Whether a program opens no file, starts nothing and looks at no environment."""
    return len(program) <= _LONGEST and _Reader(program).run()


class _Reader:
    """Goes over a program once, telling division from patterns as awk's own grammar does."""

    def __init__(self, program: str) -> None:
        self.text = program
        self.before = "\n"
        self.kind = "newline"
        self.opened: list[str] = []
        """Open brackets; those of a condition carry its keyword."""
        self.printing: int | None = None
        """How many brackets were open where a print statement began."""
        self.condition = False
        """The bracket that was closed last belonged to a condition, so that a statement begins behind it."""
        self.sent = False
        """The print statement goes to a stream and must end there."""
        self.defined = frozenset(_DEFINED.findall(program))
        self.assigned = frozenset(_ASSIGNED.findall(program)) - _SPECIAL

    def run(self) -> bool:
        at = 0
        while at < len(self.text):
            if self.text[at] == "/" and not self._divides():
                found = _REGEX.match(self.text, at)
                if found is None or self.sent:
                    return False
                self.before, self.kind, at = found[0], "regex", found.end()
                continue
            found = _TOKEN.match(self.text, at)
            if found is None:
                return False
            at, kind = found.end(), found.lastgroup or ""
            if kind == "blank":
                continue
            if not self._accepts(found[0], kind, at):
                return False
            self.before, self.kind = found[0], kind
        return not self.opened and (not self.sent or self.before in _STREAMS)

    def _accepts(self, token: str, kind: str, at: int) -> bool:
        if self.sent:
            # A name that follows would be joined to that of the stream.
            expected = token in _STREAMS or (self.before in _STREAMS and token in _STATEMENT_ENDS)
            self.sent = token in _STREAMS
            if not expected or token in _STREAMS:
                return expected
        if kind == "name":
            return self._named(token, at)
        return kind not in ("operator", "newline") or self._operated(token, at)

    def _named(self, name: str, at: int) -> bool:
        if name in ("print", "printf"):
            self.printing = len(self.opened)
            return True
        if name in _KEYWORDS or name in _VARIABLES:
            return True
        if name in _RESERVED or not (_NAME.fullmatch(name) or name in self.assigned):
            return False
        if name == "length" and self.text[at:].lstrip(" \t").startswith("/"):
            return False  # Whether that divides depends on the version.
        return not self.text.startswith("(", at) or name in _FUNCTIONS or name in self.defined

    def _operated(self, token: str, at: int) -> bool:
        if (
            token in _STATEMENT_ENDS
            and self.printing is not None
            and not (token == "\n" and self.before in _GO_ON)
        ):
            self.printing = None if len(self.opened) <= self.printing + (token == "}") else self.printing
        if token in ("(", "[", "{"):
            self.opened.append(self.before if token == "(" and self.before in _CONDITIONS else token)
            return True
        if token in (")", "]", "}"):
            return self._closed(token)
        if token in (">", ">>") and self.printing is not None and len(self.opened) <= self.printing:
            self.sent = True
            return True
        return token != ">>"

    def _closed(self, token: str) -> bool:
        if not self.opened:
            return False
        opening = self.opened.pop()
        self.condition = opening in _CONDITIONS
        return token == {"[": "]", "{": "}"}.get(opening, ")")

    def _divides(self) -> bool:
        """Whether a slash here divides; otherwise it begins a pattern."""
        if self.kind in ("number", "string"):
            return True
        if self.kind == "name":
            return self.before not in _KEYWORDS
        if self.before == ")":
            return not self.condition
        return self.before in ("]", "++", "--")

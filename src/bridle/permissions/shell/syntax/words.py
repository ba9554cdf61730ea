"""Words of a command line, taken as bash takes them wherever that is certain."""

import re
from collections.abc import Mapping
from functools import lru_cache

from msgspec import Struct

from bridle.permissions.shell.syntax.escapes import unescaped

_RUN = re.compile(r"[\w./:=,+@%^{}~*?\[\]!#-]+", re.ASCII)
_ENDS = frozenset(" \t\n|&;()")
BEHIND_PLAIN = _ENDS | {""}
_PLAIN = re.compile(r"[\w./:=,+@%^-]+", re.ASCII)
"""A word in which nothing has a meaning, as most are."""
_UNSETTLED = re.compile(r"[`<>]|\$[({\[]|[\\$]\Z|\A#|\A\Z")
"""What is read with the help of the text around it."""
_LONGEST_SETTLED = 200
_VARIABLE = re.compile(r"\$(?:[A-Za-z_]\w*|[0-9*@#?$!_-])", re.ASCII)
_PLAIN_EXPANSION = re.compile(
    r"\$\{#?[A-Za-z_]\w*(?:(?:%%?|##?|:?[-+])[\w./*:@ -]*|//?[\w.:@ -]+(?:/[\w.:@ -]*)?|\^\^?|,,?)?\}",
    re.ASCII,
)
_SUBSTITUTION = re.compile(r"\$\(|`|[<>]\(|\$\[")
_IN_QUOTES = re.compile(r"""[^"\\$`]+""")
_NUMBERS_ONLY = re.compile(r"\$(?:\(\(|\[)[\d\s+*/%()<>=!&|^~?:-]*(?:\)\)|\])")
_NAMED = re.compile(r"\$\{?[#!]?([A-Za-z_]\w*)", re.ASCII)
_BARE_NAME = re.compile(r"\$[A-Za-z_]\w*", re.ASCII)
_DOLLAR_AT_BRACE = re.compile(r"\$[,}]")
_MOST_PIECES = 40
_NUMERIC = frozenset({"$?", "$#", "$$"})
QUOTED = "\0"
_EXPANDED = "\1"


class Disagreement(ValueError):
    """The grammar and the words do not agree on where something ends."""


class Piece(Struct, frozen=True):
    """A stretch of a word: as it stands, or to be filled in from variables."""

    text: str
    skeleton: str
    """The text with everything that has no special meaning masked."""
    expanded: bool = False
    quoted: bool = True


class Listing(Struct, frozen=True):
    """What a substitution prints, where that is names of files and nothing else."""

    place: str
    """Where it runs, which the names are relative to."""
    roots: tuple[str, ...]
    """Folders that the names are in."""


class Word(Struct, frozen=True):
    """One word: how it was written and what bash makes of it."""

    raw: str
    value: str
    """Without quotes and escapes; what bash fills in at run time is unchanged."""
    doubt: str | None = None
    """What makes its value uncertain."""
    glob: str | None = None
    """For a pattern of file names, the part of its value before the first special character."""
    splits: bool = False
    """It may become several words, or none."""
    inert: bool = True
    """Filling in its variables does nothing else."""
    dashless: bool = False
    """However it is filled in, it is one word that cannot begin with a dash."""
    names: tuple[str, ...] = ()
    """The variables it shows."""
    stream: bool = False
    """It is the output or input of another command, `<(…)` or `>(…)`."""
    pieces: tuple[Piece, ...] = ()
    """What it is put together from, where variables are to be filled in."""
    pattern: str | None = None
    """As a file name, what it may be: a number in it stands for any."""
    single: bool = False
    """It is one of the names that its pattern stands for."""
    tame: bool = False
    """Its variables hold nothing but numbers and object names of git."""
    listing: Listing | None = None
    """It is nothing but names of files that a substitution lists."""

    @property
    def literal(self) -> bool:
        """Whether its value is certain."""
        return self.doubt is None and self.glob is None


class Source(Struct, frozen=True):
    """A command line with one character per byte, and where the grammar saw expansions in it."""

    text: str
    ends: Mapping[int, int]
    """From the start of each expansion and substitution to its end."""
    home: str

    def written(self, start: int, end: int) -> str:
        """The text between two places, as people wrote it."""
        return readable(self.text[start:end])


def readable(text: str) -> str:
    """Bytes, one to a character, as the text they stand for."""
    return text if text.isascii() else text.encode("latin-1", "replace").decode("utf-8", "replace")


def read_word(source: Source, start: int, end: int) -> Word:
    """Read the word that the grammar saw between two places.

    Raises Disagreement if bash would have it end elsewhere."""
    written = source.text[start:end]
    if source.text[end : end + 1] in BEHIND_PLAIN and (settled := settled_word(written, source.home)):
        return settled
    if written.startswith("#"):
        raise Disagreement("a comment was read as a word")
    return _scanned(source, start, end)


def _scanned(source: Source, start: int, end: int) -> Word:
    scan = _Scan(source, start)
    scan.run(end)
    if scan.at != end:
        raise Disagreement("the end of a word is ambiguous")
    return scan.word(start)


def settled_word(written: str, home: str) -> Word | None:
    """A word that means the same wherever it stands, if what follows ends it; None for any other."""
    return _settled(written, home) if len(written) <= _LONGEST_SETTLED else None


@lru_cache(maxsize=4096)
def _settled(written: str, home: str) -> Word | None:
    if _PLAIN.fullmatch(written) is not None:
        return Word(written, written, dashless=not written.startswith("-"))
    if _UNSETTLED.search(written):
        return None
    try:
        return _scanned(Source(written, {}, home), 0, len(written))
    except Disagreement:
        return None


def read_value(source: Source, start: int, end: int) -> Word:
    """Read the text of an assignment behind its equals sign, which is neither split nor globbed."""
    if start == end:
        return Word("", "")
    scan = _Scan(source, start)
    scan.run(end)
    if scan.at != end:
        raise Disagreement("the end of a value is ambiguous")
    word = scan.word(start)
    pieces = tuple(Piece(each.text, QUOTED * len(each.text), each.expanded) for each in word.pieces)
    return Word(
        word.raw, word.value, word.doubt, None, False, word.inert, word.dashless, word.names, pieces=pieces
    )


def put_together(raw: str, value: str, skeleton: str) -> Word:
    """The word that a value comes to of which the skeleton shows what is special."""
    special = _first_special(skeleton)
    dashless = skeleton[:1] not in ("", "*", "?", "[") and not value.startswith("-")
    return Word(raw, value, None, None if special is None else value[:special], dashless=dashless)


def has_quoted_special(value: str, skeleton: str) -> bool:
    """Whether a character would be special in a pattern if it did not stand in quotes."""
    special = "*?[]!^-:.=" if "[" in skeleton else "*?["
    return any(letter in special and mark != letter for letter, mark in zip(value, skeleton, strict=True))


def is_inert(expansion: str) -> bool:
    """Whether filling in an expansion only looks at variables: nothing is set, and nothing can run."""
    if expansion.startswith("${"):
        return _PLAIN_EXPANSION.fullmatch(expansion) is not None
    return not expansion.startswith(("$((", "$[")) or _NUMBERS_ONLY.fullmatch(expansion) is not None


def shown_name(expansion: str) -> str | None:
    """The variable that an expansion looks at."""
    found = _NAMED.match(expansion)
    return found[1] if found else None


class _Scan:
    """One pass over one word."""

    def __init__(self, source: Source, start: int) -> None:
        self.source = source
        self.text = source.text
        self.at = start
        self.value: list[str] = []
        self.skeleton: list[str] = []
        self.doubt: str | None = None
        self.splits = False
        self.inert = True
        self.hollow = False
        self.numeric = False
        self.names: list[str] = []
        self.expanded: dict[int, bool] = {}
        """Which of the values are expansions, and whether they stand in quotes."""

    def run(self, limit: int) -> None:
        text = self.text
        while self.at < len(text) and self.at <= limit:
            if found := _RUN.match(text, self.at):
                self._add(found[0], found[0])
                self.at = found.end()
                continue
            letter = text[self.at]
            if letter in _ENDS or (letter in "<>" and text[self.at + 1 : self.at + 2] != "("):
                return
            self._special(letter)

    def _special(self, letter: str) -> None:
        match letter:
            case "\\":
                self._escape()
            case "'":
                self._quote(self._find("'", self.at + 1))
            case '"':
                self._double()
            case "$" if self.text.startswith("$'", self.at):
                self._ansi()
            case "$" if self.text.startswith('$"', self.at):
                self.at += 1
                self.doubt = self.doubt or "a translated string"
                self._double()
            case "$" | "`" | "<" | ">":
                self._expansion(quoted=False)
            case _:
                self._add(letter, letter)
                self.at += 1

    def _escape(self) -> None:
        following = self.text[self.at + 1 : self.at + 2]
        if following != "\n":
            self._add(following or "\\", QUOTED)
        self.at = min(self.at + 2, len(self.text))

    def _quote(self, end: int) -> None:
        content = self.text[self.at + 1 : end]
        self._add(content, QUOTED * len(content))
        self.hollow = self.hollow or not content
        self.at = end + 1

    def _double(self) -> None:
        self.at += 1
        text = self.text
        while self.at < len(text):
            letter = text[self.at]
            if letter == '"':
                self.at += 1
                return
            if letter == "\\":
                following = text[self.at + 1 : self.at + 2]
                kept = following if following in ('"', "\\", "$", "`") else f"\\{following}"
                if following != "\n":
                    self._add(kept, QUOTED * len(kept))
                self.at += 2
            elif letter in "$`":
                self._expansion(quoted=True)
            elif found := _IN_QUOTES.match(text, self.at):
                self._add(found[0], QUOTED * len(found[0]))
                self.at = found.end()
        raise Disagreement("a quote is not closed")

    def _ansi(self) -> None:
        end = self.at + 2
        while end < len(self.text) and self.text[end] != "'":
            end += 2 if self.text[end] == "\\" else 1
        if end >= len(self.text):
            raise Disagreement("a quote is not closed")
        content, doubt = unescaped(self.text[self.at + 2 : end])
        self.doubt = self.doubt or doubt
        self._add(content, QUOTED * len(content))
        self.at = end + 1

    def _expansion(self, *, quoted: bool) -> None:
        text, start = self.text, self.at
        if found := _VARIABLE.match(text, start):
            end, what, inert = found.end(), "a variable", True
            self.numeric = self.numeric or (not any(self.value[:1]) and found[0] in _NUMERIC)
        elif text[start] == "$" and text[start + 1 : start + 2] not in ("(", "{", "["):
            self._add("$", QUOTED)
            self.at += 1
            return
        else:
            end = self.source.ends.get(start, -1)
            if end <= start:
                raise Disagreement("an expansion cannot be resolved")
            what, inert = self._inner(start, end)
        self.expanded[len(self.value)] = quoted
        self._add(text[start:end], _EXPANDED * (end - start))
        self.doubt = self.doubt or what
        written = text[start:end]
        if name := shown_name(written):
            self.names.append(name)
        counts = written in _NUMERIC
        several = written == "$@" or (written.startswith("${") and "@" in written)
        self.splits = self.splits or several or not (quoted or counts)
        self.inert = self.inert and inert
        self.at = end

    def _inner(self, start: int, end: int) -> tuple[str, bool]:
        """What kind of expansion it is, and whether it only looks at a variable."""
        text = self.text[start:end]
        if text.startswith("${"):
            for found in _SUBSTITUTION.finditer(text, 2):
                if start + found.start() not in self.source.ends:
                    raise Disagreement("a substitution cannot be resolved")
            return "a variable", is_inert(text)
        if text.startswith(("$((", "$[")):
            return "arithmetic", is_inert(text)
        return "a substitution", True

    def _find(self, letter: str, start: int) -> int:
        end = self.text.find(letter, start)
        if end < 0:
            raise Disagreement("a quote is not closed")
        return end

    def _add(self, value: str, skeleton: str) -> None:
        self.value.append(value)
        self.skeleton.append(skeleton)

    def word(self, start: int) -> Word:
        value, skeleton = "".join(self.value), "".join(self.skeleton)
        pieces = self._pieces(start, skeleton) if self.expanded else ()
        written = "".join(self._apart()) if self.expanded and not pieces else value
        doubt, glob = self.doubt, None
        splits = self.splits
        if _has_braces(skeleton):
            doubt, splits = doubt or "braces", True
        if (special := _first_special(skeleton)) is not None:
            glob = value[:special]
            if has_quoted_special(value, skeleton):
                doubt = doubt or "a partly quoted pattern"
        if skeleton.startswith("~"):
            known = (skeleton == "~" or skeleton.startswith("~/")) and not self.hollow
            if not known or not self.source.home:
                doubt = doubt or "a tilde"
            else:
                value, written = self.source.home + value[1:], self.source.home + written[1:]
                glob = None if glob is None else self.source.home + glob[1:]
        return Word(
            readable(self.text[start : self.at]),
            readable(written),
            doubt,
            None if glob is None else readable(glob),
            splits,
            self.inert,
            not splits and self._certain_start(value, skeleton),
            tuple(dict.fromkeys(self.names)),
            skeleton.startswith(_EXPANDED) and self._is_stream(start),
            pieces,
        )

    def _apart(self) -> list[str]:
        """The text of each piece, with names of variables set apart from what follows them."""
        return [
            f"${{{text[1:]}}}" if index in self.expanded and _BARE_NAME.fullmatch(text) else text
            for index, text in enumerate(self.value)
        ]

    def _pieces(self, start: int, skeleton: str) -> tuple[Piece, ...]:
        if _has_braces(skeleton):
            return self._unreadable(start, skeleton)
        if len(self.value) > _MOST_PIECES or not all(map(str.isascii, self.value)):
            return ()
        if skeleton.startswith("~"):
            return ()
        if '$"' in self.text[start : self.at]:
            return ()
        return tuple(
            Piece(value, skeleton, index in self.expanded, self.expanded.get(index, True))
            for index, (value, skeleton) in enumerate(zip(self.value, self.skeleton, strict=True))
        )

    def _unreadable(self, start: int, skeleton: str) -> tuple[Piece, ...]:
        """The whole word as one piece, where braces change which variables stand in it."""
        text = self.text[start : self.at]
        following = {
            index: "".join(self.skeleton[index + 1 :])[:1]
            for index in self.expanded
            if _BARE_NAME.fullmatch(self.value[index])
        }
        if not _DOLLAR_AT_BRACE.search(text) and not any(
            each in "{,}" for each in following.values() if each
        ):
            return ()
        # Begins like no expansion, so that nothing is said of what it comes to.
        return (Piece(f"\\{text}", skeleton, True, False),)

    def _is_stream(self, start: int) -> bool:
        return self.text[start] in "<>" and self.source.ends.get(start) == self.at

    def _certain_start(self, value: str, skeleton: str) -> bool:
        known = skeleton[:1] not in ("", _EXPANDED, "*", "?", "[", "{") and not value.startswith("-")
        return known or self.numeric


def _has_braces(skeleton: str) -> bool:
    opening, closing = skeleton.find("{"), skeleton.rfind("}")
    inner = skeleton[opening:closing] if 0 <= opening < closing else ""
    return "," in inner or ".." in inner


def _first_special(skeleton: str) -> int | None:
    """Where a pattern of file names begins."""
    places = [skeleton.find("*"), skeleton.find("?")]
    bracket = skeleton.find("[")
    places += [bracket] if skeleton.find("]", bracket) > bracket >= 0 else []
    return min((place for place in places if place >= 0), default=None)

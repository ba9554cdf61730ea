"""What the variables of a command line may hold, as far as that shows in the line itself."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from msgspec import Struct
from msgspec.structs import replace

from bridle.permissions.shell.programs.wrappers import hides_name, unwrapped
from bridle.permissions.shell.syntax.simple_command import Loop, Simple
from bridle.permissions.shell.syntax.words import (
    QUOTED,
    Listing,
    Piece,
    Word,
    has_quoted_special,
    put_together,
)
from bridle.permissions.shell.values.arithmetic import begun_name, computed_names
from bridle.permissions.shell.values.command_outputs import Printed, path_part, printed
from bridle.permissions.shell.values.listed_files import lines_of
from bridle.permissions.shell.values.variables import may_be_set, may_be_shown
from bridle.permissions.word_lists import listed

_SETTERS = listed("""
    . alias bind builtin caller compgen complete compopt coproc declare enable eval exec fc getopts hash let
    local mapfile readarray readonly shift shopt source trap typeset unalias unset wait
""")
"""Builtins that may set variables, or change what words mean, in ways that are not followed."""
_FILLED_BY_BASH = listed("SRANDOM GROUPS FUNCNAME PIPESTATUS EPOCHREALTIME MAPFILE IFS PWD OLDPWD")
_PLAIN = re.compile(r"\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})", re.ASCII)
_COUNT = re.compile(r"\$[#?$]|\$\{#[A-Za-z_]\w*\}", re.ASCII)
_SPLITS = re.compile(r"[\s*?\[\\]")
_BLANKS = re.compile(r"[\s\\]")
_SPECIAL = re.compile(r"[*?\[]")
_NUMBER = re.compile(r"-?\d*")
_RANGE = re.compile(r"\{\d+\.\.\d+\}")
_ANY_NUMBER, _OBJECT = "\2", "\3"
_MOST = 64
_MOST_FILLINGS = 24
_MOST_FILLINGS_IN_ALL = 500
_MOST_WORDS = 150
_MOST_PARTS = 50
_LONGEST = 4_096


class Choice(Struct, frozen=True):
    """One value that a variable may hold, and what is special in it."""

    value: str
    skeleton: str
    listing: Listing | None = None
    """It stands for any name of a file that was listed."""


Holding = tuple[Choice, ...] | None
_NATURAL = (Choice("1", _ANY_NUMBER),)
_AN_OBJECT = Choice("HEAD", _OBJECT * 4)
_COMPUTED = (*_NATURAL, Choice("-1", _ANY_NUMBER * 2))
_PRINTED: dict[Printed, Holding] = {
    "numbers": (*_NATURAL, Choice("", "")),
    "object": (_AN_OBJECT, Choice("", "")),
    "several": None,
    "objects": None,
    "text": None,
}
_COMPUTED_WORD = Word("$((1))", "$((1))", "arithmetic", pieces=(Piece("$((1))", "", expanded=True),))


class Values(Struct, frozen=True):
    """Every value that each variable may hold, whenever it is set; nothing about a name that is missing."""

    holdings: Mapping[str, tuple[Choice, ...]] = {}
    most: int = 0
    """How many ways of filling in a command are looked at."""

    def counts(self, names: Iterable[str], simple: Simple) -> bool:
        """Whether variables hold numbers wherever this command looks at them."""
        return all(name in simple.certain and _counts(self.holdings.get(name)) for name in names)

    def is_inert(self, word: Word, simple: Simple) -> bool:
        """Whether filling in a word does nothing else, the arithmetic in it included."""
        if word.inert:
            return True
        return _computes_only(word) and all(
            self.counts(computed_names(each.text) or (), simple) for each in word.pieces if _computes(each)
        )

    def scatters(self, word: Word) -> bool:
        """Whether a value in a word without quotes comes to several words with patterns among them."""
        return any(
            _BLANKS.search(each.value) and _SPECIAL.search(each.value)
            for piece in word.pieces
            if piece.expanded and not piece.quoted
            for each in self.holdings.get(_name(piece) or "", ())
        )

    def fillings(self, words: Sequence[Word], simple: Simple) -> Iterator[tuple[Word, ...]]:
        """The words as they may come to be: all of these together are everything they can come to.

        Words that cannot be filled in stay as they are."""
        held = {
            name: self.holdings[name]
            for word in words
            for each in word.pieces
            if (name := _name(each)) and name in simple.certain and name in self.holdings
        }
        held |= {
            each.text: (_AN_OBJECT, Choice("", ""))
            for word in words
            for each in word.pieces
            if _is_object(each)
        }
        count = 1
        for choices in held.values():
            count *= len(choices)
        sums = sum(_computes(each) for word in words for each in word.pieces)
        count *= 2 ** min(sums, _MOST)
        much = count > self.most or count * len(words) > _MOST_WORDS
        if much or not any(word.pieces for word in words):
            yield tuple(words)
            return
        for chosen in product(*held.values()):
            given = dict(zip(held, chosen, strict=True))
            for signs in product(_COMPUTED, repeat=sums):
                numbers = iter(signs)
                filled = [self._filled(word, given, numbers, simple) for word in words]
                yield tuple(word for word in filled if word is not None)

    def _filled(
        self, word: Word, given: Mapping[str, Choice], numbers: Iterator[Choice], simple: Simple
    ) -> Word | None:
        """A word with values put in; None when it vanishes."""
        if not word.pieces:
            return word
        put = [self._put(each, given, numbers, simple) for each in word.pieces]
        chosen = [each for each in put if each is not None]
        if len(chosen) < len(put):
            return word
        if any(each.listing for each in chosen):
            # Only a whole word is one of the names.
            return replace(word, listing=chosen[0].listing) if len(chosen) == 1 else word
        value = "".join(each.value for each in chosen)
        if not value and word.splits and '"' not in word.raw and "'" not in word.raw:
            return None
        return _shaped(word, value, "".join(each.skeleton for each in chosen))

    def _put(
        self, piece: Piece, given: Mapping[str, Choice], numbers: Iterator[Choice], simple: Simple
    ) -> Choice | None:
        if not piece.expanded:
            return Choice(piece.text, piece.skeleton)
        if _COUNT.fullmatch(piece.text):
            return _NATURAL[0]
        if _computes(piece):
            number, names = next(numbers), computed_names(piece.text)
            return number if names is not None and self.counts(names, simple) else None
        choice = given.get(piece.text if _is_object(piece) else _name(piece) or "")
        if choice is None or piece.quoted or not _SPLITS.search(choice.value):
            return choice
        # Without quotes a pattern in a value is one, but names that a pattern brought may hold blanks.
        is_text = not choice.skeleton.strip(QUOTED) and not _BLANKS.search(choice.value)
        return Choice(choice.value, choice.value) if is_text else None


def known_values(simples: Sequence[Simple], loops: Sequence[Loop], functions: Iterable[str]) -> Values:
    """Look through a command line for everything that sets a variable; where one thing cannot be followed,
    nothing is known about any."""
    sources: dict[str, list[Word | None]] = {}
    if len(simples) > _MOST_PARTS or len(loops) > _MOST_PARTS:
        return Values()
    if any(functions) or not all(_note(simple, sources) for simple in simples):
        return Values()
    if not all(may_be_set(name) for name in (*sources, *(loop.name for loop in loops))):
        return Values()
    holdings = _Holdings(sources, loops)
    found = {name: holding for name in holdings.names if (holding := holdings.of(name))}
    return Values(found, min(_MOST_FILLINGS, _MOST_FILLINGS_IN_ALL // max(1, len(simples))))


def follows(name: str) -> bool:
    """Whether a variable holds what the command line puts there and nothing else."""
    return may_be_set(name) and not may_be_shown(name) and name not in _FILLED_BY_BASH


def _note(simple: Simple, sources: dict[str, list[Word | None]]) -> bool:
    """Note what a command sets; whether that is all."""
    words, _ = unwrapped(simple.words)
    name = words[0].value if words else ""
    if simple.kind == "arithmetic":
        names = computed_names(simple.text)
        for each in names or ():
            sources.setdefault(each, []).append(_COMPUTED_WORD)
        return names is not None
    if simple.kind == "declaration" and name != "export":
        return False
    if simple.kind == "command" and words and (not words[0].literal or hides_name(simple.words)):
        return False
    if name in _SETTERS or (name == "printf" and any(word.value.startswith("-v") for word in words[1:])):
        return False
    if name == "read":
        if not all(word.literal for word in words[1:]):
            return False
        listing = lines_of(simple)
        for word in words[1:]:
            filled = None if listing is None else replace(word, doubt="a name", listing=listing)
            sources.setdefault(word.value, []).append(filled)
    for each in simple.assignments:
        if each.name == "IFS" and name == "read":
            continue
        followed = each.plain and "+=" not in each.raw[: len(each.name) + 2] and ":~" not in each.raw
        sources.setdefault(each.name, []).append(each.value if followed else None)
    return all(_computes_only(word) for word in _all_words(simple))


def _all_words(simple: Simple) -> Iterator[Word]:
    yield from simple.words
    yield from (each.value for each in simple.assignments if each.plain)
    for each in simple.redirections:
        yield from (word for word in (each.target, each.document) if word is not None)


def _computes_only(word: Word) -> bool:
    if word.inert:
        return True
    return bool(word.pieces) and all(
        computed_names(each.text) is not None
        if _computes(each)
        else not each.expanded or _PLAIN.fullmatch(each.text) or _COUNT.fullmatch(each.text)
        for each in word.pieces
    )


class _Holdings:
    """Works out what each name may hold from everything that sets it."""

    def __init__(self, sources: Mapping[str, list[Word | None]], loops: Sequence[Loop]) -> None:
        self.sources = sources
        self.loops = loops
        self.names = frozenset(name for name in (*sources, *(loop.name for loop in loops)) if follows(name))
        self._found: dict[str, Holding] = {}
        self._open: set[str] = set()

    def of(self, name: str) -> Holding:
        if name in self._found:
            return self._found[name]
        if name not in self.names or name in self._open:
            return None
        self._open.add(name)
        found = self._gather(name)
        self._open.discard(name)
        self._found[name] = found
        return found

    def _gather(self, name: str) -> Holding:
        gathered: dict[Choice, None] = {}
        for word in self.sources.get(name, ()):
            choices = None if word is None else self._assigned(word)
            if choices is None:
                return None
            gathered |= dict.fromkeys(choices)
        for loop in (loop for loop in self.loops if loop.name == name):
            for word in loop.words or (None,):
                choices = None if word is None else self._listed(word)
                if choices is None:
                    return None
                gathered |= dict.fromkeys(choices)
        return tuple(gathered) if len(gathered) <= _MOST else None

    def _assigned(self, word: Word) -> Holding:
        if word.listing is not None:
            # Several names in one variable are none in quotes, and fall apart without.
            return (Choice("@", QUOTED, word.listing), Choice("", ""))
        if word.pieces:
            return self._joined(word)
        if word.literal and word.inert:
            return (Choice(word.value, QUOTED * len(word.value)),)
        return None

    def _listed(self, word: Word) -> Holding:
        if _RANGE.fullmatch(word.raw):
            return _NATURAL
        if word.listing is not None:
            return (Choice("@", QUOTED, word.listing),)
        if len(word.pieces) == 1 and not word.pieces[0].quoted:
            what = printed(word.pieces[0].text)
            if what in ("several", "objects"):
                return _NATURAL if what == "several" else (_AN_OBJECT,)
            return self._split(word)
        if word.pieces:
            return self._joined(word)
        if word.glob is not None:
            plain = word.doubt is None and word.raw == word.value and "[" not in word.value
            return (Choice(word.value, word.value),) if plain else None
        return self._assigned(word)

    def _split(self, word: Word) -> Holding:
        """The words that one variable without quotes comes to."""
        choices = self._joined(word)
        if choices is None or any(re.search(r"[*?\[\\]", each.value) for each in choices):
            return None
        return tuple(
            Choice(part, each.skeleton if part == each.value else QUOTED * len(part))
            for each in choices
            for part in each.value.split()
        )

    def _joined(self, word: Word) -> Holding:
        alternatives: list[tuple[Choice, ...]] = []
        for each in word.pieces:
            choices = self._piece(each)
            if choices is None:
                return None
            alternatives.append(choices)
        count, length = 1, 0
        for choices in alternatives:
            count *= len(choices)
            length += max((len(each.value) for each in choices), default=0)
        if count > _MOST or length > _LONGEST:
            return None
        return tuple(
            Choice("".join(each.value for each in chosen), "".join(each.skeleton for each in chosen))
            for chosen in product(*alternatives)
        )

    def _piece(self, piece: Piece) -> Holding:
        if not piece.expanded:
            return (Choice(piece.text, piece.skeleton),)
        if _COUNT.fullmatch(piece.text):
            return _NATURAL
        if _computes(piece):
            return _COMPUTED
        if piece.text.startswith("$("):
            part = path_part(piece.text)
            return _PRINTED[printed(piece.text)] if part is None else (Choice(part, QUOTED * len(part)),)
        name = _name(piece)
        return self.of(name) if name else None


def _counts(holding: Holding) -> bool:
    return holding is not None and all(_NUMBER.fullmatch(each.value) for each in holding)


def _computes(piece: Piece) -> bool:
    return piece.expanded and piece.text.startswith("$((")


def _is_object(piece: Piece) -> bool:
    return piece.expanded and piece.text.startswith("$(g") and printed(piece.text) == "object"


def _name(piece: Piece) -> str | None:
    found = _PLAIN.fullmatch(piece.text) if piece.expanded else None
    return (found[1] or found[2]) if found else None


def _shaped(word: Word, value: str, skeleton: str) -> Word:
    """The word that a value comes to where a number or an object name may stand for any other."""
    if _OBJECT in skeleton:
        dashless = not value.startswith("-") and skeleton[0] not in "*?["
        return replace(word, value=value, splits=False, dashless=dashless, tame=True)
    shaped = put_together(word.raw, value, skeleton)
    if (shaped.glob is not None or _ANY_NUMBER in skeleton) and has_quoted_special(value, skeleton):
        return word
    own = any(mark in each.skeleton for each in word.pieces for mark in "*?[" if not each.expanded)
    if _ANY_NUMBER not in skeleton:
        return replace(shaped, single=True) if shaped.glob is not None and not own else shaped
    pattern = re.sub(f"{_ANY_NUMBER}+", "*", "".join(
        mark if mark == _ANY_NUMBER else letter for letter, mark in zip(value, skeleton, strict=True)
    ))  # fmt: skip
    return replace(shaped, pattern=pattern, tame=True)


def begun(simple: Simple) -> frozenset[str]:
    """The variables that are certain to be set once a command was reached, whatever came of it."""
    if simple.kind == "assignment":
        return frozenset(each.name for each in simple.assignments if each.plain)
    if simple.kind == "declaration" and simple.words and simple.words[0].value == "export":
        return frozenset(each.name for each in simple.assignments if each.plain)
    if simple.kind == "arithmetic":
        name = begun_name(simple.text)
        return frozenset({name} if name else ())
    words = simple.words
    if words and words[0].literal and words[0].value == "read" and all(word.literal for word in words):
        values = [word.value for word in words[1:]]
        return frozenset(value for value in values if value != "-r") if _reads_on(values) else frozenset()
    return frozenset()


def _reads_on(values: list[str]) -> bool:
    return all(value == "-r" or not value.startswith("-") for value in values)

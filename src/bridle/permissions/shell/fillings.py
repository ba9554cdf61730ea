"""What the words of a command may come to, for rules that deny or ask and for removals.

Every value that shows in the line is tried, and nothing at all for a variable that may be unset. That is more
than can happen, which is the safe side here; nothing is ever allowed by it.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product

from msgspec import Struct

from bridle.permissions.shell.braces import expand_braces
from bridle.permissions.shell.expansions import BEYOND, FULL, HOLE, Expansion, evaluate, split_expansions
from bridle.permissions.shell.simple import Assignment, Loop, Simple
from bridle.permissions.shell.words import Word

_MOST_VALUES = 64
_MOST_FILLINGS = 64
_MOST_WORDS = 200
_GLOB = re.compile(r"[*?]|\[.+\]")
_BLANKS = re.compile(r"\s+")
_QUOTES = re.compile(r"""['"\\]""")


class Arg(Struct, frozen=True):
    """One word of a command as it may come to be."""

    raw: str
    value: str
    open: bool = False
    """A part of it cannot be told."""
    below: str = ""
    """What stands behind a variable that it begins with, whatever that holds."""

    @property
    def name(self) -> str | None:
        """The last component as the name of a program; None when it cannot be told."""
        last = self.value.rpartition("/")[2]
        return None if self.open and _is_open(last) else last


class Held(Struct, frozen=True):
    """What the variables of a command line may hold, wherever in the line they are set."""

    values: Mapping[str, tuple[str, ...]] = {}
    positional: tuple[str, ...] | None = ()
    """What `$1` and `$@` may be; None when that cannot be told."""

    def of(self, name: str) -> tuple[str, ...]:
        """Everything that a variable may hold; one that the line does not set may hold anything."""
        if name.isdigit() or name in "@*":
            return ("", HOLE) if self.positional is None else ("", *self.positional)
        return self.values.get(name, ("", HOLE))


class Budget(Struct):
    """How much more of one command line is looked at; what is beyond cannot be told."""

    words: int = 4_000
    texts: int = 60

    def take_words(self, count: int) -> bool:
        self.words -= count
        return self.words >= 0

    def take_text(self) -> bool:
        self.texts -= 1
        return self.texts >= 0


def alternatives(words: Sequence[Word], held: Held, budget: Budget) -> dict[tuple[Arg, ...], bool]:
    """The command as it may come to be, in every way that shows in the line.

    False stands with those that take a variable for empty only because it may be."""
    if all(word.literal for word in words):
        return {tuple(Arg(word.raw, word.value) for word in words): True}
    read = [_read(word) for word in words[:_MOST_WORDS]]
    expansions = [each for _, parts in read for each in parts if isinstance(each, Expansion)]
    choices = list(_choices(expansions, held))
    if not budget.take_words(len(choices) * len(words)):
        choices = [({each.text: BEYOND for each in expansions}, True)]
    found: dict[tuple[Arg, ...], bool] = {}
    for chosen, sure in choices:
        args: list[Arg] = []
        for word, parts in read:
            args += _filled(word, parts, chosen)
        found[tuple(args)] = found.get(tuple(args), False) or sure
    return found


def held_values(
    simples: Sequence[Simple],
    loops: Iterable[Loop],
    functions: Container[str],
    *,
    home: str,
    here: str,
    outer: Held | None,
) -> Held:
    """Look through a command line for everything that gives a variable a value.

    `outer` is what holds around a line that another command runs, which may hand it words of its own."""
    settings: dict[str, list[str]] = {}
    for name, word in _settings(simples, loops, functions):
        settings.setdefault(name, []).append(word)
    values: dict[str, tuple[str, ...]] = {"HOME": (home,), "PWD": (here,), "IFS": (" ",)}
    values |= dict.fromkeys(("USER", "LOGNAME"), (home.rpartition("/")[2], HOLE))
    values |= {"PATH": ("/usr/bin", HOLE), **(outer.values if outer else {})}
    held = Held(values, None)
    for _ in range(3):
        # A value may name another variable that is set later in the line.
        for name, texts in settings.items():
            found = [each for text in texts for each in evaluate(text, held.of)]
            if any(text.startswith("\0") for text in texts):
                found += [one + two.removeprefix("\0") for one in ("", *found) for two in found][
                    :_MOST_VALUES
                ]
            kept = dict.fromkeys(each.removeprefix("\0") for each in found)
            values[name] = (*kept, "") if len(kept) <= _MOST_VALUES else ("", BEYOND)
    if "IFS" in settings:
        # Values fall apart in another way.
        marks = "".join(values["IFS"])
        values |= {name: (*found, *_apart(found, marks), HOLE) for name, found in values.items()}
    given = [value for text in settings.get("@", ()) for value in evaluate(text, held.of)]
    unknown = outer or len(given) > _MOST_VALUES or any(map(_sets_elsewhere, simples))
    return Held(values, None if unknown else tuple(given))


def unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a builtin without `command`, `builtin` and `time` before it."""
    index = 0
    while index < len(words) and words[index].value in ("command", "builtin", "time"):
        index += 1
        while index < len(words) and words[index].value in ("-p", "--"):
            index += 1
    return words[index:]


def _sets_elsewhere(simple: Simple) -> bool:
    """Whether a command runs text, which may set `$1`."""
    words = unwrapped(simple.words)
    return bool(words) and words[0].value in ("eval", "source", ".")


def _apart(values: Iterable[str], marks: str) -> Iterator[str]:
    """The words that values fall apart into at other marks than blanks, and the same with blanks."""
    for value in values:
        if marks and any(mark in value for mark in marks):
            words = re.split(f"[{re.escape(marks)}]", value)
            yield from (*words, " ".join(words))


def _settings(
    simples: Iterable[Simple], loops: Iterable[Loop], functions: Container[str]
) -> Iterator[tuple[str, str]]:
    """Every name and what it is set to; a zero in front marks what is appended."""
    for loop in loops:
        for word in loop.words or ():
            yield from ((loop.name, text) for text in expand_braces(word.value, literal=word.doubt is None))
        if loop.words is None:
            yield loop.name, HOLE
    for simple in simples:
        for each in simple.assignments:
            yield from _assigned(each)
        words = unwrapped(simple.words)
        name = words[0].value if words else ""
        values = [word.value for word in words[1:]]
        if name == "read":
            fed = [
                each.target.value for each in simple.redirections if each.operator == "<<<" and each.target
            ]
            for value in values:
                yield from ((value, text) for text in fed or [HOLE])
        elif name == "printf" and values[:1] == ["-v"] and len(values) > 2:
            yield from ((values[1], text) for text in values[2:])
        elif name == "set" or name in functions:
            given = [value for value in values if value != "--"]
            yield from (("@", value) for value in (" ".join(given), *given))
        elif name in ("mapfile", "readarray", "getopts", "let"):
            yield from ((value, HOLE) for value in values)
        for word in simple.words:
            for found in re.finditer(r"\$\{(\w+):?=([^{}]*)\}", word.value):
                yield found[1], found[2]


def _assigned(each: Assignment) -> Iterator[tuple[str, str]]:
    name = each.name
    if each.plain:
        appends = each.raw[len(name) : len(name) + 2] == "+="
        yield name, f"\0{each.value.value}" if appends else each.value.value
        return
    words = [_QUOTES.sub("", piece) for piece in each.raw.partition("=")[2].strip("()").split()]
    texts = [text.partition("]=")[2] if text.startswith("[") else text for text in words]
    known = [f"$HOME{text[1:]}" if text == "~" or text.startswith("~/") else text for text in texts]
    yield from ((name, text) for text in (" ".join(known), *known))
    if "\\" in each.raw or "$'" in each.raw:
        yield name, HOLE


def _read(word: Word) -> tuple[Word, tuple[str | Expansion, ...]]:
    return word, (word.value,) if word.literal else split_expansions(word.value)


def _choices(expansions: list[Expansion], held: Held) -> Iterator[tuple[Mapping[str, str], bool]]:
    """Ways to fill in the expansions of one command, each of them the same everywhere."""
    texts = {each.text: each for each in expansions}
    values = {text: tuple(dict.fromkeys(each.values(held.of))) for text, each in texts.items()}
    count = 1
    for each in values.values():
        count *= len(each)
    if count <= _MOST_FILLINGS:
        ways = (dict(zip(values, chosen, strict=True)) for chosen in product(*values.values()))
    else:
        # Too many together: each on its own, while the others cannot be told.
        unknown = dict.fromkeys(values, HOLE)
        singly = ({**unknown, text: value} for text, each in values.items() for value in each)
        ways = (unknown, *islice(singly, _MOST_FILLINGS))
    for way in ways:
        yield way, not any(not value and len(values[text]) > 1 for text, value in way.items())


def _filled(word: Word, parts: tuple[str | Expansion, ...], chosen: Mapping[str, str]) -> Iterator[Arg]:
    if word.literal:
        yield Arg(word.raw, word.value)
        return
    text = "".join(each if isinstance(each, str) else chosen[each.text] for each in parts)
    written = [each for each in parts if isinstance(each, str)]
    below = written[-1] if len(written) > 1 and not any(written[:-1]) else ""
    for value in expand_braces(text, literal=word.glob is not None and word.doubt is None):
        is_open = HOLE in value or FULL in value
        if word.splits and not any(map(_BLANKS.search, written)):
            pieces = [piece for piece in _BLANKS.split(value) if piece]
            for piece in pieces:
                yield Arg(word.raw if HOLE in piece else piece, piece, _is_open(piece), below)
        else:
            known = not is_open and (word.glob is None or not _GLOB.search(value))
            yield Arg(word.raw if is_open or value == word.value else value, value, not known, below)


def _is_open(text: str) -> bool:
    return HOLE in text or FULL in text or _GLOB.search(text) is not None

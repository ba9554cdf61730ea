"""What the variables of a command line may hold, for rules that deny or ask and for removals.

Everything that shows in the line counts, wherever it is set. What may set a variable in a way that does not
show makes every variable uncertain. Nothing is ever allowed by it.
"""

import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from bridle.permissions.shell.syntax.braces import expand_braces
from bridle.permissions.shell.syntax.expansions import (
    BEYOND,
    FULL,
    HOLE,
    Expansion,
    evaluate_parts,
    split_expansions,
)
from bridle.permissions.shell.syntax.simple_command import Assignment, Loop, Redirection, Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.word_lists import listed

Parts = tuple[str | Expansion, ...]
"""The text of a word, with what bash fills in set apart."""

_MOST_VALUES = 64
_MOST_WORDS = 20
_BLANK = re.compile(r"\s")
_QUOTED_BLANK = re.compile(r"""'[^']*\s[^']*'|"[^"]*\s[^"]*\"""")
_WRAPPERS = listed("command builtin time")
_DECLARES = listed("declare typeset local export readonly")
_RUNS_TEXT = listed("eval trap source . mapfile readarray")
SETTERS = _DECLARES | listed("set read printf getopts let mapfile readarray")
_MOVES = listed("cd pushd popd")
_MARKS_APPENDED = "\0"
_PATTERN = re.compile(r"[*?\[]|[+@!]\(")
_FILE_KIND = re.compile(r"\.[a-z]\w*\Z", re.ASCII)
_QUOTES = re.compile(r"""['"\\]""")
_HIDES_DOLLARS = re.compile(r"['\\]")
_DEFAULT = re.compile(r"\$\{!?(\w+)(?:\[[^]]*\])?:?=([^{}]*)")
_PLAIN_DEFAULT = re.compile(r"[\w./ :,@%+-]*")
_REFERENCE = re.compile(r"[-+][A-Za-z]*[nluc][A-Za-z]*")
"""Options that make a variable another name of one, or change the letters of what it is given."""
_FORMAT = re.compile(r"%[-+ #0-9.]*[a-zA-Z]")
_ODD_TEXT = re.compile(r"[\\%]")
_TAME = re.compile(r"[a-z][\w./-]*(?: +[\w./$:-]+)*")
"""A command line of plain words."""
_BY_BASH = re.compile(r"_|REPLY|OPTARG|MAPFILE|COPROC|DIRSTACK|OLDPWD|BASH\w*")
"""Variables that bash sets while it runs commands."""
_STREAM = re.compile(r"[<>]\(|/dev/(?:stdin|fd/)|/proc/")


HIDDEN_BLANKS = {9: 0xE009, 10: 0xE00A, 32: 0xE020}
"""Blanks at which a value does not fall apart, although it is in a word that does."""


class PossibleValues(Struct, frozen=True):
    """What the variables of a command line may hold, wherever in the line they are set."""

    values: Mapping[str, tuple[str, ...]] = {}
    positional: tuple[str, ...] | None = ()
    """What `$1` and `$@` may be; None when that is unknown."""

    def of(self, name: str) -> tuple[str, ...]:
        """Everything that a variable may hold; one that the line does not set may hold anything."""
        if name.isdigit() or name in "@*":
            return ("", HOLE) if self.positional is None else ("", *self.positional)
        return self.values.get(name, ("", HOLE))


def held_values(
    simples: Sequence[Simple],
    loops: Iterable[Loop],
    functions: Container[str],
    *,
    home: str,
    here: str,
    outer: PossibleValues | None,
) -> PossibleValues:
    """Look through a command line for everything that gives a variable a value.

    `outer` is what holds around a line that another command runs, which may hand it words of its own."""
    settings: dict[str, list[Parts]] = {}
    for name, parts in _settings(simples, loops, functions):
        settings.setdefault(name, []).append(parts)
    values: dict[str, tuple[str, ...]] = {"HOME": (home,), "PWD": (here,), "IFS": (" ",)}
    values |= dict.fromkeys(("USER", "LOGNAME"), (home.rpartition("/")[2], HOLE))
    values |= {"PATH": ("/usr/bin", HOLE), **(outer.values if outer else {})}
    held = PossibleValues(values, None)
    for _ in range(3):
        # A value may name another variable that is set later in the line.
        for name, texts in settings.items():
            values[name] = _together(texts, held)
    if "IFS" in settings:
        # Values fall apart in another way.
        marks = "".join(values["IFS"])
        values |= {name: (*found, *_apart(found, marks), HOLE) for name, found in values.items()}
    commands = {words[0].raw: words for simple in simples if (words := unwrapped(simple.words))}
    if any(may_be(words, _MOVES, held) for words in commands.values()):
        values["PWD"] = (*values["PWD"], HOLE)
    if any(_sets_anything(simple, functions, held) for simple in simples):
        return PossibleValues({name: (*found, HOLE) for name, found in values.items()}, None)
    given = [value for parts in settings.get("@", ()) for value in evaluate_parts(parts, held.of)]
    unknown = outer or len(given) > _MOST_VALUES or any(map(_sources, simples))
    return PossibleValues(values, None if unknown else tuple(given))


def parts_of(word: Word) -> Parts:
    """The text of a word, with what bash fills in set apart from what only looks like it in quotes."""
    if word.literal:
        return (word.value,)
    if not word.pieces:
        return split_expansions(word.value, unsure=_HIDES_DOLLARS.search(word.raw) is not None)
    merged: list[str | Expansion] = [""]
    for piece in word.pieces:
        last = merged[-1]
        if piece.expanded:
            merged += [Expansion(piece.text), ""]
        elif isinstance(last, str):
            merged[-1] = last + piece.text
    return tuple(merged)


def unwrapped(words: Sequence[Word]) -> Sequence[Word]:
    """The words of a builtin without `command`, `builtin` and `time` before it."""
    index = 0
    while index < len(words) and words[index].literal and words[index].value in _WRAPPERS:
        index += 1
        while index < len(words) and words[index].value in ("-p", "--"):
            index += 1
    return words[index:]


def may_be(words: Sequence[Word], names: Container[str], held: PossibleValues) -> bool:
    """Whether a command may come to be one of these builtins."""
    words = unwrapped(words)
    if not words:
        return False
    if words[0].literal:
        return words[0].value in names
    values = evaluate_parts(parts_of(words[0]), held.of)
    firsts = {value.split()[0] for value in values if value.strip()}
    if not firsts.isdisjoint(_WRAPPERS) or any(first in names for first in firsts):
        return True
    # It may come to nothing, and then the next word is the name.
    return len(firsts) < len(values) and may_be(words[1:], names, held)


def _together(texts: Sequence[Parts], held: PossibleValues) -> tuple[str, ...]:
    """Every value that a variable gets from what it is set to, and from what is appended."""
    found = [each for parts in texts for each in evaluate_parts(parts, held.of)]
    if any(parts[:1] == (_MARKS_APPENDED,) for parts in texts):
        pairs = [one + two.removeprefix(_MARKS_APPENDED) for one in ("", *found) for two in found]
        found += pairs[:_MOST_VALUES]
    kept = dict.fromkeys(each.removeprefix(_MARKS_APPENDED) for each in found)
    return (*kept, "") if len(kept) <= _MOST_VALUES else ("", BEYOND)


def _sources(simple: Simple) -> bool:
    """Whether a command reads a script, which may set `$1`."""
    words = unwrapped(simple.words)
    return bool(words) and words[0].value in ("source", ".")


def _sets_anything(simple: Simple, functions: Container[str], held: PossibleValues) -> bool:
    """Whether a command may set variables in a way that does not show."""
    words = unwrapped(simple.words)
    if not words:
        return False
    if not words[0].literal:
        return may_be(words, SETTERS | _RUNS_TEXT, held) or may_be(words, functions, held)
    name, arguments = words[0].value, words[1:]
    if name in ("eval", "trap"):
        return not all(word.literal and _is_tame(word.value) for word in arguments)
    if name in ("mapfile", "readarray"):
        return any(word.value.startswith("-") and "C" in word.value for word in arguments)
    if name in ("source", "."):
        return bool(simple.redirections) or any(_STREAM.match(word.value) for word in arguments)
    if name in _DECLARES:
        plain = [word for word in arguments if not any(each.raw == word.raw for each in simple.assignments)]
        return any(_REFERENCE.fullmatch(word.value) or not word.literal for word in plain)
    return name in ("read", "printf") and any(
        not word.literal for word in arguments[: _looked_at(name, arguments)]
    )


def _looked_at(name: str, arguments: Sequence[Word]) -> int:
    """How many of the words of a builtin name variables."""
    if name == "read":
        return len(arguments)
    return 2 if arguments and (not arguments[0].literal or arguments[0].value.startswith("-")) else 0


def _is_tame(text: str) -> bool:
    """Whether a text that is run sets no variable, as far as its words show."""
    if not _TAME.fullmatch(text):
        return text in ("-", "--", "") or text.isupper()
    return text.split(maxsplit=1)[0] not in SETTERS | _RUNS_TEXT | _WRAPPERS | _MOVES


def _apart(values: Iterable[str], marks: str) -> Iterator[str]:
    """The words that values fall apart into at other marks than blanks, and the same with blanks."""
    for value in values:
        if marks and any(mark in value for mark in marks):
            words = re.split(f"[{re.escape(marks)}]", value)
            yield from (*words, " ".join(words))


def _settings(
    simples: Iterable[Simple], loops: Iterable[Loop], functions: Container[str]
) -> Iterator[tuple[str, Parts]]:
    """Every name and what it is set to; a zero in front marks what is appended."""
    for loop in loops:
        words = {word.raw: word for word in loop.words or ()}
        if len(words) > _MOST_VALUES:
            yield loop.name, (BEYOND,)
            continue
        for word in words.values():
            yield loop.name, parts_of(word)
            yield from (
                (loop.name, (text,)) for text in expand_braces(word.value, literal=word.doubt is None)
            )
            yield from ((loop.name, parts) for parts in _matched(word))
        if loop.words is None:
            yield loop.name, (HOLE,)
    for simple in simples:
        for each in simple.assignments:
            yield from _assigned(each)
        yield from _by_builtin(simple, functions)
        texts = (simple.text, *(each.content for each in simple.redirections))
        for found in (each for text in texts for each in _DEFAULT.finditer(text)):
            yield found[1], (found[2],)
            if not _PLAIN_DEFAULT.fullmatch(found[2]):
                yield found[1], (HOLE,)


def _matched(word: Word) -> Iterator[Parts]:
    """A file that a pattern of file names may become, where a word is one."""
    if not word.literal and _PATTERN.search(word.value):
        yield (_file_like(word.value),)


def _file_like(pattern: str) -> str:
    """Any name in the folder that a pattern begins with; what kind of file it is may show."""
    found = _PATTERN.search(pattern)
    folder = pattern[: pattern.rfind("/", 0, found.start() if found else 0) + 1]
    kind = _FILE_KIND.search(pattern)
    return folder + FULL + (kind[0] if kind else "")


def _by_builtin(simple: Simple, functions: Container[str]) -> Iterator[tuple[str, Parts]]:
    """What a builtin sets, and what a function is given."""
    words = unwrapped(simple.words)
    name = words[0].value if words else ""
    given = words[1:]
    if name == "read":
        fed = _fed(simple.redirections)
        odd = any(word.value.startswith("-") and word.value != "-r" for word in given)
        for word in given:
            yield from ((_variable(word.value), parts) for parts in (*fed, *([(HOLE,)] if odd else ())))
    elif name == "printf" and given and given[0].value.startswith("-v"):
        names, texts = _printed(given)
        yield from ((_variable(each), parts) for each in names for parts in texts)
    elif name == "set" or name in functions:
        shown = [parts_of(word) for word in given if word.value != "--"]
        if shown:
            yield "@", tuple(part for parts in shown for part in (*parts, " "))[:-1]
            yield "@", tuple(part for parts in shown for part in (*map(_whole, parts), " "))[:-1]
        yield from (("@", parts) for parts in shown)
        yield from (("@", parts) for word in given for parts in _matched(word))
        if any(_BLANK.search(word.value) for word in given):
            # Joined, they do not show where each begins.
            yield "@", (HOLE,)
    elif name in ("mapfile", "readarray", "getopts", "let"):
        yield from ((_variable(word.value), (HOLE,)) for word in given)
    elif name in _DECLARES:
        for word in given:
            named, equals, text = word.value.partition("=")
            if equals and word.literal:
                yield _variable(named.removesuffix("+")), (text,)


def _whole(part: str | Expansion) -> str | Expansion:
    """A part of a word that stays one word in a list."""
    return part.translate(HIDDEN_BLANKS) if isinstance(part, str) else part


def _printed(given: Sequence[Word]) -> tuple[list[str], list[Parts]]:
    """The variables that `printf -v` may set, and what to."""
    names: list[str] = []
    words = list(given)
    while words and words[0].value.startswith("-v"):
        attached = words.pop(0).value[2:]
        names.append(attached or (words.pop(0).value if words else ""))
    texts = [parts_of(word) for word in words]
    plain = len(words) == 1 or (len(words) == 2 and words[0].value in ("%s", "%s\\n"))
    if words and (not plain or any(word.splits or _ODD_TEXT.search(word.value) for word in words[-1:])):
        texts.append((HOLE,))
        values = iter([word.value for word in words[1:]])
        texts.append((_FORMAT.sub(lambda _: next(values, ""), words[0].value),))
    return names, texts


def _fed(redirections: Sequence[Redirection]) -> list[Parts]:
    """What `read` finds on its input, as a whole and by words."""
    inputs = [each for each in redirections if each.operator.startswith("<")]
    words = [each.target for each in inputs if each.operator == "<<<" and each.target is not None]
    shown = [parts_of(word) for word in words]
    if len(words) != 1 or len(inputs) != 1:
        return [*shown, (HOLE,)]
    if not words[0].literal:
        return [*shown, (HOLE,)] if _BLANK.search(words[0].value) else shown
    pieces = words[0].value.split()[:_MOST_WORDS]
    return [
        *shown,
        *((" ".join(pieces[index:]),) for index in range(1, len(pieces))),
        *((each,) for each in pieces),
    ]


def _variable(name: str) -> str:
    """The variable of which a name may be an element: the first is the variable's own value."""
    return name.partition("[")[0]


def _assigned(each: Assignment) -> Iterator[tuple[str, Parts]]:
    name = each.name
    if each.plain:
        appends = each.raw[len(name) : len(name) + 2] == "+="
        parts = parts_of(each.value)
        yield name, (_MARKS_APPENDED, *parts) if appends else parts
        if _BY_BASH.fullmatch(name):
            yield name, (HOLE,)
        return
    written = each.raw.partition("=")[2]
    words = [_QUOTES.sub("", piece) for piece in written.strip("()").split()]
    texts = [text.partition("]=")[2] if text.startswith("[") else text for text in words]
    known = [f"$HOME{text[1:]}" if text == "~" or text.startswith("~/") else text for text in texts]
    quoted = _HIDES_DOLLARS.search(written) is not None
    yield from ((name, split_expansions(text, unsure=quoted)) for text in (" ".join(known), *known))
    yield from ((name, (_file_like(text),)) for text in known if _PATTERN.search(text))
    if "\\" in each.raw or "$'" in each.raw or _QUOTED_BLANK.search(written):
        yield name, (HOLE,)

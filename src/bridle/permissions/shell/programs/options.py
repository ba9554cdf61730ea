"""Reading the options of a command against the list of those that do no harm."""

import re
from functools import cache
from typing import Literal

from msgspec import Struct

from bridle.permissions.shell.syntax.words import Word

_NUMBER = re.compile(r"-\d+")
_VARIABLE = re.compile(r'"?\$(?:\w+|\{\w+\})"?')
_CHARACTER_SET = re.compile(r"[\w.:+-]*(?://(?:TRANSLIT|IGNORE))*", re.ASCII)
_LIKE_OPTION = re.compile(r"--?[A-Za-z]")
ENDLESS = frozenset({"/dev/zero", "/dev/urandom", "/dev/random"})
Operands = Literal["paths", "pattern", "text", "none"]
Letters = Literal["getopt", "apart", "alone"]


class HarmlessUse(Struct, frozen=True):
    """How a command may be used without doing harm.

    Short options are written as for getopt (`n:` takes a value, `i::` one that is attached or left out), long
    ones as words (`lines=` takes a value, `color?` one behind an equals sign or none)."""

    short: str = ""
    long: str = ""
    operands: Operands = "paths"
    """Files; a pattern and then files; text that names no file; or nothing at all."""
    safe: bool = True
    """Not one of its options does harm, so that file names may look like options."""
    expands: bool = False
    """Where that is not so: patterns may still stand for file names, as long as none of those that they match
    begins with a dash."""
    here: bool = False
    """It reads the directory it runs in when no file is named."""
    recursive: str = ""
    """Options that make it do so."""
    most: int | None = None
    """The most operands it may have, because one more would be written to."""
    numbers: bool = False
    """A number may be an option, as in `head -5`."""
    files: str = ""
    """Options whose value is a file that is read."""
    patterns: str = ""
    """Options that bring the pattern along, so that every operand is a file."""
    follows: str = ""
    """Options that make it follow the links in the folders that it goes into, a plus sign between those that
    do so together; `always` where none is needed."""
    character_sets: str = ""
    """Options whose value is a character set, and the path of a file where there is a slash in it."""
    limits: str = ""
    """Options that end its reading, so that a device without an end may be read."""
    letters: Letters = "getopt"
    """How a word of short options is read.

    `apart`: letters stand together, and each value is a word of its own (`tree -Io a b` has two).
    `alone`: the first letter is the option, and only a number may follow it (`xxd -bc 5` has no `-c`)."""


class Verdict(Struct, frozen=True):
    """What can be said of one use of a command."""

    why: str
    harmless: bool = False
    reads: tuple[Word, ...] = ()
    """Operands that are read, relative to where the command runs."""
    here: bool = False
    """It reads the directory it runs in."""
    programs: tuple[str, ...] = ()
    """Programs that it starts in turn."""
    follows: bool = False
    """It goes into the folders that it reads and follows the links in them."""
    tree_paths: tuple[str, ...] = ()
    """Paths in commits of a repository that it names."""
    shows_tree: bool = False
    """It may show what is in any file that the repository keeps."""
    shown_paths: tuple[str, ...] = ()
    """Where it says which: files and folders that it shows nothing besides of."""
    shown_names: tuple[str, ...] = ()
    """Words that name such a path or a commit."""
    lists: tuple[str, ...] = ()
    """Folders from which it is given the names of files."""
    exactly: bool = False
    """It is given them as they are, whatever characters are in them."""
    expands: bool = False
    """Its patterns may match a file name that begins with a dash, which it would take for an option."""
    service: str = ""
    """The program whose rule for read-only uses covers it, although it is not harmless."""


class Parsed(Struct, frozen=True):
    """Words of a command sorted into options and operands."""

    operands: tuple[Word, ...] = ()
    options: frozenset[str] = frozenset()
    values: tuple[tuple[str, Word], ...] = ()


class Refused(ValueError):
    """An option is not on the list of harmless ones."""


def look(name: str, use: HarmlessUse, words: tuple[Word, ...]) -> Verdict:
    """Judge the words behind the name of a command."""
    try:
        parsed = parse(use, words)
    except Refused as reason:
        return Verdict(f"{name}: {reason}")
    operands = parsed.operands
    if use.operands == "none" and operands:
        return Verdict(f"{name} takes no operands when it only reads")
    if use.operands in ("text", "none"):
        # A pattern of file names shows what is in a directory.
        return Verdict(f"{name} only reads", True, tuple(word for word in operands if word.glob is not None))
    if use.operands == "pattern" and not _has_one(parsed, use.patterns):
        # A pattern of file names becomes several words: only the first of them is the pattern.
        operands = operands[1:] if operands and operands[0].glob is None else operands
    if use.most is not None and (len(operands) > use.most or any(not word.literal for word in operands)):
        return Verdict(f"{name} may write to its last operand")
    here = use.here or _has_one(parsed, use.recursive)
    reads = operands
    if parsed.values and use.files:
        files = use.files.split()
        reads = (*operands, *(word for option, word in parsed.values if option in files))
    if _has_one(parsed, use.limits):
        reads = tuple(word for word in reads if not (word.literal and word.value in ENDLESS))
    follows = use.follows != "" and any(
        each == "always" or parsed.options.issuperset(each.split("+")) for each in use.follows.split()
    )
    expands = use.expands and may_begin_with_dash(operands)
    return Verdict(f"{name} only reads", True, reads, not operands and here, follows=follows, expands=expands)


def may_begin_with_dash(operands: tuple[Word, ...]) -> bool:
    """Whether a pattern among them begins with something that stands for any character."""
    return any(word.glob == "" for word in operands)


def _has_one(parsed: Parsed, options: str) -> bool:
    """Whether one of these options is among those of a command."""
    return bool(options and parsed.options) and not parsed.options.isdisjoint(options.split())


def parse(use: HarmlessUse, words: tuple[Word, ...]) -> Parsed:
    """Sort words into options and operands.

    Raises Refused for an option that is not listed."""
    operands: list[Word] = []
    options: set[str] = set()
    values: list[tuple[str, Word]] = []
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.literal:
            _check_uncertain(use, word)
            operands.append(word)
            continue
        value = word.value
        writes = use.most is not None and use.operands == "paths"
        if writes and operands and value.startswith("-") and value != "-":
            # Many programs, and on some systems all, take options before the first operand only.
            raise Refused(f"{value} may be a file to write to")
        if value == "--":
            for each in words[index:]:
                _check_certain_enough(use, each)
            operands += words[index:]
            break
        if value == "-" or not value.startswith("-"):
            operands.append(word)
            continue
        if use.numbers and _NUMBER.fullmatch(value):
            continue
        name, given, takes_next = _long(use, word) if value.startswith("--") else _short(use, word, options)
        options.add(name)
        if takes_next:
            if index == len(words):
                raise Refused(f"{value} is missing its value")
            given = words[index]
            index += 1
            _check_value(use, given, name)
        if given is not None:
            if name in use.character_sets.split() and not _CHARACTER_SET.fullmatch(given.value):
                raise Refused(f"{given.raw} may be a file")
            values.append((name, given))
    return Parsed(tuple(operands), frozenset(options), tuple(values))


def _check_uncertain(use: HarmlessUse, word: Word) -> None:
    """A word that bash fills in may look like an option."""
    if word.stream:
        return
    if word.doubt is not None:
        if use.operands != "text" or not (use.safe or word.dashless) or not word.inert:
            raise Refused(f"{word.doubt} in {word.raw}")
    elif (
        not use.safe
        and not (use.expands and word.glob == "" and _is_one_pattern(word))
        and (not word.glob or word.glob.startswith("-"))
    ):
        raise Refused(f"{word.raw} may become an option")


def _is_one_pattern(word: Word) -> bool:
    """Whether bash puts names that exist in the place of the whole word, with nothing beside them."""
    return "$" not in word.raw or _VARIABLE.fullmatch(word.raw) is not None


def _check_certain_enough(use: HarmlessUse, word: Word) -> None:
    if not word.stream and word.doubt is not None and (use.operands != "text" or not word.inert):
        raise Refused(f"{word.doubt} in {word.raw}")


def _check_value(use: HarmlessUse, word: Word, option: str) -> None:
    if use.safe and option not in use.files.split() and word.inert and not word.splits and word.glob is None:
        return
    if not word.literal:
        raise Refused(f"{word.doubt or 'a pattern'} in {word.raw}")
    if not use.safe and _LIKE_OPTION.match(word.value):
        # Where versions differ on whether an option takes a value, this would be an option.
        raise Refused(f"{word.value} may be an option or a value")


def _long(use: HarmlessUse, word: Word) -> tuple[str, Word | None, bool]:
    name, equals, given = word.value.partition("=")
    kind = _long_kinds(use.long).get(name[2:])
    # Not abbreviated either: which option that means depends on all that the installed program has.
    if kind is None or (equals and kind == ""):
        raise Refused(f"{word.value} isn't a known read-only option")
    value = Word(word.raw, given) if equals else None
    return name, value, kind == "=" and not equals


def _short(use: HarmlessUse, word: Word, options: set[str]) -> tuple[str, Word | None, bool]:
    """The last option of a cluster, with its value; those before it are only noted."""
    kinds = _short_kinds(use.short)
    cluster = word.value[1:]
    for index, letter in enumerate(cluster):
        kind = kinds.get(letter)
        if kind is None:
            raise Refused(f"-{letter} isn't a known read-only option")
        rest = cluster[index + 1 :]
        if rest and not _is_read_like_getopt(use, kind, rest):
            raise Refused(f"{word.value} does not combine short options")
        if kind == ":":
            return f"-{letter}", Word(word.raw, rest) if rest else None, not rest
        if kind == "::":
            return f"-{letter}", Word(word.raw, rest) if rest else None, False
        options.add(f"-{letter}")
    return f"-{cluster[-1]}", None, False


def _is_read_like_getopt(use: HarmlessUse, kind: str, rest: str) -> bool:
    """Whether a program takes what follows a letter as getopt would."""
    match use.letters:
        case "getopt":
            return True
        case "apart":
            return not kind
        case "alone":
            return kind == ":" and rest.isdecimal()


@cache
def _short_kinds(short: str) -> dict[str, str]:
    return {found[1]: found[2] for found in re.finditer(r"([^:])(:{0,2})", short)}


@cache
def _long_kinds(long: str) -> dict[str, str]:
    return {word.rstrip("=?"): word[-1] if word[-1] in "=?" else "" for word in long.split()}

"""What `xargs` is fed: names of files below known folders, where the commands before it show that."""

import re

from msgspec import Struct

from bridle.permissions.shell.programs.git_commands import SUBCOMMANDS
from bridle.permissions.shell.programs.options import HarmlessUse, Parsed, Refused, parse
from bridle.permissions.shell.programs.read_commands import PLAIN
from bridle.permissions.shell.programs.small_languages import FIND_ACTS
from bridle.permissions.shell.syntax.simple_command import Simple
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.word_lists import listed

_FIND_PRINTS = FIND_ACTS | {"-printf", "-ls"}
_LISTS_NAMES = {
    "grep": (
        {"-l", "-L", "--files-with-matches", "--files-without-match"},
        listed("-o -c -q --count --null -Z"),
    ),
    "rg": (
        {"-l", "--files-with-matches", "--files-without-match", "--files"},
        listed("-r --replace --json -c -0"),
    ),
}
_NULLS = frozenset({"-Z", "--null", "-0"})
_LS_FILES = listed(
    "-c -m -o -d --cached --modified --others --exclude-standard --deduplicate -z --deleted -x --exclude"
)
_DIFF_NAMES = listed("--name-only --diff-filter -z --no-renames")
_LS_NAMES = listed("-1 -r -t -S -A -d --reverse")
_FILTERS: dict[str, frozenset[str]] = {
    "head": listed("-n --lines"),
    "tail": listed("-n --lines"),
    "sort": listed("-u -r -n -f -V -z --unique --reverse"),
    "uniq": listed("-u -d -i"),
    "grep": listed("-v -E -F -i -w -x -z -P -e --invert-match --extended-regexp --fixed-strings"),
}
_PLAIN_ROOT = re.compile(r"[\w./+@%-]+", re.ASCII)


class XargsInput(Struct, frozen=True):
    """Where the names come from."""

    roots: tuple[str, ...]
    """Folders, relative to where the commands run."""
    nulls: bool
    """A NUL stands behind each, so that a blank in a name does not end it."""


def fed_by(simples: tuple[Simple, ...]) -> XargsInput | None:
    """What the commands of a pipeline before `xargs` print, if that is names of files and nothing else."""
    if not simples or not all(_is_plain(each) for each in simples):
        return None
    fed = _listing(simples[0].words)
    for each in simples[1:]:
        if fed is None or not _passes_on(each.words):
            return None
    return fed


def _is_plain(simple: Simple) -> bool:
    """Whether a command prints what it prints, with nothing but its errors sent elsewhere."""
    if simple.kind != "command" or simple.assignments or not all(word.doubt is None for word in simple.words):
        return False
    return all(re.fullmatch(r"2>\s*/dev/null", each.raw) for each in simple.redirections)


def _listing(words: tuple[Word, ...]) -> XargsInput | None:
    match words[0].value:
        case "find":
            return _find(words[1:])
        case "git":
            return _git(words[1:])
        case "ls":
            return _ls(words[1:])
        case "grep" | "rg" as name:
            return _search(name, words[1:])
        case _:
            return None


def _find(words: tuple[Word, ...]) -> XargsInput | None:
    values = [word.value for word in words]
    if not _FIND_PRINTS.isdisjoint(values) or not all(word.literal for word in words):
        return None
    nulls = "-print0" in values
    if nulls and "-print" in values:
        return None
    roots = find_roots(words)
    return None if roots is None else XargsInput(roots, nulls)


def find_roots(words: tuple[Word, ...]) -> tuple[str, ...] | None:
    """The folders that `find` starts from; None where that is not certain."""
    if not all(word.literal for word in words):
        return None
    roots: list[str] = []
    for value in (word.value for word in words):
        if value == "-P" and not roots:
            continue
        if value.startswith(("-", "(", "!", ",", ")")):
            break
        roots.append(value)
    return tuple(roots or ["."]) if all(map(_PLAIN_ROOT.fullmatch, roots)) else None


def _git(words: tuple[Word, ...]) -> XargsInput | None:
    values = [word.value for word in words]
    if values[:1] == ["ls-files"]:
        parsed = _parsed(SUBCOMMANDS["ls-files"], words[1:])
        fine = parsed is not None and parsed.options <= _LS_FILES
        return XargsInput((".",), "-z" in parsed.options) if parsed is not None and fine else None
    if values[:1] == ["diff"]:
        # Without a commit, the names are those of the index, in which git lets none lead out.
        parsed = _parsed(SUBCOMMANDS["diff"], words[1:])
        fine = parsed is not None and not parsed.operands and parsed.options <= _DIFF_NAMES
        fine = fine and parsed is not None and "--name-only" in parsed.options
        return XargsInput((".",), "-z" in parsed.options) if parsed is not None and fine else None
    return None


def _ls(words: tuple[Word, ...]) -> XargsInput | None:
    """What `ls` prints without its columns: names below here, some of them without their folder."""
    parsed = _parsed(PLAIN["ls"], words)
    if parsed is None or not parsed.options <= _LS_NAMES:
        return None
    below = all(
        not word.value.startswith(("/", "~")) and ".." not in word.value.split("/")
        for word in parsed.operands
    )
    return XargsInput((".",), nulls=False) if below else None


def _search(name: str, words: tuple[Word, ...]) -> XargsInput | None:
    parsed = _parsed(PLAIN[name], words)
    lists, others = _LISTS_NAMES[name]
    if parsed is None or parsed.options.isdisjoint(lists) or parsed.options & (others - _NULLS):
        return None
    use = PLAIN[name]
    brings = not parsed.options.isdisjoint(use.patterns.split())
    roots = _roots(parsed)[0 if brings else 1 :]
    return XargsInput(tuple(roots) or (".",), not parsed.options.isdisjoint(_NULLS))


def _passes_on(words: tuple[Word, ...]) -> bool:
    """Whether a command prints some of the lines that it is given, as they are."""
    name = words[0].value
    options = _FILTERS.get(name)
    parsed = None if options is None else _parsed(PLAIN[name], words[1:])
    if parsed is None or options is None or not parsed.options <= options:
        return False
    brings = name == "grep" and "-e" not in parsed.options
    return len(parsed.operands) == (1 if brings else 0)


def _parsed(use: HarmlessUse, words: tuple[Word, ...]) -> Parsed | None:
    try:
        parsed = parse(use, words)
    except Refused:
        return None
    return parsed


def _roots(parsed: Parsed | None) -> list[str]:
    """The folders of operands; of a pattern, the one it begins in."""
    return (
        []
        if parsed is None
        else [
            word.value if word.glob is None else word.glob.rpartition("/")[0] or "."
            for word in parsed.operands
        ]
    )

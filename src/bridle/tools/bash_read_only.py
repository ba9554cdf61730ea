"""Programs that only read when they are used with options listed here."""

import re
from typing import Literal

from msgspec import Struct


class _Use(Struct, frozen=True, kw_only=True):
    """How a program may be used."""

    flags: str = ""
    """Short options without a value."""
    valued: str = ""
    """Short options with a value."""
    long: frozenset[str] = frozenset()
    """Long options; their values are written with an equals sign."""
    operands: Literal["paths", "pattern and paths", "text", "format", "none"] = "paths"
    count: bool = False
    """A number may be an option, as in `head -5`."""
    default: str | None = None
    """What is read when no path is given."""


def reads(program: str, words: list[str]) -> tuple[str, ...] | None:
    """The paths that are read; None when the program may do more than read."""
    use = _USES.get(program)
    if program == "git":
        use = _GIT.get(words[0]) if words else None
        words = words[1:]
    if use is None or (operands := _operands(use, words)) is None:
        return None
    match use.operands:
        case "text":
            return ()
        case "none":
            return None if operands else ()
        case "format":
            return None if any(not word.startswith("+") for word in operands) else ()
        case "pattern and paths":
            if not operands:
                return None
            operands = operands[1:]
        case "paths":
            pass
    if not operands and use.default is not None:
        return (use.default,)
    return tuple(operands)


def _operands(use: _Use, words: list[str]) -> list[str] | None:
    """The words that are not options; None when an option is not listed."""
    operands: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--":
            return [*operands, *rest]
        if word == "-" or not word.startswith("-"):
            operands.append(word)
        elif word.startswith("--"):
            if word.partition("=")[0][2:] not in use.long:
                return None
        elif not (use.count and re.fullmatch(r"-\d+", word)):
            takes_next = _short(use, word[1:])
            if takes_next is None or (takes_next and next(rest, None) is None):
                return None
    return operands


def _short(use: _Use, cluster: str) -> bool | None:
    """Whether a cluster of short options takes the next word; None when one of them is not listed."""
    for index, letter in enumerate(cluster):
        if letter in use.valued:
            return index == len(cluster) - 1
        if letter not in use.flags:
            return None
    return False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_DIFF = _words(
    "stat shortstat numstat name-only name-status summary cached staged patch unified no-color word-diff"
    " ignore-all-space ignore-space-change ignore-blank-lines minimal patience histogram diff-filter"
    " find-renames no-renames compact-summary relative function-context no-ext-diff no-textconv quiet"
    " exit-code"
)
_LOG = _DIFF | _words(
    "oneline graph all decorate no-decorate format pretty since until after before author committer grep"
    " max-count skip reverse merges no-merges first-parent follow abbrev-commit abbrev date branches tags"
    " remotes topo-order date-order no-patch"
)
_GIT = {
    "status": _Use(
        flags="sbvz",
        long=_words("short branch porcelain long verbose untracked-files ignored show-stash no-renames"),
    ),
    "log": _Use(flags="pz", valued="nUSGL", long=_LOG, count=True),
    "show": _Use(flags="psz", valued="U", long=_LOG),
    "diff": _Use(flags="pwbzR", valued="U", long=_DIFF),
    # A name without a listing option would make a branch.
    "branch": _Use(
        flags="arv",
        long=_words("all remotes verbose list show-current no-color merged no-merged"),
        operands="none",
    ),
}
_GREP = _words(
    "ignore-case invert-match word-regexp line-regexp count files-with-matches files-without-match"
    " line-number with-filename no-filename only-matching recursive include exclude exclude-dir max-count"
    " after-context before-context context extended-regexp fixed-strings perl-regexp quiet no-messages color"
)
_RIPGREP = _words(
    "ignore-case smart-case case-sensitive invert-match word-regexp line-regexp count count-matches"
    " files-with-matches files-without-match line-number no-line-number with-filename no-filename"
    " only-matching"
    " glob type type-not max-count max-depth max-columns after-context before-context context fixed-strings"
    " pcre2 quiet hidden no-ignore multiline heading no-heading color sort sortr stats json trim no-config"
)
_USES = {
    "ls": _Use(
        flags="aAbBcCdFgGhiklmnNopqQrRsStuUvxXZ1",
        long=_words(
            "all almost-all human-readable recursive reverse size sort time color classify directory inode"
            " group-directories-first full-time"
        ),
        default=".",
    ),
    "pwd": _Use(flags="LP", operands="none"),
    "echo": _Use(flags="neE", operands="text"),
    "cat": _Use(
        flags="AbeEnstTuv", long=_words("number number-nonblank show-all show-ends show-tabs squeeze-blank")
    ),
    "head": _Use(flags="qvz", valued="nc", long=_words("lines bytes quiet verbose"), count=True),
    # Following a file never ends.
    "tail": _Use(flags="qvz", valued="nc", long=_words("lines bytes quiet verbose"), count=True),
    "wc": _Use(flags="clmLw", long=_words("bytes chars lines words max-line-length")),
    "stat": _Use(flags="Lft", valued="c", long=_words("dereference file-system format printf terse")),
    "file": _Use(flags="bhiLN", long=_words("brief mime mime-type mime-encoding dereference no-dereference")),
    "du": _Use(
        flags="abchkmsSx",
        valued="dt",
        long=_words("all apparent-size bytes total human-readable max-depth summarize one-file-system"),
        default=".",
    ),
    "df": _Use(flags="ahHiklPT", long=_words("all human-readable inodes local portability print-type total")),
    "which": _Use(flags="a", operands="text"),
    "whoami": _Use(operands="none"),
    "date": _Use(flags="uR", long=_words("utc universal rfc-email iso-8601 rfc-3339"), operands="format"),
    "uname": _Use(flags="asnrvmpio", long=_words("all"), operands="none"),
    "grep": _Use(
        flags="ivwxclLnHhorEFPqs", valued="ABCm", long=_GREP, operands="pattern and paths", default="."
    ),
    "rg": _Use(
        flags="ivwxclnNHIoFPqSsuU",
        valued="ABCgtTmMd",
        long=_RIPGREP,
        operands="pattern and paths",
        default=".",
    ),
}

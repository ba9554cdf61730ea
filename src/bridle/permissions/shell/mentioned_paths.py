"""Paths that the words of a command name, for rules that refuse: to refuse too much is the safe side."""

import os.path
import re

from bridle.permissions.shell.programs.file_commands import FILE_COMMANDS
from bridle.permissions.shell.programs.read_commands import PLAIN
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.word_lists import listed

_READERS = (
    frozenset(PLAIN)
    | FILE_COMMANDS
    | listed("""
    sed awk gawk mawk jq yq find source . less more most bat batcat view vi vim nvim nano emacs zcat zless
    zgrep bzcat xzcat gzip gunzip bzip2 xz zstd tar zip unzip scp rsync curl wget dd tee install ln patch
    openssl gpg python python3 node ruby perl php bash sh zsh dash ksh fish sqlite3 pandoc iconv split
    csplit sponge nc ncat socat ssh xargs env sudo git hg look pr ul vimdiff sdiff diff3 m4 envsubst age
""")
)
"""Commands that show or pass on what is in the files that their words name."""
_FILLED = (frozenset(PLAIN) | FILE_COMMANDS | _READERS | {"date"}) - listed("""
    git hg ssh xargs env sudo curl wget find rsync scp
""")
_QUOTED = re.compile(r"[\"']([^\"'\s]+)[\"']")
_OWN_FOLDER = re.compile(r"^/proc/[^/]+(?:/task/[^/]+)?/(?:cwd/|root(?=/))")
_MOST_FORMS = 20
_ALWAYS_PATHS = re.compile(r"file://|/proc/").match
_NAMED = re.compile(r"(?:-{0,2}[\w-]+=@?|@|-\w@?)(.+)", re.DOTALL)
_MOST = 200


def mentioned(words: tuple[Word, ...], places: frozenset[str]) -> list[str]:
    """Every path that the words behind the name may mean, absolute and with `..` left in it."""
    name = os.path.basename(words[0].value)
    if name not in _READERS:
        return []
    found: list[str] = []
    for word in words[1 : _MOST + 1]:
        if word.doubt is not None or word.stream:
            continue
        for text in _paths(word.value, git=name == "git"):
            found += [os.path.join(place, text) for place in sorted(places)]
    return found


def mentioned_in_forms(forms: tuple[str, ...], places: tuple[str, ...]) -> list[str]:
    """Every path that a command may mean when its variables, braces and substitutions are filled in.

    The forms have lost their quotes, so a word with blanks counts as several: only for programs to which
    words are files, patterns or code."""
    words: dict[str, None] = {}
    for form in forms[:_MOST_FORMS]:
        name, *given = form.split(maxsplit=_MOST)
        if not given:
            continue
        is_filled = os.path.basename(name) in _FILLED
        words |= dict.fromkeys(given if is_filled else filter(_ALWAYS_PATHS, given))
    found: list[str] = []
    for word in words:
        quoted = _QUOTED.findall(word)
        for text in (text for value in (word, *quoted) for text in _paths(_bare(value), git=False)):
            own = _OWN_FOLDER.sub("", text)
            found += [f"{place}/{own}" if own[:1] != "/" else own for place in places]
    return list(dict.fromkeys(found)) if found else found


def own_paths(paths: tuple[str, ...], places: tuple[str, ...]) -> list[str]:
    """What paths through a process's own folder mean: each process has another one."""
    own = [_OWN_FOLDER.sub("", path) for path in paths if _OWN_FOLDER.match(path)]
    return [os.path.join(place, text) for text in own for place in places]


def _bare(value: str) -> str:
    """A path without the quotes and marks that may stand around it."""
    return value.strip("'\"();{}<>,").removeprefix("file://").removeprefix("~+/")


def _paths(value: str, *, git: bool) -> list[str]:
    found = [] if value.startswith("-") else [value]
    if git and ":" in value:
        # A file in a commit: `HEAD:path`.
        found.append(value.rpartition(":")[2].lstrip("/"))
    if named := _NAMED.fullmatch(value):
        found.append(named[1])
    return [text for text in found if text and "\0" not in text]

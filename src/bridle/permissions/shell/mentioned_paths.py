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


def _paths(value: str, *, git: bool) -> list[str]:
    found = [] if value.startswith("-") else [value]
    if git and ":" in value:
        # A file in a commit: `HEAD:path`.
        found.append(value.rpartition(":")[2].lstrip("/"))
    if named := _NAMED.fullmatch(value):
        found.append(named[1])
    return [text for text in found if text and "\0" not in text]

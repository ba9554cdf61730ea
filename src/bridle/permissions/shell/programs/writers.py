"""Commands that write what their words name: a rule that lets them run does not let them write anywhere."""

import re
from fnmatch import fnmatchcase

from msgspec import Struct

from bridle.permissions.files.protected_names import FILES, FOLDERS
from bridle.permissions.shell.programs.file_commands import TouchedPaths
from bridle.permissions.shell.syntax.words import Word
from bridle.permissions.word_lists import listed

_ALL = listed("""
    tee chmod chown chgrp ln install truncate patch rsync scp mkfifo mknod unlink shred split csplit sponge
    gzip gunzip bzip2 bunzip2 xz unxz lzma zstd unzstd lz4 zip rename setfacl chattr fallocate crontab ed ex
    cp mv rm rmdir mkdir touch ditto link cpio mktemp
""")
"""Every operand may be written, and so may what stands behind an option."""
_FIRST_IS_NONE = frozenset({"chmod", "chown", "chgrp", "setfacl", "chattr"})
"""Their first operand says how."""
_OPTIONS = {
    "tar": "-C --directory -f --file",
    "bsdtar": "-C --directory -f --file",
    "unzip": "-d",
    "7z": "-o",
    "curl": "-o --output --output-dir -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr",
    "wget": "-O --output-document -o --output-file -a --append-output -P --directory-prefix --save-cookies",
    "sort": "-o --output",
    "uniq": "",
    "gcc": "-o", "g++": "-o", "cc": "-o", "c++": "-o", "clang": "-o", "clang++": "-o", "ld": "-o", "as": "-o",
    "rustc": "-o --out-dir", "go": "-o", "tsc": "--outDir --outFile", "esbuild": "--outfile --outdir",
    "openssl": "-out", "gpg": "-o --output", "ssh-keygen": "-f", "pandoc": "-o --output", "dot": "-o",
    "git": "-o --output --output-directory --file --git-dir --separate-git-dir", "objcopy": "",
    "find": "-fprint -fprint0 -fls -fprintf", "xmllint": "--output", "protoc": "-o",
    "strace": "-o", "ltrace": "-o", "time": "-o --output", "script": "", "diff": "--output",
    "iconv": "-o --output",
    "perl": "", "ruby": "", "yq": "", "awk": "", "gawk": "", "sqlite3": "", "base64": "-o", "xxd": "",
    "pip": "-t --target -d --dest --prefix --root", "pip3": "-t --target -d --dest --prefix --root",
    "npm": "--prefix", "jq": "", "cargo": "--target-dir --root",
}  # fmt: skip
"""Options whose value is a file or folder that is written."""
_LAST = frozenset({"uniq", "objcopy", "script", "xxd"})
"""The last operand is written, too."""
_IN_PLACE = {
    "perl": re.compile(r"-[A-Za-z0-9]*i"),
    "ruby": re.compile(r"-[A-Za-z0-9]*i"),
    "yq": re.compile(r"-[A-Za-z]*i|--inplace"),
    "awk": re.compile(r"-i|--include"),
    "gawk": re.compile(r"-i|--include"),
    "sed": re.compile(r"-[A-Za-z]*i|--in-place|-s"),
}
"""With such an option they write every file that they are given."""
_NAMES = (*FOLDERS, *FILES)


_SHOWN_NAMES = tuple(name for name in _NAMES if not name.startswith("."))


class _Named(Struct):
    """Words for files, as they come together."""

    words: list[Word]
    operands: list[Word]


def written(name: str, words: tuple[Word, ...]) -> TouchedPaths | None:
    """What a command may write, by its words; None for one that is not known to write."""
    if name == "dd":
        return _touched([_behind(word, "of=") for word in words if word.value.startswith("of=")])
    everything = name in _ALL or _edits_in_place(name, words)
    if not everything and name not in _OPTIONS:
        return None
    named = _sorted(words, frozenset(_OPTIONS.get(name, "").split()))
    if everything:
        return _touched([*named.words, *named.operands[1 if name in _FIRST_IS_NONE else 0 :]])
    if name == "sqlite3":
        return _touched(named.operands[:1])
    last = named.operands[-1:] if name in _LAST and len(named.operands) > 1 else []
    return _touched([*named.words, *last]) if named.words or last else None


def _edits_in_place(name: str, words: tuple[Word, ...]) -> bool:
    option = _IN_PLACE.get(name)
    return option is not None and any(option.match(word.value) for word in words)


def _sorted(words: tuple[Word, ...], options: frozenset[str]) -> _Named:
    named = _Named([], [])
    takes_next = only_operands = False
    for word in words:
        value = word.value
        if takes_next:
            named.words.append(word)
            takes_next = False
        elif only_operands or not value.startswith("-") or value == "-":
            named.operands.append(word)
        elif value == "--":
            only_operands = True
        elif value in options:
            takes_next = True
        elif value.startswith("--"):
            option, equals, _ = value.partition("=")
            if equals and _is_one_of(option, options):
                named.words.append(_behind(word, f"{option}="))
            takes_next = not equals and _is_one_of(option, options)
        elif found := _in_cluster(value, options):
            takes_next = found == len(value)
            if not takes_next:
                named.words.append(_behind(word, value[:found]))
    return named


def _is_one_of(option: str, options: frozenset[str]) -> bool:
    """Long options may be abbreviated."""
    return len(option) > 3 and any(each.startswith(option) for each in options)


def _in_cluster(value: str, options: frozenset[str]) -> int:
    """Where the value of a short option begins in a cluster, none when it has no such option."""
    return next((index + 1 for index in range(1, len(value)) if f"-{value[index]}" in options), 0)


def _behind(word: Word, start: str) -> Word:
    return Word(word.raw, word.value[len(start) :], word.doubt, _cut(word.glob, len(start)))


def _cut(glob: str | None, length: int) -> str | None:
    return None if glob is None else glob[length:]


def _touched(words: list[Word]) -> TouchedPaths:
    writes: list[str] = []
    for word in words:
        if word.stream or word.value == "-":
            continue
        if word.literal:
            writes.append(word.value)
        elif word.doubt is not None or _may_match_protected(word):
            return TouchedPaths(unclear=f"it is unclear what {word.raw} expands to")
        elif word.glob is not None:
            folder = word.glob.rpartition("/")[0]
            writes.append(folder or ("/" if word.glob.startswith("/") else "."))
    return TouchedPaths((), tuple(writes))


def _may_match_protected(word: Word) -> bool:
    """Whether a pattern of file names could become a protected one; a star finds no hidden names."""
    return any(
        fnmatchcase(name, step)
        for step in word.value.split("/")
        if any(mark in step for mark in "*?[")
        for name in (_NAMES if step.startswith(".") else _SHOWN_NAMES)
    )

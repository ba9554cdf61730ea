"""Archives and compressed files: which uses only list them, or print what is in them."""

import re

from bridle.permissions.shell.programs.options import (
    HarmlessUse,
    Refused,
    Verdict,
    may_begin_with_dash,
    parse,
)
from bridle.permissions.shell.syntax.words import Word

Words = tuple[Word, ...]

_TAR = HarmlessUse("tvzjJf:", "list verbose gzip gunzip bzip2 xz zstd file= version help", "text", safe=False)
_TAR_OLD = re.compile(r"[tvzjJ]*f?[tvzjJ]*")
"""Letters without a dash, with which the archive is the next word."""
_UNPACKERS = ("gzip", "bzip2", "xz", "zstd", "lzip", "lzma", "lzop", "compress", "uncompress")
"""What tar starts for an archive, as its first bytes say."""
_GZIP = HarmlessUse(
    "cdlktvqn",
    "stdout to-stdout decompress uncompress list keep test verbose quiet no-name version help",
    safe=False,
    expands=True,
)
_BZIP2 = HarmlessUse("cdktvq", "stdout decompress keep test verbose quiet", safe=False, expands=True)
_XZ = HarmlessUse(
    "cdlktvq",
    "stdout to-stdout decompress uncompress list keep test verbose quiet version help",
    safe=False,
    expands=True,
)
_ZGREP = HarmlessUse("cEFhHilnovwx", "", "pattern", safe=False)
_TO_OUTPUT = frozenset({"-c", "--stdout", "--to-stdout"})
_LOOKS = frozenset({"-l", "--list", "-t", "--test"})
_UNPACKS = frozenset({"-d", "--decompress", "--uncompress"})
_TELLS = frozenset({"--version", "--help"})
_GZIP_NAMES = (".gz", ".tgz", ".z", ".Z", ".taz")
"""For any other name gzip tries these endings, so that another file may be read than the named one."""
_UNZIP = re.compile(r"-(?:q{0,2}[ltpz]q{0,2}|v|Z[12smlhtz]*)")
_ZIPINFO = re.compile(r"-[12smlhtz]+")
_ZIP_PATTERN = re.compile(r"[*?\[\\]")

USES = {
    "tar": _TAR,
    "gzip": _GZIP,
    "gunzip": _GZIP,
    "zcat": _GZIP,
    "bzip2": _BZIP2,
    "bunzip2": _BZIP2,
    "bzcat": _BZIP2,
    "xz": _XZ,
    "unxz": _XZ,
    "xzcat": _XZ,
}


def tar(words: Words) -> Verdict:
    """`tar -t` of one archive that is a file of this machine."""
    old = _without_dash(words)
    if old is None:
        return Verdict("tar: unknown option letters")
    try:
        parsed = parse(_TAR, old)
    except Refused as reason:
        return Verdict(f"tar: {reason}")
    if parsed.options.isdisjoint({"-t", "--list"}):
        return Verdict("tar writes unless it lists")
    files = [word for option, word in parsed.values if option in ("-f", "--file")]
    if len(files) != 1 or not all(word.literal for word in (*files, *parsed.operands)):
        return Verdict("tar: it is unclear which archive it reads")
    if ":" in files[0].value:
        return Verdict("tar: a name with a colon refers to another machine")
    return Verdict("tar only lists", True, tuple(files), programs=_UNPACKERS)


def _without_dash(words: Words) -> Words | None:
    """The words of tar with its old letters (`tar tzf x`) written as options."""
    if not words or not words[0].literal or words[0].value.startswith("-"):
        return words
    letters, rest = words[0].value, words[1:]
    if _TAR_OLD.fullmatch(letters) is None or ("f" in letters and not rest):
        return None
    if "f" in letters and (not rest[0].literal or rest[0].value.startswith("-")):
        return None
    raw = words[0].raw
    flags = tuple(Word(raw, f"-{letter}") for letter in letters if letter != "f")
    return (*flags, *((Word(raw, "-f"),) if "f" in letters else ()), *rest)


def compressor(name: str, words: Words) -> Verdict:
    """`gzip`, `bzip2` and `xz` under all their names, when they list, test or print."""
    use = USES[name]
    try:
        parsed = parse(use, words)
    except Refused as reason:
        return Verdict(f"{name}: {reason}")
    operand = next((index for index, word in enumerate(words) if not word.value.startswith("-")), len(words))
    if any(word.value.startswith("-") and word.value != "-" for word in words[operand:]):
        return Verdict(f"{name}: some systems read an option after a file as a file")
    options = parsed.options
    prints = name in ("zcat", "bzcat", "xzcat") or not options.isdisjoint(_TO_OUTPUT | _TELLS)
    # Which of several wins differs from one to the next.
    unpacks = name in ("gunzip", "bunzip2", "unxz") or not options.isdisjoint(_UNPACKS)
    if not prints and (unpacks or options.isdisjoint(_LOOKS)):
        return Verdict(f"{name} replaces a file")
    if use is _GZIP and not all(_is_gzip_name(word) for word in parsed.operands):
        return Verdict(f"{name} also tries other file extensions")
    starts = ("gzip",) if use is _GZIP else ()
    expands = may_begin_with_dash(parsed.operands)
    return Verdict(f"{name} only prints", True, parsed.operands, programs=starts, expands=expands)


def _is_gzip_name(word: Word) -> bool:
    return word.stream or (word.doubt is None and (word.value == "-" or word.value.endswith(_GZIP_NAMES)))


def zgrep(words: Words) -> Verdict:
    """`zgrep`, a script that makes its words part of another: with plain ones only."""
    try:
        parsed = parse(_ZGREP, words)
    except Refused as reason:
        return Verdict(f"zgrep: {reason}")
    operands = parsed.operands
    plain = all(word.literal and word.value.isprintable() for word in operands)
    if len(operands) < 2 or not plain or any(word.literal and word.value == "--" for word in words):
        return Verdict("zgrep: its arguments are not literal")
    if not all(_is_gzip_name(word) for word in operands[1:]):
        return Verdict("zgrep also tries other file extensions")
    return Verdict("zgrep only prints", True, operands[1:], programs=("gzip", "grep", "sed"))


def unzip(words: Words) -> Verdict:
    """`unzip` that lists, tests or prints."""
    if not words or not words[0].literal or _UNZIP.fullmatch(words[0].value) is None:
        return Verdict("unzip writes unless it lists, tests or prints")
    return _zipped("unzip", words[1:])


def zipinfo(words: Words) -> Verdict:
    """`zipinfo`, which is `unzip -Z`."""
    listed = bool(words) and words[0].literal and _ZIPINFO.fullmatch(words[0].value) is not None
    return _zipped("zipinfo", words[1:] if listed else words)


def _zipped(name: str, words: Words) -> Verdict:
    if not words or not all(word.literal and not word.value.startswith("-") for word in words):
        return Verdict(f"{name}: unknown arguments")
    archive = words[0]
    if _ZIP_PATTERN.search(archive.value):
        return Verdict(f"{name} reads every matching file")
    tried = tuple(Word(archive.raw, f"{archive.value}{ending}") for ending in ("", ".zip", ".ZIP"))
    return Verdict(f"{name} only reads", True, tried)

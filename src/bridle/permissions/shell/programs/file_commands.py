"""The simple file commands: what they read and what they write."""

import os.path

from msgspec import Struct

from bridle.permissions.shell.programs.options import HarmlessUse, Parsed, Refused, parse
from bridle.permissions.shell.programs.sed_scripts import only_prints
from bridle.permissions.shell.syntax.words import Word

USES = {
    "mkdir": HarmlessUse("pvm:", "parents verbose mode="),
    "touch": HarmlessUse("acmd:t:fh", "no-create date= no-dereference time="),
    "rm": HarmlessUse("rRfiIvd", "recursive force verbose dir interactive? one-file-system"),
    "rmdir": HarmlessUse("pv", "parents verbose ignore-fail-on-non-empty"),
    "mv": HarmlessUse(
        "finuvTt:b",
        "force interactive no-clobber update? verbose no-target-directory target-directory= backup?",
    ),
    "cp": HarmlessUse(
        "rRapfinuvTt:dxPb",
        "recursive archive preserve? no-preserve= force interactive no-clobber update? verbose"
        " no-target-directory target-directory= no-dereference one-file-system reflink? backup?",
    ),
    "sed": HarmlessUse(
        "i::nErEe:uz", "in-place? quiet silent regexp-extended expression= null-data unbuffered", safe=False
    ),
}
FILE_COMMANDS = frozenset(USES)
_WHOLE = frozenset({
    "-r", "-R", "--recursive", "-a", "--archive", "-d", "-P", "--no-dereference",
})  # fmt: skip
"""With one of these cp takes folders along, or links as links."""


class TouchedPaths(Struct, frozen=True):
    """What a file command would touch, relative to where it runs."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    unclear: str | None = None
    simple: bool = False
    """It is one of the simple ones, used in a known way."""
    copies: tuple[tuple[str, str], ...] = ()
    """From where to where whole folders, or links as links, would go."""


def touched(name: str, words: tuple[Word, ...]) -> TouchedPaths | None:
    """What a file command touches; None for any other command."""
    use = USES.get(name)
    if use is None or (name == "sed" and not _in_place(words)):
        return None
    for word in words:
        if not word.literal:
            return TouchedPaths(unclear=f"it is unclear what {word.raw} expands to")
    try:
        parsed = parse(use, words)
    except Refused:
        return None
    match name:
        case "mv" | "cp":
            return _transfer(name, parsed)
        case "sed":
            return _edit(parsed)
        case _:
            operands = tuple(word.value for word in parsed.operands)
            return TouchedPaths((), operands, None, bool(operands))


def _transfer(name: str, parsed: Parsed) -> TouchedPaths:
    sources = [word.value for word in parsed.operands]
    values = dict(parsed.values)
    folder = values.get("-t") or values.get("--target-directory")
    exactly = not parsed.options.isdisjoint({"-T", "--no-target-directory"})
    if folder is not None and exactly:
        return TouchedPaths(unclear=f"{name} cannot take both -t and -T")
    if folder is None:
        if len(sources) < 2:
            return TouchedPaths(unclear=f"{name} is missing an operand")
        sources, target = sources[:-1], sources[-1]
    else:
        target = folder.value
    if any(os.path.basename(source.rstrip("/")) in ("", ".", "..") for source in sources):
        return TouchedPaths(unclear=f"it is unclear which files {name} includes")
    pairs = [
        pair for source in sources for pair in _ways(source, target, exactly=exactly, into=folder is not None)
    ]
    whole = name == "mv" or not parsed.options.isdisjoint(_WHOLE)
    writes = (target, *(aim for _, aim in pairs), *(sources if name == "mv" else ()))
    return TouchedPaths(
        tuple(sources), tuple(dict.fromkeys(writes)), None, True, tuple(pairs) if whole else ()
    )


def _ways(source: str, target: str, *, exactly: bool, into: bool) -> list[tuple[str, str]]:
    """Where a source may go: to the target itself, or into it when it is a folder."""
    inside = (source, os.path.join(target, os.path.basename(source.rstrip("/"))))
    if exactly:
        return [(source, target)]
    return [inside] if into else [(source, target), inside]


def _edit(parsed: Parsed) -> TouchedPaths:
    scripts = [word.value for option, word in parsed.values if option in ("-e", "--expression")]
    files = [word.value for word in parsed.operands]
    if not scripts:
        scripts, files = files[:1], files[1:]
    if not scripts or not files or not all(map(only_prints, scripts)):
        return TouchedPaths(unclear="the script of sed may do more than edit its files")
    suffix = next((word.value for option, word in parsed.values if option in ("-i", "--in-place")), "")
    if "/" in suffix or "*" in suffix:
        return TouchedPaths(unclear="it is unclear where sed writes its backups")
    copies = tuple(file + suffix for file in files) if suffix else ()
    return TouchedPaths(tuple(files), (*files, *copies), None, True)


def _in_place(words: tuple[Word, ...]) -> bool:
    return any(word.value.startswith(("-i", "--in-place")) for word in words)

"""Searches files where ripgrep is missing: a script that takes the same options and prints the same lines.

Ignore files and file types are beyond it. It runs as a program of its own, because a bad regular expression
can take for ever and only a process can be stopped.
"""

import os
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator

from bridle.host.globs import compile_glob

_BINARY_PROBE = 8192
_MOST_BYTES = 100 * 1024 * 1024


def main(argv: list[str]) -> int:
    """Search as ripgrep would; 0 for matches, 1 for none, 2 for a fault."""
    options = _options(argv)
    if options.type:
        return _fail("file types need ripgrep, which is not installed: use glob instead of type")
    try:
        admitted = _admission(options.glob)
        if options.files:
            return _list(options, admitted)
        flags = re.MULTILINE | (re.IGNORECASE if options.i else 0) | (re.DOTALL if options.U else 0)
        expression = re.compile(options.regexp, flags)
    except (re.error, ValueError) as error:
        return _fail(f"regex parse error: {error}")
    found = False
    for path in _walk(options.path, options):
        if admitted(os.path.relpath(path, ".")) and (text := _text(path)) is not None:
            found |= _report(path, text, expression, options)
    return 0 if found else 1


def _options(argv: list[str]) -> Namespace:
    parser = ArgumentParser(allow_abbrev=False)
    for flag in ("--files", "--hidden", "--no-ignore", "--no-messages", "--null", "--with-filename"):
        parser.add_argument(flag, action="store_true")
    for flag in ("--no-heading", "--multiline-dotall", "-l", "-c", "-n", "-i", "-o", "-U"):
        parser.add_argument(flag, action="store_true")
    for name in ("-A", "-B", "-C", "--max-depth", "--max-columns"):
        parser.add_argument(name, type=int, default=0)
    for name in ("--color", "--type", "--regexp"):
        parser.add_argument(name, default="")
    parser.add_argument("--glob", action="append", default=[])
    parser.add_argument("path", nargs="?", default=".")
    return parser.parse_args(argv)


def _list(options: Namespace, admitted: Callable[[str], bool]) -> int:
    found = False
    for path in _walk(options.path, options):
        if admitted(path):
            sys.stdout.buffer.write(os.fsencode(path) + b"\0")
            found = True
    return 0 if found else 1


def _walk(top: str, options: Namespace) -> Iterator[str]:
    """Regular files below a directory with no leading dot, or the one file; links are not followed."""
    if os.path.isfile(top):
        yield top
        return
    prefix = "" if top in (".", "./") else top.rstrip("/") + "/"
    skipped = {glob.removeprefix("!") for glob in options.glob if re.fullmatch(r"!\.\w+", glob)}
    pending = [(prefix, 1)]
    while pending:
        folder, depth = pending.pop()
        try:
            entries = list(os.scandir(folder or "."))
        except OSError:
            continue  # Unreadable directories are passed over, as ripgrep does without messages.
        for entry in entries:
            if entry.name in skipped or (entry.name.startswith(".") and not options.hidden):
                continue
            if entry.is_file(follow_symlinks=False):
                yield folder + entry.name
            elif entry.is_dir(follow_symlinks=False) and depth != options.max_depth:
                pending.append((f"{folder}{entry.name}/", depth + 1))


def _admission(globs: list[str]) -> Callable[[str], bool]:
    """Whether a path passes the globs: the last that matches decides."""
    rules = [
        (compile_glob(glob.lstrip("!").lstrip("/"), anchored="/" in glob), not glob.startswith("!"))
        for glob in globs
    ]
    otherwise = not any(wanted for _, wanted in rules)

    def admitted(path: str) -> bool:
        return next((wanted for rule, wanted in reversed(rules) if rule.fullmatch(path)), otherwise)

    return admitted


def _text(path: str) -> str | None:
    """The content of a file; None when it is not text or cannot be read."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MOST_BYTES)
    except OSError:
        return None
    return None if b"\0" in data[:_BINARY_PROBE] else data.decode("utf-8", "replace")


def _report(path: str, text: str, expression: re.Pattern[str], options: Namespace) -> bool:
    lines = text.removesuffix("\n").split("\n")
    hits = _hits(text, lines, expression, multiline=options.U)
    if not hits:
        return False
    name = os.fsencode(path) + b"\0"
    output = sys.stdout.buffer
    if options.l:
        output.write(name)
    elif options.c:
        output.write(name + f"{len(hits)}\n".encode())
    elif options.o:
        for number, matches in hits.items():
            for match in matches:
                output.write(name + f"{number + 1}:{match}\n".encode())
    else:
        _report_lines(name, lines, set(hits), options)
    return True


def _report_lines(name: bytes, lines: list[str], hits: set[int], options: Namespace) -> None:
    before, after = options.B or options.C, options.A or options.C
    shown = {near for hit in hits for near in range(max(0, hit - before), min(len(lines), hit + after + 1))}
    last = None
    for number in sorted(shown):
        if last is not None and number > last + 1 and (before or after):
            sys.stdout.buffer.write(b"--\n")
        last = number
        mark, kind = (":", "matching") if number in hits else ("-", "context")
        line = lines[number]
        if options.max_columns and len(line.encode()) > options.max_columns:
            line = f"[Omitted long {kind} line]"
        sys.stdout.buffer.write(name + f"{number + 1}{mark}{line}\n".encode())


def _hits(
    text: str, lines: list[str], expression: re.Pattern[str], *, multiline: bool
) -> dict[int, list[str]]:
    """The numbers of the lines that match, each with the matches that begin there."""
    if not multiline:
        found = {index: [m[0] for m in expression.finditer(line)] for index, line in enumerate(lines)}
        return {index: matches for index, matches in found.items() if matches}
    hits: dict[int, list[str]] = {}
    for match in expression.finditer(text):
        first = text.count("\n", 0, match.start())
        for offset, part in enumerate(match[0].removesuffix("\n").split("\n")):
            hits.setdefault(first + offset, []).append(part)
    return hits


def _fail(message: str) -> int:
    sys.stderr.write(message + "\n")
    return 2

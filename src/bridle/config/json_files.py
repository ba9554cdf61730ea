"""Replaces what a JSON file says, with every other process kept out meanwhile."""

import os.path
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

from bridle.config.validate import parse
from bridle.host.files import is_private, make_folders, read_bytes, write_atomic
from bridle.host.lock import Locked, locked_folder
from bridle.types.errors import ConfigError

_LARGEST = 256 * 1024 * 1024
_PATIENCE = 20.0
"""Many sessions on a busy machine take turns; the lock of a process that died is gone with it."""
_INDENT = "  "
_MARK = b"\xef\xbb\xbf"


def rewrite(
    path: str, change: Callable[[dict[str, Any]], dict[str, Any]], *, mode: int | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the file said, and what `change` made of it, which it says now.

    `change` returns a new object and leaves its argument alone. A file that stays the same is not written.

    Raises:
        ConfigError: the file does not parse, or another process keeps it locked.
        OSError: the file cannot be read or written; it is as it was before.
    """
    target = os.path.realpath(path)
    make_folders(os.path.dirname(target), private=is_private(mode))
    with _locked(os.path.dirname(target), path):
        old = _read(target)
        values, text, problem = parse(old or b"", file=path)
        if problem is not None:
            raise ConfigError(f"Fix {problem.file} first: {problem}.")
        changed = change(values)
        if old is None or list(changed.items()) != list(values.items()):
            mark = _MARK if old is not None and old.startswith(_MARK) else b""
            write_atomic(target, mark + _written(changed, text), mode=mode)
    return values, changed


def _read(target: str) -> bytes | None:
    try:
        return read_bytes(target, _LARGEST)
    except FileNotFoundError:
        return None


def _written(values: dict[str, Any], text: str) -> bytes:
    """The values as JSON in the manner of the text they replace."""
    import json

    indent = re.search(r'\n([ \t]+)"', text)
    fresh = json.dumps(values, indent=indent[1] if indent else _INDENT, ensure_ascii=False)
    if not text or text.endswith("\n"):
        fresh += "\n"
    if "\r\n" in text:
        fresh = fresh.replace("\n", "\r\n")
    return fresh.encode()


@contextmanager
def _locked(folder: str, path: str) -> Generator[None]:
    try:
        with locked_folder(folder, seconds=_PATIENCE):
            yield
    except Locked as busy:
        raise ConfigError(f"Another process is writing {path}. Try again.") from busy

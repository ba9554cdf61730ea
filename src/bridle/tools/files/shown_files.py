"""Which files a conversation has shown, read back from its results when it is resumed."""

from collections.abc import Iterable
from typing import Any

from bridle.types.workspace import FileState, FileStates


def remember(files: FileStates, results: Iterable[Any]) -> None:
    """Note every file that was seen or written whole, as it was then.

    A later change compares the file with the disk first, so changes by others are noticed.
    """
    for result in results:
        match result:
            case {"type": "text", "file": {"filePath": str() as path, "content": str() as text, **facts}}:
                whole = facts.get("startLine") == 1 and facts.get("numLines") == facts.get("totalLines")
                if whole:
                    _note(files, path, text)
            case {"type": "create" | "update", "filePath": str() as path, "content": str() as text}:
                _note(files, path, text)
            case {"filePath": str() as path, "originalFile": str() as old, "structuredPatch": list(), **rest}:
                _note_edit(files, path, old, rest)
            case _:
                pass


def _note(files: FileStates, path: str, text: str) -> None:
    # The time is unknown: it never equals that of the file, so contents decide.
    files.note(path, FileState(content=text.replace("\r\n", "\n"), mtime_ns=-1))


def _note_edit(files: FileStates, path: str, old: str, edit: dict[str, Any]) -> None:
    before, after = edit.get("oldString"), edit.get("newString")
    if not isinstance(before, str) or not isinstance(after, str) or not before:
        files.forget(path)
        return
    count = -1 if edit.get("replaceAll") else 1
    _note(files, path, old.replace(before, after, count))

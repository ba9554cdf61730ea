"""What a compaction gives back at once: the files, tasks and plans that the work stands on."""

import os.path
from collections.abc import Callable, Mapping, Sequence

from bridle.context.reminders import reminder
from bridle.context.tokens import estimate
from bridle.types.block import TextBlock
from bridle.types.entry import ConversationEntry
from bridle.types.workspace import Workspace

_MOST_FILES = 5
_TOKENS_PER_FILE = 5_000
_TOKENS_PER_EDITED = 15_000
_TOKENS_OF_FILES = 50_000
_LINES_AROUND = 30
_MOST_TODOS = 50

Source = Callable[[], str | None]
"""Something else that must be known again, such as the plan or the skills in use; None when there is none."""
PathInput = Callable[[str], str | None]
"""The parameter of a tool that names the file which it changes; None for a tool that changes none."""


def restored(
    workspace: Workspace,
    kept: Sequence[ConversationEntry],
    sources: Sequence[Source] = (),
    *,
    edited: Mapping[str, Sequence[str]] = {},
    tokens: int = _TOKENS_OF_FILES,
) -> list[TextBlock]:
    """Reminders of what the model had before it, except what still stands in the part that was kept.

    `edited` are the files that were being changed, the newest first, each with what was written into it;
    `tokens` is what all files together may take.
    """
    files = _files(workspace, kept, edited, min(tokens, _TOKENS_OF_FILES))
    texts = [files, _todos(workspace), *(source() for source in sources)]
    return [reminder(text) for text in texts if text]


def edits_in(entries: Sequence[ConversationEntry], path_input: PathInput) -> dict[str, list[str]]:
    """The files that calls in these entries changed, the newest first, with the texts that they put in."""
    found: dict[str, list[str]] = {}
    for entry in reversed(entries):
        content = entry["message"]["content"] if entry["type"] == "assistant" else ()
        for block in content:
            if block["type"] != "tool_use" or (named := path_input(block["name"])) is None:
                continue
            if isinstance(path := block["input"].get(named), str):
                new = block["input"].get("new_string")
                found.setdefault(os.path.normpath(path), []).extend([new] if isinstance(new, str) else [])
    return found


def _files(
    workspace: Workspace,
    kept: Sequence[ConversationEntry],
    edited: Mapping[str, Sequence[str]],
    left: int,
) -> str | None:
    seen = {path for entry in kept if (path := _path_read(entry)) is not None}
    known = dict(workspace.files.newest())
    first = [(path, known[path]) for path in edited if path in known]
    others = [(path, state) for path, state in known.items() if path not in edited]
    parts: list[str] = []
    for path, state in (*first, *others):
        if len(parts) == _MOST_FILES:
            break
        if path in seen:
            continue
        changes = edited.get(path, ())
        most = min(left, _TOKENS_PER_EDITED if path in edited else _TOKENS_PER_FILE)
        shown = _written(path, changes, most) if state.partial else _shown(path, state.content, changes, most)
        if shown is not None:
            left -= estimate(shown)
            parts.append(shown)
    if not parts:
        return None
    return "# Files you had read\nAs they were then; read a file again where that matters.\n\n" + "\n\n".join(
        parts
    )


def _shown(path: str, content: str, changes: Sequence[str], tokens: int) -> str | None:
    """A file, or of one that is too long what stands around the newest changes, else its beginning."""
    if estimate(content) <= tokens:
        return f"## {path}\n{content}"
    lines = content.splitlines()
    near: set[int] = set()
    shown: str | None = None
    for change in changes:
        near |= _lines_around(content, change, len(lines))
        text = f"## {path} (of {len(lines)} lines, those around your changes)\n{_excerpt(lines, near)}"
        if estimate(text) > tokens:
            break
        shown = text if near else None
    return shown or _beginning(path, lines, tokens)


def _beginning(path: str, lines: Sequence[str], tokens: int) -> str | None:
    """The first lines of a file of which nothing else is worth more; None if none fits."""
    kept: list[str] = []
    left = tokens
    for line in lines:
        left -= estimate(line) + 1
        if left < 0:
            break
        kept.append(line)
    return f"## {path} (the first {len(kept)} of {len(lines)} lines)\n" + "\n".join(kept) if kept else None


def _written(path: str, changes: Sequence[str], tokens: int) -> str | None:
    """What was written into a file of which only a part is known, the newest first; None if nothing fits."""
    kept: list[str] = []
    for change in changes:
        if change.strip() and estimate("\n…\n".join([*kept, change])) <= tokens:
            kept.append(change)
    return f"## {path} (what you wrote into it last)\n" + "\n…\n".join(kept) if kept else None


def _lines_around(content: str, change: str, count: int) -> set[int]:
    """The lines that a change wrote, where they still stand, and some around them."""
    at = content.find(change) if change.strip() else -1
    if at < 0:
        return set()
    first = content.count("\n", 0, at)
    last = first + change.count("\n")
    return set(range(max(0, first - _LINES_AROUND), min(count, last + _LINES_AROUND + 1)))


def _excerpt(lines: Sequence[str], near: set[int]) -> str:
    """Some lines of a file with their numbers, and a mark where others are left out."""
    kept: list[str] = []
    before = -1
    for at in sorted(near):
        if at != before + 1:
            kept.append("…")
        kept.append(f"{at + 1}\t{lines[at]}")
        before = at
    return "\n".join(kept if before == len(lines) - 1 else [*kept, "…"])


def _todos(workspace: Workspace) -> str | None:
    if not workspace.todos:
        return None
    lines = [f"- [{todo.get('status')}] {todo.get('content')}" for todo in workspace.todos[:_MOST_TODOS]]
    return "# Your task list\n" + "\n".join(lines)


def _path_read(entry: ConversationEntry) -> str | None:
    if entry["type"] != "user":
        return None
    match entry.get("toolUseResult"):
        case {"file": {"filePath": str() as path}} | {"filePath": str() as path}:
            return path
        case _:
            return None

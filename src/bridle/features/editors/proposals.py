"""A change that waits for approval, as an editor shows it, and what the user made of it there."""

import difflib
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from msgspec import Struct

from bridle.host import safe_open
from bridle.tools.catalog import traits_of
from bridle.tools.files import text_files
from bridle.tools.files.replacements import find_replacement, replace
from bridle.tools.files.text_files import TextFile
from bridle.types.errors import ToolError
from bridle.types.workspace import Workspace

_MOST_BYTES = 4 * 1024 * 1024
_MOST_COMPARED = 4_000
_MOST_SHOWN_LINES = 60
_MOST_SHOWN = 4_000


class Proposal(Struct, frozen=True, kw_only=True):
    """What a file would hold after a call."""

    whole: bool
    """The call gives all that the file is to hold."""
    input: Mapping[str, Any]
    path: str
    before: str
    """With plain line feeds, as `after`."""
    after: str
    contents: str
    """`after` with the line ends of the file."""


def propose(tool: str, input: Mapping[str, Any], workspace: Workspace) -> Proposal | None:
    """What a call would make of the file that it edits or writes; None where that cannot be shown."""
    traits = traits_of(tool)
    given = input.get(traits.about)
    if traits.kind not in ("edit", "write") or not isinstance(given, str):
        return None
    path = workspace.resolve(given)
    try:
        file = _read(path)
        made = _written(input, file) if traits.kind == "write" else _edited(input, file)
    except (ToolError, OSError, ValueError):
        return None  # The tool will say what is wrong with it.
    if made is None or len(made) > _MOST_BYTES:
        return None
    before = "" if file is None else file.text
    after = made.replace("\r\n", "\n")
    return Proposal(
        whole=traits.kind == "write", input=input, path=path, before=before, after=after, contents=made
    )


def revised(proposal: Proposal, saved: str) -> Mapping[str, Any] | None:
    """The input that makes the file hold what was saved; None where that is what was proposed."""
    text = saved.replace("\r\n", "\n")
    # Editors end the last line whether or not it was ended before.
    if text.rstrip("\n") == proposal.after.rstrip("\n"):
        return None
    if proposal.whole:
        return {**proposal.input, "content": text}
    old, new = _smallest_edit(proposal.before, text)
    return {
        **{key: value for key, value in proposal.input.items() if key != "replace_all"},
        "old_string": old,
        "new_string": new,
    }


def is_withdrawn(proposal: Proposal, saved: str) -> bool:
    """Whether nothing is left of a change."""
    return saved.replace("\r\n", "\n").rstrip("\n") == proposal.before.rstrip("\n")


def told_revision(proposal: Proposal, saved: str, editor: str) -> str:
    """What the model reads about a change that is not quite its own."""
    text = saved.replace("\r\n", "\n")
    ours, theirs = proposal.after.splitlines(), text.splitlines()
    if max(len(ours), len(theirs)) > _MOST_COMPARED:
        shown = "Read the file to see it."
    else:
        rows = list(difflib.unified_diff(ours, theirs, "proposed", "accepted", lineterm="", n=1))
        cut = rows[:_MOST_SHOWN_LINES]
        left = f"\n… {len(rows) - len(cut)} more lines" if len(rows) > len(cut) else ""
        shown = ("\n".join(cut))[:_MOST_SHOWN] + left
    return (
        f"The user edited this change in {editor} before accepting it. The file now contains their "
        f"version:\n{shown}"
    )


def _read(path: str) -> TextFile | None:
    try:
        return text_files.read_text(safe_open.locate(path, {}), most_bytes=_MOST_BYTES)
    except FileNotFoundError:
        return None


def _written(input: Mapping[str, Any], file: TextFile | None) -> str | None:
    content = input.get("content")
    if not isinstance(content, str):
        return None
    is_crlf = file is not None and file.form.crlf
    return content.replace("\r\n", "\n").replace("\n", "\r\n") if is_crlf else content


def _edited(input: Mapping[str, Any], file: TextFile | None) -> str | None:
    old, new = input.get("old_string"), input.get("new_string")
    if not isinstance(old, str) or not isinstance(new, str):
        return None
    if not old:
        return new if file is None or not file.text else None
    if file is None:
        return None
    found = find_replacement(file, old, new, replace_all=input.get("replace_all") is True)
    return None if found is None else replace(file, found).raw


def _smallest_edit(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, with as many around them as make their place the only one."""
    old, new = _lines(before), _lines(after)
    head = _common(old, new)
    tail = _common(old[head:][::-1], new[head:][::-1])
    while True:
        lines = "".join(old[head : len(old) - tail])
        if (lines and before.count(lines) == 1) or (not head and not tail):
            return lines, "".join(new[head : len(new) - tail])
        head, tail = max(0, head - 1), max(0, tail - 1)


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _lines(text: str) -> list[str]:
    """Lines with their ends, of which the last may have none."""
    *whole, last = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([last] if last else [])]

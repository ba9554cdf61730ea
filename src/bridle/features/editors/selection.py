"""The file and the selection in the user's editor, and the reminder about them."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.types.text import encodable

_MOST_TEXT = 4_000
_LONGEST_PATH = 4_096


class Selection(Struct, frozen=True, kw_only=True):
    """A file that is open, with what is selected in it."""

    path: str
    text: str = ""
    """Cut where it is long."""
    first: int = 0
    """The first line and the last that is selected, counted from one; nothing is selected at 0."""
    last: int = 0
    cut: bool = False

    @property
    def lines(self) -> int:
        return self.last - self.first + 1 if self.first else 0


class LineRange(Struct, frozen=True, kw_only=True):
    """Lines of a file that the user wants to speak about."""

    path: str
    first: int | None = None
    last: int | None = None


def read_selection(params: Mapping[str, Any]) -> Selection | None:
    """What an editor tells of its selection; None where no file is open, or it makes no sense."""
    path = _path(params.get("filePath"))
    if path is None:
        return None
    text = params.get("text")
    match params.get("selection"):
        case {
            "start": {"line": int() as start},
            "end": {"line": int() as end, "character": int() as column},
        } if isinstance(text, str) and text and 0 <= start <= end:
            # A selection that ends where a line begins holds nothing of that line.
            last = end if end > start and column == 0 else end + 1
            shown = encodable(text[:_MOST_TEXT])
            return Selection(path=path, text=shown, first=start + 1, last=last, cut=len(text) > _MOST_TEXT)
        case _:
            return Selection(path=path)


def read_answer(texts: tuple[str, ...]) -> Selection | None:
    """The selection in an editor's answer; None when there is none."""
    try:
        answer = msgspec.json.decode(texts[0]) if texts else None
    except (msgspec.DecodeError, RecursionError):
        return None
    return read_selection(answer) if isinstance(answer, dict) else None


def read_mention(params: Mapping[str, Any], cwd: str) -> LineRange | None:
    """What an editor wants to be mentioned; its lines are counted from zero."""
    given = params.get("filePath")
    path = _path(os.path.join(cwd, given)) if isinstance(given, str) and given else None
    if path is None:
        return None
    first, last = _line(params.get("lineStart")), _line(params.get("lineEnd"))
    return LineRange(path=path, first=first, last=None if first is None else max(first, last or first))


def mention_of(place: LineRange, cwd: str) -> str:
    """What stands for a place in a prompt: `@file#L3-9`."""
    inside = place.path.startswith(cwd.rstrip("/") + "/")
    name = os.path.relpath(place.path, cwd) if inside else place.path
    if place.first is not None:
        name += f"#L{place.first}" if place.last in (None, place.first) else f"#L{place.first}-{place.last}"
    is_plain = not any(char.isspace() or char in "\"'`,;" for char in name)
    return f"@{name}" if is_plain else f'@"{name.replace(chr(34), "")}"'


def reminder(selection: Selection, editor: str) -> str:
    """What the model reads beside the next prompt."""
    aside = "It may be unrelated to the prompt."
    if not selection.lines:
        return _reminder(f"In {editor} the user has {selection.path} open. {aside}")
    lines = f"line {selection.first}" if selection.lines == 1 else f"lines {selection.first}-{selection.last}"
    more = "\n(truncated)" if selection.cut else ""
    text = selection.text.replace("</selection", "<\\/selection")
    head = f"In {editor} the user has selected {lines} of {selection.path}:"
    return _reminder(f"{head}\n<selection>\n{text}{more}\n</selection>\n{aside}")


def label(selection: Selection | None) -> str:
    """The selection as a short label for the user."""
    if selection is None:
        return ""
    if selection.lines:
        return "1 line selected" if selection.lines == 1 else f"{selection.lines} lines selected"
    return f"In {os.path.basename(selection.path)}"


def framed(text: str) -> str:
    """A text whose words cannot end the frame that says whose they are."""
    return text.replace("</system-reminder", "<\\/system-reminder")


def _reminder(text: str) -> str:
    return f"<system-reminder>\n{framed(text)}\n</system-reminder>"


def _path(given: Any) -> str | None:
    if not isinstance(given, str) or not os.path.isabs(given) or len(given) > _LONGEST_PATH:
        return None
    return os.path.normpath(given) if given.isprintable() else None


def _line(number: Any) -> int | None:
    return number + 1 if isinstance(number, int) and not isinstance(number, bool) and number >= 0 else None

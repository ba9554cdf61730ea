"""One call and its result, folded: the command, the change or the input, and what came back."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.commands.pages.code import code_block, highlighted
from bridle.commands.pages.html import Html, el
from bridle.commands.pages.images import image
from bridle.tools.catalog import traits_of

_SUBJECTS = (
    "command", "file_path", "notebook_path", "pattern", "query", "url", "description", "skill", "prompt",
)  # fmt: skip
"""Parts of an input that say best what a call is about, the first that is there."""
_LONGEST_SUBJECT = 160
_MOST_LINES = 400
"""Lines of a change; the rest is only counted."""


def call_view(call: Any, result: Any, data: Any, *, nested: Html | None = None) -> Html:
    """A call; `data` is the structured form of its result, `nested` what an agent did for it."""
    failed = isinstance(result, dict) and bool(result.get("is_error"))
    mark = el("span", "✗", class_="bad") if failed else el("span", "✓" if result else "·", class_="ok")
    name, given = str(call["name"]), call["input"]
    summary = el("summary", mark, " ", el("b", name), " ", el("span", _subject(given), class_="mono"))
    inside = el("div", *_inside(name, given, result, data), nested, class_="inside")
    return el("details", summary, inside, class_="call")


def _inside(name: str, given: Mapping[str, Any], result: Any, data: Any) -> Iterator[Html]:
    hunks = data.get("structuredPatch") if isinstance(data, dict) else None
    if isinstance(hunks, list) and hunks and (change := _difference(hunks, str(given.get("file_path", "")))):
        yield change
        return
    yield _input(name, given)
    yield from _output(result)


def _input(name: str, given: Mapping[str, Any]) -> Html:
    match traits_of(name).kind, given:
        case "command", {"command": str() as command}:
            return code_block(command, "bash")
        case "write", {"content": str() as content, "file_path": str() as path}:
            return code_block(content, path)
        case _:
            shown = msgspec.json.format(msgspec.json.encode(given), indent=2).decode()
            return code_block(shown, "json")


def _output(result: Any) -> Iterator[Html]:
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    for block in blocks:
        match block:
            case {"type": "text", "text": str() as words} if words.strip():
                yield code_block(words)
            case dict():
                if (picture := image(block)) is not None:
                    yield picture
            case _:
                pass


def _difference(hunks: Sequence[Any], path: str) -> Html | None:
    rows: list[Html] = []
    left = 0
    for hunk in hunks:
        match hunk:
            case {"oldStart": int() as old, "newStart": int() as new, "lines": list() as lines}:
                if rows:
                    rows.append(el("tr", el("td", "⋯", colspan=3), class_="gap"))
                shown = [str(line) for line in lines][: max(0, _MOST_LINES - len(rows))]
                left += len(lines) - len(shown)
                rows += _rows(shown, old, new, path)
            case _:
                return None
    if left:
        rows.append(el("tr", el("td", f"… {left:,} more", colspan=3), class_="gap"))
    return (
        el("div", el("table", el("tbody", *rows), class_="diff mono"), class_="difference") if rows else None
    )


def _rows(lines: Sequence[str], old: int, new: int, path: str) -> Iterator[Html]:
    for line in lines:
        sign, words = line[:1], line[1:]
        kind = {"+": "add", "-": "del"}.get(sign)
        number = old if sign == "-" else new
        old, new = old + (sign != "+"), new + (sign != "-")
        mark = sign if kind else " "
        cells = (el("td", str(number), class_="at"), el("td", mark), el("td", highlighted(words, path)))
        yield el("tr", *cells, class_=kind)


def _subject(given: Mapping[str, Any]) -> str:
    found = next((given[key] for key in _SUBJECTS if isinstance(given.get(key), str)), "")
    line = " ".join(found.split())
    return line if len(line) <= _LONGEST_SUBJECT else f"{line[:_LONGEST_SUBJECT]}…"

"""Formats the answers of language servers: limited in length, and without hidden files."""

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from msgspec import Struct

from bridle.host.files import read_bytes
from bridle.host.lsp.documents import LARGEST, path_of
from bridle.types.services.language_servers import Finding

_MOST_RESULTS = 200
_MOST_CHARS = 20_000
_LONGEST_LINE = 160
_DEEPEST = 20
_KINDS = (
    "", "file", "module", "namespace", "package", "class", "method", "property", "field", "constructor",
    "enum", "interface", "function", "variable", "constant", "string", "number", "boolean", "array", "object",
    "key", "null", "enum member", "struct", "event", "operator", "type parameter",
)  # fmt: skip


class View(Struct, frozen=True, kw_only=True):
    """From where places are named, and what may not be seen."""

    root: str
    hides: Callable[[str], bool]

    def name(self, path: str) -> str:
        inside = path.startswith(self.root.rstrip("/") + "/")
        return os.path.relpath(path, self.root) if inside else path


def places(result: Any, view: View) -> Finding:
    """Definitions, references, implementations: each with its line."""
    found = [place for each in _list(result) if (place := _place(each)) is not None]
    return _finding([(path, line, "") for path, line in found if not view.hides(path)], view)


def hover(result: Any) -> Finding:
    """The hover text that editors show."""
    text = _markup(result.get("contents") if isinstance(result, dict) else None).strip()
    return Finding(
        text=text[:_MOST_CHARS] or "The language server has no information about this position.",
        results=bool(text),
        files=0,
    )


def document_symbols(result: Any, path: str, view: View) -> Finding:
    """The outline of a file, what is inside something indented below it."""
    lines = [
        f"{'  ' * depth}{_kind(each)}{each.get('name')} (line {_start_line(each) + 1})"
        for depth, each in _outline(_list(result), 0)
    ]
    shown = "\n".join(lines[:_MOST_RESULTS])[:_MOST_CHARS]
    left = len(lines) - _MOST_RESULTS
    text = f"{view.name(path)}:\n{shown}" if lines else f"{view.name(path)} has no symbols."
    more = f"\n({left} more are not shown)" if left > 0 else ""
    return Finding(text=text + more, results=len(lines), files=1 if lines else 0)


def workspace_symbols(result: Any, view: View) -> Finding:
    found: list[tuple[str, int, str]] = []
    for each in _list(result):
        place = _place(each.get("location"))
        if place is not None and not view.hides(place[0]):
            found.append((*place, f"{_kind(each)}{each.get('name')}"))
    return _finding(found, view)


def call_items(result: Any, view: View) -> Finding:
    """What could be called here."""
    return _finding([row for each in _list(result) if (row := _call_row(each, view)) is not None], view)


def calls(result: Any, key: str, view: View) -> Finding:
    """Who calls it (`from`), or whom it calls (`to`)."""
    items = [each.get(key) for each in _list(result)]
    rows = [row for each in items if (row := _call_row(each, view)) is not None]
    return _finding(rows, view)


def _call_row(item: Any, view: View) -> tuple[str, int, str] | None:
    if not isinstance(item, dict):
        return None
    path = path_of(str(item.get("uri", "")))
    if path is None or view.hides(path):
        return None
    return path, _line(item.get("selectionRange") or item.get("range")), f"{_kind(item)}{item.get('name')}"


def _finding(found: list[tuple[str, int, str]], view: View) -> Finding:
    """Places grouped by file; those without a word get the text of their line."""
    rows = list(dict.fromkeys(found))
    by_file: dict[str, list[tuple[int, str]]] = {}
    for path, line, word in rows[:_MOST_RESULTS]:
        by_file.setdefault(path, []).append((line, word))
    lines: list[str] = []
    for path, places_there in by_file.items():
        lines.append(f"{view.name(path)}:")
        text = _lines_of(path) if any(not word for _, word in places_there) else []
        lines += [
            f"  {number + 1}: {(word or _text(text, number))[:_LONGEST_LINE]}"
            for number, word in places_there
        ]
    if not rows:
        return Finding(text="No results.", results=0, files=0)
    left = len(rows) - _MOST_RESULTS
    more = f"\n({left} more are not shown)" if left > 0 else ""
    text = "\n".join(lines)
    if len(text) > _MOST_CHARS:
        text, more = text[:_MOST_CHARS], "\n(truncated)"
    return Finding(text=text + more, results=len(rows), files=len({path for path, _, _ in rows}))


def _lines_of(path: str) -> list[str]:
    try:
        return read_bytes(path, LARGEST).decode(errors="replace").splitlines()
    except OSError:
        return []  # Servers name files that are nowhere on disk, too.


def _text(lines: list[str], number: int) -> str:
    return lines[number].strip() if number < len(lines) else ""


def _place(value: Any) -> tuple[str, int] | None:
    if not isinstance(value, dict):
        return None
    path = path_of(str(value.get("uri") or value.get("targetUri") or ""))
    return None if path is None else (path, _line(value.get("targetSelectionRange") or value.get("range")))


def _line(span: Any) -> int:
    match span:
        case {"start": {"line": int() as line}} if line >= 0:
            return line
        case _:
            return 0


def _start_line(symbol: Mapping[str, Any]) -> int:
    location = symbol.get("location")
    inner = location.get("range") if isinstance(location, dict) else None
    return _line(symbol.get("selectionRange") or symbol.get("range") or inner)


def _outline(symbols: list[Any], depth: int) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for each in symbols:
        yield depth, each
        if depth < _DEEPEST:
            yield from _outline(_list(each.get("children")), depth + 1)


def _kind(symbol: Mapping[str, Any]) -> str:
    number = symbol.get("kind")
    return f"{_KINDS[number]} " if isinstance(number, int) and 0 < number < len(_KINDS) else ""


def _markup(contents: Any) -> str:
    match contents:
        case str():
            return contents
        case {"language": str() as language, "value": str() as value}:
            return f"```{language}\n{value}\n```"
        case {"value": str() as value}:
            return value
        case list():
            return "\n\n".join(_markup(each) for each in contents)
        case _:
            return ""


def _list(value: Any) -> list[Any]:
    """What may be one thing, many or none."""
    listed = value if isinstance(value, list) else [value]
    return [each for each in listed if isinstance(each, dict)]

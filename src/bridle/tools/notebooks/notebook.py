"""Jupyter notebooks as plain JSON, parsed and written back in their own layout."""

import json
import re
from typing import Any

from msgspec import Struct

from bridle.types.errors import ToolError
from bridle.types.workspace import FileState

MOST_BYTES = 100 * 1024 * 1024
_MOST_REMEMBERED = 1024 * 1024
_MOST_IDS_NAMED = 20


class Notebook(Struct, frozen=True, kw_only=True):
    """A notebook whose JSON is `document`; the cells in it may be changed in place."""

    document: dict[str, Any]
    cells: list[dict[str, Any]]
    indent: str | None
    """None when everything stands on one line."""
    compact: bool
    """No blanks between anything."""
    ascii: bool
    """Other characters are written as escapes."""
    ending: str

    @property
    def language(self) -> str:
        metadata = as_mapping(self.document.get("metadata"))
        for key in ("language_info", "kernelspec"):
            info = as_mapping(metadata.get(key))
            if isinstance(name := info.get("name" if key == "language_info" else "language"), str):
                return name
        return "python"

    @property
    def has_ids(self) -> bool:
        """Since version 4.5 of the format every cell has an id."""
        major, minor = self.document.get("nbformat"), self.document.get("nbformat_minor")
        return isinstance(major, int) and isinstance(minor, int) and (major, minor) >= (4, 5)

    def id_of(self, index: int) -> str:
        """The id of a cell, or a name made from its place."""
        own = self.cells[index].get("id")
        return own if isinstance(own, str) and own else f"cell-{index}"

    def find(self, cell_id: str) -> int:
        """The place of a cell.

        Raises:
            ToolError: no cell has this id; the message names those that exist.
        """
        for index, cell in enumerate(self.cells):
            if cell.get("id") == cell_id:
                return index
        if (match := re.fullmatch(r"cell-(\d{1,6})", cell_id)) and int(match[1]) < len(self.cells):
            return int(match[1])
        ids = ", ".join(self.id_of(index) for index in range(min(len(self.cells), _MOST_IDS_NAMED)))
        more = ", …" if len(self.cells) > _MOST_IDS_NAMED else ""
        raise ToolError(f"Unknown cell id {cell_id[:80]!r}. The cells are: {ids or 'none'}{more}.")

    def dump(self) -> str:
        separators = (",", ":") if self.compact else None
        layout = json.dumps(self.document, indent=self.indent, ensure_ascii=self.ascii, separators=separators)
        return layout + self.ending


def parse(text: str, path: str) -> Notebook:
    """A notebook from its text.

    Raises:
        ToolError: this is not the JSON of a notebook.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolError(f"{path} is not valid JSON; repair it with Bash: {error}.") from error
    cells = document.get("cells") if isinstance(document, dict) else None
    if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
        raise ToolError(f"{path} has no list of cells; only notebook format 4 or newer is supported.")
    body = text.rstrip()
    indent = re.match(r"\{\r?\n([ \t]*)", body)
    return Notebook(
        document=document,
        cells=cells,
        indent=indent[1] if indent else None,
        compact=indent is None and re.match(r'\{\s*"[^"]*":\S', body) is not None,
        ascii=text.isascii() and "\\u" in text,
        ending=text[len(body) :],
    )


def state(text: str, mtime_ns: int, *, partial: bool) -> FileState:
    """What to remember of a notebook: the text of small ones, of large ones that they were seen."""
    if len(text) > _MOST_REMEMBERED:
        return FileState(content="", mtime_ns=mtime_ns, partial=True)
    return FileState(content=text.replace("\r\n", "\n"), mtime_ns=mtime_ns, partial=partial)


def joined_text(value: Any) -> str:
    """A text that the format stores whole or as a list of lines."""
    if isinstance(value, str):
        return value
    return "".join(part for part in as_list(value) if isinstance(part, str))


def as_mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []

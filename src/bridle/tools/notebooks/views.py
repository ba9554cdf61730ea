"""Cells of a notebook with their outputs, as a model reads them."""

import base64
import binascii
import re
from typing import Any

from msgspec import Struct

from bridle.tools.notebooks.notebook import Notebook, as_list, as_mapping, joined_text
from bridle.types.block import ImageBlock, ResultContent, text_block
from bridle.types.errors import ToolError

_MOST_OUTPUT_CHARS = 10_000
_MOST_OUTPUTS = 100
_MOST_IMAGES = 10
_MOST_IMAGE_CHARS = 20_000_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")


class View(Struct, frozen=True, kw_only=True):
    """Some cells: as content for the model, as data for hosts."""

    content: list[ResultContent]
    cells: list[dict[str, Any]]
    complete: bool
    """Nothing of the notebook was left out or cut."""


class _Output(Struct, frozen=True, kw_only=True):
    kind: str
    text: str = ""
    image: ImageBlock | None = None
    complete: bool = True

    def blocks(self) -> list[ResultContent]:
        text: list[ResultContent] = [text_block(f"<output>\n{self.text}\n</output>\n")] if self.text else []
        return text if self.image is None else [*text, self.image]

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {"output_type": self.kind}
        if self.text:
            described["text"] = self.text
        if self.image is not None and self.image["source"]["type"] == "base64":
            source = self.image["source"]
            described["image"] = {"media_type": source["media_type"], "image_data": source["data"]}
        return described


class _Cell(Struct, frozen=True, kw_only=True):
    id: str
    kind: str
    source: str
    language: str
    execution_count: Any
    outputs: list[_Output]
    complete: bool

    def blocks(self) -> list[ResultContent]:
        executed = "" if self.execution_count is None else f' executed="{self.execution_count}"'
        text = f'<cell id="{self.id}" type="{self.kind}"{executed}>\n{self.source}\n</cell>\n'
        return [text_block(text), *(block for output in self.outputs for block in output.blocks())]

    def describe(self) -> dict[str, Any]:
        described: dict[str, Any] = {"cellType": self.kind, "source": self.source, "cell_id": self.id}
        if self.kind == "code":
            described |= {"language": self.language, "execution_count": self.execution_count}
        if self.outputs:
            described["outputs"] = [output.describe() for output in self.outputs]
        return described

    @property
    def size(self) -> int:
        return len(self.source) + sum(len(output.text) for output in self.outputs)


def show(notebook: Notebook, *, start: int, limit: int | None, most_chars: int) -> View:
    """The cells from `start`, counted from 1, as far as the limits reach."""
    stop = len(notebook.cells) if limit is None else min(len(notebook.cells), start - 1 + limit)
    room, images_left = most_chars, _MOST_IMAGES
    cells: list[_Cell] = []
    for index in range(start - 1, stop):
        cell = _cell(notebook, index, most_chars=most_chars, most_images=images_left)
        if cell.size > room and cells:
            break
        cells.append(cell)
        room -= cell.size
        images_left -= sum(output.image is not None for output in cell.outputs)
    content = [block for cell in cells for block in cell.blocks()]
    if notice := _notice(len(notebook.cells), start, len(cells), asked=limit):
        content.append(text_block(notice))
    return View(
        content=_merged(content),
        cells=[cell.describe() for cell in cells],
        complete=len(cells) == len(notebook.cells) and all(cell.complete for cell in cells),
    )


def _cell(notebook: Notebook, index: int, *, most_chars: int, most_images: int) -> _Cell:
    cell = notebook.cells[index]
    source = joined_text(cell.get("source"))
    room = max(0, most_chars - len(source))
    outputs: list[_Output] = []
    found = as_list(cell.get("outputs"))
    for each in found[:_MOST_OUTPUTS]:
        output = _output(
            as_mapping(each), most_chars=min(room, _MOST_OUTPUT_CHARS), with_image=most_images > 0
        )
        room = max(0, room - len(output.text))
        most_images -= output.image is not None
        outputs.append(output)
    return _Cell(
        id=notebook.id_of(index),
        kind=str(cell.get("cell_type", "raw")),
        source=_shorten(source, most_chars),
        language=notebook.language,
        execution_count=cell.get("execution_count"),
        outputs=outputs,
        complete=len(source) <= most_chars
        and len(found) <= _MOST_OUTPUTS
        and all(each.complete for each in outputs),
    )


def _output(output: dict[str, Any], *, most_chars: int, with_image: bool) -> _Output:
    kind = str(output.get("output_type", ""))
    image: ImageBlock | None = None
    match kind:
        case "stream":
            text = joined_text(output.get("text"))
        case "error":
            trace = "\n".join(str(line) for line in as_list(output.get("traceback")))
            text = trace or f"{output.get('ename')}: {output.get('evalue')}"
        case _:
            data = as_mapping(output.get("data"))
            text = joined_text(data.get("text/plain"))
            if "image/png" in data or "image/jpeg" in data:
                image = _image(data) if with_image else None
                text = text if image is not None else f"{text}\n[image not shown]".strip()
    text = _ESCAPES.sub("", text)
    return _Output(kind=kind, text=_shorten(text, most_chars), image=image, complete=len(text) <= most_chars)


def _image(data: dict[str, Any]) -> ImageBlock | None:
    """The image of an output, None when it is damaged or too large."""
    from bridle.tools.files import images

    kind = "png" if "image/png" in data else "jpeg"
    encoded = joined_text(data[f"image/{kind}"])
    if len(encoded) > _MOST_IMAGE_CHARS:
        return None
    try:
        return images.fit(base64.b64decode(encoded), kind).block()
    except (binascii.Error, ToolError):
        return None


def _merged(content: list[ResultContent]) -> list[ResultContent]:
    """The content with neighboring texts in one block."""
    merged: list[ResultContent] = []
    for block in content:
        if merged and block["type"] == "text" and (last := merged[-1])["type"] == "text":
            merged[-1] = text_block(last["text"] + block["text"])
        else:
            merged.append(block)
    return merged


def _notice(count: int, start: int, shown: int, *, asked: int | None) -> str:
    if count == 0:
        return "Warning: the notebook exists but has no cells; it is empty."
    if start > count:
        return f"Warning: with {count} cells the notebook is shorter than the given offset ({start})."
    next_cell = start + shown
    if next_cell > count or shown == asked:
        return ""
    return (
        f"<system-reminder>PARTIAL view: cells {start}-{next_cell - 1} of {count} are shown. Continue "
        f"with offset={next_cell}.</system-reminder>"
    )


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]}… [{len(text) - most:,} more characters]"

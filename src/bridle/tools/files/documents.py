"""Images and PDF files as blocks that a model can look at."""

import base64
import os
from typing import Any, BinaryIO

from bridle.tools.files import images, pdfs
from bridle.tools.files.text_files import ImageKind
from bridle.types.block import ResultContent, text_block
from bridle.types.errors import ToolError
from bridle.types.tool import ToolOutput

MOST_IMAGE_BYTES = 32 * 1024 * 1024


def show_image(path: str, data: bytes, kind: ImageKind) -> ToolOutput:
    """An image, with a note when the model sees a smaller copy.

    Raises:
        ToolError: it is damaged or too large.
    """
    if len(data) > MOST_IMAGE_BYTES:
        raise ToolError(f"{path} is too large to show; make a smaller copy and read that.")
    picture = images.fit(data, kind)
    content: list[ResultContent] = [picture.block()]
    if picture.resized:
        shown, original = (
            f"{picture.width}x{picture.height}",
            f"{picture.original_width}x{picture.original_height}",
        )
        content.append(text_block(f"Shown at {shown}; the original has {original} pixels."))
    file: dict[str, Any] = {
        "base64": picture.base64,
        "type": picture.media_type,
        "originalSize": len(data),
        "dimensions": {
            "originalWidth": picture.original_width,
            "originalHeight": picture.original_height,
            "displayWidth": picture.width,
            "displayHeight": picture.height,
        },
    }
    return ToolOutput(content=content, data={"type": "image", "file": file})


def show_pdf(path: str, file: BinaryIO, *, pages: str | None, most_chars: int) -> ToolOutput:
    """Pages of a PDF as a document, or their text when the document would be too large to send.

    Raises:
        ToolError: it is locked, damaged or too long, or has no such pages.
    """
    excerpt = pdfs.read_pdf(file, path, pages=pages, most_chars=most_chars)
    note = f"{path}: pages {excerpt.first}-{excerpt.last} of {excerpt.count}."
    if excerpt.data is None:
        lines = excerpt.text.count("\n") + 1
        text_file = {
            "filePath": path,
            "content": excerpt.text,
            "numLines": lines,
            "startLine": 1,
            "totalLines": lines,
        }
        text = f"{note} They are too large to show as pages; this is their text.\n{excerpt.text}"
        return ToolOutput(content=text, data={"type": "text", "file": text_file})
    encoded = base64.b64encode(excerpt.data).decode("ascii")
    source = {"type": "base64", "media_type": "application/pdf", "data": encoded}
    size = os.fstat(file.fileno()).st_size
    return ToolOutput(
        content=[text_block(note), {"type": "document", "source": source, "title": os.path.basename(path)}],
        data={"type": "pdf", "file": {"filePath": path, "base64": encoded, "originalSize": size}},
    )

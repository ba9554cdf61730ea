"""Pages of PDF files: as a document for the model to look at, or as text when that would be too large."""

import io
import logging
import re
from typing import BinaryIO

from msgspec import Struct
from pypdf import PdfReader, PdfWriter
from pypdf.errors import DependencyError, PyPdfError

from bridle.types.errors import ToolError

_MOST_PAGES = 20
_MOST_PAGES_UNASKED = 10
_MOST_ATTACHED_BYTES = 23 * 1024 * 1024
"""In base64 just below the 32 MB that a request may have."""
_RANGE = re.compile(r"\s*(\d{1,6})\s*(?:-\s*(\d{1,6})\s*)?")
# Beside its own errors, pypdf lets out whatever a malformed object led to.
_DAMAGE = (PyPdfError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, OSError)


class Excerpt(Struct, frozen=True, kw_only=True):
    first: int
    last: int
    count: int
    """Pages in the whole file."""
    data: bytes | None
    """A PDF of the pages; None when it would be too large."""
    text: str = ""
    """What the pages say, when there is no `data`."""


def parse_pages(pages: str) -> tuple[int, int]:
    """First and last page of a range such as "3" or "1-5".

    Raises:
        ToolError: this is no such range, or too long.
    """
    match = _RANGE.fullmatch(pages)
    first = int(match[1]) if match else 0
    last = int(match[2] or match[1]) if match else 0
    if first < 1 or last < first:
        raise ToolError(f'pages must be a page or a range such as "3" or "1-5", not {pages[:40]!r}.')
    if last - first >= _MOST_PAGES:
        raise ToolError(f"At most {_MOST_PAGES} pages at once; use a shorter range.")
    return first, last


def read_pdf(file: BinaryIO, path: str, *, pages: str | None, most_chars: int) -> Excerpt:
    """The pages asked for, or all of a short file.

    Raises:
        ToolError: the file is locked, damaged or too long, or has no such pages.
    """
    # The library reports every flaw that it repairs on standard error, where the terminal is being drawn.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(file)
        unlocked = _unlock(reader, path)
        return _excerpt(reader, file, path, pages=pages, most_chars=most_chars, verbatim=not unlocked)
    except _DAMAGE as error:
        raise ToolError(f"{path} is damaged or not a valid PDF: {error}.") from error


def _unlock(reader: PdfReader, path: str) -> bool:
    """Whether the file was locked, if only with an empty password."""
    if not reader.is_encrypted:
        return False
    try:
        opened = reader.decrypt("")
    except DependencyError as error:
        raise ToolError(f"{path} uses an unsupported encryption; read a decrypted copy.") from error
    if not opened:
        raise ToolError(f"{path} is password-protected; read a decrypted copy.")
    return True


def _excerpt(
    reader: PdfReader, file: BinaryIO, path: str, *, pages: str | None, most_chars: int, verbatim: bool
) -> Excerpt:
    count = len(reader.pages)
    if count == 0:
        raise ToolError(f"{path} has no pages.")
    if pages is None and count > _MOST_PAGES_UNASKED:
        raise ToolError(
            f'{path} has {count} pages, too many to read at once; choose some, such as pages="1-5".'
        )
    first, last = (1, count) if pages is None else parse_pages(pages)
    if first > count:
        raise ToolError(f"{path} has only {count} pages, so there is no page {first}.")
    last = min(last, count)
    data = _whole(file) if verbatim and last - first + 1 == count else _selected(reader, first, last)
    if len(data) <= _MOST_ATTACHED_BYTES:
        return Excerpt(first=first, last=last, count=count, data=data)
    text = _text(reader, first, last, most_chars)
    return Excerpt(first=first, last=last, count=count, data=None, text=text)


def _whole(file: BinaryIO) -> bytes:
    file.seek(0)
    return file.read(_MOST_ATTACHED_BYTES + 1)


def _selected(reader: PdfReader, first: int, last: int) -> bytes:
    writer = PdfWriter()
    for page in reader.pages[first - 1 : last]:
        writer.add_page(page)
    buffer = io.BytesIO()
    writer.write(buffer)
    return buffer.getvalue()


def _text(reader: PdfReader, first: int, last: int, most_chars: int) -> str:
    parts: list[str] = []
    room = most_chars
    for number in range(first, last + 1):
        part = f"[page {number}]\n{reader.pages[number - 1].extract_text()}\n"
        if len(part) > room:
            rest = f'PARTIAL view: page {number} is truncated; continue with pages="{number}-{last}".'
            return "".join([*parts, part[:room], f"\n<system-reminder>{rest}</system-reminder>"])
        parts.append(part)
        room -= len(part)
    return "".join(parts)

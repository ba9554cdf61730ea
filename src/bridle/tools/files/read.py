"""Read: show a file to the model, one bounded page at a time."""

import asyncio
import codecs
import os
from collections.abc import Iterator
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from bridle.host.safe_open import Location
from bridle.tools.files import text_files, unsaved
from bridle.tools.files.local_disks import is_small_and_local
from bridle.tools.files.text_pages import Page, cut_page
from bridle.tools.notebooks import notebook, views
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import FileState, Workspace

_DEFAULT_LINES = 2000
_DEFAULT_TOKENS = 25_000
_CHARS_PER_TOKEN = 4
_SMALL_FILE = 256 * 1024
_READ_AT_ONCE = 64 * 1024
_CHUNK = 1024 * 1024
_MOST_SCANNED = 1024**3


class ReadInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    file_path: Annotated[str, Meta(description="Absolute path.")]
    offset: Annotated[int, Meta(ge=0, description="First line (or cell), from 1.")] | None = None
    limit: Annotated[int, Meta(ge=1, description="Lines (or cells) to show.")] | None = None
    pages: Annotated[str, Meta(description='PDF: such as "3" or "1-5", at most 20.')] | None = None


class _Shown(Struct, frozen=True, kw_only=True):
    """What was read, and what the session must remember of it."""

    output: ToolOutput
    state: FileState


def _access(input: ReadInput, workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(input.file_path),))


def _check(input: ReadInput, ctx: ToolContext) -> None:
    text_files.refuse_special(text_files.meant_path(ctx, input.file_path))
    if input.pages:
        from bridle.tools.files import pdfs

        pdfs.parse_pages(input.pages)


@tool(
    "Read",
    ReadInput,
    subject=lambda input: input.file_path,
    access=_access,
    read_only=True,
    check=_check,
    max_result_chars=None,
)
async def read(input: ReadInput, ctx: ToolContext) -> ToolOutput:
    """Show a text file, image, PDF or notebook."""
    location = text_files.locate_to_open(ctx, input.file_path)
    before = ctx.workspace.files.find(location.path)
    await unsaved.ask_editor(ctx, location)
    shown = _show_held(location, input, ctx, before) or _show_at_once(location, input, ctx, before)
    if shown is None:
        shown = await asyncio.to_thread(_show, location, input, ctx, before)
    ctx.workspace.files.note(location.path, shown.state)
    return shown.output


TOOL = read


def _show_held(
    location: Location, input: ReadInput, ctx: ToolContext, before: FileState | None
) -> _Shown | None:
    """What an editor holds of a file and has not saved; None where it holds nothing else than the disk."""
    text = ctx.workspace.unsaved.get(location.path)
    if text is None or input.pages or location.path.endswith(".ipynb"):
        return None
    status = text_files.find_status(location)
    mtime_ns = 0 if status is None else status.st_mtime_ns
    return _show_text(location.path, text.encode(), input, ctx, before=before, mtime_ns=mtime_ns)


def _show_at_once(
    location: Location, input: ReadInput, ctx: ToolContext, before: FileState | None
) -> _Shown | None:
    """A small text file of a local disk, read sooner than a thread has begun; None for all others."""
    if input.pages or location.path.endswith(".ipynb"):
        return None
    if not is_small_and_local(location.target, most_bytes=_READ_AT_ONCE):
        return None
    try:
        with text_files.open_regular(location) as file:
            status, data = os.fstat(file.fileno()), file.read(_READ_AT_ONCE + 1)
    except OSError:
        return None
    if len(data) > _READ_AT_ONCE or text_files.kind_of(data) != "text":
        return None
    return _show_text(location.path, data, input, ctx, before=before, mtime_ns=status.st_mtime_ns)


def _show(location: Location, input: ReadInput, ctx: ToolContext, before: FileState | None) -> _Shown:
    path = location.path
    try:
        with text_files.open_regular(location) as file:
            return _show_open(path, file, input, ctx, before)
    except FileNotFoundError as error:
        raise text_files.missing(path, ctx.workspace) from error
    except OSError as error:
        raise text_files.failure("read", path, error) from error


def _show_open(
    path: str, file: BinaryIO, input: ReadInput, ctx: ToolContext, before: FileState | None
) -> _Shown:
    status = os.fstat(file.fileno())
    # The size of a file under /proc is 0 and that of a growing one is old: what is read decides.
    head = file.read(_SMALL_FILE + 1) or b""
    kind = text_files.kind_of(head)
    if kind == "binary":
        raise text_files.binary(path)
    if kind != "text":
        from bridle.tools.files import documents

        if kind == "pdf":
            output = documents.show_pdf(path, file, pages=input.pages or None, most_chars=_most_chars(ctx))
        else:
            output = documents.show_image(path, head + file.read(documents.MOST_IMAGE_BYTES), kind)
        # Reading again cannot make these writable as text, so only that they were seen is kept.
        return _Shown(output=output, state=FileState(content="", mtime_ns=status.st_mtime_ns, partial=True))
    if path.endswith(".ipynb") and head:
        return _show_notebook(path, head + file.read(notebook.MOST_BYTES), status.st_mtime_ns, input, ctx)
    if len(head) > _SMALL_FILE:
        page, more = _large_page(path, head, file, input, ctx)
        state = FileState(content="", mtime_ns=status.st_mtime_ns, partial=True)
        return _Shown(output=_output(path, page, input, more=more), state=state)
    return _show_text(path, head, input, ctx, before=before, mtime_ns=status.st_mtime_ns)


def _show_text(
    path: str, data: bytes, input: ReadInput, ctx: ToolContext, *, before: FileState | None, mtime_ns: int
) -> _Shown:
    raw, _, _ = text_files.decode(data, path)
    text = raw.replace("\r\n", "\n")
    page = _cut(iter((text,)), input, ctx)
    seen = _seen_so_far(text, page, before, mtime_ns)
    state = FileState(content=seen, mtime_ns=mtime_ns, partial=len(seen) < len(text))
    return _Shown(output=_output(path, page, input, more=False), state=state)


def _large_page(
    path: str, head: bytes, file: BinaryIO, input: ReadInput, ctx: ToolContext
) -> tuple[Page, bool]:
    """A page, and whether there is more of the file than was looked at."""
    page = _cut(_decoded(head, file), input, ctx)
    more = bool(file.read(1))
    if more and not page.lines:
        raise ToolError(
            f"Line {page.start} of {path} lies behind the first {_MOST_SCANNED:,} bytes. "
            "Use a program such as `tail -c` or `sed -n` through Bash."
        )
    return page, more


def _decoded(head: bytes, file: BinaryIO) -> Iterator[str]:
    """The text in pieces; bytes that do not fit the encoding of the beginning become U+FFFD."""
    decoder = codecs.getincrementaldecoder(_encoding(head))("replace")
    yield decoder.decode(head).removeprefix("\ufeff")
    for _ in range(_MOST_SCANNED // _CHUNK):
        if not (chunk := file.read(_CHUNK)):
            yield decoder.decode(b"", final=True)
            return
        yield decoder.decode(chunk)


def _encoding(head: bytes) -> str:
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "latin-1"
    return "utf-8"


def _cut(chunks: Iterator[str], input: ReadInput, ctx: ToolContext) -> Page:
    limit = _DEFAULT_LINES if input.limit is None else input.limit
    return cut_page(chunks, start=max(1, input.offset or 1), limit=limit, most_chars=_most_chars(ctx))


def _most_chars(ctx: ToolContext) -> int:
    setting = ctx.env.get("CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS", "")
    tokens = int(setting) if setting.isdecimal() and int(setting) > 0 else _DEFAULT_TOKENS
    return tokens * _CHARS_PER_TOKEN


def _seen_so_far(text: str, page: Page, before: FileState | None, mtime_ns: int) -> str:
    """The beginning of the text up to where the model has seen it all, over several pages if need be."""
    seen = ""
    if before is not None and before.mtime_ns == mtime_ns and text.startswith(before.content):
        seen = before.content
    lines = text.split("\n")
    before_page, shown = lines[: page.start - 1], lines[page.start - 1 :][: page.whole_lines]
    begin = sum(map(len, before_page)) + len(before_page)
    end = begin + sum(map(len, shown)) + len(shown)
    return text[: max(len(seen), end)] if begin <= len(seen) else seen


def _output(path: str, page: Page, input: ReadInput, *, more: bool) -> ToolOutput:
    numbered = [f"{number}\t{line}" for number, line in enumerate(page.lines, page.start)]
    if notice := _notice(page, input, more=more):
        numbered.append(f"\n<system-reminder>{notice}</system-reminder>" if numbered else notice)
    file = {
        "filePath": path,
        "content": page.text,
        "numLines": len(page.lines),
        "startLine": page.start,
        "totalLines": page.total,
    }
    # Some services reject a text with NUL characters in it.
    content = "\n".join(numbered).replace("\0", "␀")
    return ToolOutput(content=content, data={"type": "text", "file": file})


def _notice(page: Page, input: ReadInput, *, more: bool) -> str:
    if page.total == 0:
        return "Warning: the file exists but is empty."
    if not page.lines:
        return f"Warning: with {page.total} lines the file is shorter than the given offset ({page.start})."
    asked_for_less = input.limit is not None and not page.full
    if page.end >= page.total or asked_for_less:
        return ""
    total = f"at least {page.total}" if more else f"{page.total}"
    return (
        f"PARTIAL view: lines {page.start}-{page.end} of {total} are shown. Continue with "
        f"offset={page.end + 1}, or find the part you need with Grep."
    )


def _show_notebook(path: str, data: bytes, mtime_ns: int, input: ReadInput, ctx: ToolContext) -> _Shown:
    if len(data) > notebook.MOST_BYTES:
        raise ToolError(
            f"{path} has more than {notebook.MOST_BYTES:,} bytes; look into it with `jq` through Bash."
        )
    raw, _, _ = text_files.decode(data, path)
    view = views.show(
        notebook.parse(raw, path),
        start=max(1, input.offset or 1),
        limit=input.limit,
        most_chars=_most_chars(ctx),
    )
    output = ToolOutput(
        content=view.content, data={"type": "notebook", "file": {"filePath": path, "cells": view.cells}}
    )
    return _Shown(output=output, state=notebook.state(raw, mtime_ns, partial=not view.complete))

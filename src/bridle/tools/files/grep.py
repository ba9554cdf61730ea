"""Search the contents of files."""

import asyncio
import os
import os.path
from collections.abc import Callable
from itertools import groupby
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field

from bridle.host.ripgrep import find_ripgrep
from bridle.tools.files.grep_matches import FileMatches, Line, read_contents, read_counts, read_names
from bridle.tools.files.search import (
    held_file,
    newest_first,
    require_existing,
    search,
    shown,
    without_common_folder,
)
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool
from bridle.types.workspace import Workspace

_PAGE = 250
_TIMEOUT = 20.0
_MOST_COLUMNS = 500
_MOST_CONTEXT = 1000
_WORTH_GROUPING = 200

Mode = Literal["content", "files_with_matches", "count"]


class GrepInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pattern: Annotated[str, Meta(description="Regular expression.")]
    path: Annotated[str | None, Meta(description="File or directory; default: the current one.")] = None
    glob: Annotated[str | None, Meta(description="Only matching paths, such as *.{ts,tsx}.")] = None
    type: Annotated[str | None, Meta(description="ripgrep file type, such as py.")] = None
    output_mode: Mode | None = None
    ignore_case: Annotated[bool | None, Meta(description="Ignore case.")] = field(default=None, name="-i")
    only_matching: Annotated[bool | None, Meta(description="Only the match (content).")] = field(
        default=None, name="-o"
    )
    line_numbers: Annotated[bool | None, Meta(description="Line numbers, default true (content).")] = field(
        default=None, name="-n"
    )
    after: Annotated[int | None, Meta(description="Lines after each match.")] = field(default=None, name="-A")
    before: Annotated[int | None, Meta(description="Lines before.")] = field(default=None, name="-B")
    around: Annotated[int | None, Meta(description="Lines on both sides.")] = field(default=None, name="-C")
    context: Annotated[int | None, UNLISTED] = None
    head_limit: Annotated[int | None, Meta(description="Results to return: default 250, 0 for all.")] = None
    offset: Annotated[int | None, Meta(description="Results to skip.")] = None
    multiline: Annotated[bool | None, Meta(description="Match across lines.")] = None


def _access(input: GrepInput, workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(input.path or "."),))


def _check(input: GrepInput, ctx: ToolContext) -> None:
    if not input.pattern or "\0" in input.pattern:
        raise ToolError("The pattern is empty or contains a NUL character.")
    if input.path is not None:
        require_existing(ctx.workspace.resolve(input.path), input.path)


@tool(
    "Grep",
    GrepInput,
    subject=lambda input: input.pattern,
    access=_access,
    read_only=True,
    check=_check,
    max_result_chars=20_000,
)
async def TOOL(input: GrepInput, ctx: ToolContext) -> ToolOutput:
    """Search file contents for a regular expression."""
    path = ctx.workspace.resolve(input.path or ".")
    if os.path.isdir(path):
        return await _search(input, ctx, folder=path, target="./")
    with held_file(path, ctx) as held:
        return await _search(input, ctx, folder=os.path.dirname(path), target=held, named=path)


async def _search(
    input: GrepInput, ctx: ToolContext, *, folder: str, target: str, named: str | None = None
) -> ToolOutput:
    mode: Mode = input.output_mode or "files_with_matches"
    found = await search(
        [*_options(input, mode), f"--regexp={input.pattern}", "--", target],
        ctx,
        folder=folder,
        timeout=_TIMEOUT,
        globs=_globs(input.glob),
    )

    def meant(path: str) -> str:
        return named if named is not None and path == target else path

    def name(path: str) -> str:
        return shown(ctx.cwd, folder, meant(path))

    def is_open(path: str) -> bool:
        return not ctx.permit.hides(os.path.normpath(os.path.join(folder, meant(path))))

    match mode:
        case "files_with_matches":
            names = [path for path in read_names(found.stdout) if is_open(path)]
            page = _name_page(await asyncio.to_thread(newest_first, folder, names), input, name)
        case "content":
            files = [file for file in read_contents(found.stdout) if is_open(file.path)]
            page = _content_page(files, input, name, alone=named is not None)
        case "count":
            counts = {path: count for path, count in read_counts(found.stdout).items() if is_open(path)}
            page = _count_page(counts, input, name)
    notes = [page.note] if page.note else []
    if found.cut or found.timed_out:
        notes.append("(The search was cut short; narrow it with path or glob to see more.)")
    if find_ripgrep(ctx.env) is None:
        notes.append("(ripgrep is not installed; git-ignored files were searched too.)")
    return ToolOutput(content="\n\n".join([page.text, *notes]), data={"mode": mode, **page.data})


def _options(input: GrepInput, mode: Mode) -> list[str]:
    options = ["--hidden", "--null", "--color=never", "--with-filename", "--no-heading"]
    options += [f"--max-columns={_MOST_COLUMNS}"]
    options += {"files_with_matches": ["-l"], "count": ["-c"], "content": ["-n"]}[mode]
    if input.ignore_case:
        options.append("-i")
    if input.multiline:
        options += ["-U", "--multiline-dotall"]
    if input.type:
        options.append(f"--type={input.type}")
    if mode == "content":
        options += ["-o"] if input.only_matching else _context_options(input)
    return options


def _context_options(input: GrepInput) -> list[str]:
    around = input.context if input.context is not None else input.around
    wanted = (("-C", around),) if around is not None else (("-A", input.after), ("-B", input.before))
    return [
        part
        for name, lines in wanted
        if lines is not None and lines > 0
        for part in (name, str(min(lines, _MOST_CONTEXT)))
    ]


def _globs(text: str | None) -> list[str]:
    """Several globs may stand in one text, with blanks or commas between them; braces keep their commas."""
    return [
        glob for part in (text or "").split() for glob in ([part] if "{" in part else part.split(",")) if glob
    ]


class _Page(Struct, frozen=True):
    """A part of the results."""

    text: str
    note: str
    data: dict[str, Any]


def _name_page(paths: list[str], input: GrepInput, name: Callable[[str], str]) -> _Page:
    cut = _Cut.of(input, len(paths))
    names = [name(path) for path in cut.take(paths)]
    files = "file" if len(paths) == 1 else "files"
    relative = without_common_folder(names)
    heading = (f"Found {len(paths):,} {files}", *filter(None, (relative.heading,)))
    text = "\n".join((*heading, *relative.names)) if paths else "No files found"
    return _Page(text, cut.note("files"), {"filenames": names, "numFiles": len(names), **cut.data()})


def _content_page(
    files: list[FileMatches], input: GrepInput, name: Callable[[str], str], *, alone: bool
) -> _Page:
    """Lines of every file; of one that was asked for `alone` the model knows the name."""
    separated = bool(_context_options(input)) and not input.only_matching
    lines: list[Line] = []
    for file in files:
        if lines and separated:
            lines.append(Line("", "--", "--"))
        lines += file.shown_lines(name(file.path), numbered=input.line_numbers is not False)
    cut = _Cut.of(input, len(lines))
    taken = cut.take(lines)
    names = list(dict.fromkeys(line.file for line in taken if line.file))
    content = "\n".join(line.text for line in taken) if alone else _shortest(taken, names)
    return _Page(
        content or "No matches found",
        cut.note("lines"),
        {
            "filenames": names,
            "numFiles": len(names),
            "content": content,
            "numLines": len(taken),
            **cut.data(),
        },
    )


def _shortest(lines: list[Line], names: list[str]) -> str:
    """Lines with the file before each, or below the name of their file where that is clearly shorter."""
    flat = "\n".join(line.named for line in lines)
    relative = without_common_folder(names)
    short = dict(zip(names, relative.names, strict=True))
    blocks = [relative.heading] if relative.heading else []
    for file, group in groupby((line for line in lines if line.file), key=lambda line: line.file):
        blocks.append("\n".join((short[file], *(line.text for line in group))))
    grouped = "\n\n".join(blocks)
    saved = len(flat) - len(grouped)
    return grouped if saved > max(_WORTH_GROUPING, len(flat) // 10) else flat


def _count_page(found: dict[str, int], input: GrepInput, name: Callable[[str], str]) -> _Page:
    counts = sorted(found.items())
    total = sum(count for _, count in counts)
    cut = _Cut.of(input, len(counts))
    summary = f"{total:,} matching lines in {len(counts):,} files."
    taken = cut.take(counts)
    relative = without_common_folder([name(path) for path, _ in taken])
    rows = (f"{each}:{count}" for each, (_, count) in zip(relative.names, taken, strict=True))
    content = "\n".join((*filter(None, (relative.heading,)), *rows))
    return _Page(
        f"{content}\n\n{summary}" if counts else "No matches found",
        cut.note("files"),
        {
            "filenames": [],
            "numFiles": len(counts),
            "content": content,
            "numMatches": total,
            **cut.data(),
        },
    )


class _Cut(Struct, frozen=True):
    """Which part of a list is shown."""

    first: int
    last: int
    total: int

    @classmethod
    def of(cls, input: GrepInput, total: int) -> "_Cut":
        first = min(max(input.offset or 0, 0), total)
        limit = _PAGE if input.head_limit is None else max(input.head_limit, 0)
        return cls(first, min(first + limit, total) if limit else total, total)

    def take(self, items: list[Any]) -> list[Any]:
        return items[self.first : self.last]

    def note(self, things: str) -> str:
        if self.last == self.total and not self.first:
            return ""
        if self.first == self.last:
            return f"(Only {self.total:,} {things}: use a smaller offset.)"
        more = f"; use offset {self.last} for more" if self.last < self.total else ""
        return f"({things.capitalize()} {self.first + 1:,} to {self.last:,} of {self.total:,}{more}.)"

    def data(self) -> dict[str, int]:
        return {
            **({"appliedLimit": self.last - self.first} if self.last < self.total else {}),
            **({"appliedOffset": self.first} if self.first else {}),
        }

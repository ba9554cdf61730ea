"""Find files by name."""

import asyncio
import os
import os.path
import time
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct

from bridle.host.globs import compile_glob, depth_of, split_glob
from bridle.tools.files.search import (
    NEVER_SEARCHED,
    newest_first,
    require_existing,
    search,
    shown,
    without_common_folder,
)
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.variables import is_off
from bridle.types.workspace import Workspace

_MOST = 100
_TIMEOUT = 20.0


class GlobInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pattern: Annotated[str, Meta(description="Such as **/*.py or src/*.{ts,tsx}.")]
    path: Annotated[str | None, Meta(description="Directory; default: the current one.")] = None


def _place(input: GlobInput, workspace: Workspace) -> tuple[str, str]:
    """The directory to search and the pattern within it; leading plain directories belong to the former."""
    start = workspace.resolve(input.path or ".")
    # A trailing slash asks for all that is in a directory.
    folder, rest = split_glob(f"{input.pattern}**" if input.pattern.endswith("/") else input.pattern)
    return workspace.resolve(os.path.join(start, os.path.expanduser(folder))), rest


def _access(input: GlobInput, workspace: Workspace) -> Access:
    return Access(reads=(_place(input, workspace)[0],))


def _check(input: GlobInput, ctx: ToolContext) -> None:
    if not input.pattern.strip() or "\0" in input.pattern:
        raise ToolError("The pattern is empty or contains a NUL character: give a glob such as **/*.py.")
    if input.path is not None:
        path = ctx.workspace.resolve(input.path)
        require_existing(path, input.path)
        if not os.path.isdir(path):
            raise ToolError(f"Path is not a directory: {input.path}. Give its directory.")


@tool("Glob", GlobInput, subject=lambda input: input.pattern, access=_access, read_only=True, check=_check)
async def TOOL(input: GlobInput, ctx: ToolContext) -> ToolOutput:
    """List files whose path matches a glob pattern, newest first."""
    began = time.monotonic()
    folder, pattern = _place(input, ctx.workspace)
    found, complete = await _find(input, ctx, folder=folder, pattern=pattern)
    found = [path for path in found if not ctx.permit.hides(os.path.normpath(os.path.join(folder, path)))]
    names = [shown(ctx.cwd, folder, path) for path in found[:_MOST]]
    relative = without_common_folder(names)
    lines = [*filter(None, (relative.heading,)), *relative.names] or ["No files found"]
    if len(found) > _MOST:
        lines.append(f"(Newest {_MOST} of {len(found):,} files; narrow the path or pattern to see others.)")
    if not complete:
        lines.append("(The search was cut short; narrow the path or pattern to see more.)")
    return ToolOutput(
        content="\n".join(lines),
        data={
            "filenames": names,
            "numFiles": len(names),
            "durationMs": round((time.monotonic() - began) * 1000),
            "truncated": len(found) > _MOST or not complete,
        },
    )


async def _find(input: GlobInput, ctx: ToolContext, *, folder: str, pattern: str) -> tuple[list[str], bool]:
    """Every match, and whether the search came to its end."""
    anchored = "/" in input.pattern
    below = split_glob(input.pattern)[0].split("/")
    if not os.path.isdir(folder) or any(name in NEVER_SEARCHED for name in below):
        return [], True
    try:
        expression = compile_glob(pattern, anchored=anchored)
    except ValueError as error:
        raise ToolError(f"This is {error}: check its braces and brackets.") from error
    listed = await search(
        _listing_options(ctx.env, depth_of(pattern) if anchored else None),
        ctx,
        folder=folder,
        timeout=_timeout(ctx.env),
    )
    paths = os.fsdecode(listed.stdout).split("\0")[:-1]
    matches = await asyncio.to_thread(
        lambda: newest_first(folder, (path for path in paths if expression.fullmatch(path)))
    )
    return matches, not (listed.cut or listed.timed_out)


def _listing_options(env: Mapping[str, str], depth: int | None) -> list[str]:
    options = ["--files", "--null"]
    if not is_off(env, "CLAUDE_CODE_GLOB_HIDDEN"):
        options.append("--hidden")
    if not is_off(env, "CLAUDE_CODE_GLOB_NO_IGNORE"):
        options.append("--no-ignore")
    if depth is not None:
        options.append(f"--max-depth={depth}")
    return options


def _timeout(env: Mapping[str, str]) -> float:
    text = env.get("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", "").strip()
    return float(text) if text.isdecimal() and int(text) > 0 else _TIMEOUT

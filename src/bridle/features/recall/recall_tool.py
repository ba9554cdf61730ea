"""Recall: the model searches earlier conversations, within rules for files and trust in folders."""

import asyncio
import os
import sqlite3
import time
from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta, Struct
from msgspec.structs import replace

from bridle.config.state import is_trusted
from bridle.features.recall.index import update
from bridle.features.recall.query import Hit, Query, search, shown, since_of
from bridle.tools.definitions import input_schema
from bridle.types.errors import ToolError, UsageError
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool

_MOST = 20


class RecallInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    query: Annotated[str, Meta(description='Words that a message must have; "in quotes" as they are.')]
    everywhere: Annotated[bool, Meta(description="Search other projects too; the user is asked.")] = False
    since: Annotated[str, Meta(description="Such as 7d or 2026-11-19.")] = ""
    limit: Annotated[int, Meta(ge=1, le=_MOST)] = 8


def recall_tool(env: Mapping[str, str], project: str) -> Tool:
    """The tool for a session in this folder."""

    @tool(
        "Recall", RecallInput, subject=lambda input: input.query, read_only=lambda input: not input.everywhere
    )
    async def recall(input: RecallInput, ctx: ToolContext) -> ToolOutput:
        """Search what was said in earlier conversations, of this project unless asked otherwise."""
        try:
            hits = await asyncio.to_thread(_find, input, ctx, env, project)
        except UsageError as error:
            raise ToolError(str(error)) from error
        except (OSError, sqlite3.Error) as error:
            raise ToolError(f"Can't use the search index: {error}") from error
        text = shown(hits) if hits else "No earlier conversation contains all of these words."
        return ToolOutput(content=text, data={"count": len(hits), "ids": [hit.id for hit in hits]})

    summary = recall.summary
    return replace(
        recall,
        deferred=True,
        search_hint="history past sessions memory transcripts",
        definition={"name": "Recall", "description": summary, "input_schema": input_schema(RecallInput)},
    )


def _find(input: RecallInput, ctx: ToolContext, env: Mapping[str, str], project: str) -> list[Hit]:
    query = Query(
        words=input.query,
        since=since_of(input.since, now=time.time()) if input.since else 0.0,
        below="" if input.everywhere else project,
        limit=input.limit,
    )
    trusted: dict[str, bool] = {}

    def allows(hit: Hit) -> bool:
        """Not this conversation, nothing of folders without trust, and no file that a rule hides."""
        if hit.session == ctx.session_id or not hit.cwd:
            return False
        if hit.cwd not in trusted:
            trusted[hit.cwd] = is_trusted(env, hit.cwd)
        named = (hit.path, *(os.path.join(hit.cwd, path) for path in hit.files))
        return trusted[hit.cwd] and not any(map(ctx.permit.hides, named))

    update(env)
    return search(query, env, allows=allows)

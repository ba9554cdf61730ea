"""Tools of servers as tools of the session."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from bridle.mcp.background_calls import move, patience_of
from bridle.mcp.catalog import ServerTool
from bridle.mcp.connection import Connection
from bridle.mcp.results import FitImage, ResultStorage, most_chars, output_of
from bridle.types.errors import McpError, ToolError
from bridle.types.permission import Access
from bridle.types.tool import Tool, ToolContext, ToolOutput

_PERSISTED_BY_ENGINE = 100_000
_LONGEST_SUMMARY = 200
_INPUT = dict[str, Any]


class ServerToolContext(Struct, frozen=True, kw_only=True):
    """What all tools of a server have in common."""

    connection: Connection
    env: Mapping[str, str]
    fit: FitImage | None
    patience: float | None
    server: dict[str, str]

    @classmethod
    def of(
        cls, connection: Connection, *, env: Mapping[str, str], fit: FitImage | None
    ) -> "ServerToolContext":
        server = {"name": connection.server.name, "source": connection.server.source}
        return cls(connection=connection, env=env, fit=fit, patience=patience_of(env), server=server)


class _Run(Struct, frozen=True):
    """Calls a tool of a server; an object and no closure, because there may be a hundred thousand."""

    context: ServerToolContext
    tool: ServerTool

    async def __call__(self, input: dict[str, Any], ctx: ToolContext) -> ToolOutput:
        context, tool = self.context, self.tool
        connection, limit = context.connection, most_chars(context.env, tool.most_chars)
        storage = ResultStorage(storage=ctx.storage, call_id=ctx.call_id, fit_image=context.fit)
        notification = _teller(ctx.progress)
        calling = asyncio.ensure_future(
            connection.call(tool, input, call_id=ctx.call_id, progress=notification)
        )
        try:
            await asyncio.wait((calling,), timeout=context.patience)
        except asyncio.CancelledError:
            calling.cancel()
            await asyncio.gather(calling, return_exceptions=True)
            raise
        if not calling.done():
            return move(
                calling, lambda result: output_of(result, limit=limit, storage=storage), connection, tool, ctx
            )
        try:
            return output_of(calling.result(), limit=limit, storage=storage)
        except McpError as error:
            raise ToolError(str(error)) from error


def session_tool(context: ServerToolContext, tool: ServerTool) -> Tool:
    """A tool of a server as the engine runs it.

    The server's word that it only reads lets calls run side by side; whether one may run at all is asked
    nevertheless.
    """
    limit = most_chars(context.env, tool.most_chars)
    line = tool.description.partition("\n")[0]
    return Tool(
        name=tool.full_name,
        input=_INPUT,
        # A cut text is a second one in memory, and the same text is not.
        summary=line if len(line) <= _LONGEST_SUMMARY else line[:_LONGEST_SUMMARY],
        run=_Run(context, tool),
        subject=_nothing,
        access=_no_files,
        read_only=_never,
        parallel=_always if tool.read_only else _never,
        check=_unchecked,
        max_result_chars=limit if limit <= _PERSISTED_BY_ENGINE else None,
        describe=tool.definition,
        description=tool.description,
        deferred=not (tool.always_load or context.connection.server.config.always_load),
        search_hint=tool.search_hint,
        needs_person=tool.needs_person,
        server=context.server,
    )


def _teller(progress: Callable[[str], None]) -> Callable[[Mapping[str, Any]], None]:
    def tell(notification: Mapping[str, Any]) -> None:
        message, done, total = (
            notification.get("message"),
            notification.get("progress"),
            notification.get("total"),
        )
        if isinstance(message, str) and message:
            progress(message[:2_000])
        elif isinstance(done, int | float):
            of = f"/{total:g}" if isinstance(total, int | float) else ""
            progress(f"{done:g}{of}")

    return tell


def _nothing(_: Any) -> str:
    return ""


def _no_files(_: Any, __: Any) -> Access:
    return Access()


def _never(_: Any) -> bool:
    return False


def _always(_: Any) -> bool:
    return True


def _unchecked(_: Any, __: Any) -> None:
    """The server checks what it is given."""

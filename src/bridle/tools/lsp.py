"""Ask language servers about code."""

from typing import Annotated

from msgspec import Meta, Struct

from bridle.types.permission import Access
from bridle.types.services.language_servers import LANGUAGES, Inquiry, Operation
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import Workspace


class LspInput(Struct, frozen=True, forbid_unknown_fields=True):
    operation: Annotated[Operation, Meta(description="The query.")]
    filePath: Annotated[str, Meta(description="The file to query, or any file in its language.")]
    line: Annotated[int, Meta(description="Line, from 1.", ge=1)] = 1
    character: Annotated[int, Meta(description="Character in the line, from 1.", ge=1)] = 1
    query: Annotated[str, Meta(description="For workspaceSymbol: the name or part of it.")] = ""


def _access(input: LspInput, workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(input.filePath),))


@tool(
    "LSP",
    LspInput,
    subject=lambda input: input.filePath,
    access=_access,
    read_only=True,
    max_result_chars=None,
)
async def TOOL(input: LspInput, ctx: ToolContext) -> ToolOutput:
    """Ask a language server about definitions, uses, types and symbols."""
    languages = ctx.need(LANGUAGES)
    path = ctx.workspace.resolve(input.filePath)
    found = await languages.ask(
        Inquiry(
            operation=input.operation,
            path=path,
            line=input.line,
            character=input.character,
            query=input.query,
        ),
        hides=ctx.permit.hides,
    )
    return ToolOutput(
        content=found.text,
        data={
            "operation": input.operation,
            "result": found.text,
            "filePath": path,
            "resultCount": found.results,
            "fileCount": found.files,
        },
    )

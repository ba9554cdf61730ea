"""Show files to the user."""

import os
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.services.session import ANNOUNCE
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.workspace import Workspace

_MOST = 20


class SendUserFileInput(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    files: Annotated[Sequence[str], Meta(description="Paths of the files.", min_length=1, max_length=_MOST)]
    caption: Annotated[str | None, Meta(description="One-line caption.")] = None
    display: Annotated[
        Literal["render", "attach"] | None, Meta(description="Show the content, or only offer the file.")
    ] = None


def _access(input: SendUserFileInput, workspace: Workspace) -> Access:
    return Access(reads=tuple(workspace.resolve(each) for each in input.files))


@tool(
    "SendUserFile",
    SendUserFileInput,
    subject=lambda input: " ".join(input.files),
    access=_access,
    read_only=True,
    parallel=lambda _: False,
)
async def TOOL(input: SendUserFileInput, ctx: ToolContext) -> ToolOutput:
    """Point the user to files that were made for them."""
    paths = [ctx.workspace.resolve(each) for each in input.files]
    missing = [path for path in paths if not os.path.isfile(path)]
    if missing:
        raise ToolError(f"Not files: {', '.join(missing)}.")
    if (announce := ctx.service(ANNOUNCE)) is not None:
        announce(": ".join(filter(None, (input.caption, ", ".join(paths)))))
    return ToolOutput(
        content=f"The user was shown {len(paths)} files.",
        data={
            "files": [{"path": path, "size": os.path.getsize(path)} for path in paths],
            "caption": input.caption,
            "display": input.display or "attach",
        },
    )

"""Put a file of this machine into a form of a page."""

import base64
import mimetypes
import os
import stat
from typing import Annotated

from msgspec import Meta, Struct

from bridle.host.safe_open import as_approved, open_checked
from bridle.tools.browser import pages
from bridle.types.errors import ToolError
from bridle.types.permission import Access
from bridle.types.services.browser import BROWSER
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool
from bridle.types.workspace import Workspace

_LARGEST = 8 * 1024 * 1024


class BrowserUploadInput(Struct, frozen=True, forbid_unknown_fields=True):
    file_path: Annotated[str, Meta(min_length=1, description="The file.")]
    ref: Annotated[int, Meta(description="The field for a file, as BrowserRead numbers it.")]
    tab: Annotated[int | None, Meta(description="The tab; the last one used by default.")] = None
    site: Annotated[str, UNLISTED] = ""


def _access(input: BrowserUploadInput, workspace: Workspace) -> Access:
    return Access(reads=(workspace.resolve(input.file_path),))


@tool(
    "BrowserUpload",
    BrowserUploadInput,
    subject=lambda input: pages.subject(input.site),
    access=_access,
    check=lambda input, _: pages.require_site(input.site),
)
async def TOOL(input: BrowserUploadInput, ctx: ToolContext) -> ToolOutput:
    """Choose a file for a field of a page."""
    path = ctx.workspace.resolve(input.file_path)
    data = _read(path, ctx)
    name = os.path.basename(path)
    params = {
        "tab": input.tab,
        "site": input.site,
        "ref": input.ref,
        "name": name,
        "type": mimetypes.guess_type(name)[0] or "application/octet-stream",
        "data": base64.b64encode(data).decode(),
    }
    answer = await ctx.need(BROWSER).ask("upload", params)
    lines = [
        f"The field has {name} ({len(data)} bytes) now; the form is not sent yet.",
        *pages.dialogs(answer),
    ]
    known = {"filePath": path, "size": len(data), "tab": input.tab, "site": input.site}
    return ToolOutput(content="\n".join(lines), data=known)


def _read(path: str, ctx: ToolContext) -> bytes:
    if ctx.permit.hides(path):
        raise ToolError(f"{path} may not be read: a rule denies it.")
    try:
        descriptor = open_checked(as_approved(path, ctx.permit.approved), look=_require_small_file)
        with os.fdopen(descriptor, "rb") as file:
            data = file.read(_LARGEST + 1)
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror}.") from error
    if len(data) > _LARGEST:
        raise _too_large()
    return data


def _require_small_file(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("Only plain files can be uploaded.")
    if status.st_size > _LARGEST:
        raise _too_large()


def _too_large() -> ToolError:
    return ToolError(
        f"The file is larger than {_LARGEST // 1024 // 1024} MB, which is the most that can be uploaded."
    )

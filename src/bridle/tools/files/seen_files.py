"""Writing only over what the model has seen."""

import os

from bridle.host.files import write_checked
from bridle.host.safe_open import Location
from bridle.tools.files.text_files import TextFile, TextForm, encode, failure, find_status, stamp_of
from bridle.types.errors import ToolError
from bridle.types.workspace import FileState

MOST_CHECKED_BYTES = 8 * 1024 * 1024
"""Larger files are read when the call runs, not while it is being checked."""


def require_seen(state: FileState | None, path: str) -> FileState:
    """The state itself.

    Raises:
        ToolError: there is none, so the model has never seen the file.
    """
    if state is None:
        raise ToolError(f"{path} has not been read yet. Read it first, then change it.")
    return state


def differs(state: FileState, file: TextFile) -> bool:
    """Whether a file is no longer what the model saw; times alone can be equal for different contents."""
    if state.partial:
        return state.mtime_ns != file.mtime_ns
    return state.content != file.text


def modified(path: str) -> ToolError:
    return ToolError(f"{path} was modified since it was read. Read it again, then change it.")


def put(location: Location, raw: str, form: TextForm, *, stamp: tuple[int, ...] | None) -> int:
    """Write a text over the file with this stamp (None: over nothing) and return its new time.

    Raises:
        ToolError: the file changed in between, or cannot be written.
    """
    path = location.path
    try:
        data = encode(raw, form)
    except UnicodeEncodeError as error:
        character = raw[error.start : error.start + 1]
        raise ToolError(
            f"{path} is encoded as {form.encoding}, which cannot hold {character!r}. "
            "Leave the character out or convert the file first."
        ) from error

    def require_unchanged(status: os.stat_result | None) -> None:
        if (status and stamp_of(status)) != stamp:
            raise modified(path)

    require_unchanged(find_status(location))
    try:
        return write_checked(location, data, look=require_unchanged).st_mtime_ns
    except OSError as error:
        raise failure("write", path, error) from error

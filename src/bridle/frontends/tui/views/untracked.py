"""Files that git does not know yet, as changes that add them."""

import os.path
from collections.abc import Sequence

from bridle.frontends.tui.render.diff import FileChange, change_between
from bridle.host.files import read_bytes

_MOST_FILES = 200
_LARGEST = 256 * 1024


def read_untracked(root: str, names: Sequence[str]) -> list[FileChange]:
    """Each file with all of its lines; what is no text, too large or gone has none."""
    return [_read(root, name) for name in names[:_MOST_FILES]]


def _read(root: str, name: str) -> FileChange:
    path = os.path.join(root, name)
    try:
        if os.path.islink(path) or os.path.getsize(path) > _LARGEST:
            return FileChange(path=name, kind="new")
        text = read_bytes(path, _LARGEST).decode()
    except OSError:
        return FileChange(path=name, kind="new")
    except UnicodeDecodeError:
        return FileChange(path=name, kind="binary")
    if "\0" in text:
        return FileChange(path=name, kind="binary")
    return change_between(name, "", text, exists=False)

"""Copies the files of a bundled skill to where the model may read them, when the skill is first used."""

import os
import os.path
from collections.abc import Iterator

from bridle.host.files import make_folders, read_bytes, write_new

_LARGEST = 4 * 1024 * 1024


def has_files(folder: str) -> bool:
    """Whether a skill brings anything besides its own text."""
    return any(True for _ in _others(folder))


def extract(folder: str, target: str) -> str | None:
    """Copy what lies beside SKILL.md; returns where it is now, None when it could not be written.

    What is there already is left alone: no file is replaced and no link is followed.
    """
    try:
        for path in _others(folder):
            place = os.path.join(target, path)
            make_folders(os.path.dirname(place), private=True)
            try:
                write_new(place, read_bytes(os.path.join(folder, path), _LARGEST))
            except FileExistsError:
                continue
    except OSError:
        return None
    return target


def _others(folder: str) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        below = os.path.relpath(parent, folder)
        for name in sorted(files):
            path = os.path.normpath(os.path.join(below, name))
            if path != "SKILL.md":
                yield path

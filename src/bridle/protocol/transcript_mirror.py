"""Lines of a transcript as frames, for a host that keeps a copy of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from bridle.types.text import encodable_value

_LARGEST = 256 * 1024
"""Bytes of lines in one frame, unless a single line is longer: hosts limit what they read as one."""


def mirror_frames(path: str, entries: Sequence[Mapping[str, object]]) -> Iterator[dict[str, Any]]:
    """The new lines of a file, in order, as few frames as their size allows."""
    batch: list[msgspec.Raw] = []
    size = 0
    for entry in entries:
        line = _encode(entry)
        if batch and size + len(line) > _LARGEST:
            yield {"type": "transcript_mirror", "filePath": path, "entries": batch}
            batch, size = [], 0
        batch.append(msgspec.Raw(line))
        size += len(line)
    if batch:
        yield {"type": "transcript_mirror", "filePath": path, "entries": batch}


def _encode(entry: Mapping[str, object]) -> bytes:
    try:
        return msgspec.json.encode(entry)
    except UnicodeEncodeError:
        return msgspec.json.encode(encodable_value(entry))

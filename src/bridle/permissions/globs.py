"""File names that a shell would find for the patterns in a command."""

from itertools import islice

import msgspec

from bridle.types.shell import Part, Reading

_MOST = 500


def with_matches(reading: Reading) -> Reading:
    """The same with the files that its patterns match now, because any of them may be a link or denied."""
    if not any(part.globs for part in reading.parts):
        return reading
    return msgspec.structs.replace(reading, parts=tuple(map(_matched, reading.parts)))


def _matched(part: Part) -> Part:
    from glob import iglob

    found: list[str] = []
    for pattern in part.globs:
        # Python negates with `!` only, and the shell leaves out hidden names just as it does.
        found += islice(iglob(pattern.replace("[^", "[!")), _MOST + 1 - len(found))
    if len(found) > _MOST:
        return msgspec.structs.replace(part, unclear=f"its patterns match more than {_MOST} files")
    return msgspec.structs.replace(part, reads=(*part.reads, *found))

"""Lets somebody follow what is written to a transcript."""

from collections.abc import Mapping, Sequence

from bridle.sessions.transcript import Follow, Writer


class MirroredWriter:
    """Writes as the writer inside it does, then tells what was written."""

    def __init__(self, writer: Writer, path: str, follow: Follow) -> None:
        self._writer = writer
        self._path = path
        self._follow = follow

    def append(self, entries: Sequence[Mapping[str, object]]) -> None:
        self._writer.append(entries)
        if entries:
            self._follow(self._path, entries)

    async def sync(self) -> None:
        await self._writer.sync()

    def sibling(self, path: str) -> "MirroredWriter":
        return MirroredWriter(self._writer.sibling(path), path, self._follow)

    def close(self) -> None:
        self._writer.close()

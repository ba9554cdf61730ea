"""A writer that also reports to an observer what is written to a transcript."""

from collections.abc import Mapping, Sequence

from bridle.transcripts.transcript import Follow, Writer, agent_facts


class MirroredWriter:
    """Writes with the inner writer, then reports what was written.

    The metadata of an agent's transcript is reported with its first lines, as `agent_metadata`.
    """

    def __init__(self, writer: Writer, path: str, follow: Follow, *, of_agent: bool = False) -> None:
        self._writer = writer
        self._path = path
        self._follow = follow
        self._owes_facts = of_agent

    def append(self, entries: Sequence[Mapping[str, object]]) -> None:
        self._writer.append(entries)
        if entries:
            self._follow(self._path, [*self._facts(), *entries])

    async def sync(self) -> None:
        await self._writer.sync()

    def sibling(self, path: str) -> "MirroredWriter":
        return MirroredWriter(self._writer.sibling(path), path, self._follow, of_agent=True)

    def relocate(self, path: str) -> bool:
        if not self._writer.relocate(path):
            return False
        self._path = path
        return True

    def close(self) -> None:
        self._writer.close()

    def _facts(self) -> list[Mapping[str, object]]:
        facts = agent_facts(self._path) if self._owes_facts else None
        if facts is None:
            return []  # They may be written a moment later, and the next lines bring them.
        self._owes_facts = False
        return [{**facts, "type": "agent_metadata"}]

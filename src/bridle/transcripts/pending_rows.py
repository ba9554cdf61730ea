"""Rows that wait for the end of an answer, and the line that keeps them safe until then.

The rows of an answer are written once, with the usage and stop reason that the service reports at its end:
programs that add up transcripts take the first row of an answer or the last, and must find the same. Calls
start while the answer is still streaming, and they and their results must survive a crash before that. So
they are written as a `bridle-pending` line, which counts only as long as no row follows it.
"""

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from bridle.transcripts.attachments import to_row
from bridle.types.entry import ConversationEntry, NoteEntry

PENDING = "bridle-pending"


class PendingRows:
    """The rows of a session that are not in its file yet, in order."""

    __slots__ = ("_noted", "rows")

    def __init__(self) -> None:
        self.rows: list[ConversationEntry] = []
        self._noted = 0
        """So many of them are in pending lines."""

    def drop(self, uuids: Collection[str]) -> bool:
        """Forget rows; whether lines that were written before are no longer true."""
        self.rows = [row for row in self.rows if row["uuid"] not in uuids]
        was_noted, self._noted = self._noted > 0, 0
        return was_noted

    def line(self, session_id: str, *, anew: bool = False) -> list[NoteEntry]:
        """The line for rows that no line has yet; with `anew` it replaces all lines before."""
        fresh, self._noted = self.rows[self._noted :], len(self.rows)
        if not fresh and not anew:
            return []
        line: NoteEntry = {"type": PENDING, "sessionId": session_id, "rows": [to_row(row) for row in fresh]}
        return [{**line, "anew": True}] if anew else [line]

    def take(self) -> list[ConversationEntry]:
        """All rows, to be written as they are now."""
        rows, self.rows, self._noted = self.rows, [], 0
        return rows


def restored(
    lines: Iterable[dict[str, Any] | None], waiting: list[dict[str, Any]]
) -> Iterator[dict[str, Any] | None]:
    """The lines of a file, then the rows that its writer never came to write; they are left in `waiting`."""
    for line in lines:
        if line is None:
            yield line
        elif line.get("type") == PENDING:
            rows = line.get("rows")
            if line.get("anew"):
                waiting.clear()
            waiting += [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else ()
        else:
            if isinstance(line.get("uuid"), str):
                waiting.clear()
            yield line
    yield from [dict(row) for row in waiting]

"""Takes the last compaction back: what it replaced still stands in the transcript."""

from bridle.transcripts.reader import load_before
from bridle.transcripts.session import Session


def undo_compaction(session: Session, path: str) -> bool:
    """Go back to the conversation before the newest compaction; False when there was none.

    What was said since the compaction is left behind, in the file and out of the conversation.

    Raises:
        OSError: the transcript cannot be read.
    """
    boundary = next(
        (
            entry
            for entry in reversed(session.entries)
            if entry["type"] == "system" and entry["subtype"] == "compact_boundary"
        ),
        None,
    )
    if boundary is None or (leaf := boundary.get("logicalParentUuid")) is None:
        return False
    session.flush()
    session.go_back(load_before(path, leaf))
    return True

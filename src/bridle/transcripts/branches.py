"""Branches of a conversation: what was said after a prompt before it was rewound."""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from bridle.transcripts.conversation import is_prompt
from bridle.transcripts.line import decode_line
from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry

_LONGEST = 100


class Branch(Struct, frozen=True, kw_only=True):
    """A way that a conversation went before it was rewound."""

    leaf: str
    """Its last entry."""
    prompt: str
    """The first prompt that only this branch has."""
    prompts: int
    timestamp: str


def branches(path: str, current: Sequence[ConversationEntry]) -> list[Branch]:
    """The branches that a transcript has besides the current one, the newest first.

    Raises:
        OSError: the file cannot be read.
    """
    rows = {row["uuid"]: row for row in _rows(path)}
    parents = {row.get("parentUuid") for row in rows.values()}
    own = {entry["uuid"] for entry in current}
    found: list[Branch] = []
    for uuid, row in rows.items():
        if uuid in parents or uuid in own:
            continue
        asked = [each for each in _above(row, rows, own) if each.get("type") == "user" and is_prompt(each)]
        if asked:
            words = " ".join(text_of(asked[-1]["message"]["content"]).split())[:_LONGEST]
            at = str(row.get("timestamp", ""))
            found.append(Branch(leaf=uuid, prompt=words, prompts=len(asked), timestamp=at))
    return sorted(found, key=lambda branch: branch.timestamp, reverse=True)


def _above(row: dict[str, Any], rows: dict[str, dict[str, Any]], own: set[str]) -> Iterator[Any]:
    """The row and those before it that are not part of the current branch."""
    seen: set[str] = set()
    at: dict[str, Any] | None = row
    while at is not None and at["uuid"] not in own and at["uuid"] not in seen:
        seen.add(at["uuid"])
        yield at
        at = rows.get(str(at.get("parentUuid")))


def _rows(path: str) -> Iterator[dict[str, Any]]:
    with open(path, "rb") as file:
        for line in file:
            row = decode_line(line) if b'"uuid"' in line else None
            if row is not None and isinstance(row.get("uuid"), str) and not row.get("isSidechain"):
                yield row

"""Reads a transcript back, of any version and however it ended."""

import os.path
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.transcripts.attachments import entries_of
from bridle.transcripts.cost import Cost, from_note
from bridle.transcripts.line import decode_line, is_uuid
from bridle.transcripts.pending_rows import restored
from bridle.transcripts.shortened_results import replacements_in, shortened
from bridle.transcripts.usage.unsaved_cost import UnsavedCost
from bridle.types.entry import ConversationEntry, NoteEntry

_LINKED_DEFAULTS: dict[str, Any] = {
    "parentUuid": None,
    "isSidechain": False,
    "timestamp": "",
    "sessionId": "",
    "cwd": "",
    "version": "",
    "gitBranch": "",
    "userType": "external",
    "entrypoint": "",
}


class Loaded(Struct, frozen=True, kw_only=True):
    """A transcript as a resume needs it."""

    path: str
    session_id: str
    chain: list[dict[str, Any]]
    """Every row from the root to the leaf, kinds of newer releases included."""
    entries: list[ConversationEntry]
    """The rows of the chain that are part of the conversation."""
    notes: Mapping[str, NoteEntry]
    """The newest line of each kind outside the chain."""
    cost: Cost
    broken_lines: int
    replacements: Mapping[str, str] = {}
    """Results that were shortened later, by the id of their call."""
    pending: Sequence[Mapping[str, Any]] = ()
    """Rows at the end of the conversation that are not in the file as rows yet."""


def load(path: str, *, sidechain: bool = False, team: bool = False) -> Loaded:
    """Read a transcript, or that of an agent (`sidechain`) or of a teammate's process (`team`).

    A line that cannot be used costs only itself.

    Raises:
        OSError: the file cannot be read.
    """
    return gather(_read(path), path=path, sidechain=sidechain, team=team)


def gather(
    lines: Iterable[dict[str, Any] | None], *, path: str, sidechain: bool = False, team: bool = False
) -> Loaded:
    """Load parsed lines, None for one that cannot be read; `path` is where they belong."""
    rows: list[dict[str, Any]] = []
    notes: dict[str, NoteEntry] = {}
    broken = 0
    went_back: tuple[int, Any] = (0, None)
    replacements: dict[str, str] = {}
    pending: list[dict[str, Any]] = []
    unsaved = UnsavedCost()
    for row in restored(lines, pending):
        if row is None:
            broken += 1
            continue
        unsaved.take(row)
        if not isinstance(row.get("uuid"), str):
            notes[str(row.get("type"))] = row
            replacements |= replacements_in(row)
            if row.get("type") == "bridle-leaf":
                went_back = (len(rows), row.get("leafUuid"))
        elif bool(row.get("isSidechain")) is not sidechain:
            continue
        elif _is_sound(row):
            if team:
                row.pop("teamName", None)  # The same holds for that of a teammate.
            row["isSidechain"] = False  # In its own file the conversation of an agent is the main one.
            rows.append(row if row.keys() >= _LINKED_DEFAULTS.keys() else {**_LINKED_DEFAULTS, **row})
        else:
            broken += 1
    chain = _with_preserved(_chain(_up_to_leaf(rows, *went_back)), rows)
    return Loaded(
        path=path,
        session_id=_session_id(path, chain),
        chain=chain,
        entries=entries_of(chain),
        notes=notes,
        cost=unsaved.added_to(from_note(notes.get("cost-state", {}))),
        broken_lines=broken,
        replacements=replacements,
        pending=pending,
    )


def load_before(path: str, leaf: str) -> list[ConversationEntry]:
    """The conversation that ends in the row `leaf`, whatever was said after it.

    Raises:
        OSError: the file cannot be read.
    """
    rows: list[dict[str, Any]] = []
    at: int | None = None
    replaced: dict[str, str] = {}
    for row in restored(_read(path), []):
        if row is None or row.get("isSidechain"):
            continue
        if not isinstance(row.get("uuid"), str):
            # What was shortened after the next row was written is not part of that state.
            replaced |= replacements_in(row) if at is None or at == len(rows) - 1 else {}
        elif _is_sound(row):
            rows.append(row if row.keys() >= _LINKED_DEFAULTS.keys() else {**_LINKED_DEFAULTS, **row})
            at = len(rows) - 1 if row["uuid"] == leaf else at
    chain = [] if at is None else _with_preserved(_chain(rows[: at + 1], at), rows)
    return shortened(entries_of(chain), replaced)


def opening(path: str) -> dict[str, Any] | None:
    """The first row of a conversation, without reading the rest; None when the file holds none.

    Raises:
        OSError: the file cannot be read.
    """
    return next(
        (
            row
            for row in restored(_read(path), [])
            if row is not None and _is_sound(row) and _may_be_leaf(row)
        ),
        None,
    )


def _read(path: str) -> Iterator[dict[str, Any] | None]:
    with open(path, "rb") as file:
        for line in file:
            if not line.isspace():
                yield decode_line(line)


def _up_to_leaf(rows: list[dict[str, Any]], place: int, leaf: Any) -> list[dict[str, Any]]:
    """The rows without those that a compaction wrote and an undo took back, if nothing was said since."""
    if leaf is None or any(map(_may_be_leaf, rows[place:])):
        return rows
    at = next((index for index, row in enumerate(rows) if row["uuid"] == leaf), None)
    return rows if at is None else rows[: at + 1]


def _chain(rows: list[dict[str, Any]], leaf: int | None = None) -> list[dict[str, Any]]:
    """Follow parents from the last row of the conversation, or from `leaf`, to its root.

    A parent that is gone or leads in a circle is replaced by the row before in the file, so that a broken
    line does not take everything before it along.
    """
    place = {row["uuid"]: index for index, row in enumerate(rows)}
    at = leaf
    if at is None:
        at = next((i for i in range(len(rows) - 1, -1, -1) if _may_be_leaf(rows[i])), None)
    seen: set[str] = set()
    chain: list[dict[str, Any]] = []
    while at is not None:
        row = rows[at]
        seen.add(row["uuid"])
        chain.append(row)
        if (parent := row["parentUuid"]) is None:
            break
        if isinstance(parent, str) and parent in place and parent not in seen:
            at = place[parent]
        elif row.get("isCompactSummary"):
            break
        else:
            at = next((i for i in range(at - 1, -1, -1) if rows[i]["uuid"] not in seen), None)
    chain.reverse()
    return chain


def _with_preserved(chain: list[dict[str, Any]], rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chain with what a compaction of Claude Code kept word for word, behind the summary.

    Such rows stand only before the line that it drew; bridle writes them once more behind it.
    """
    kept: dict[str, list[str]] = {}
    for row in chain:
        match row:
            case {
                "subtype": "compact_boundary",
                "compactMetadata": {"preservedMessages": {"anchorUuid": str() as anchor, **ids}},
            }:
                wanted = ids.get("allUuids") or ids.get("uuids")
                kept[anchor] = (
                    [uuid for uuid in wanted if isinstance(uuid, str)] if isinstance(wanted, list) else []
                )
            case _:
                pass
    if not kept:
        return chain
    known = {row["uuid"] for row in chain}
    found = {row["uuid"]: row for row in rows if row["uuid"] not in known}
    whole: list[dict[str, Any]] = []
    for row in chain:
        whole.append(row)
        whole += [found.pop(uuid) for uuid in kept.get(row["uuid"], ()) if uuid in found]
    return whole


def _may_be_leaf(row: dict[str, Any]) -> bool:
    return row.get("type") in {"user", "assistant"} and not (
        row.get("isSidechain") or row.get("isMeta") or row.get("teamName")
    )


def _is_sound(row: dict[str, Any]) -> bool:
    """Whether a row has the shape that the rest of the program relies on."""
    match row:
        case {"type": "user", "message": {"content": content}}:
            return _is_sound_content(content)
        case {"type": "assistant", "message": {"content": content, **rest}}:
            named = isinstance(rest.get("id"), str | None) and isinstance(rest.get("model"), str | None)
            return named and _is_sound_content(content)
        case {"type": "user" | "assistant"}:
            return False
        case {"type": "system"}:
            return isinstance(row.get("subtype"), str)
        case {"type": str()}:
            return True
        case _:
            return False


def _is_sound_content(content: Any) -> bool:
    return isinstance(content, str) or (isinstance(content, list) and all(map(_is_sound_block, content)))


def _is_sound_block(block: Any) -> bool:
    match block:
        case {"type": "text", "text": str()}:
            return True
        case {"type": "tool_use", "id": str(), "name": str(), "input": dict()}:
            return True
        case {"type": "tool_result", "tool_use_id": str()}:
            return True
        case {"type": "text" | "tool_use" | "tool_result"}:
            return False
        case {"type": str()}:
            return True
        case _:
            return False


def _session_id(path: str, chain: list[dict[str, Any]]) -> str:
    stem = os.path.splitext(os.path.basename(path))[0]
    if is_uuid(stem) or not chain:
        return stem
    named = chain[-1]["sessionId"]
    return named if isinstance(named, str) and named else stem

"""The model calls that a transcript tells of: each once, with what it used, cost and was made for."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from bridle.transcripts.cost import Work, work_in
from bridle.transcripts.line import decode_line
from bridle.transcripts.pending_rows import PENDING, restored
from bridle.transcripts.usage.figures import amount, usage_in
from bridle.types.entry import SIDE_CALL, TAKEN_OVER
from bridle.types.services.session import ADVISOR
from bridle.types.usage import Usage

PROMPT = "prompt"
"""The source of a call that answers a prompt instead of a result."""
_LONGEST_SOURCE = 200
_COPIED = {"forkedFrom", "copyOf", TAKEN_OVER}
"""Keys of rows that repeat what stands elsewhere."""
_NEEDED = (b'"usage"', b'"cost-state"', b'"type":"user"', b'"type": "user"', PENDING.encode())
"""A line without any of these tells of no call, and not what one was for."""


class ModelCall(Struct, frozen=True, kw_only=True):
    """One answer of a model."""

    at: str
    """When it began, in ISO format."""
    model: str
    usage: Usage
    usd: float | None
    """What it cost when it was made; None where that was not recorded, or no price was known."""
    session_id: str
    agent: str | None
    """The agent that made it, None on the main thread."""
    cwd: str
    source: str
    """What it was made for: the prompt, the tools whose results it reads, or its purpose on the side."""
    on_side: bool = False
    is_whole: bool = True
    """Whether the service said how the answer ended."""


class PromptRow(Struct, frozen=True):
    """Something that the user asked for."""

    at: str
    session_id: str
    text: str


class WorkRow(Struct, frozen=True):
    """Time and changed lines that a `cost-state` line adds to the one before it."""

    at: str
    """Of the row before it."""
    cwd: str
    work: Work


class TranscriptUsage(Struct, frozen=True):
    """What one file tells."""

    calls: tuple[ModelCall, ...] = ()
    prompts: tuple[PromptRow, ...] = ()
    work: tuple[WorkRow, ...] = ()


def recorded_in(path: str) -> TranscriptUsage:
    """Read a transcript, of a conversation or an agent; one that is gone tells nothing."""
    try:
        return recorded(_lines(path))
    except OSError:
        return TranscriptUsage()


def recorded(lines: Iterable[dict[str, Any] | None]) -> TranscriptUsage:
    """The calls and prompts of lines in the order of the file; copies of other conversations are left out."""
    reading = _Reading()
    for row in restored(lines, []):
        if row is not None and not (_COPIED & row.keys()):
            reading.take(row)
    return TranscriptUsage(tuple(reading.calls.values()), tuple(reading.prompts), tuple(reading.work))


def source_of_call(name: str, input: Mapping[str, Any]) -> str:
    """How the cost of reading a call's result is listed: by tool, by skill, or by MCP server."""
    if name.startswith("mcp__"):
        return f"MCP server {name.split('__')[1]}"
    if name == "Skill":
        return f"skill {input.get('skill', '')}"
    return name


class _Reading:
    def __init__(self) -> None:
        self.calls: dict[str, ModelCall] = {}
        self.prompts: list[PromptRow] = []
        self._tools: dict[str, str] = {}
        """What the result of each call is listed as."""
        self._source = PROMPT
        self.work: list[WorkRow] = []
        self._worked = Work()
        self._last: dict[str, Any] | None = None
        """The newest row that is not copied."""

    def take(self, row: dict[str, Any]) -> None:
        if row.get("type") == "cost-state":
            self._take_work(row)
        elif isinstance(row.get("timestamp"), str):
            self._last = row
        match row:
            case {"type": "user", "message": {"content": content}}:
                self._take_user(row, content)
            case {
                "type": "assistant",
                "message": {"id": str() as id, "model": str() as model, "usage": dict()},
            }:
                self._note_tools(row["message"].get("content"))
                if model != "<synthetic>" and not row.get("isApiErrorMessage"):
                    self._count(id, row, self._source)
            case {"type": t, "message": {"id": str() as id, "model": str(), "usage": dict()}} if (
                t == SIDE_CALL
            ):
                self._count(id, row, str(row.get("purpose") or "side call"), on_side=True)
            case _:
                pass

    def _take_user(self, row: dict[str, Any], content: object) -> None:
        match row.get("toolUseResult"):
            # Advice of older versions has no line of its own.
            case {"advice": str(), "model": str(), "usage": dict()} as advice if "messageId" not in advice:
                self._count(str(row.get("uuid")), {**row, "message": advice}, ADVISOR, on_side=True)
            case _:
                pass
        answered = [
            self._tools[str(block["tool_use_id"])]
            for block in (content if isinstance(content, list) else ())
            if isinstance(block, dict) and str(block.get("tool_use_id")) in self._tools
        ]
        if answered:
            known = self._source.split(", ") if self._source != PROMPT else []
            self._source = ", ".join(dict.fromkeys((*known, *answered)))[:_LONGEST_SOURCE]
        elif not row.get("isMeta") and "toolUseResult" not in row and not row.get("isCompactSummary"):
            self._source = PROMPT
            if content and not row.get("isSidechain"):
                at, session = str(row.get("timestamp") or ""), str(row.get("sessionId") or "")
                self.prompts.append(PromptRow(at, session, _words(content)))

    def _take_work(self, row: dict[str, Any]) -> None:
        """A line before the first own row repeats what the conversation had when it was copied."""
        now, before = work_in(row), self._worked
        self._worked = now
        if self._last is not None and (more := now - before) != Work():
            at, cwd = str(self._last["timestamp"]), str(self._last.get("cwd") or "")
            self.work.append(WorkRow(at, cwd, more))

    def _note_tools(self, content: object) -> None:
        for block in content if isinstance(content, list) else ():
            match block:
                case {"type": "tool_use", "id": str() as id, "name": str() as name, "input": dict() as input}:
                    self._tools[id] = source_of_call(name, input)
                case _:
                    pass

    def _count(self, id: str, row: dict[str, Any], source: str, *, on_side: bool = False) -> None:
        message, known = row["message"], self.calls.get(id)
        call = ModelCall(
            at=str(row.get("timestamp") or ""),
            model=message["model"],
            usage=usage_in(message["usage"]),
            usd=amount(row.get("costUSD")),
            session_id=str(row.get("sessionId") or ""),
            agent=row.get("agentId") if isinstance(row.get("agentId"), str) else None,
            cwd=str(row.get("cwd") or ""),
            source=source,
            on_side=on_side,
            is_whole=message.get("stop_reason") is not None,
        )
        if known is None:
            self.calls[id] = call
            self._source = self._source if on_side else PROMPT
        elif call.is_whole or not known.is_whole:
            # Each block of an answer has a row; those of older versions may not tell the same usage.
            self.calls[id] = replace(call, at=known.at, source=known.source)


def _lines(path: str) -> Iterator[dict[str, Any] | None]:
    with open(path, "rb") as file:
        for line in file:
            if any(part in line for part in _NEEDED):
                yield decode_line(line)


def _words(content: object) -> str:
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, list) else ()
    return " ".join(
        block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)
    )

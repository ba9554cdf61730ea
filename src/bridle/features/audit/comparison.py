"""Whether a chain and the transcript of its session say the same of every tool call."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct

from bridle.features.audit.records import Key, Record


class Call(Struct, kw_only=True):
    """One tool call as digests; empty for what is not known."""

    tool: str = ""
    input: str = ""
    result: str = ""


def recorded_calls(records: Iterable[Record]) -> dict[str, Call]:
    """The calls that a chain has, agents' included."""
    found: dict[str, Call] = {}
    for record in records:
        if record.kind == "call":
            call = found.setdefault(record.data["call"], Call())
            call.tool, call.input = record.data["tool"], record.data["input"]
        elif record.kind == "result":
            found.setdefault(record.data["call"], Call()).result = record.data["result"]
    return found


def transcript_calls(lines: Iterable[bytes], key: Key, *, since: str = "") -> dict[str, Call]:
    """The calls that a transcript has, from a moment on."""
    found: dict[str, Call] = {}
    for block in _blocks(lines, since):
        match block:
            case {"type": "tool_use", "id": str(call_id), "name": str(name), "input": given}:
                call = found.setdefault(call_id, Call())
                call.tool, call.input = name, key.digest_of(given)
            case {"type": "tool_result", "tool_use_id": str(call_id)} if call_id in found:
                found[call_id].result = key.digest_of(block.get("content") or "")
            case _:
                pass
    return found


def differences(chain: dict[str, Call], transcript: dict[str, Call]) -> list[str]:
    """What the two do not agree on, a line each."""
    found: list[str] = []
    for call_id, said in transcript.items():
        kept = chain.get(call_id)
        if kept is None:
            found.append(f"call {call_id} ({said.tool}) is in the transcript and not in the chain")
            continue
        if kept.tool != said.tool:
            found.append(f"call {call_id} is {kept.tool} in the chain and {said.tool} in the transcript")
        if kept.input != said.input:
            found.append(f"call {call_id} ({said.tool}) has another input in the transcript")
        if said.result and kept.result != said.result:
            found.append(f"call {call_id} ({said.tool}) has another result in the transcript")
    return found


def _blocks(lines: Iterable[bytes], since: str) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            row: Any = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue
        match row:
            case {"message": {"content": list(content)}, "timestamp": str(at)} if at[:19] >= since[:19]:
                yield from (block for block in content if isinstance(block, dict))
            case _:
                pass

"""What was said in the transcripts of several agents, in one form."""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Struct

_LONGEST = 64_000
_LONGEST_RESULT = 16_000
"""Of the output of a tool the beginning and the end are kept."""
_LARGEST_WHOLE = 256 * 1024 * 1024
_PATHS = ("file_path", "path", "notebook_path", "filePath", "filename", "absolute_path")
_decode = msgspec.json.Decoder().decode


class Said(Struct):
    """One message: who said it, when, with which tools and about which files."""

    role: str
    text: str
    time: int = 0
    tools: list[str] = []
    files: list[str] = []


class Head(Struct):
    """What a transcript says of itself."""

    session: str = ""
    cwd: str = ""
    title: str = ""


Row = Mapping[str, Any]
Parse = Callable[[Row, Head], Said | None]
"""Reads one row; what it says of the conversation goes into the head."""


def read_lines(path: str, start: int, head: Head, parse: Parse) -> Iterator[tuple[int, int, Said | None]]:
    """Each whole line from a place on: where it begins, where it ends, and what it says.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        file.seek(start)
        place = start
        for line in file:
            if not line.endswith(b"\n"):
                return  # It is still being written.
            begin, place = place, place + len(line)
            yield begin, place, _parsed(line, head, parse)


def read_line(path: str, place: int, parse: Parse) -> Said | None:
    """What the line at a place says.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb") as file:
        file.seek(place)
        return _parsed(file.readline(), Head(), parse)


def _parsed(line: bytes, head: Head, parse: Parse) -> Said | None:
    try:
        row = _decode(line)
        return parse(row, head) if isinstance(row, dict) else None
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError, KeyError, AttributeError):
        return None  # A broken line, or one of a form that no agent here writes.


def claude_row(row: Row, head: Head) -> Said | None:
    """A row of bridle and of Claude Code."""
    kind = row.get("type")
    if kind not in ("user", "assistant"):
        if kind in ("custom-title", "ai-title"):
            head.title = str(row.get("customTitle") or row.get("aiTitle") or head.title)
        elif kind == "summary" and not head.title:
            head.title = str(row.get("summary") or "")
        return None
    head.cwd = head.cwd or str(row.get("cwd") or "")
    head.session = head.session or str(row.get("sessionId") or "")
    if row.get("isMeta") or "copyOf" in row:
        return None
    said = _blocks(str(kind), row["message"]["content"])
    said.time = _seconds(row.get("timestamp"))
    return _kept(said, head)


def codex_row(row: Row, head: Head) -> Said | None:
    """A row of Codex, with or without the envelope that newer releases write."""
    body: Row = row["payload"] if isinstance(row.get("payload"), dict) else row
    kind = body.get("type") if row.get("type") in ("response_item", body.get("type")) else row.get("type")
    if kind == "session_meta" or ("id" in body and "cwd" in body and "role" not in body):
        head.session, head.cwd = str(body.get("id") or head.session), str(body.get("cwd") or head.cwd)
        return None
    if kind == "message" and body.get("role") in ("user", "assistant"):
        said = _blocks(str(body["role"]), body.get("content") or [])
    elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
        given = body.get("arguments") or body.get("input") or body.get("action") or ""
        said = Said("assistant", "")
        _add_call(said, str(body.get("name") or "shell"), given)
    elif kind in ("function_call_output", "custom_tool_call_output"):
        said = Said("tool", _text(body.get("output")))
    else:
        return None
    if said.text.startswith(("<environment_context>", "<user_instructions>", "# AGENTS.md")):
        return None
    said.time = _seconds(row.get("timestamp"))
    return _kept(said, head)


def pi_row(row: Row, head: Head) -> Said | None:
    """A row of pi."""
    if row.get("type") == "session":
        head.session, head.cwd = str(row.get("id") or ""), str(row.get("cwd") or "")
        return None
    if row.get("type") == "session_info":
        head.title = str(row.get("name") or head.title)
    if row.get("type") != "message":
        return None
    message = row["message"]
    role = {"toolResult": "tool", "bashExecution": "tool"}.get(message["role"], message["role"])
    said = _blocks(str(role), message.get("content") or message.get("output") or [])
    if message["role"] == "toolResult":
        said.tools.append(str(message.get("toolName") or ""))
    elif message["role"] == "bashExecution":
        said.text = f"{message.get('command') or ''}\n{said.text}"
    said.time = _seconds(row.get("timestamp"))
    return _kept(said, head)


def gemini_messages(path: str, head: Head) -> Iterator[Said | None]:
    """The messages of a conversation of Gemini CLI; None for those without words.

    Raises:
        OSError: the file cannot be read.
    """
    if os.path.getsize(path) > _LARGEST_WHOLE:
        return
    with open(path, "rb") as file:
        try:
            whole: Any = _decode(file.read())
        except (msgspec.DecodeError, RecursionError):
            return
    if not isinstance(whole, dict):
        return
    head.session = str(whole.get("sessionId") or "")
    head.title = str(whole.get("summary") or "")
    messages = whole.get("messages")
    for message in messages if isinstance(messages, list) else ():
        yield _shaped(_gemini, message, head)


def _gemini(message: Row, head: Head) -> Said | None:
    role = {"user": "user", "gemini": "assistant"}.get(str(message.get("type")))
    if role is None:
        return None
    said = _blocks(role, message.get("content") or "")
    for call in message.get("toolCalls") or ():
        _add_call(said, str(call.get("name") or ""), call.get("args") or "")
        said.text += "\n" + _cut(_text(call.get("resultDisplay") or call.get("result")))
    said.time = _seconds(message.get("timestamp"))
    return _kept(said, head)


def opencode_file(path: str, head: Head) -> Iterator[Said | None]:
    """The one message in a file of opencode, with its parts, which are files of their own.

    Raises:
        OSError: the file cannot be read.
    """
    storage = os.path.dirname(os.path.dirname(os.path.dirname(path)))
    message = _json_file(path)
    head.session = str(message.get("sessionID") or os.path.basename(os.path.dirname(path)))
    folder = os.path.join(storage, "part", os.path.basename(path).removesuffix(".json"))
    names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
    place = message.get("path")
    head.cwd = str(place.get("cwd") or "") if isinstance(place, dict) else ""
    yield _shaped(
        _opencode, {**message, "parts": [_json_file(os.path.join(folder, name)) for name in names]}, head
    )


def opencode_session(database: str, session: str, head: Head) -> Iterator[Said | None]:
    """The messages of a session in the database of opencode.

    Raises:
        sqlite3.Error: it cannot be read.
    """
    head.session = session
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=2.0)) as store:
        store.row_factory = sqlite3.Row
        if found := store.execute("SELECT * FROM session WHERE id = ?", (session,)).fetchone():
            known = dict(found)
            head.title, head.cwd = str(known.get("title") or ""), str(known.get("directory") or "")
        parts: dict[str, list[Any]] = {}
        for row in store.execute(
            "SELECT message_id, data FROM part WHERE session_id = ? ORDER BY id", (session,)
        ):
            parts.setdefault(row["message_id"], []).append(_decoded(row["data"]))
        for row in store.execute("SELECT id, data FROM message WHERE session_id = ? ORDER BY id", (session,)):
            yield _shaped(_opencode, {**_decoded(row["data"]), "parts": parts.get(row["id"], [])}, head)


def _opencode(message: Row, head: Head) -> Said | None:
    said = Said("assistant" if message.get("role") == "assistant" else "user", "")
    for part in message["parts"]:
        if part.get("type") == "text" and not part.get("synthetic"):
            said.text += f"{part.get('text') or ''}\n"
        elif part.get("type") == "tool":
            state = part.get("state") or {}
            _add_call(said, str(part.get("tool") or ""), state.get("input") or "")
            said.text += "\n" + _cut(_text(state.get("output")))
    times = message.get("time") or {}
    said.time = _seconds(times.get("created"))
    return _kept(said, head)


def _shaped(parse: Parse, message: Any, head: Head) -> Said | None:
    try:
        return parse(message, head)
    except (TypeError, ValueError, KeyError, AttributeError):
        return None


def _blocks(role: str, content: Any) -> Said:
    """A message of text, blocks, or both."""
    said = Said(role, "")
    if isinstance(content, str):
        said.text = content
        return said
    texts: list[str] = []
    for block in content if isinstance(content, list) else (content,):
        if isinstance(block, str):
            texts.append(block)
            continue
        kind = block.get("type")
        if kind in ("tool_use", "toolCall"):
            _add_call(said, str(block.get("name") or ""), block.get("input") or block.get("arguments") or "")
        elif kind == "tool_result":
            said.role = "tool"
            texts.append(_cut(_text(block.get("content"))))
        elif isinstance(text := block.get("text"), str):
            texts.append(text)
    said.text = "\n".join((*texts, said.text)) if said.text else "\n".join(texts)
    return said


def _add_call(said: Said, name: str, given: Any) -> None:
    """The call of a tool: its name, what it was given as text, and the files that it names."""
    said.tools = [*said.tools, name]
    if isinstance(given, str):
        try:
            given = _decode(given)
        except (msgspec.DecodeError, RecursionError):
            pass
    if isinstance(given, dict):
        said.files = [*said.files, *(given[key] for key in _PATHS if isinstance(given.get(key), str))]
    said.text += f"\n{name} {_cut(_text(given))}"


def _text(value: Any, depth: int = 0) -> str:
    """Every text in a value, one after the other."""
    match value:
        case str():
            return value
        case dict() if depth < 8:
            return "\n".join(
                filter(None, (_text(each, depth + 1) for key, each in value.items() if key != "data"))
            )
        case list() if depth < 8:
            return "\n".join(filter(None, (_text(each, depth + 1) for each in value)))
        case int() | float() if not isinstance(value, bool):
            return str(value)
        case _:
            return ""


def _cut(text: str) -> str:
    if len(text) <= _LONGEST_RESULT:
        return text
    return f"{text[: _LONGEST_RESULT * 3 // 4]}\n{text[-_LONGEST_RESULT // 4 :]}"


def _kept(said: Said, head: Head) -> Said | None:
    said.text = said.text.strip()[:_LONGEST]
    if not said.text:
        return None
    if not head.title and said.role == "user":
        head.title = " ".join(said.text[:200].split())[:80]
    return said


def _seconds(value: Any) -> int:
    if isinstance(value, int | float):
        return int(value / 1000 if value > 1e11 else value)
    if not isinstance(value, str) or not value:
        return 0
    try:
        return int(datetime.fromisoformat(value).timestamp())
    except (ValueError, OverflowError):
        return 0


def _json_file(path: str) -> dict[str, Any]:
    with open(path, "rb") as file:
        return _decoded(file.read(_LARGEST_WHOLE))


def _decoded(data: bytes | str) -> dict[str, Any]:
    try:
        found = _decode(data)
    except (msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}

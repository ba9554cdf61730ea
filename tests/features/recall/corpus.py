"""Transcripts of every agent that can be searched, as these agents write them."""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any


def environment(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "CLAUDE_CONFIG_DIR": str(home / ".claude")}


def _lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return path


def claude(home: Path, session: str, *said: tuple[str, Any], cwd: str = "/repo/shop", day: int = 1) -> Path:
    """Rows of bridle: who said what; a list is blocks."""
    path = home / ".claude" / "projects" / cwd.replace("/", "-") / f"{session}.jsonl"
    rows = [
        {
            "type": kind, "uuid": f"{session}-{n}", "sessionId": session, "cwd": cwd,
            "timestamp": f"2026-11-{day:02}T10:00:{n:02}.000Z", "message": {"role": kind, "content": content},
        }
        for n, (kind, content) in enumerate(said)
    ]  # fmt: skip
    return _lines(path, *rows)


def calls(tool: str, **input: Any) -> list[Mapping[str, Any]]:
    return [{"type": "tool_use", "id": "t", "name": tool, "input": input}]


def results(text: str) -> list[Mapping[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": text}]}]


def codex(home: Path) -> Path:
    stamp = "2026-11-02T10:00:00Z"
    return _lines(
        home / ".codex" / "sessions" / "2026" / "11" / "02" / "rollout-1.jsonl",
        {"timestamp": stamp, "type": "session_meta", "payload": {"id": "codex-1", "cwd": "/repo/codex"}},
        {"timestamp": stamp, "type": "response_item", "payload": {
            "type": "message", "role": "user",
            "content": [{"type": "input_text", "text": "pelican in codex"}]}},
        {"timestamp": stamp, "type": "response_item", "payload": {
            "type": "function_call", "name": "shell", "arguments": '{"command": ["rg", "walrus"]}'}},
        {"timestamp": stamp, "type": "response_item", "payload": {
            "type": "function_call_output", "call_id": "1", "output": "walrus.py"}},
        {"timestamp": stamp, "type": "event_msg", "payload": {"type": "agent_message", "message": "pelican"}},
    )  # fmt: skip


def gemini(home: Path) -> Path:
    path = home / ".gemini" / "tmp" / "abc" / "chats" / "session-1.json"
    path.parent.mkdir(parents=True)
    stamp = "2026-11-03T10:00:00Z"
    whole = {"sessionId": "gemini-1", "messages": [
        {"type": "user", "timestamp": stamp, "content": "pelican in gemini"},
        {"type": "gemini", "timestamp": stamp, "content": "Looking.", "toolCalls": [
            {"name": "read_file", "args": {"absolute_path": "/repo/heron.md"}, "resultDisplay": "a heron"}]},
    ]}  # fmt: skip
    path.write_text(json.dumps(whole), encoding="utf-8")
    return path


def opencode(home: Path, *, in_files: bool = False) -> Path:
    data = home / ".local" / "share" / "opencode"
    data.mkdir(parents=True)
    message = {"role": "user", "sessionID": "ses_1", "time": {"created": 1_793_786_400_000}}
    part = {"type": "text", "text": "pelican in opencode"}
    if in_files:
        path = data / "storage" / "message" / "ses_1" / "msg_1.json"
        (data / "storage" / "part" / "msg_1").mkdir(parents=True)
        (data / "storage" / "part" / "msg_1" / "prt_1.json").write_text(json.dumps(part))
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(message))
        return path
    path = data / "opencode.db"
    with closing(sqlite3.connect(path)) as store:
        store.executescript(
            "CREATE TABLE session (id TEXT, title TEXT, directory TEXT, time_updated INTEGER);"
            "CREATE TABLE message (id TEXT, session_id TEXT, data TEXT);"
            "CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);"
        )
        store.execute("INSERT INTO session VALUES ('ses_1', 'Birds', '/repo/birds', 1793786400000)")
        store.execute("INSERT INTO message VALUES ('msg_1', 'ses_1', ?)", (json.dumps(message),))
        store.execute("INSERT INTO part VALUES ('prt_1', 'msg_1', 'ses_1', ?)", (json.dumps(part),))
        store.commit()
    return path


def pi(home: Path) -> Path:
    stamp = "2026-11-05T10:00:00.000Z"
    return _lines(
        home / ".pi" / "agent" / "sessions" / "--work--" / "2026_pi-1.jsonl",
        {"type": "session", "id": "pi-1", "timestamp": stamp, "cwd": "/repo/pi"},
        {"type": "message", "id": "a", "timestamp": stamp,
         "message": {"role": "user", "content": "pelican in pi"}},
        {"type": "message", "id": "b", "timestamp": stamp, "message": {"role": "assistant", "content": [
            {"type": "toolCall", "id": "1", "name": "edit", "arguments": {"path": "stork.py"}}]}},
    )  # fmt: skip

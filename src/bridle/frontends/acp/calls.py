"""Tool calls as editors show them: a kind, a title, files with lines, diffs and output."""

import os.path
from collections.abc import Iterator, Mapping
from typing import Any

from bridle.features.editors.proposals import Proposal, propose
from bridle.frontends.acp.content import Json, fenced, result_content
from bridle.frontends.print.call_summary import call_words
from bridle.tools.catalog import traits_of
from bridle.types.event import ToolFinished
from bridle.types.tool import CHANGES_FILES, RUNS_COMMANDS, Kind
from bridle.types.workspace import Workspace

_KINDS: Mapping[Kind, str] = {
    "read": "read",
    "edit": "edit",
    "write": "edit",
    "notebook": "edit",
    "command": "execute",
    "watch": "execute",
    "search": "search",
    "list": "search",
    "fetch": "fetch",
    "web_search": "fetch",
    "agent": "think",
    "advice": "think",
    "workflow": "think",
    "todo": "think",
    "task": "think",
    "task_list": "think",
    "plan": "switch_mode",
    "plan_start": "switch_mode",
}
_LONGEST_TITLE = 400
_MOST_READ = 1024 * 1024
_PATHS = ("file_path", "notebook_path", "path")


def kind_of(tool: str) -> str:
    """The category of a tool."""
    return _KINDS.get(traits_of(tool).kind, "other")


def call_started(call_id: str, tool: str, input: Mapping[str, Any], workspace: Workspace) -> Json:
    """A call that begins."""
    return {
        "sessionUpdate": "tool_call",
        "toolCallId": call_id,
        "title": title_of(tool, input, workspace),
        "name": tool,
        "kind": kind_of(tool),
        "status": "in_progress",
        "content": [] if (diff := snippet(tool, input, workspace)) is None else [diff],
        "locations": list(_locations(input, workspace)),
        "rawInput": dict(input),
    }


def title_of(tool: str, input: Mapping[str, Any], workspace: Workspace) -> str:
    """What a call does, in one line."""
    kind = traits_of(tool).kind
    if kind in RUNS_COMMANDS and isinstance(command := input.get("command"), str):
        return _shortened(f"`{' '.join(command.split())}`")
    if kind in ("read", *CHANGES_FILES) and (path := _path(input, workspace)) is not None:
        return _shortened(f"{tool} {os.path.relpath(path, workspace.start)}")
    if kind == "agent" and isinstance(about := input.get("description"), str) and about.strip():
        return _shortened(" ".join(about.split()))
    return _shortened(call_words(tool, input))


def snippet(tool: str, input: Mapping[str, Any], workspace: Workspace) -> Json | None:
    """The change that a call asks for, as far as its input says."""
    path = _path(input, workspace)
    match traits_of(tool).kind, input:
        case "edit", {"old_string": str() as old, "new_string": str() as new} if path is not None:
            return {"type": "diff", "path": path, "oldText": old or None, "newText": new}
        case "write", {"content": str() as text} if path is not None:
            return {"type": "diff", "path": path, "oldText": None, "newText": text}
        case _:
            return None


def proposed(tool: str, input: Mapping[str, Any], workspace: Workspace) -> Json | None:
    """The whole file before and after a call that waits for approval; reads the file."""
    made: Proposal | None = propose(tool, input, workspace)
    if made is None:
        return snippet(tool, input, workspace)
    is_new = not made.before and not os.path.exists(made.path)
    old = None if is_new else made.before
    return {"type": "diff", "path": made.path, "oldText": old, "newText": made.after}


def call_finished(event: ToolFinished, workspace: Workspace, *, terminal: str | None) -> Json:
    """A call that is settled; `terminal` is the one of the editor that showed it."""
    failed = event.result.get("is_error") is True
    kind, content = traits_of(event.tool).kind, result_content(event.result["content"])
    locations: list[Json] | None = None
    if not failed and kind in CHANGES_FILES and isinstance(event.data, dict):
        if (diff := _made(event.data)) is not None:
            content, locations = [diff], [_changed_place(event.data)]
    elif terminal is not None:
        content = [{"type": "terminal", "terminalId": terminal}]
    elif kind in RUNS_COMMANDS and isinstance(text := event.result["content"], str):
        content = [fenced(text)] if text.strip() else []
    update: Json = {
        "sessionUpdate": "tool_call_update",
        "toolCallId": event.result["tool_use_id"],
        "status": "failed" if failed else "completed",
        "content": content,
        "rawOutput": event.data,
    }
    return update if locations is None else {**update, "locations": locations}


def _made(data: Mapping[str, Any]) -> Json | None:
    """The change that was made."""
    match data:
        case {"filePath": str() as path, "originalFile": str() as old, "structuredPatch": [*_]}:
            new = _text(path)
            if new is not None:
                return {"type": "diff", "path": path, "oldText": old, "newText": new}
        case {"filePath": str() as path, "content": str() as text, "type": "create"}:
            return {"type": "diff", "path": path, "oldText": None, "newText": text}
        case _:
            pass  # It does not say enough.
    match data:
        case {"filePath": str() as path, "oldString": str() as old, "newString": str() as new}:
            return {"type": "diff", "path": path, "oldText": old or None, "newText": new}
        case _:
            return None


def _changed_place(data: Mapping[str, Any]) -> Json:
    match data.get("structuredPatch"):
        case [{"newStart": int() as line}, *_]:
            return {"path": data["filePath"], "line": max(1, line)}
        case _:
            return {"path": data["filePath"]}


def _text(path: str) -> str | None:
    try:
        if os.path.getsize(path) > _MOST_READ:
            return None
        with open(path, encoding="utf-8", newline="") as file:
            return file.read().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError):
        return None


def _locations(input: Mapping[str, Any], workspace: Workspace) -> Iterator[Json]:
    if (path := _path(input, workspace)) is None:
        return
    offset = input.get("offset")
    yield {"path": path, "line": offset} if isinstance(offset, int) and offset > 0 else {"path": path}


def _path(input: Mapping[str, Any], workspace: Workspace) -> str | None:
    given = next((value for name in _PATHS if isinstance(value := input.get(name), str)), None)
    return None if not given or "\0" in given else workspace.resolve(given)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST_TITLE else f"{text[: _LONGEST_TITLE - 1]}…"

"""Tasks whose sessions need no model service."""

import json
from pathlib import Path
from typing import Any


def write(content: str = "new\n", path: str = "out.txt", **row: Any) -> dict[str, Any]:
    """An answer that writes a file."""
    return {"calls": [{"tool": "Write", "input": {"file_path": path, "content": content}}], **row}


def shell(command: str, **row: Any) -> dict[str, Any]:
    """An answer that runs a command."""
    return {"calls": [{"tool": "Bash", "input": {"command": command}}], **row}


def say(text: str = "Done.", **row: Any) -> dict[str, Any]:
    return {"text": text, **row}


def task(id: str, *script: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": id, "prompt": f"Do {id}.", "model": "sonnet", "script": script or (say(),), **fields}


def tasks_file(folder: Path, *tasks: dict[str, Any]) -> str:
    path = folder / "tasks.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in tasks), encoding="utf-8")
    return str(path)

"""What a service refuses: calls without results, results without calls, and ids that are used twice."""

from typing import Any


def flaw_of(messages: list[Any]) -> str | None:
    """The first thing that the Messages API would object to; it also wants results in the order of calls."""
    seen: set[str] = set()
    owed: list[str] = []
    for number, message in enumerate(messages):
        content: Any = message["content"]
        blocks = [] if isinstance(content, str) else content
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if results != owed:
            return f"messages.{number}: results {results} for calls {owed}"
        if any(block["type"] != "tool_result" for block in blocks[: len(results)]):
            return f"messages.{number}: something stands before its results"
        owed = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if len(set(owed)) < len(owed) or seen.intersection(owed):
            return f"messages.{number}: `tool_use` ids must be unique"
        seen.update(owed)
    return f"`tool_use` ids were found without `tool_result` blocks: {owed}" if owed else None

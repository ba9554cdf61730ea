"""How full the window of a session is, by what fills it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.frontends.desk import Desk
from bridle.protocol.control import Frame
from bridle.types.model import ToolDefinition

_BYTES_PER_TOKEN = 4
_CELLS_IN_ROW = 10
_ROWS = 10


async def get_context_usage(desk: Desk, request: Mapping[str, Any]) -> Frame:
    """What the next request would carry, estimated from its real parts without asking anybody."""
    del request
    runtime, session = desk.runtime, desk.session
    model = session.state.model
    window = runtime.facts(model).context_window
    definitions = runtime.toolbox.definitions()
    foreign = [each for each in definitions if each["name"].startswith("mcp__")]
    own = [each for each in definitions if not each["name"].startswith("mcp__")]
    memory: list[Frame] = [
        {"path": path, "type": kind, "tokens": _tokens(text)} for path, kind, text in desk.means.memory()
    ]
    remembered = sum(file["tokens"] for file in memory)
    said = sum(_tokens(msgspec.json.encode(message)) for message in session.history.messages)
    used = [
        (
            "system_prompt",
            "System prompt",
            sum(_tokens(block["text"]) for block in runtime.briefing.system(model)),
        ),
        ("system_tools", "System tools", sum(map(_tool_tokens, own))),
        ("mcp_tools", "MCP tools", sum(map(_tool_tokens, foreign))),
        ("memory_files", "Memory files", remembered),
        # The files stand in the first message once the conversation has begun.
        ("messages", "Messages", max(0, said - remembered) if said else 0),
    ]
    total = sum(tokens for _, _, tokens in used)
    categories: list[Frame] = [
        {"id": id, "name": name, "tokens": tokens, "color": _COLORS[id], "kind": "used"}
        for id, name, tokens in used
        if tokens
    ]
    free = max(0, window - total)
    categories.append(
        {"id": "free_space", "name": "Free space", "tokens": free, "color": "inactive", "kind": "free"}
    )
    last = desk.server.last
    return {
        "categories": categories,
        "totalTokens": total,
        "maxTokens": window,
        "rawMaxTokens": window,
        "percentage": round(100 * total / window) if window else 0,
        "gridRows": _grid(categories, window),
        "model": model,
        "memoryFiles": memory,
        "mcpTools": [_foreign(each) for each in foreign],
        "systemTools": [{"name": each["name"], "tokens": _tool_tokens(each)} for each in own],
        "agents": [
            {"agentType": name, "source": "sdk", "tokens": _tokens(str(agent.get("description") or ""))}
            for name, agent in runtime.offer.agents.items()
        ],
        "isAutoCompactEnabled": runtime.habits.automatic,
        "apiUsage": last.usage.to_api() if last is not None else None,
    }


_COLORS = {
    "system_prompt": "promptBorder",
    "system_tools": "inactive",
    "mcp_tools": "cyan",
    "memory_files": "claude",
    "messages": "purple",
}
"""Names that hosts have colors for."""


def _tokens(text: str | bytes) -> int:
    size = len(text) if isinstance(text, bytes) else len(text.encode(errors="replace"))
    return -(-size // _BYTES_PER_TOKEN)


def _tool_tokens(definition: ToolDefinition) -> int:
    return _tokens(msgspec.json.encode(definition))


def _foreign(definition: ToolDefinition) -> Frame:
    _, server, name = definition["name"].split("__", 2)
    return {"name": name, "serverName": server, "tokens": _tool_tokens(definition), "isLoaded": True}


def _grid(categories: list[Frame], window: int) -> list[list[Frame]]:
    """A square of cells for whoever draws it; each belongs to the category that fills its middle."""
    count = _CELLS_IN_ROW * _ROWS
    cells: list[Frame] = []
    bounds: list[tuple[float, Frame]] = []
    reached = 0
    for category in categories:
        reached += category["tokens"]
        bounds.append((reached, category))
    for index in range(count):
        middle = (index + 0.5) * window / count
        category = next((each for bound, each in bounds if middle < bound), categories[-1])
        cells.append(
            {
                "color": category["color"],
                "isFilled": category["kind"] == "used",
                "categoryName": category["name"],
                "tokens": category["tokens"],
                "percentage": round(100 * category["tokens"] / window) if window else 0,
                "squareFullness": 1.0,
            }
        )
    return [cells[start : start + _CELLS_IN_ROW] for start in range(0, count, _CELLS_IN_ROW)]

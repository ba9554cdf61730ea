"""The `get_context_usage` request: how full the context window is, and with what."""

from collections.abc import Mapping
from typing import Any

from bridle.commands.queries.context_window import Breakdown, Item, MemoryFile, context_breakdown, skill_items
from bridle.context.tokens import estimate
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher

_CELLS_IN_ROW = 10
_ROWS = 10


async def get_context_usage(dispatcher: ControlDispatcher, request: Mapping[str, Any]) -> Frame:
    """What the next request would carry: the same numbers that `/context` shows."""
    del request
    memory = [
        MemoryFile(path=path, kind=kind, text=text) for path, kind, text in dispatcher.services.memory()
    ]
    skills = skill_items(dispatcher.runtime.commands, dispatcher.runtime.features.find(SESSION_SKILLS))
    found = context_breakdown(dispatcher.session, dispatcher.runtime, memory=memory, skills=skills)
    categories = _categories(found)
    items = {category.id: category.items for category in found.categories}
    last = dispatcher.server.last
    return {
        "categories": categories,
        "totalTokens": found.used,
        "maxTokens": found.size,
        "rawMaxTokens": found.size,
        "percentage": found.percent,
        "gridRows": _grid(categories, found.size),
        "model": found.model,
        "memoryFiles": [
            {"path": file.name, "type": file.note, "tokens": file.tokens}
            for file in items.get("memory_files", ())
        ],
        "mcpTools": [_foreign(each) for each in items.get("mcp_tools", ())],
        "skills": {
            "totalSkills": len(skills),
            "includedSkills": len(skills),
            "tokens": sum(each.tokens for each in items.get("skills", ())),
            "skillFrontmatter": [
                {"name": each.name, "source": each.note, "tokens": each.tokens}
                for each in items.get("skills", ())
            ],
        },
        "systemTools": [{"name": each.name, "tokens": each.tokens} for each in items.get("system_tools", ())],
        "agents": [
            {"agentType": name, "source": "sdk", "tokens": estimate(str(agent.get("description") or ""))}
            for name, agent in dispatcher.runtime.host.offer.agents.items()
        ],
        "isAutoCompactEnabled": found.automatic,
        "apiUsage": last.usage.to_api() if last is not None else None,
    }


def _categories(found: Breakdown) -> list[Frame]:
    categories: list[Frame] = [
        {
            "id": each.id,
            "name": each.name,
            "tokens": each.tokens,
            "color": _COLORS.get(each.id, "inactive"),
            "kind": "used",
        }
        for each in found.categories
    ]
    categories.append(
        {"id": "free_space", "name": "Free space", "tokens": found.free, "color": "inactive", "kind": "free"}
    )
    return categories


_COLORS = {
    "system_prompt": "promptBorder",
    "system_tools": "inactive",
    "mcp_tools": "cyan",
    "memory_files": "claude",
    "skills": "warning",
    "messages": "purple",
}
"""Names that hosts have colors for."""


def _foreign(tool: Item) -> Frame:
    _, server, name = tool.name.split("__", 2)
    return {"name": name, "serverName": server, "tokens": tool.tokens, "isLoaded": True}


def _grid(categories: list[Frame], window: int) -> list[list[Frame]]:
    """A square of cells to draw; each belongs to the category that fills its middle."""
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

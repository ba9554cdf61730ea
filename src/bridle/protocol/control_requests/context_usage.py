"""The `get_context_usage` request: how full the context window is, and with what."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.commands.queries.context_window import Breakdown, Item, MemoryFile, context_breakdown, skill_items
from bridle.context.compaction_report import dropped
from bridle.context.tokens import estimate, ratio_of
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.protocol.control import Frame
from bridle.protocol.control_requests.dispatcher import ControlDispatcher

_CALLS = "calls of "
_RESULTS = "results of "
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
        "mcpTools": _server_tools(dispatcher, items.get("mcp_tools", ())),
        "mcpInstructions": [
            {"serverName": name, "tokens": estimate(text)}
            for name, text in dispatcher.runtime.servers.instructions().items()
        ],
        "messageBreakdown": _messages(dispatcher, found),
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
        "autoCompactThreshold": found.compact_at,
        "autocompactSource": "env" if "CLAUDE_CODE_AUTO_COMPACT_WINDOW" in dispatcher.runtime.env else "auto",
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


def _server_tools(dispatcher: ControlDispatcher, sent: Sequence[Item]) -> list[Frame]:
    """The tools of MCP servers; those that wait until the model looks for them cost nothing."""
    tokens = {tool.name: tool.tokens for tool in sent}
    return [
        {
            "name": name,
            "serverName": name.split("__", 2)[1],
            "tokens": tokens.get(name, 0),
            "isLoaded": name in tokens,
        }
        for name in sorted({*tokens, *dispatcher.runtime.toolbox.names()})
        if name.startswith("mcp__") and name.count("__") >= 2
    ]


def _messages(dispatcher: ControlDispatcher, found: Breakdown) -> Frame:
    """The tokens of the conversation by kind of message, and by tool."""
    session = dispatcher.session
    kinds = {row.kind: row.tokens for row in dropped(session.entries, ratio_of(session.state.measured))}
    calls = {kind.removeprefix(_CALLS): kinds[kind] for kind in kinds if kind.startswith(_CALLS)}
    results = {kind.removeprefix(_RESULTS): kinds[kind] for kind in kinds if kind.startswith(_RESULTS)}
    said = {
        "toolCallTokens": sum(calls.values()),
        "toolResultTokens": sum(results.values()),
        "attachmentTokens": kinds.get("reminders", 0) + kinds.get("images and documents", 0),
        "assistantMessageTokens": kinds.get("answers", 0) + kinds.get("thinking", 0),
        "userMessageTokens": kinds.get("prompts", 0),
        "redirectedContextTokens": 0,
    }
    whole = sum(category.tokens for category in found.categories if category.id == "messages")
    return {
        **said,
        "unattributedTokens": max(0, whole - sum(said.values())),
        "toolCallsByType": [
            {"name": name, "callTokens": calls.get(name, 0), "resultTokens": results.get(name, 0)}
            for name in dict.fromkeys((*calls, *results))
        ],
        "attachmentsByType": [
            {"name": name, "tokens": kinds[name]}
            for name in ("reminders", "images and documents")
            if name in kinds
        ],
    }


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

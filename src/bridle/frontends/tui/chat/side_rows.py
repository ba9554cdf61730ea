"""Rows below the conversation: agents in the background and the todo list."""

from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.render.call import AgentProgress
from bridle.frontends.tui.render.status import todo_panel
from bridle.frontends.tui.render.tools.agents import agent_tree
from bridle.frontends.tui.style.text import Line

_LEAST = 8
"""A window with fewer rows shows neither."""


def agent_rows(
    running: Sequence[AgentProgress],
    width: int,
    height: int,
    *,
    frame: int,
    bodies: Mapping[str, Line] | None = None,
) -> list[Line]:
    """Who is running in the background, and at what; `bodies` are rows that a command has written."""
    if not running or height < _LEAST:
        return []
    rows = agent_tree(running, width, frame=frame, bodies=bodies)
    most = max(2, height // 3)
    if len(rows) <= most:
        return rows
    return agent_tree(running, width, steps=0, frame=frame, bodies=bodies)[:most]


def todo_rows(todos: Sequence[Any], width: int, height: int) -> list[Line]:
    """What is to be done, until all of it is."""
    left = [each for each in todos if isinstance(each, dict) and each.get("status") != "completed"]
    if not left or height < _LEAST:
        return []
    return todo_panel(todos, width, most=min(8, height // 3))

"""The agents that work can be handed to."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.agent import AgentDefinition, AgentSource

_SOURCES: dict[AgentSource, str] = {
    "project": "Of this project",
    "user": "Yours",
    "managed": "Set by your organisation",
    "plugin": "Of plugins",
    "flag": "Given at the start",
    "host": "Of the program around this session",
    "builtin": "Built in",
}


class AgentRow(Struct, frozen=True, kw_only=True):
    agent: AgentDefinition
    prompt: str = ""
    tokens: int = 0
    """What its mention costs in every request."""
    prompt_tokens: int = 0
    off: bool = False
    """A rule keeps it from being started."""


class ToggleAgent(Struct, frozen=True):
    name: str
    enabled: bool


def agents_view(agents: Sequence[AgentRow], *, do: Do = nothing) -> TabbedView[Sequence[AgentRow]]:
    """Every agent by source, with its cost; space turns one off, those in files can be edited."""
    pane = ListPane(
        _items(agents),
        details=_details,
        do=do,
        empty="no agents; write one to .claude/agents/name.md",
        commands=(
            Command(
                key="e",
                words="edit",
                when=lambda row: row.agent.file is not None,
                act=lambda row, _: EditFile(row.agent.file) if row and row.agent.file else None,
            ),
            Command(
                key="space",
                words="on or off",
                act=lambda row, _: ToggleAgent(row.agent.name, row.off) if row else None,
            ),
        ),
    )
    return TabbedView("Agents", [("", pane)], update=lambda now: pane.replace(_items(now)))


def _items(agents: Sequence[AgentRow]) -> list[Item[AgentRow]]:
    order = list(_SOURCES)
    return [
        Item(
            value=row,
            label=row.agent.name,
            facts=(
                "off" if row.off else row.agent.model or "",
                f"{row.agent.memory} memory" if row.agent.memory else "",
                tokens(row.tokens) if row.tokens else "",
            ),
            detail=row.agent.description,
            group=_SOURCES[row.agent.source],
            sign=Span(
                "–" if row.off else "●", style(f"agent.{row.agent.color}" if row.agent.color else "muted")
            ),
        )
        for row in sorted(agents, key=lambda each: (order.index(each.agent.source), each.agent.name))
    ]


def _details(row: AgentRow, width: int) -> list[Line]:
    agent = row.agent
    rows = [heading(agent.name), *paragraph(agent.description, width), ()]
    for name, value in (
        ("tools", "all" if agent.tools is None else ", ".join(agent.tools) or "none"),
        ("without", ", ".join(agent.disallowed_tools)),
        ("model", agent.model or "that of the session"),
        ("effort", "" if agent.effort is None else str(agent.effort)),
        ("mode", agent.permission_mode or ""),
        ("skills", ", ".join(agent.skills)),
        ("steps", "" if agent.max_turns is None else f"at most {agent.max_turns}"),
        ("memory", agent.memory or ""),
        ("isolation", agent.isolation or ""),
        ("file", agent.file or ""),
        ("mention", tokens(row.tokens) if row.tokens else ""),
        ("used", tokens(row.prompt_tokens) if row.prompt_tokens else ""),
    ):
        rows += pair(name, value, width, column=11) if value else []
    return [*rows, (), heading("prompt"), *paragraph(row.prompt, width)]

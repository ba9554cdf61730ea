"""The agents that work can be handed to."""

from collections.abc import Sequence

from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.text import Line, Span
from bridle.frontends.tui.views.actions import EditFile
from bridle.frontends.tui.views.list_pane import Command, ListPane
from bridle.frontends.tui.views.page import heading, pair
from bridle.frontends.tui.views.pane import Do, nothing
from bridle.frontends.tui.views.picker import Item
from bridle.frontends.tui.views.sheet import Sheet
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


def agents_view(agents: Sequence[AgentDefinition], *, do: Do = nothing) -> Sheet[Sequence[AgentDefinition]]:
    """Every agent by where it comes from; those in files can be edited."""
    pane = ListPane(
        _items(agents),
        details=_details,
        do=do,
        empty="no agents; write one to .claude/agents/name.md",
        commands=(
            Command(
                key="e",
                words="edit",
                when=lambda agent: agent.file is not None,
                act=lambda agent, _: EditFile(agent.file) if agent and agent.file else None,
            ),
        ),
    )
    return Sheet("Agents", [("", pane)], update=lambda now: pane.replace(_items(now)))


def _items(agents: Sequence[AgentDefinition]) -> list[Item[AgentDefinition]]:
    order = list(_SOURCES)
    return [
        Item(
            value=agent,
            label=agent.name,
            facts=(agent.model or "", f"{agent.memory} memory" if agent.memory else ""),
            detail=agent.description,
            group=_SOURCES[agent.source],
            sign=Span("●", style(f"agent.{agent.color}" if agent.color else "muted")),
        )
        for agent in sorted(agents, key=lambda each: (order.index(each.source), each.name))
    ]


def _details(agent: AgentDefinition, width: int) -> list[Line]:
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
    ):
        rows += pair(name, value, width, column=11) if value else []
    return [*rows, (), heading("prompt"), *paragraph(agent.prompt, width)]

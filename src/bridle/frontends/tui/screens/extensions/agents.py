"""The agents that work can be handed to."""

from collections.abc import Sequence

from msgspec import Struct

from bridle.commands.queries.extensions import AgentFacts
from bridle.frontends.tui.render.call import tokens
from bridle.frontends.tui.render.layout import paragraph, style
from bridle.frontends.tui.screens.actions import EditFile
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.list_pane import Command, ListPane
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.pane import Do, nothing
from bridle.frontends.tui.widgets.picker import Item
from bridle.frontends.tui.widgets.tabs import TabbedView
from bridle.types.agent import AgentSource

_SOURCES: dict[AgentSource, str] = {
    "project": "Project",
    "user": "Yours",
    "managed": "Managed by your organization",
    "plugin": "Plugins",
    "flag": "From the command line",
    "host": "From the host program",
    "builtin": "Built in",
}


class ToggleAgent(Struct, frozen=True):
    name: str
    enabled: bool


def agents_view(agents: Sequence[AgentFacts], *, do: Do = nothing) -> TabbedView[Sequence[AgentFacts]]:
    """Every agent by source, with its cost; space turns one off, those in files can be edited."""
    pane = ListPane(
        _items(agents),
        details=_details,
        do=do,
        empty="no agents; add one in .claude/agents/NAME.md",
        commands=(
            Command(
                key="e",
                words="edit",
                when=lambda row: row.definition.file is not None,
                act=lambda row, _: EditFile(row.definition.file) if row and row.definition.file else None,
            ),
            Command(
                key="space",
                words="on or off",
                act=lambda row, _: ToggleAgent(row.definition.name, row.denied) if row else None,
            ),
        ),
    )
    return TabbedView("Agents", [("", pane)], update=lambda now: pane.replace(_items(now)))


def _items(agents: Sequence[AgentFacts]) -> list[Item[AgentFacts]]:
    order = list(_SOURCES)
    return [
        Item(
            value=row,
            label=row.definition.name,
            facts=(
                "off" if row.denied else row.definition.model or "",
                f"{row.definition.memory} memory" if row.definition.memory else "",
                tokens(row.tokens) if row.tokens else "",
            ),
            detail=row.definition.description,
            group=_SOURCES[row.definition.source],
            sign=Span(
                "–" if row.denied else "●",
                style(f"agent.{row.definition.color}" if row.definition.color else "muted"),
            ),
        )
        for row in sorted(
            agents, key=lambda each: (order.index(each.definition.source), each.definition.name)
        )
    ]


def _details(row: AgentFacts, width: int) -> list[Line]:
    agent = row.definition
    rows = [heading(agent.name), *paragraph(agent.description, width), ()]
    for name, value in (
        ("tools", "all" if agent.tools is None else ", ".join(agent.tools) or "none"),
        ("without", ", ".join(agent.disallowed_tools)),
        ("model", agent.model or "same as the session"),
        ("effort", "" if agent.effort is None else str(agent.effort)),
        ("mode", agent.permission_mode or ""),
        ("skills", ", ".join(agent.skills)),
        ("steps", "" if agent.max_turns is None else f"at most {agent.max_turns}"),
        ("memory", agent.memory or ""),
        ("isolation", agent.isolation or ""),
        ("file", agent.file or ""),
        ("mention", tokens(row.tokens) if row.tokens else ""),
        ("used", tokens(row.body_tokens) if row.body_tokens else ""),
    ):
        rows += pair(name, value, width, column=11) if value else []
    return [*rows, (), heading("prompt"), *paragraph(row.prompt, width)]

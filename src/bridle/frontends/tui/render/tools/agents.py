"""Agents as trees of what they do."""

from collections.abc import Mapping, Sequence

from bridle.frontends.tui.render.call import (
    AgentProgress,
    AgentStep,
    Call,
    Look,
    duration,
    mark,
    sentence,
    tokens,
)
from bridle.frontends.tui.render.collapse import fold
from bridle.frontends.tui.render.layout import MUTED, count, fit, one_line, style
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span

_STEPS = 3
_DEEPEST = 6


def agent_tree(
    agents: Sequence[AgentProgress],
    width: int,
    *,
    expanded: bool = False,
    frame: int = 0,
    depth: int = 0,
    steps: int = _STEPS,
    bodies: Mapping[str, Line] | None = None,
) -> list[Line]:
    """One row per agent with its newest calls below it; agents of agents hang deeper.

    `bodies` replace the rows of some agents; empty ones hide them.
    """
    lines: list[Line] = []
    own = bodies or {}
    agents = [agent for agent in agents if own.get(agent.id) != ()]
    for index, agent in enumerate(agents):
        is_last = index == len(agents) - 1
        lead = "└─ " if is_last else "├─ "
        trunk = "   " if is_last else "│  "
        room = max(1, width - 3)
        inside = [own.get(agent.id) or _title(agent, frame), *(_steps(agent, expanded=expanded, most=steps))]
        if depth < _DEEPEST:
            inside += agent_tree(
                agent.agents, room, expanded=expanded, frame=frame, depth=depth + 1, steps=steps, bodies=own
            )
        for at, each in enumerate(inside):
            lines.append((Span(lead if at == 0 else trunk, MUTED), *each))
    return [cells.truncate(each, width) for each in lines]


def agent_facts(agent: AgentProgress) -> str:
    """`12 calls · 8.1k tokens · 32 s`."""
    facts = [count(agent.calls, "call")] if agent.calls else []
    if agent.tokens:
        facts.append(tokens(agent.tokens))
    if agent.seconds >= 1:
        facts.append(duration(agent.seconds))
    return " · ".join(facts)


def _title(agent: AgentProgress, frame: int) -> Line:
    name = style(f"agent.{agent.color}" if agent.color else "tool", bold=True)
    spans = [mark(agent.state, frame), Span(one_line(agent.name), name)]
    if agent.description:
        spans.append(Span(f" {one_line(agent.description)}"))
    if facts := agent_facts(agent):
        spans.append(Span(f" · {facts}", MUTED))
    return tuple(spans)


def _steps(agent: AgentProgress, *, expanded: bool, most: int = _STEPS) -> list[Line]:
    if (agent.state != "running" or not most) and not expanded:
        return []
    shown = agent.steps if expanded else agent.steps[-most:]
    hidden = max(agent.calls, len(agent.steps)) - len(shown)
    lines: list[Line] = [(Span(f"  … {count(hidden, 'earlier call')}", MUTED),)] if hidden > 0 else []
    return [*lines, *(_step(each) for each in shown)]


def _step(step: AgentStep) -> Line:
    return (
        Span("  "),
        mark(step.state),
        Span(one_line(step.tool), MUTED),
        Span(f" {one_line(step.subject[:500])}", MUTED),
    )


def progress(call: Call, width: int, *, expanded: bool = False, frame: int = 0) -> list[Line]:
    """What a running agent does, and its own agents."""
    if call.agent is None:
        return sentence(call.progress, width)
    rows = [
        *_steps(call.agent, expanded=expanded),
        *agent_tree(call.agent.agents, width, expanded=expanded, frame=frame),
    ]
    return fit([cells.truncate(each, width) for each in rows], width)


def _result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if call.fact_text("status") == "async_launched":
        return sentence("runs in the background", width, style("info"))
    tree = progress(call, width, expanded=True) if expanded and call.agent else []
    text = call.said.strip()
    return (
        [*tree, *fold(render_markdown(text[:100_000], width), width, head=3, expanded=expanded)]
        if text
        else tree
    )


def _note(call: Call) -> str:
    if call.agent is not None:
        return agent_facts(AgentProgress(name="", calls=call.agent.calls, tokens=call.agent.tokens))
    calls, used = call.fact_number("totalToolUseCount"), call.fact_number("totalTokens")
    return " · ".join(
        part for part in (count(calls, "call") if calls else "", tokens(used) if used else "") if part
    )


LOOK = Look(
    title=lambda call: call.text("subagent_type") or "Agent",
    subject=lambda call: call.text("description"),
    result=_result,
    note=_note,
)

"""One agent of a workflow run: what it was asked, what it has called, what came of it."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.tui.render.call import Call, State, duration, header, tokens
from bridle.frontends.tui.render.collapse import fold_output
from bridle.frontends.tui.render.layout import count, paragraph, style
from bridle.frontends.tui.render.tools.catalog import look_of
from bridle.frontends.tui.screens.conversation.transcript_items import passages_of
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.text import Line, Span
from bridle.frontends.tui.widgets.page import heading, pair
from bridle.frontends.tui.widgets.picker import Item
from bridle.types.services.workflows import AgentState, AgentView

_MOST_CALLS = 15
_LONGEST_ASKED = 8_000
_LONGEST_SAID = 20_000
_SIGNS: Mapping[AgentState, tuple[str, str, str]] = {
    "running": ("◐", "accent", "Running"),
    "failed": ("✗", "error", "Failed"),
    "stopped": ("■", "warning", "Stopped"),
    "skipped": ("⊘", "warning", "Skipped"),
    "waiting": ("○", "muted", "Waiting"),
    "done": ("✓", "success", "Done"),
    "replayed": ("✓", "muted", "Reused"),
}
"""In the order in which they are looked at."""
_ORDER = {state: at for at, state in enumerate(_SIGNS)}


class AgentSummary(Struct, frozen=True, kw_only=True):
    """What the conversation of an agent tells."""

    agent_id: str
    asked: str = ""
    calls: tuple[Call, ...] = ()
    """The newest, the last one being the current."""
    said: str = ""


def read_story(agent_id: str, messages: Sequence[Mapping[str, Any]]) -> AgentSummary:
    """Sum up a conversation in the API's own messages."""
    passages = passages_of(messages)
    prompts = (each.text for each in passages if each.kind == "prompt")
    answers = [each.text for each in passages if each.kind == "answer"]
    return AgentSummary(
        agent_id=agent_id,
        asked=next(prompts, "")[:_LONGEST_ASKED],
        calls=_calls(messages),
        said=answers[-1][:_LONGEST_SAID] if answers else "",
    )


def agent_items(agents: Sequence[AgentView]) -> list[Item[int]]:
    """The rows of agents, running ones first."""
    return [_item(agent) for agent in sorted(agents, key=lambda each: (_ORDER[each.state], each.number))]


def agent_lines(agent: AgentView, story: AgentSummary | None, width: int) -> list[Line]:
    """Everything that is known of an agent."""
    sign, color, words = _SIGNS[agent.state]
    state: Line = (Span(f"{sign} ", style(color)), Span(words.lower(), style(color)))
    rows = [heading(f"{agent.number}. {agent.label}"), cells.truncate(state, width)]
    facts = (
        ("phase", agent.phase or ""),
        ("model", agent.model),
        ("used", _used(agent)),
    )
    for name, value in facts:
        rows += pair(name, value, width, column=8) if value else []
    known = story if story is not None and story.agent_id == agent.agent_id else None
    if known is not None and known.asked:
        rows += [(), heading("asked"), *paragraph(known.asked, width)]
    if known is not None and known.calls:
        hidden = agent.tool_uses - len(known.calls)
        more = f" (the last of {agent.tool_uses:,})" if hidden > 0 else ""
        rows += [(), heading(f"calls{more}")]
        rows += (line for call in known.calls for line in _call_line(call, agent, width))
    result = _result(agent, known)
    rows += [(), heading("result" if agent.state in ("done", "replayed") else "why")] if result else []
    return [*rows, *fold_output(result, width, head=200, expanded=True)] if result else rows


def _item(agent: AgentView) -> Item[int]:
    sign, color, words = _SIGNS[agent.state]
    return Item(
        value=agent.number,
        label=agent.label,
        facts=(
            duration(agent.seconds) if agent.seconds else "",
            tokens(agent.tokens) if agent.tokens else "",
            count(agent.tool_uses, "call") if agent.tool_uses else "",
            agent.model.removeprefix("claude-"),
        ),
        detail=agent.preview,
        group=words,
        words=agent.phase or "",
        sign=Span(sign, style(color)),
    )


def _used(agent: AgentView) -> str:
    facts = (
        duration(agent.seconds) if agent.seconds else "",
        tokens(agent.tokens) if agent.tokens else "",
        count(agent.tool_uses, "call") if agent.tool_uses else "",
    )
    return " · ".join(filter(None, facts))


def _result(agent: AgentView, story: AgentSummary | None) -> str:
    if agent.state in ("done", "replayed") and story is not None and story.said:
        return story.said
    return agent.preview


def _call_line(call: Call, agent: AgentView, width: int) -> list[Line]:
    if call.state == "running" and agent.state != "running":
        call = Call(tool=call.tool, input=call.input, state="interrupted")
    return header(call, look_of(call.tool), width)


def _calls(messages: Sequence[Mapping[str, Any]]) -> tuple[Call, ...]:
    blocks = [block for message in messages for block in _blocks(message)]
    results = {str(block.get("tool_use_id")): block for block in blocks if block.get("type") == "tool_result"}
    found: list[Call] = []
    for block in blocks:
        match block:
            case {"type": "tool_use", "id": str() as id, "name": str() as tool, "input": dict() as given}:
                found.append(Call(tool=tool, input=given, state=_state(results.get(id))))
            case _:
                pass
    return tuple(found[-_MOST_CALLS:])


def _state(result: Mapping[str, Any] | None) -> State:
    if result is None:
        return "running"
    return "failed" if result.get("is_error") else "done"


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return (
        [each for each in content if isinstance(each, Mapping)] if isinstance(content, list | tuple) else []
    )

"""Tools without a picture of their own: servers' tools, questions, skills, plans, and unknown tools."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.frontends.tui.render.call import Call, Look, sentence, size
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.collapse import fold, fold_output
from bridle.frontends.tui.render.layout import MUTED, hanging, one_line, style
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.style.text import Line, Span
from bridle.types.text import encodable_value

_TELLING = (
    "command", "file_path", "path", "pattern", "query", "url", "uri", "name", "title", "description",
    "message", "prompt", "text", "id",
)  # fmt: skip


def server_and_tool(name: str) -> tuple[str, str]:
    """The server and the tool in `mcp__server__tool`; a plugin's server without the plugin's prefix."""
    _, _, rest = name.partition("mcp__")
    server, _, tool = rest.partition("__")
    if server.startswith("plugin_"):
        server = server.removeprefix("plugin_").replace("_", ":", 1)
    return server, tool


def _mcp_title(call: Call) -> str:
    server, tool = server_and_tool(call.tool)
    return f"{server} · {tool}" if tool else server


def _arguments(call: Call) -> str:
    """What tells most about a call, or all of its input."""
    if len(call.input) == 1:
        (value,) = call.input.values()
        return value if isinstance(value, str) else _short(value)
    for name in _TELLING:
        if text := call.text(name):
            return text
    return ", ".join(f"{name}: {_short(value)}" for name, value in list(call.input.items())[:8])


def _short(value: Any) -> str:
    if isinstance(value, str):
        return value[:80]
    try:
        return msgspec.json.encode(encodable_value(value)).decode()[:80]
    except (TypeError, ValueError, RecursionError):
        return "…"


def _whole_input(call: Call, width: int) -> list[Line]:
    if len(call.input) < 2:
        return []
    try:
        text = msgspec.json.format(msgspec.json.encode(encodable_value(call.input)), indent=2).decode()
    except (TypeError, ValueError, RecursionError):
        return []
    return fold(highlight(text[:20_000], language="json"), width, head=60)


def _result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    rows: list[Line] = []
    if isinstance(call.content, str):
        return fold_output(_pretty(call.content), width, head=4, expanded=expanded) or sentence("done", width)
    for block in list(call.content)[:200]:
        rows += _block(block, width, expanded=expanded)
    return rows or sentence("done", width)


def _block(block: Any, width: int, *, expanded: bool) -> list[Line]:
    match block:
        case {"type": "text", "text": str() as text}:
            return fold_output(_pretty(text), width, head=4, expanded=expanded)
        case {"type": "image"}:
            return sentence(image_note(block), width)
        case {"type": str() as kind}:
            return sentence(f"[{kind}]", width)
        case _:
            return []


def image_note(block: Mapping[str, Any]) -> str:
    """What stands for an image: its kind and size."""
    match block.get("source"):
        case {"media_type": str() as kind, "data": str() as data}:
            return f"[image: {kind.removeprefix('image/')}, {size(len(data) * 3 // 4)}]"
        case {"url": str() as url}:
            return f"[image: {url}]"
        case _:
            return "[image]"


def _pretty(text: str) -> str:
    """JSON on several lines, anything else as it is."""
    if not text.startswith(("{", "[")) or len(text) > 200_000:
        return text
    try:
        return msgspec.json.format(text, indent=2)
    except msgspec.DecodeError:
        return text


def _questions(call: Call) -> str:
    questions = call.input.get("questions")
    asked = (
        [q.get("header") for q in questions if isinstance(q, Mapping)] if isinstance(questions, list) else []
    )
    return ", ".join(str(each) for each in asked if each)


def _answers(call: Call, width: int, *, expanded: bool) -> list[Line]:
    answers = call.fact("answers")
    if not isinstance(answers, Mapping):
        return _result(call, width, expanded=expanded)
    rows: list[Line] = []
    for question, answer in list(answers.items())[:20]:
        said = one_line(str(answer)[:2_000]) or "no answer"
        line = (Span(f"{one_line(str(question)[:500])} ", MUTED), Span(said, style(bold=True)))
        rows += hanging(line, width, first=(), rest=())
    return rows or sentence("no answer", width)


def _plan(call: Call, width: int, *, expanded: bool) -> list[Line]:
    plan = call.fact_text("plan") or call.text("plan")
    rows = render_markdown(plan[:100_000], max(1, width))
    return fold(rows, width, head=40, expanded=expanded)


def _plan_start(call: Call, width: int, *, expanded: bool) -> list[Line]:
    """What the mode means for people; the rules in the result are for the model."""
    if expanded:
        return fold_output(call.said, width, head=0, expanded=True)
    if call.fact("planMode") is None:
        return sentence("already on", width)
    return sentence("nothing changes until you approve a plan", width)


def _advice_title(call: Call) -> str:
    return f"Advice from {model}" if (model := call.fact_text("model")) else "Advice"


def _advice(call: Call, width: int, *, expanded: bool) -> list[Line]:
    advice = call.fact_text("advice") or call.said
    rows = render_markdown(advice[:100_000], max(1, width))
    return fold(rows, width, head=3, expanded=expanded)


def _skill_subject(call: Call) -> str:
    return f"{call.text('skill') or call.text('command')} {call.text('args')}".strip()


def _skill_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    return fold_output(call.said, width, head=0, expanded=True) if expanded else []


MCP = Look(title=_mcp_title, subject=_arguments, result=_result, input=_whole_input)
ASK = Look(title=lambda _: "Question", subject=_questions, result=_answers)
ADVICE = Look(
    title=_advice_title, subject=lambda call: call.text("question") or "on the work so far", result=_advice
)
SKILL = Look(title=lambda call: call.tool, subject=_skill_subject, result=_skill_result)
PLAN = Look(title=lambda _: "Plan", subject=lambda _: "", result=_plan)
PLAN_START = Look(title=lambda _: "Plan mode", subject=lambda _: "", result=_plan_start)
UNKNOWN = Look(title=lambda call: call.tool, subject=_arguments, result=_result, input=_whole_input)

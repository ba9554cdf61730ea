"""What people, models and bridle itself say."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bridle.frontends.tui.render.call import State, duration, mark, sentence, tokens
from bridle.frontends.tui.render.collapse import fold
from bridle.frontends.tui.render.layout import (
    MUTED,
    TAB,
    count,
    fit,
    homely,
    one_line,
    paragraph,
    prefixed,
    style,
    wrap_all,
)
from bridle.frontends.tui.render.markdown import render_markdown
from bridle.frontends.tui.render.tools.others import image_note
from bridle.frontends.tui.style import cells
from bridle.frontends.tui.style.sanitize import clean
from bridle.frontends.tui.style.text import Line, Span
from bridle.types.errors import ApiErrorKind, fault_words
from bridle.types.services.tasks import Task, TaskStatus
from bridle.types.turn import Outcome

Level = Literal["info", "notice", "suggestion", "warning", "error"]

_PROMPT_ROWS = 30
_THINKING_ROWS = 3
_FOLDED_TEXT = 100_000
ANSWER = "●"
_OPENINGS = "\"'“‘«(¿¡…"
_LEVELS: Mapping[Level, tuple[str, str]] = {
    "info": ("·", "muted"),
    "notice": ("›", "info"),
    "suggestion": ("›", "suggestion"),
    "warning": ("!", "warning"),
    "error": ("✗", "error"),
}
LEVEL_COLORS: Mapping[Level, str] = {level: color for level, (_, color) in _LEVELS.items()}
_JOBS: Mapping[TaskStatus, State] = {
    "running": "running",
    "completed": "done",
    "failed": "failed",
    "killed": "interrupted",
}
_ENDINGS: Mapping[str, str] = {
    "max_turns": "stopped at the turn limit",
    "budget_exhausted": "stopped at the cost limit",
    "repeated_calls": "stopped: the model kept making the same failing call",
    "prompt_too_long": "the conversation is too long; /compact shortens it",
    "hook_stopped": "stopped by a hook",
    "stop_hook_prevented": "stopped by a hook",
    "blocking_limit": "stopped at a limit",
}


def user_prompt(content: str | Sequence[Any], width: int, *, expanded: bool = False) -> list[Line]:
    """What the user asked, on its own background; images and long texts are noted."""
    background = style("user", "user")
    text = clean(_prompt_text(content)[:_FOLDED_TEXT], tab=TAB).strip("\n")
    lines: list[Line] = [(Span(each, background),) if each else () for each in text.split("\n")]
    if width < 6:
        return fit(wrap_all(lines, max(1, width)), width)
    rows = fold(lines, width - 2, head=_PROMPT_ROWS, tail=3, expanded=expanded)
    mark = Span("❯ ", style("prompt", "user", bold=True))
    banded = ((mark, *each) if at == 0 else (Span("  ", background), *each) for at, each in enumerate(rows))
    return [(*each, Span(" " * max(width - cells.line_width(each), 0), background)) for each in banded]


def memory_prompt(note: str, width: int) -> list[Line]:
    """A note that the user made with `#`."""
    rows = paragraph(note[:_FOLDED_TEXT].strip(), max(1, width - 2), style("mode.memory"))
    return fit(prefixed(rows, (Span("# ", style("mode.memory", bold=True)),), (Span("  "),)), width)


def assistant_text(text: str, width: int) -> list[Line]:
    """A whole answer."""
    return render_markdown(bulleted(text), width)


def bulleted(text: str) -> str:
    """An answer with the mark that tells who speaks; one that begins with a block of its own needs none.

    The mark stands in the first row alone: what is copied out of the middle is as it was written.
    """
    words = text.lstrip()
    is_marked = words.startswith(("**", "`")) and not words.startswith("```")
    is_sentence = bool(words) and (words[0].isalpha() or words[0] in _OPENINGS)
    return f"{ANSWER} {words}" if is_sentence or is_marked else text


def thinking(text: str, width: int, *, expanded: bool = False, seconds: float | None = None) -> list[Line]:
    """What the model thought: one row, or all of it when expanded."""
    look = style("thinking", italic=True)
    took = f" for {duration(seconds)}" if seconds is not None else ""
    title: Line = (Span(f"∴ Thought{took}", look),)
    if not expanded:
        return fit([cells.truncate(title, width)], width)
    body = paragraph(text[:_FOLDED_TEXT].strip(), max(1, width - 2), look)
    return fit([title, *prefixed(body, (Span("  "),), (Span("  "),))] if width > 4 else [title, *body], width)


def live_thinking(text: str, width: int) -> list[Line]:
    """The newest of what the model thinks right now."""
    look = style("thinking", italic=True)
    return paragraph(text[-2_000:].strip(), width, look)[-_THINKING_ROWS:] if text.strip() else []


def notice(text: str, width: int, *, level: Level = "info") -> list[Line]:
    """Something that the user should know."""
    mark, color = _LEVELS[level]
    return _hung(mark, color, homely(text), width)


def hook_line(event: str, text: str, width: int, *, blocked: bool = False) -> list[Line]:
    """What a hook said."""
    said = f"{event} hook{' blocked' if blocked else ''}{': ' if text else ''}{text}"
    return _hung("↳", "warning" if blocked else "muted", said, width)


def compact_boundary(width: int, *, before: int = 0, after: int = 0, automatic: bool = False) -> list[Line]:
    """The place where the conversation was summarized."""
    how = "auto-compacted" if automatic else "compacted"
    sizes = f", {tokens(before)} → {tokens(after)}" if before and after else ""
    return _rule(f" conversation {how}{sizes} ", width)


def interrupted(width: int, *, in_tools: bool = False) -> list[Line]:
    """Where the user broke in."""
    what = "interrupted while tools were running" if in_tools else "interrupted"
    return _hung("■", "warning", f"{what}; say what to do instead", width)


def api_error(kind: ApiErrorKind | str, message: str, width: int, *, status: int | None = None) -> list[Line]:
    """The model could not answer; the message says why, where there is one."""
    return _hung("✗", "error", message.strip() or fault_words(kind, status), width)


def retry_countdown(
    kind: ApiErrorKind | str,
    width: int,
    *,
    remaining: float,
    attempt: int,
    most: int,
    status: int | None = None,
    cause: str = "",
) -> list[Line]:
    """A request failed and will be made again."""
    why = one_line(cause) or fault_words(kind, status)
    when = f"retrying in {round(remaining)} s" if remaining >= 0.5 else "retrying"
    return _hung("↻", "warning", f"{why}, {when} ({attempt}/{most})", width)


def turn_summary(outcome: Outcome, width: int, *, seconds: float) -> list[Line]:
    """What a turn took, and why it ended when that needs saying."""
    facts = [duration(seconds)]
    if used := outcome.usage.context + outcome.usage.output:
        facts.append(tokens(used))
    if outcome.total_cost_usd:
        facts.append(f"{money(outcome.total_cost_usd)} so far")
    if outcome.denials:
        facts.append(count(len(outcome.denials), "call denied", "calls denied"))
    rows = [cells.truncate((Span(f"· {' · '.join(facts)}", MUTED),), width)]
    if outcome.reason in _ENDINGS:
        rows = [*_hung("!", "warning", _ENDINGS[outcome.reason], width), *rows]
    return fit(rows, width)


def task_lines(task: Task, width: int, *, now: float) -> list[Line]:
    """A background job on one row, and the first line of what it found below it.

    `now` is in seconds since the epoch.
    """
    ending = "" if task.exit_code in (None, 0) else f", exit code {task.exit_code}"
    took = duration((task.ended or now) - task.started)
    who = (task.name or task.agent_type or "agent") if task.kind == "local_agent" else task.name or ""
    text = one_line((task.description or task.command or task.id)[:500])
    who = "" if text.startswith(who) else who
    name = (Span(f"{one_line(who)} ", style("tool", bold=True)),) if who else ()
    head = (mark(_JOBS[task.status]), *name, Span(text), Span(f" · {task.status}{ending} · {took}", MUTED))
    found = (task.error or task.result or "").strip() if task.kind == "local_agent" else ""
    return [cells.truncate(head, width), *_first_line(found, width)]


def _first_line(text: str, width: int) -> list[Line]:
    """The first words of a result, without marks of Markdown."""
    first = next((each for each in text[:_FOLDED_TEXT].split("\n") if each.strip()), "")
    shown = one_line(first.lstrip("#>*- ").replace("**", "").replace("`", ""))
    return [cells.truncate((Span("  └ ", MUTED), Span(shown, MUTED)), width)] if shown else []


def queued_prompts(prompts: Sequence[str], width: int, *, most: int = 3, edit_key: str = "") -> list[Line]:
    """What was typed while the model was busy, and the key that takes it back."""
    hint = f" ({edit_key} to edit)" if edit_key and prompts else ""
    room = max(width - cells.width(hint), 1)
    rows: list[Line] = [
        cells.truncate((Span("⧗ ", MUTED), Span(one_line(each[:1_000]), MUTED)), room if at == 0 else width)
        for at, each in enumerate(prompts[:most])
    ]
    if hint and room > len(hint):
        rows[0] = (*rows[0], Span(hint, MUTED))
    if len(prompts) > most:
        rows += sentence(f"… {len(prompts) - most} more waiting", width)
    return fit(rows, width)


def money(usd: float) -> str:
    """`$0.0042`, `$1.25`."""
    return f"${usd:.2f}" if usd >= 0.5 or usd == 0 else f"${usd:.4f}"


def _prompt_text(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    parts: list[str] = []
    for block in content:
        match block:
            case {"type": "text", "text": str() as text}:
                parts.append(text)
            case {"type": "image"}:
                parts.append(image_note(block))
            case {"type": "document"}:
                parts.append(f"[document: {block.get('title') or 'PDF'}]")
            case _:
                pass
    return "\n".join(parts)


def _hung(mark: str, color: str, text: str, width: int) -> list[Line]:
    look = style(color)
    if width < 6:
        return paragraph(text[:_FOLDED_TEXT].strip(), width, look)
    rows = paragraph(text[:_FOLDED_TEXT].strip(), width - 2, look)
    return prefixed(rows, (Span(f"{mark} ", look),), (Span("  "),))


def _rule(title: str, width: int) -> list[Line]:
    size = cells.width(title)
    if size + 4 > width:
        return paragraph(title.strip(), width, MUTED)
    left = (width - size) // 2
    return [
        (
            Span("─" * left, style("border")),
            Span(title, MUTED),
            Span("─" * (width - size - left), style("border")),
        )
    ]

"""Shell commands: the end of what they print, in their own colors."""

import re

from bridle.frontends.tui.render.call import Call, Look, sentence
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.collapse import fold, fold_output
from bridle.frontends.tui.render.layout import style
from bridle.frontends.tui.style.text import Line

_EXIT = re.compile(r"Exit code (\d{1,3})(?: \(\w+\))?\n?")

_COMMAND_ROWS = 60


def _result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    rows = fold_output(
        call.fact_text("coloredOutput") or call.fact_text("stdout"), width, head=3, tail=4, expanded=expanded
    )
    if notices := call.fact_text("stderr"):
        rows += fold_output(notices, width, head=3, expanded=expanded)
    if meaning := call.fact_text("returnCodeInterpretation"):
        rows += sentence(meaning, width)
    if path := call.fact_text("persistedOutputPath"):
        rows += sentence(f"full output: {path}", width)
    if call.fact_text("backgroundTaskId"):
        rows += sentence("runs in the background", width, style("info"))
    if not rows:
        rows = sentence("done" if call.fact("noOutputExpected") else "no output", width)
    return rows


def failed(call: Call, width: int, *, expanded: bool) -> list[Line]:
    """A command that failed: its exit code, then what it printed."""
    text = call.said
    if not (found := _EXIT.match(text)):
        return fold_output(text, width, head=3, tail=6, expanded=expanded)
    rows = sentence(found[0].strip().lower(), width, style("error"))
    shown = _in_color(call, text[found.end() :])
    return rows + fold_output(shown, width, head=3, tail=6, expanded=expanded)


def _in_color(call: Call, text: str) -> str:
    """What a command printed with its colors, where they are known; then what was noted about it."""
    out, styled = call.fact_text("stdout"), call.fact_text("coloredOutput")
    return styled + text[len(out) :] if styled and text.startswith(out) else text


def progress(call: Call, width: int) -> list[Line]:
    """The newest lines of a command that runs."""
    return fold_output(call.progress[-4_000:], width, head=0, tail=5)[-5:] if call.progress.strip() else []


def _whole_command(call: Call, width: int) -> list[Line]:
    command = call.text("command")
    if "\n" not in command:
        return []
    return fold(highlight(command[:20_000], language="bash"), width, head=_COMMAND_ROWS)


LOOK = Look(
    title=lambda call: call.tool,
    subject=lambda call: call.text("command"),
    result=_result,
    input=_whole_command,
)

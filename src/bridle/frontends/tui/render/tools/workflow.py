"""Calls that put many agents to work by a script."""

from bridle.frontends.tui.render.call import Call, Look, sentence, short_path
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.collapse import fold, fold_output
from bridle.frontends.tui.render.layout import style
from bridle.frontends.tui.render.workflow import meta_of
from bridle.frontends.tui.style.text import Line

_LARGEST = 100_000


def _subject(call: Call) -> str:
    if (script := call.text("script")) and (meta := meta_of(script)) is not None:
        return f"{meta.name}: {meta.description}"
    if name := call.text("name") or call.text("workflowName"):
        return name
    if path := call.text("scriptPath"):
        return short_path(path, call.cwd)
    return f"rerun {run}" if (run := call.text("resumeFromRunId")) else ""


def _script(call: Call, width: int) -> list[Line]:
    script = call.text("script")[:_LARGEST]
    return fold(highlight(script, language="javascript"), width, head=200) if script else []


def _result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if not (run := call.fact_text("runId")):
        return fold_output(call.said, width, head=3, expanded=expanded)
    rows = sentence(f"runs in the background as {run}; /workflows shows its progress", width, style("info"))
    path = call.fact_text("scriptPath")
    return [*rows, *(sentence(f"script: {short_path(path, call.cwd)}", width) if expanded and path else [])]


LOOK = Look(title=lambda _: "Workflow", subject=_subject, result=_result, input=_script)

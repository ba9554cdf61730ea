"""Files: what was read, written and changed."""

from bridle.frontends.tui.render.call import Call, Look, sentence, short_path, size
from bridle.frontends.tui.render.code import highlight
from bridle.frontends.tui.render.collapse import MOST_ROWS, fold
from bridle.frontends.tui.render.diff import FileChange, added_rows, change_between, read_hunks, render_hunks
from bridle.frontends.tui.render.layout import MUTED, count, style
from bridle.frontends.tui.style.text import Line, Span

_DIFF_LINES = 30
_NEW_FILE_LINES = 10
_LARGEST = 1_000_000


def _path(call: Call) -> str:
    return short_path(call.text("file_path") or call.text("notebook_path"), call.cwd)


def _read_subject(call: Call) -> str:
    offset, limit, pages = call.input.get("offset"), call.input.get("limit"), call.text("pages")
    if pages:
        return f"{_path(call)} pages {pages}"
    if isinstance(offset, int) and isinstance(limit, int):
        return f"{_path(call)} lines {offset}–{offset + limit - 1}"
    return f"{_path(call)} from line {offset}" if isinstance(offset, int) and offset > 1 else _path(call)


def _read_note(call: Call) -> str:
    match call.fact_text("type"):
        case "text":
            shown, total = call.fact_number("file", "numLines"), call.fact_number("file", "totalLines")
            return count(shown, "line") if shown >= total else f"{shown:,} of {count(total, 'line')}"
        case "image":
            width, height = (
                call.fact_number("file", "dimensions", f"original{s}") for s in ("Width", "Height")
            )
            pixels = f" {width}×{height}," if width and height else ""
            return f"image,{pixels} {size(call.fact_number('file', 'originalSize'))}"
        case "pdf":
            return f"PDF, {size(call.fact_number('file', 'originalSize'))}"
        case "notebook":
            return count(len(call.fact_list("file", "cells")), "cell")
        case "file_unchanged":
            return "unchanged"
        case _:
            return ""


def _read_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    content = call.fact_text("file", "content")
    if not expanded or not content:
        return []
    start = max(1, call.fact_number("file", "startLine"))
    lines = highlight(content[:_LARGEST].removesuffix("\n"), path=_path(call))
    gutter = len(str(start + len(lines)))
    numbered = [
        (Span(f"{number:>{gutter}}  ", style("line_number")), *line)
        for number, line in enumerate(lines, start)
    ]
    return fold(numbered, width, head=0, expanded=True)


def _change(call: Call) -> FileChange:
    path = _path(call)
    if call.fact_text("type") == "create":
        return change_between(path, "", call.fact_text("content")[:_LARGEST], exists=False)
    hunks = read_hunks(call.fact("structuredPatch"))
    kind = "new" if call.data is not None and call.fact("originalFile") is None and not hunks else "changed"
    return FileChange(path=path, kind=kind, hunks=hunks)


def _is_plan(call: Call) -> bool:
    """Whether it writes the file of a plan, which is shown as a whole when it is put to the user."""
    return "/.claude/plans/" in call.text("file_path")


def _change_note(call: Call) -> str:
    if _is_plan(call):
        return "the plan"
    change = _change(call)
    parts = [f"+{change.added:,}"] if change.added else []
    if change.removed:
        parts.append(f"−{change.removed:,}")
    return " ".join(["new file", *parts] if change.kind == "new" else parts) or "no change"


def _change_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if _is_plan(call) and not expanded:
        return []
    change = _change(call)
    if change.kind == "new":
        content = call.fact_text("content") or call.fact_text("newString")
        return _new_file(content, change.path, width, expanded=expanded)
    return render_hunks(change, width, limit=None if expanded else _DIFF_LINES)


def _new_file(content: str, path: str, width: int, *, expanded: bool) -> list[Line]:
    lines = highlight(content[:_LARGEST].removesuffix("\n"), path=path)
    gutter = len(str(len(lines)))
    shown = lines if expanded else lines[: _NEW_FILE_LINES + 1]
    rows: list[Line] = []
    for number, line in enumerate(shown, 1):
        if not expanded and number > _NEW_FILE_LINES and len(lines) > _NEW_FILE_LINES + 1:
            rows += [(Span(f"… {count(len(lines) - _NEW_FILE_LINES, 'more line')}", MUTED),)]
            break
        rows += added_rows(line, number, width, gutter=gutter)
    return rows[:MOST_ROWS]


def _cell_note(call: Call) -> str:
    mode = call.fact_text("edit_mode") or "replace"
    done = {"insert": "inserted", "delete": "deleted"}.get(mode, "replaced")
    return f"{done} {call.fact_text('cell_type') or 'code'} cell {call.fact_text('cell_id')}".rstrip()


def _cell_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    if call.fact_text("edit_mode") == "delete":
        return []
    language = "markdown" if call.fact_text("cell_type") == "markdown" else call.fact_text("language")
    lines = highlight(call.fact_text("new_source")[:_LARGEST], language=language or "python")
    return fold(lines, width, head=_NEW_FILE_LINES, expanded=expanded)


def proposed(call: Call, width: int, *, limit: int | None = _DIFF_LINES) -> list[Line]:
    """What a call that has not run yet would change, as far as its input tells."""
    match call.tool:
        case "Edit":
            change = change_between(_path(call), call.text("old_string"), call.text("new_string"))
            return render_hunks(change, width, limit=limit)
        case "Write":
            return _new_file(call.text("content"), _path(call), width, expanded=limit is None)
        case "NotebookEdit":
            lines = highlight(call.text("new_source")[:_LARGEST], language="python")
            return fold(lines, width, head=limit or 0, expanded=limit is None)
        case _:
            return sentence("nothing to show", width, MUTED)


READ = Look(title=lambda call: call.tool, subject=_read_subject, result=_read_result, note=_read_note)
CHANGE = Look(title=lambda call: call.tool, subject=_path, result=_change_result, note=_change_note)
NOTEBOOK = Look(title=lambda call: call.tool, subject=_path, result=_cell_result, note=_cell_note)

"""Searches in files and on the web."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bridle.frontends.tui.render.call import Call, Look, sentence, short_path, size
from bridle.frontends.tui.render.collapse import fold, fold_output
from bridle.frontends.tui.render.layout import MUTED, count, one_line, row, style
from bridle.frontends.tui.style.text import Line, Span

_MATCH = re.compile(r"^(.*?)([:-])(\d+)([:-])(.*)$")
_ROWS = 4


def _pattern(call: Call) -> str:
    where = short_path(call.text("path"), call.cwd)
    kinds = call.text("glob") or call.text("type")
    return " ".join(
        part
        for part in (call.text("pattern"), f"in {where}" if where else "", f"({kinds})" if kinds else "")
        if part
    )


def _glob_note(call: Call) -> str:
    more = " at least" if call.fact("truncated") is True else ""
    return f"{count(call.fact_number('numFiles'), 'file')}{more}"


def _names(call: Call, width: int, *, expanded: bool) -> list[Line]:
    names = [each for each in call.fact_list("filenames") if isinstance(each, str)]
    lines = [(Span(row(short_path(name, call.cwd))),) for name in names]
    return fold(lines, width, head=_ROWS, expanded=expanded)


def _grep_note(call: Call) -> str:
    files = count(call.fact_number("numFiles"), "file")
    match call.fact_text("mode"):
        case "content":
            return f"{count(call.fact_number('numLines'), 'line')} in {files}"
        case "count":
            return f"{count(call.fact_number('numMatches'), 'match', 'matches')} in {files}"
        case _:
            return files


def _grep_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    content = call.fact_text("content")
    if not content:
        return _names(call, width, expanded=expanded)
    lines = [_match(each) for each in content[:200_000].split("\n")]
    return fold(lines, width, head=_ROWS, expanded=expanded)


def _match(text: str) -> Line:
    if not (found := _MATCH.match(text[:2_000])):
        return (Span(row(text[:2_000])),)
    path, number, code = row(found[1]), found[3], row(found[5])
    return (Span(path, style("link")), Span(f":{number} ", style("line_number")), Span(code))


def _fetch_note(call: Call) -> str:
    code, words = call.fact_number("code"), call.fact_text("codeText")
    status = f"{code} {words}".strip() if code else ""
    return ", ".join(part for part in (status, size(call.fact_number("bytes"))) if part)


def _fetch_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    return fold_output(call.fact_text("result"), width, head=3, expanded=expanded)


def _links(call: Call) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for each in call.fact_list("results"):
        inside = each.get("content") if isinstance(each, Mapping) else None
        if isinstance(inside, Sequence) and not isinstance(inside, str):
            found += [link for link in inside if isinstance(link, Mapping)]
    return found


def _web_result(call: Call, width: int, *, expanded: bool) -> list[Line]:
    lines: list[Line] = []
    for link in _links(call):
        title, address = one_line(str(link.get("title") or "")), one_line(str(link.get("url") or ""))
        target = address if address.startswith(("http://", "https://")) else None
        lines.append((Span(title or address, style("link", link=target)), Span(f"  {address}", MUTED)))
    return fold(lines, width, head=_ROWS, expanded=expanded) or sentence("nothing found", width)


GLOB = Look(title=lambda call: call.tool, subject=_pattern, result=_names, note=_glob_note)
GREP = Look(title=lambda call: call.tool, subject=_pattern, result=_grep_result, note=_grep_note)
FETCH = Look(
    title=lambda call: call.tool,
    subject=lambda call: call.text("url"),
    result=_fetch_result,
    note=_fetch_note,
)
WEB = Look(
    title=lambda call: call.tool,
    subject=lambda call: call.text("query"),
    result=_web_result,
    note=lambda call: count(len(_links(call)), "result"),
)

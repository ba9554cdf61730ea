"""Permission rules, working folders and refusals, with where each comes from."""

from collections.abc import Sequence
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bridle.permissions.lint import lint
from bridle.permissions.rules import write
from bridle.tools.known_names import KNOWN_NAMES
from bridle.types.permission import Effect, Rule
from bridle.types.text import encodable_value
from bridle.types.turn import Denial, Outcome
from bridle.types.workspace import Workspace

_LONGEST_SUBJECT = 300


class RuleRow(Struct, frozen=True, kw_only=True):
    effect: Effect
    text: str
    source: str
    file: str | None = None
    line: int | None = None
    fault: str = ""
    """Why it has no effect, when it has none."""


class DenialRow(Struct, frozen=True, kw_only=True):
    """A call that was not allowed."""

    tool: str
    subject: str
    """What the call was given, as JSON."""
    rule: str
    """A rule that would allow this call and as little else as possible; empty where there is none."""


class FolderRow(Struct, frozen=True, kw_only=True):
    path: str
    source: str = "session"
    """Empty for the folder that the session began in."""


def rule_rows(rules: Sequence[Rule], *, tools: Sequence[str] = ()) -> tuple[RuleRow, ...]:
    """Every rule in the order deny, ask, allow; `tools` are those of the session besides built-in ones."""
    known = {*tools, *KNOWN_NAMES}
    faults = {id(found.rule): found.message for found in lint(rules, known)}
    order = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}
    return tuple(
        RuleRow(
            effect=rule.effect,
            text=write(rule),
            source=rule.source,
            file=rule.file,
            line=rule.line,
            fault=faults.get(id(rule), ""),
        )
        for rule in sorted(rules, key=lambda rule: order[rule.effect])
    )


def folder_rows(workspace: Workspace) -> tuple[FolderRow, ...]:
    """The working folders."""
    return tuple(
        FolderRow(path=root, source="" if root == workspace.start else "session") for root in workspace.roots
    )


def recent_denials(last: Outcome | None) -> tuple[DenialRow, ...]:
    """The calls of the last turn that were turned away."""
    denials = () if last is None else last.denials
    return tuple(
        DenialRow(tool=each.tool_name, subject=_subject(each), rule=_rule_for(each)) for each in denials
    )


def _subject(denial: Denial) -> str:
    return msgspec.json.encode(encodable_value(denial.tool_input)).decode()[:_LONGEST_SUBJECT]


def _rule_for(denial: Denial) -> str:
    """A rule for the very call; empty where none can be written: one for the tool would allow too much."""
    given, tool = denial.tool_input, denial.tool_name
    content: str | None = None
    if isinstance(command := given.get("command"), str):
        content = "" if "\n" in command else command.replace("*", "\\*")
    elif isinstance(path := given.get("file_path") or given.get("notebook_path"), str):
        # A rule begins at the root of the file system with two slashes.
        content = f"/{path}" if path.startswith("/") else ""
    elif isinstance(url := given.get("url"), str):
        content = f"domain:{host}" if (host := _host(url)) else ""
    return "" if content == "" else write(Rule(effect=Effect.ALLOW, tool=tool, content=content))


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None

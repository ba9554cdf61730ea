"""The first rule that covers a call."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from bridle.permissions import commands, paths
from bridle.permissions.commands import Command
from bridle.types.permission import Case, Effect, Rule

READERS = frozenset({"Read", "Grep", "Glob", "LSP"})
EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})
_SHELLS = frozenset({"Bash", "PowerShell"})
_PRIMARY = frozenset({"command", "file_path", "notebook_path", "path", "url"})


def find_rule(case: Case, effect: Effect) -> Rule | None:
    """The first rule with this effect that covers the call: all of it to allow, any part to deny or ask."""
    candidates = [rule for rule in case.rules if rule.effect is effect]
    command = commands.take_apart(case.subject) if candidates and case.tool in _SHELLS else None
    return next((rule for rule in candidates if _covers(rule, case, command)), None)


def _covers(rule: Rule, case: Case, command: Command | None) -> bool:
    if rule.content is None:
        return _names(rule, case.tool)
    if rule.tool in ("Read", "Edit"):
        return case.tool in _governed(rule) and _covers_paths(rule, case)
    if not _names(rule, case.tool) or case.tool in READERS | EDITORS:
        return False
    if rule.effect is not Effect.ALLOW and _covers_field(rule.content, case.input):
        return True
    if command is not None:
        return commands.covers(rule, command)
    if case.tool == "WebFetch":
        return _covers_host(rule.content, case.subject)
    return commands.text_covers(rule.content, case.subject)


def _names(rule: Rule, tool: str) -> bool:
    """A server's name stands for all its tools; a star for the rest of a name."""
    if rule.tool == tool:
        return True
    if "*" in rule.tool:
        return fnmatchcase(tool, _only_stars(rule.tool))
    return rule.tool.startswith("mcp__") and "__" not in rule.tool[5:] and tool.startswith(f"{rule.tool}__")


def _governed(rule: Rule) -> frozenset[str]:
    """The tools whose files a rule for reading or editing is about."""
    if rule.tool == "Edit":
        return EDITORS | READERS if rule.effect is Effect.ALLOW else EDITORS
    match rule.effect:
        case Effect.ALLOW:
            return READERS
        case Effect.ASK:
            return READERS | _SHELLS
        case Effect.DENY:
            return READERS | _SHELLS | EDITORS


def _covers_paths(rule: Rule, case: Case) -> bool:
    touched = (*case.access.reads, *case.access.writes)
    covered = (paths.covers(rule, case, path) for path in touched)
    return bool(touched) and all(covered) if rule.effect is Effect.ALLOW else any(covered)


def _covers_field(content: str, input: Mapping[str, Any]) -> bool:
    """`name:value` against one plain field of the input, as the model sent it."""
    name, colon, wanted = content.partition(":")
    if not colon or name in _PRIMARY or name not in input:
        return False
    return any(fnmatchcase(value, _only_stars(wanted)) for value in _scalar(input[name]))


def _scalar(value: Any) -> Iterator[str]:
    match value:
        case bool():
            yield str(value).lower()
        case str() | int() | float():
            yield str(value)
        case _:
            return


def _covers_host(content: str, subject: str) -> bool:
    """`domain:host` is that host, `domain:*.host` its sub-domains; any other star stays in its label."""
    if not content.startswith("domain:") or not subject.startswith("domain:"):
        return False
    wanted, host = (_host(text.removeprefix("domain:")) for text in (content, subject))
    if wanted == "*":
        return bool(host)
    labels, globs = host.split("."), wanted.split(".")
    if globs[0] == "*" and len(labels) >= len(globs):
        globs = globs[1:]
        labels = labels[len(labels) - len(globs) :]
    return len(labels) == len(globs) and all(
        fnmatchcase(label, _only_stars(glob)) for label, glob in zip(labels, globs, strict=True)
    )


def _host(text: str) -> str:
    return text.strip().lower().removesuffix(".")


def _only_stars(pattern: str) -> str:
    return pattern.replace("[", "[[]").replace("?", "[?]")

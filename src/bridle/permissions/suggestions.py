"""Changes that would keep the same question from being asked again."""

import os.path
from collections.abc import Callable, Iterable, Iterator, Sequence

from bridle.permissions import command_parts
from bridle.permissions.files import paths
from bridle.permissions.shell.programs.service_commands import READ_ONLY
from bridle.permissions.tool_names import BY_HOST, BY_SUBJECT, EDIT, EDITORS, READ, READERS, SHELL
from bridle.permissions.updates import applied_to_case
from bridle.types.permission import Allow, Ask, Case, Decision, PermissionUpdate, RuleValue
from bridle.types.shell import Part

_MOST_RULES = 5
"""How many a single answer adds to a settings file."""


def suggest(case: Case, doubt: Ask, decide: Callable[[Case], Decision]) -> tuple[PermissionUpdate, ...]:
    """The updates that turn the doubt into an approval; none when nothing short of the person's word does."""
    if doubt.needs_person:
        return ()
    proposed = tuple(_proposed(case))
    try:
        after = applied_to_case(case, proposed)
    except ValueError:
        return ()  # No rule can be written for a subject like this.
    if not proposed or not isinstance(decide(after), Allow):
        return ()
    return tuple(part for update in proposed for part in _bounded(update))


def lasting_rules(
    case: Case, suggested: Sequence[PermissionUpdate], decide: Callable[[Case], Decision]
) -> tuple[PermissionUpdate, ...]:
    """Rules alone that allow the same call in later sessions; a mode or a folder holds for this one only."""
    rules = tuple(update for update in suggested if update["type"] == "addRules")
    if not rules or len(rules) == len(suggested):
        return rules
    kept = _allow(*_every_rule(case)) if case.tool == SHELL else None
    try:
        enough = kept is not None and isinstance(decide(applied_to_case(case, (kept,))), Allow)
    except ValueError:
        return ()
    return (kept,) if kept is not None and enough else ()


def _every_rule(case: Case) -> list[RuleValue]:
    """For each part of a command a rule, and one for each file that it writes or reads elsewhere."""
    readable = (*case.roots, *case.readable)
    found: list[RuleValue] = []
    for weighed in command_parts.weigh(case, ()):
        part = weighed.part
        if isinstance(weighed.opinion, Allow):
            continue
        if not part.harmless and command_parts.allowing(case, part) is None:
            found.append({"toolName": SHELL, "ruleContent": _rule_content(part)})
        found += _file_rules(EDIT, part.redirects)
        found += _file_rules(READ, (each for each in part.reads if not paths.is_within(case, each, readable)))
    return [rule for index, rule in enumerate(found) if rule not in found[:index]]


def _file_rules(tool: str, files: Iterable[str]) -> list[RuleValue]:
    # A sign in a file's name would mean more than itself in a rule.
    return [{"toolName": tool, "ruleContent": f"/{file}"} for file in files if not set("*?[]!\\") & set(file)]


def _bounded(update: PermissionUpdate) -> Iterator[PermissionUpdate]:
    """A long compound does not fill the settings with rules: those beyond a few hold for the session."""
    rules = update.get("rules") or []
    if len(rules) <= _MOST_RULES:
        yield update
        return
    yield {**update, "rules": rules[:_MOST_RULES]}
    yield {**update, "rules": rules[_MOST_RULES:], "destination": "session"}


def _proposed(case: Case) -> Iterator[PermissionUpdate]:
    match case.tool:
        case tool if tool == SHELL:
            yield from _for_command(case)
        case tool if tool in READERS | EDITORS:
            yield from _for_files(case, (*case.access.reads, *case.access.writes), bool(case.access.writes))
        case tool if tool in BY_HOST:
            if case.subject.startswith("domain:"):
                yield _allow({"toolName": case.tool, "ruleContent": case.subject})
        case tool if tool in BY_SUBJECT and case.subject:
            yield _allow({"toolName": case.tool, "ruleContent": case.subject})
        case _:
            yield _allow({"toolName": case.tool})


def _for_command(case: Case) -> Iterator[PermissionUpdate]:
    rules: list[RuleValue] = []
    touched: list[str] = list(case.reading.leaves if case.reading is not None else ())
    edits = False
    # Of what a rule denies or asks about, only a person decides: here no rule does.
    for weighed in command_parts.weigh(case, ()):
        if isinstance(weighed.opinion, Allow):
            continue
        part = weighed.part
        touched += (*part.reads, *part.writes)
        edits = edits or bool(part.redirects) or (part.file_command and bool(part.writes))
        if (
            not part.harmless
            and not (part.file_command and part.writes)
            and command_parts.allowing(case, part) is None
        ):
            rules.append({"toolName": SHELL, "ruleContent": _rule_content(part)})
    distinct = [rule for index, rule in enumerate(rules) if rule not in rules[:index]]
    if distinct:
        yield _allow(*distinct)
    yield from _for_files(case, tuple(touched), edits)


def _rule_content(part: Part) -> str:
    from bridle.permissions.shell import rule_prefix

    if part.service:
        return f"{part.service}:{READ_ONLY}"
    prefix = rule_prefix(part)
    # Where no rule for the likes of a command is good, a star in it means itself.
    return part.text.replace("*", "\\*") if prefix is None else f"{prefix}:*"


def _for_files(case: Case, touched: tuple[str, ...], edits: bool) -> Iterator[PermissionUpdate]:
    readable = case.roots if edits else (*case.roots, *case.readable)
    outside = [path for path in touched if not paths.is_within(case, path, readable)]
    folders = list(dict.fromkeys(_folder(case, path) for path in outside))
    if folders:
        yield {"type": "addDirectories", "directories": folders, "destination": "session"}
    if edits and case.mode == "default":
        yield {"type": "setMode", "mode": "acceptEdits", "destination": "session"}


def _folder(case: Case, path: str) -> str:
    """The folder to work in so that a file may be touched; never the root of everything."""
    place = case.place(path)
    folder = os.path.dirname(place.target)
    return place.target if place.folder or folder == "/" else folder


def _allow(*rules: RuleValue) -> PermissionUpdate:
    return {"type": "addRules", "rules": list(rules), "behavior": "allow", "destination": "localSettings"}

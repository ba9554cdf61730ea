"""Which rules cover a call, a part of a command, or a file."""

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any

from bridle.permissions import hosts, patterns
from bridle.permissions.files import paths
from bridle.permissions.sorted_rules import OPERATOR, names, sorted_rules
from bridle.permissions.tool_names import BY_HOST, EDIT, EDITORS, ENTER, READ, READERS, SHELL, UPLOAD
from bridle.types.agent import AGENT_TOOL
from bridle.types.permission import Case, Effect, Rule
from bridle.types.shell import Part, Reading

_PRIMARY = frozenset({"command", "file_path", "notebook_path", "path", "url"})
_BOOLEANS = {
    **dict.fromkeys(("true", "1", "yes", "y", "on", "t"), "true"),
    **dict.fromkeys(("false", "0", "no", "n", "off", "f"), "false"),
}


def find_rule(case: Case, effect: Effect) -> Rule | None:
    """The first rule with this effect that covers the call: all of it to allow, any part to deny or ask.

    A command is allowed part by part, so an allow rule covers it here only when it covers the tool.
    """
    known = sorted_rules(case.rules)
    if effect is Effect.ALLOW:
        return next((rule for rule in known.allow if _covers(rule, case, ())), None)
    mine = known.deny if effect is Effect.DENY else known.ask
    if not mine.rules or case.tool != SHELL or case.reading is None:
        return next((rule for rule in mine.rules if _covers(rule, case, ())), None)
    forms = _refused_forms(case.reading)
    return next((rule for rule in mine.about(forms) if _covers(rule, case, forms)), None)


def find_part_rule(case: Case, part: Part, effect: Effect) -> Rule | None:
    """The first rule with this effect for one simple command of the call; the widest allow rule counts."""
    if effect is not Effect.ALLOW:
        return next((rule for rule in _with_effect(case, effect) if covers_part(rule, case, part)), None)
    found = [rule for rule in sorted_rules(case.rules).allow_commands if covers_part(rule, case, part)]
    return min(found, key=_narrowness) if found else None


def find_path_rule(case: Case, path: str, *, writes: bool) -> Rule | None:
    """The first allow rule that lets a file be read, or written."""
    wanted = (EDIT,) if writes else (READ, EDIT)
    return next(
        (
            rule
            for rule in _with_effect(case, Effect.ALLOW)
            if rule.tool in wanted and (rule.content is None or paths.covers(rule, case, path))
        ),
        None,
    )


def covers_part(rule: Rule, case: Case, part: Part) -> bool:
    """Whether a rule covers one simple command."""
    if rule.tool in (READ, EDIT) and rule.content is not None:
        if rule.effect is Effect.ALLOW:
            return False
        touched = part.writes if rule.tool == EDIT else (*part.reads, *part.writes, *part.mentions)
        return bool(touched) and paths.covers_any(rule, case, touched)
    if not names(rule, SHELL):
        return False
    if rule.content is None:
        return True
    if rule.effect is Effect.ALLOW:
        usable = not part.blocks_prefix or patterns.is_exact(rule.content)
        return usable and patterns.covers_any(rule.content, part.allow_forms)
    return patterns.covers_any(rule.content, _forms(part))


def shell_rules(case: Case) -> tuple[Rule, ...]:
    """The rules that deny or ask by what a command says."""
    return sorted_rules(case.rules).by_command


def may_cover(rule: Rule, part: Part) -> bool:
    """Whether a rule for a subcommand may be about a part whose subcommand is unknown."""
    return any(patterns.may_cover(rule.content or "", form) for form in part.open_forms)


def settles_command(case: Case, part: Part) -> bool:
    """Whether an allow rule without stars names the very text of a part or of the whole command."""
    exact = (
        rule
        for rule in case.rules
        if rule.effect is Effect.ALLOW and rule.tool == SHELL and patterns.is_exact(rule.content or "*")
    )
    return any(
        patterns.covers(rule.content or "", text) for rule in exact for text in (part.text, case.subject)
    )


def is_whole_command(rule: Rule, case: Case) -> bool:
    """Whether a rule without stars is the very command, with everything that is joined in it."""
    return (
        rule.tool == SHELL
        and rule.content is not None
        and patterns.is_exact(rule.content)
        and patterns.covers(rule.content, case.subject)
    )


def denied_agents(rules: Iterable[Rule]) -> frozenset[str]:
    """The types of agents that rules keep from being started by name."""
    return frozenset(
        name.strip()
        for rule in rules
        if rule.effect is Effect.DENY and names(rule, AGENT_TOOL)
        for name in (rule.content or "").split(",")
        if name.strip()
    )


def allow_rules(case: Case) -> tuple[Rule, ...]:
    """The rules that allow something."""
    return sorted_rules(case.rules).allow


def _with_effect(case: Case, effect: Effect) -> tuple[Rule, ...]:
    known = sorted_rules(case.rules)
    match effect:
        case Effect.ALLOW:
            return known.allow
        case Effect.ASK:
            return known.ask.rules
        case Effect.DENY:
            return known.deny.rules


def _narrowness(rule: Rule) -> int:
    if rule.content is None:
        return 0
    return 1 if patterns.is_exact(rule.content) else 2


def _refused_forms(reading: Reading) -> tuple[str, ...]:
    """What rules that deny or ask may match in any part of a command."""
    parts = reading.parts
    return _forms(parts[0]) if len(parts) == 1 else tuple(form for part in parts for form in _forms(part))


def _forms(part: Part) -> tuple[str, ...]:
    forms = part.deny_forms
    return forms if forms and forms[0] == part.text else (part.text, *forms)


def _covers(rule: Rule, case: Case, forms: tuple[str, ...]) -> bool:
    if rule.content is None:
        return names(rule, case.tool)
    if rule.tool in (READ, EDIT) and case.tool != SHELL:
        return case.tool in _governed(rule) and _covers_files(rule, case)
    if rule.effect is not Effect.ALLOW and names(rule, case.tool) and _covers_field(rule.content, case.input):
        return True
    if case.tool == SHELL:
        return rule.effect is not Effect.ALLOW and _covers_command(rule, case, forms)
    if not names(rule, case.tool) or case.tool in READERS | EDITORS:
        return False
    if case.tool in BY_HOST:
        return hosts.covers(rule.content, case.subject)
    return patterns.covers(rule.content, case.subject)


def _governed(rule: Rule) -> frozenset[str]:
    """The tools whose files a rule for reading or editing is about."""
    if rule.tool == EDIT:
        return EDITORS | READERS if rule.effect is Effect.ALLOW else EDITORS
    if rule.effect is Effect.ALLOW:
        return READERS
    return READERS | EDITORS | {UPLOAD} if rule.effect is Effect.DENY else READERS | {UPLOAD}


def _covers_files(rule: Rule, case: Case) -> bool:
    touched = (*case.access.reads, *case.access.writes)
    covered = (paths.covers(rule, case, path) for path in touched)
    return bool(touched) and all(covered) if rule.effect is Effect.ALLOW else any(covered)


def _covers_command(rule: Rule, case: Case, forms: tuple[str, ...]) -> bool:
    """Whether a deny or ask rule covers anything that the command would do; `forms` are of all its parts."""
    reading = case.reading
    if reading is None:
        return names(rule, SHELL) and patterns.covers(rule.content or "", case.subject)
    if rule.tool in (ENTER, READ, EDIT):
        if rule.tool != EDIT and paths.covers_any(rule, case, reading.leaves):
            return True
        return any(covers_part(rule, case, part) for part in reading.parts)
    if not names(rule, SHELL):
        return False
    content = rule.content or ""
    if OPERATOR.search(content):
        # Only the whole text can hold an operator; to refuse too much is the safe side.
        stem = patterns.one_blank(content).removesuffix(":*")
        if fnmatchcase(patterns.one_blank(case.subject), f"*{patterns.only_stars(stem)}*"):
            return True
    return patterns.covers_any(content, forms)


def _covers_field(content: str, input: Mapping[str, Any]) -> bool:
    """`name:value` against one plain field of the input, as the tool gets it."""
    name, colon, wanted = content.partition(":")
    if not colon or name in _PRIMARY or name not in input:
        return False
    return any(fnmatchcase(value, patterns.only_stars(wanted)) for value in _scalar(input[name]))


def _scalar(value: Any) -> Iterator[str]:
    match value:
        case bool():
            yield str(value).lower()
        case float() if value.is_integer():
            yield from (str(value), str(int(value)))
        case str() | int() | float():
            # A server of tools may read "True", " yes" or 1 as a boolean: a rule for it counts all the same.
            text = str(value)
            yield text
            if (word := _BOOLEANS.get(text.strip().lower())) is not None:
                yield word
        case _:
            return

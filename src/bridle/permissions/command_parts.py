"""Decides about a shell command by its parts: every simple command in it must be allowed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from bridle.permissions import patterns
from bridle.permissions.files import paths
from bridle.permissions.files.denied_reads import keeps_files_back, may_hold_some, searches
from bridle.permissions.matching import allow_rules, find_part_rule, find_path_rule, is_whole_command
from bridle.permissions.shell.programs.service_commands import READ_ONLY
from bridle.permissions.tool_names import ENTER, SHELL
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Effect, Judged, PartDecision, Rule
from bridle.types.shell import Part

_WORDS: dict[type[Decision], Literal["allow", "ask", "deny"]] = {Allow: "allow", Ask: "ask", Deny: "deny"}


REFUSING = (Effect.DENY, Effect.ASK)


class PartOpinion(Struct, frozen=True):
    """One simple command and what is thought of it."""

    part: Part
    opinion: Decision


def tell(weighed: Iterable[PartOpinion], decision: Decision) -> tuple[PartDecision, ...]:
    """What is thought of each part, for people; where all may run, no part is in doubt."""
    decisions: list[PartDecision] = []
    for each in weighed:
        opinion = each.opinion
        if isinstance(decision, Allow) and not isinstance(opinion, Allow):
            opinion = decision
        decisions.append(PartDecision(each.part.text, _WORDS[type(opinion)], opinion.reason))
    return tuple(decisions)


def weigh(case: Case, effects: Sequence[Effect] = REFUSING) -> tuple[PartOpinion, ...]:
    """An opinion about each part of the command, in the order in which they stand.

    `effects` are those that a rule which covers a part may still have: others are known to cover none."""
    return tuple(PartOpinion(part, weigh_part(case, part, effects)) for part in parts_of(case))


def parts_of(case: Case) -> tuple[Part, ...]:
    """The parts of the command; one that was not parsed is a single part that nothing is known about."""
    if case.reading is None:
        return (Part(text=case.subject, deny_forms=(case.subject,)),)
    return case.reading.parts


def weigh_part(case: Case, part: Part, effects: Sequence[Effect] = REFUSING) -> Decision:
    """Whether one simple command may run, by the rules for it and for the files it touches."""
    for effect in effects:
        if (rule := find_part_rule(case, part, effect)) is not None:
            return denied(rule) if effect is Effect.DENY else asked(rule)
    if part.critical is not None:
        return Ask(part.critical, "safetyCheck", needs_person=True)
    if case.mode == "bypassPermissions":
        return Allow("permissions are bypassed", "mode")
    if case.mode == "plan" and not (part.harmless and not part.writes):
        return Ask("plan mode is read-only", "mode")
    rule = allowing(case, part)
    if part.unclear is not None and not _settles(rule, part):
        return Ask(part.unclear)
    return next(_doubts_about_files(case, part, rule), None) or _verdict(case, part, rule)


def leaving(case: Case) -> str | None:
    """The first directory outside the working directories that a `cd` leads to."""
    outside = (
        folder
        for folder in (case.reading.leaves if case.reading is not None else ())
        if not paths.is_within(case, folder, case.roots) and not _may_enter(case, folder)
    )
    return next(outside, None)


def denied(rule: Rule) -> Deny:
    return Deny(f"denied by rule {rule}", "rule", rule)


def asked(rule: Rule) -> Ask:
    return Ask(f"rule {rule} requires approval", "rule", rule, needs_person=True)


def allowed(rule: Rule) -> Allow:
    return Allow(f"allowed by rule {rule}", "rule", rule)


def _verdict(case: Case, part: Part, rule: Rule | None) -> Allow | Ask:
    """The files are fine; is the command?"""
    if rule is not None:
        return allowed(rule)
    if part.harmless:
        why = part.why or "it only reads files in the working directories"
        return Allow(why, "workingDir", judged=_judged(case, part))
    if case.mode == "acceptEdits" and part.file_command:
        why = "edits in the working directories are accepted"
        return Allow(why, "mode", judged=_judged(case, part, edits=True))
    return Ask(part.why or "no permission rule matches")


def _judged(case: Case, part: Part, *, edits: bool = False) -> Judged:
    """What the kernel may hold the part to; nothing when a rule names a file that it writes."""
    if any(find_path_rule(case, path, writes=True) is not None for path in part.writes):
        return ""
    return "edit" if edits or part.writes else "read"


def judged_whole(weighed: Iterable[PartOpinion]) -> Judged:
    """What a command may be held to as a whole: one part that something else allowed frees it."""
    levels = {each.opinion.judged if isinstance(each.opinion, Allow) else "" for each in weighed}
    if not levels or "" in levels:
        return ""
    return "edit" if "edit" in levels else "read"


def _doubts_about_files(case: Case, part: Part, rule: Rule | None) -> Iterator[Ask]:
    """What rules for commands do not settle: where the command reads and writes."""
    for path in part.writes:
        if paths.is_protected(case, path):
            yield Ask(f"{path} is protected", "safetyCheck", blocked_path=path)
        elif not _may_write(case, part, path, rule):
            inside = paths.is_within(case, path, case.roots)
            where = "needs approval" if inside else "is outside the working directories"
            yield Ask(f"it writes {path}, which {where}", "workingDir", blocked_path=path)
    if rule is not None and (rule.content is None or patterns.is_exact(rule.content)):
        return
    readable = (*case.roots, *case.readable)
    for path in part.reads:
        searched = case.place(path).folder and keeps_files_back(case) and searches(part)
        if searched and may_hold_some(case, path, part):
            yield Ask(f"it searches {path}, where a rule may deny reading files", "rule", blocked_path=path)
        if not paths.is_within(case, path, readable) and find_path_rule(case, path, writes=False) is None:
            yield Ask(
                f"it reads {path}, which is outside the working directories", "workingDir", blocked_path=path
            )


def _settles(rule: Rule | None, part: Part) -> bool:
    """Whether a rule was meant for what is unclear in a part: never for where its output goes."""
    if rule is None or part.redirects_unclear:
        return False
    return rule.content is None or patterns.is_exact(rule.content)


def _may_write(case: Case, part: Part, path: str, rule: Rule | None) -> bool:
    """A redirection is an edit; what a command names as its operand belongs to the command."""
    if find_path_rule(case, path, writes=True) is not None:
        return True
    if rule is not None and path not in part.redirects:
        return True
    freely = case.mode == "acceptEdits" or (rule is not None and rule.content is None)
    return freely and paths.is_within(case, path, case.roots)


def allowing(case: Case, part: Part) -> Rule | None:
    if (rule := find_part_rule(case, part, Effect.ALLOW)) is not None:
        return rule
    if part.service and (rule := _reading_rule(case, part)) is not None:
        return rule
    return next((rule for rule in allow_rules(case) if is_whole_command(rule, case)), None)


def _reading_rule(case: Case, part: Part) -> Rule | None:
    """The rule that lets read-only uses of a program run: `Bash(gh:read-only)`."""
    wanted = f"{part.service}:{READ_ONLY}"
    found = (rule for rule in allow_rules(case) if rule.tool == SHELL and rule.content == wanted)
    return next(found, None)


def _may_enter(case: Case, folder: str) -> bool:
    return any(
        rule.effect is Effect.ALLOW
        and (
            (rule.tool == SHELL and rule.content is None)
            or (rule.tool == ENTER and (rule.content is None or paths.covers(rule, case, folder)))
        )
        for rule in case.rules
    )

"""May this call run? An ordered list of opinions over what is known about it."""

import re

from bridle.permissions import paths
from bridle.permissions.matching import EDITORS, find_rule
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Effect

_NO_EFFECT = frozenset({"AskUserQuestion", "TaskOutput", "TaskStop", "TodoWrite"})
_LONGEST = 10_000
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def decide(case: Case) -> Decision:
    """Allow, ask about or deny a call; what cannot be weighed is never allowed."""
    try:
        opinions = (check(case) for check in CHECKS)
        decision = next(
            (opinion for opinion in opinions if opinion is not None), Ask("no rule covers this call")
        )
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError, re.error) as error:
        decision = Ask(f"the call could not be weighed: {error}", "safetyCheck")
    if case.mode == "dontAsk" and isinstance(decision, Ask):
        return Deny(f"{decision.reason}, and this session does not ask", "mode", decision.rule)
    return decision


def hook_denial(case: Case) -> Decision | None:
    return case.hook if isinstance(case.hook, Deny) else None


def deny_rule(case: Case) -> Decision | None:
    if (rule := find_rule(case, Effect.DENY)) is not None:
        return Deny(f"denied by rule {rule}", "rule", rule)
    return None


def ask_rule(case: Case) -> Decision | None:
    if (rule := find_rule(case, Effect.ASK)) is not None:
        return Ask(f"rule {rule} asks first", "rule", rule)
    return None


def hook_question(case: Case) -> Decision | None:
    return case.hook if isinstance(case.hook, Ask) else None


def bypass(case: Case) -> Decision | None:
    return Allow("permissions are bypassed", "mode") if case.mode == "bypassPermissions" else None


def plan(case: Case) -> Decision | None:
    if case.mode == "plan" and not case.read_only and case.tool not in _NO_EFFECT:
        return Deny("plan mode only reads", "mode")
    return None


def unreadable(case: Case) -> Decision | None:
    if len(case.subject) > _LONGEST:
        return Ask(f"the call is longer than {_LONGEST} characters", "safetyCheck")
    if any(_CONTROL.search(text) for text in (case.subject, *case.access.reads, *case.access.writes)):
        return Ask("the call contains control characters", "safetyCheck")
    return None


def protected_path(case: Case) -> Decision | None:
    for path in case.access.writes:
        if paths.is_protected(path):
            return Ask(f"{path} is protected", "safetyCheck")
    return None


def accept_edits(case: Case) -> Decision | None:
    if case.mode == "acceptEdits" and case.tool in EDITORS and case.access.writes and _all_inside(case):
        return Allow("edits in the working directories are accepted", "mode")
    return None


def hook_approval(case: Case) -> Decision | None:
    return case.hook if isinstance(case.hook, Allow) else None


def allow_rule(case: Case) -> Decision | None:
    if (rule := find_rule(case, Effect.ALLOW)) is not None:
        return Allow(f"allowed by rule {rule}", "rule", rule)
    return None


def read_inside(case: Case) -> Decision | None:
    # A call that names no file says nothing about where it reads (a fetch, a search on a server), except for
    # commands: those that only read name every file, and `pwd` has none.
    names_its_files = bool(case.access.reads) or case.tool == "Bash"
    if case.read_only and names_its_files and not case.access.writes and _all_inside(case):
        return Allow("reads in the working directories are free", "workingDir")
    return None


def no_effect(case: Case) -> Decision | None:
    return Allow("the call has no effect outside the session") if case.tool in _NO_EFFECT else None


def outside(case: Case) -> Decision | None:
    for path in (*case.access.reads, *case.access.writes):
        if not paths.is_inside(path, case.roots):
            return Ask(f"{path} is outside the working directories", "workingDir")
    return None


CHECKS = (
    hook_denial,
    deny_rule,
    ask_rule,
    hook_question,
    bypass,
    plan,
    unreadable,
    protected_path,
    accept_edits,
    hook_approval,
    allow_rule,
    read_inside,
    no_effect,
    outside,
)
"""The order is the policy: the first with an opinion wins."""


def _all_inside(case: Case) -> bool:
    return _reads_inside(case) and all(paths.is_inside(path, case.roots) for path in case.access.writes)


def _reads_inside(case: Case) -> bool:
    readable = (*case.roots, *case.readable)
    return all(paths.is_inside(path, readable) for path in case.access.reads)

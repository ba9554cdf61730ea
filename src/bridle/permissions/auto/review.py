"""What auto mode changes at the gate, and how the reviewer's answer is read."""

import re
from collections.abc import Callable
from typing import Literal

import msgspec
from msgspec import Struct

from bridle.permissions.auto.grants import kept_rules
from bridle.permissions.auto.rules import AutoRules
from bridle.permissions.tool_names import DELEGATING, SHELLS, has_no_effect
from bridle.types.permission import Allow, Ask, Case, Decision

_FOR_PEOPLE = frozenset({"rule", "hook", "sandboxOverride", "permissionPromptTool"})
_OWN_FOLDERS = frozenset({".claude", ".bridle"})
_OWN_FILES = frozenset({".claude.json", ".mcp.json"})
_LONGEST_REASON = 400
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)

Decide = Callable[[Case], Decision]


class Verdict(Struct, frozen=True, kw_only=True):
    """The reviewer's answer."""

    verdict: Literal["allow", "ask", "deny"]
    reason: str
    rule: Literal["hard_deny", "soft_deny", "allow", "none"] = "none"


def screen(decide: Decide, rules: AutoRules) -> Decide:
    """The gate as auto mode needs it: what would let code run past the reviewer does not count there."""

    def screened(case: Case) -> Decision:
        if case.mode != "auto":
            return decide(case)
        decision = decide(_with_kept_rules(case))
        if rules.classify_all_shell and case.tool in SHELLS and isinstance(decision, Allow):
            return Ask("every command is reviewed", "classifier")
        return decision

    return screened


def without_review(case: Case, decide: Decide, rules: AutoRules) -> Allow | None:
    """The approval of a call that needs no reviewer: accepting edits would allow it, or it has no effect."""
    if case.tool in DELEGATING or case.mode == "plan":
        return None
    if rules.classify_all_shell and case.tool in SHELLS:
        return None
    if has_no_effect(case.tool, case.input):
        return Allow("the call has no effect outside the session")
    again = decide(msgspec.structs.replace(_with_kept_rules(case), mode="acceptEdits"))
    if not isinstance(again, Allow):
        return None
    return Allow(again.reason, again.reason_type, again.rule, judged=again.judged)


def planning_doubt(case: Case, decision: Decision) -> Ask | None:
    """The question to put to the reviewer about a command that plan mode would refuse; None for all else.

    Only what is refused for nothing but the mode may be reviewed: not what a rule asks about or a person must
    see, and not what names a file to write.
    """
    parts = case.reading.parts if case.reading is not None else ()
    if case.mode != "plan" or case.tool not in SHELLS or isinstance(decision, Allow):
        return None
    if decision.reason_type != "mode" or case.reading is None or case.reading.fault is not None:
        return None
    if any(part.critical or part.writes or part.redirects_unclear for part in parts):
        return None
    return Ask("plan mode is read-only, and this command isn't known to be read-only", "mode")


def needs_person(case: Case, doubt: Ask) -> bool:
    """Whether no reviewer may settle this: it is dangerous as such, or the user wants to be asked.

    What steers the agent and its permissions is never changed on a model's word alone.
    """
    if doubt.needs_person or doubt.reason_type in _FOR_PEOPLE:
        return True
    parts = case.reading.parts if case.reading is not None else ()
    written = (*case.access.writes, *(path for part in parts for path in part.writes))
    return any(_steers(spelling, case) for path in written for spelling in case.place(path).spellings)


def read_verdict(text: str) -> Verdict | None:
    """The answer, if it is one JSON object and nothing else; naming a hard_deny rule is a denial."""
    stripped = text.strip()
    if (fenced := _FENCED.fullmatch(stripped)) is not None:
        stripped = fenced[1]
    try:
        verdict = msgspec.json.decode(stripped, type=Verdict)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    # The reason is shown to people and to the agent: one short line.
    reason = " ".join(verdict.reason.split())[:_LONGEST_REASON].rstrip(". ")
    settled = "deny" if verdict.rule == "hard_deny" else verdict.verdict
    return Verdict(verdict=settled, reason=reason or "no reason given", rule=verdict.rule)


def _steers(path: str, case: Case) -> bool:
    names = path.casefold().split("/")
    if names[-1] in _OWN_FILES or (case.config_home and f"{path}/".startswith(f"{case.config_home}/")):
        return True
    pairs = zip(names, [*names[1:], ""], strict=True)
    return any(name in _OWN_FOLDERS and following != "worktrees" for name, following in pairs)


def _with_kept_rules(case: Case) -> Case:
    return msgspec.structs.replace(case, rules=kept_rules(case.rules))

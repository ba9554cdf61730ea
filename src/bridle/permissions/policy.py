"""May this call run? An ordered list of opinions over what is known about it."""

import os.path
import re
from collections.abc import Sequence
from functools import partial

import msgspec
from msgspec import Struct

from bridle.permissions import command_parts
from bridle.permissions.denied_names import naming_rule
from bridle.permissions.documentation_hosts import is_documentation
from bridle.permissions.files import paths
from bridle.permissions.files.denied_reads import searched_file
from bridle.permissions.matching import find_path_rule, find_rule, may_cover, settles_command, shell_rules
from bridle.permissions.suggestions import lasting_rules, suggest
from bridle.permissions.tool_names import (
    EDITORS,
    FETCH,
    MESSAGE,
    PLAN_END,
    PLAN_START,
    SHELL,
    UPLOAD,
    has_no_effect,
)
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Effect

_LONGEST = 10_000
_CHANGES_CHECKOUT = re.compile(
    r"git (add|am|apply|checkout|cherry-pick|clean|commit|merge|mv|pull|rebase|reset|restore|revert|rm|stash"
    r"|switch)\b"
)
"""What git does to the files or the branch of the checkout where it runs."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_FAULTS = (LookupError, TypeError, ValueError, AttributeError, RecursionError, re.error)


class Opinion(Struct, frozen=True):
    """What one check says about a call; None when it has nothing to say."""

    check: str
    decision: Decision | None


class Derivation(Struct, frozen=True):
    """How a decision comes about: the first check with an opinion wins."""

    decision: Decision
    opinions: tuple[Opinion, ...]


def decide(case: Case) -> Decision:
    """Allow, ask about or deny a call; what cannot be weighed is never allowed."""
    try:
        decision = _first_opinion(case)
        later = partial(_later_opinion, case) if decision.parts else _first_opinion
        if case.tool == SHELL and not decision.parts:
            # The rules that deny come first, so that whatever else was decided, none of them covers a part.
            weighed = command_parts.weigh(
                case, command_parts.REFUSING if isinstance(decision, Deny) else (Effect.ASK,)
            )
            decision = msgspec.structs.replace(decision, parts=command_parts.tell(weighed, decision))
        if not isinstance(decision, Ask):
            return decision
        if case.mode == "dontAsk":
            reason = f"{decision.reason}, and this session does not ask"
            usual = msgspec.structs.replace(case, mode="default")
            return Deny(
                reason, "mode", decision.rule, decision.parts, suggest(usual, decision, _first_opinion)
            )
        updates = suggest(case, decision, later)
        lasting = lasting_rules(case, updates, later)
        return msgspec.structs.replace(decision, suggestions=updates, lasting=lasting)
    except _FAULTS as error:
        reason = f"the call could not be checked: {error}"
        return (
            Deny(reason, "safetyCheck")
            if case.mode == "dontAsk"
            else Ask(reason, "safetyCheck", needs_person=True)
        )


def allows(case: Case) -> bool:
    """Whether `decide` would allow a call, without the words for people."""
    try:
        return isinstance(_first_opinion(case), Allow)
    except _FAULTS:
        return False


def explain(case: Case) -> Derivation:
    """The decision with the opinion of every check, in the order in which they count."""
    opinions: list[Opinion] = []
    for check in CHECKS:
        name = check.__name__.replace("_", " ")
        try:
            opinions.append(Opinion(name, check(case)))
        except _FAULTS as error:
            opinions.append(Opinion(name, Ask(f"the check failed: {error}", "safetyCheck")))
    return Derivation(decide(case), tuple(opinions))


def hook_denial(case: Case) -> Decision | None:
    return case.hook if isinstance(case.hook, Deny) else None


def deny_rule(case: Case) -> Decision | None:
    rule = find_rule(case, Effect.DENY)
    return None if rule is None else command_parts.denied(rule)


def main_checkout(case: Case) -> Decision | None:
    """A session in the background works in a tree of its own, whatever else it may do."""
    root = case.checkout
    if root is None:
        return None
    trees = os.path.join(root, ".claude", "worktrees")
    for path in (*case.access.writes, *_written(case)):
        if paths.is_within(case, path, (root,)) and not paths.is_within(case, path, (trees,)):
            return _spared(f"{path} is in the main checkout")
    if case.tool == SHELL and paths.is_inside(case.cwd, (root,)) and not paths.is_inside(case.cwd, (trees,)):
        forms = [form for part in command_parts.parts_of(case) for form in part.deny_forms]
        moves = any(form.startswith("cd ") for form in forms)
        if not moves and (command := next(filter(_CHANGES_CHECKOUT.match, forms), None)) is not None:
            return _spared(f"{_shortened(command)} would change the main checkout")
    return None


def plan_question(case: Case) -> Decision | None:
    if case.tool == PLAN_END:
        return Ask("the plan is ready", "mode", needs_person=True)
    if case.tool == PLAN_START:
        return Ask("the model wants to plan first", "mode", needs_person=True)
    return None


def own_file(case: Case) -> Decision | None:
    if case.tool not in EDITORS or not case.access.writes or not case.own:
        return None
    if isinstance(case.hook, Ask) or find_rule(case, Effect.ASK) is not None:
        return None
    if all(path.endswith(".md") and paths.is_within(case, path, case.own) for path in case.access.writes):
        return Allow("this is a session file for the model", "other")
    return None


def plan(case: Case) -> Decision | None:
    if case.mode != "plan" or case.read_only or has_no_effect(case.tool, case.input):
        return None
    reason = "plan mode is read-only"
    return Ask(reason, "mode", needs_person=True) if case.attended else Deny(reason, "mode")


def critical_removal(case: Case) -> Decision | None:
    if case.tool != SHELL:
        return None
    reasons = (part.critical for part in command_parts.parts_of(case) if part.critical is not None)
    reason = next(reasons, None)
    return None if reason is None else Ask(reason, "safetyCheck", needs_person=True)


def unreadable(case: Case) -> Decision | None:
    reason: str | None = None
    if case.reading is not None and case.reading.fault is not None:
        reason = case.reading.fault
    elif len(case.subject) > _LONGEST:
        reason = f"the call is longer than {_LONGEST:,} characters"
    elif any(_CONTROL.search(text) for text in (case.subject, *case.access.reads, *case.access.writes)):
        reason = "the call contains control characters"
    return None if reason is None else Ask(reason, "safetyCheck", needs_person=True)


def ask_rule(case: Case) -> Decision | None:
    rule = find_rule(case, Effect.ASK)
    return None if rule is None else command_parts.asked(rule)


def unseen_command(case: Case) -> Decision | None:
    """Rules that deny or ask by command hold only for what can be seen: the rest is asked about."""
    if case.tool != SHELL:
        return None
    doubtful = [part for part in command_parts.parts_of(case) if part.unseen or part.open_forms]
    if not doubtful or not (rules := shell_rules(case)):
        return None
    for part in doubtful:
        if settles_command(case, part):
            continue
        if part.unseen is not None:
            return Ask(f"{part.unseen}, and rule {rules[0]} may apply", "rule", needs_person=True)
        if (rule := next((each for each in rules if may_cover(each, part)), None)) is not None:
            return Ask(f"it is unclear whether rule {rule} applies", "rule", needs_person=True)
    return None


def named_command(case: Case) -> Decision | None:
    """A denied name in the words of a program that may run them, for all that is known, is asked about."""
    if case.tool != SHELL or case.reading is None or not (rules := shell_rules(case)):
        return None
    rule = naming_rule(rules, case.subject, case.reading)
    if rule is None or all(settles_command(case, part) for part in case.reading.parts):
        return None
    reason = f"it mentions a command that rule {rule} covers, and it may run it"
    return Ask(reason, "rule", needs_person=True)


def kept_back_file(case: Case) -> Decision | None:
    """A search prints what is in every file that it meets: what a rule keeps back is among them."""
    if case.tool != SHELL or case.confined or (path := searched_file(case)) is None:
        return None
    reason = f"it searches a folder with {path}, which a rule keeps from being read"
    return Ask(reason, "rule", blocked_path=path, needs_person=True)


def hook_question(case: Case) -> Decision | None:
    if not isinstance(case.hook, Ask):
        return None
    return msgspec.structs.replace(case.hook, needs_person=True)


def leaving_the_sandbox(case: Case) -> Decision | None:
    if not case.leaves_sandbox:
        return None
    return Ask("the command asks to run outside the sandbox", "sandboxOverride", needs_person=True)


def another_machine(case: Case) -> Decision | None:
    if case.tool != MESSAGE or not case.subject.startswith(("remote:", "bridge:")):
        return None
    return Ask("the message is for another machine", "safetyCheck", needs_person=True)


def bypass(case: Case) -> Decision | None:
    return Allow("permissions are bypassed", "mode") if case.mode == "bypassPermissions" else None


def sandboxed(case: Case) -> Decision | None:
    return Allow("the command runs in the sandbox", "other") if case.confined else None


def protected_path(case: Case) -> Decision | None:
    for path in (*case.access.writes, *_written(case)):
        if paths.is_protected(case, path):
            return Ask(f"{path} is protected", "safetyCheck", blocked_path=path)
    return None


def local_address(case: Case) -> Decision | None:
    if not case.local_host:
        return None
    rule = find_rule(case, Effect.ALLOW)
    if rule is not None and rule.content is not None and "*" not in rule.content:
        return None
    return Ask("the address is not public, and no rule names it", "safetyCheck")


def uploaded_file(case: Case) -> Decision | None:
    """A rule for a site says nothing about which files of this machine it may have."""
    if case.tool != UPLOAD:
        return None
    for path in case.access.reads:
        inside = paths.is_within(case, path, (*case.roots, *case.readable))
        if not inside and find_path_rule(case, path, writes=False) is None:
            return Ask(f"{path} is outside the working directories", "workingDir", blocked_path=path)
    return None


def accepted_edit(case: Case) -> Decision | None:
    if case.mode == "acceptEdits" and case.tool in EDITORS and case.access.writes and _all_inside(case):
        return Allow("edits in the working directories are accepted", "mode")
    return None


def hook_approval(case: Case) -> Decision | None:
    return case.hook if isinstance(case.hook, Allow) else None


def allow_rule(case: Case) -> Decision | None:
    if case.tool == SHELL:
        return None  # A command is allowed part by part.
    rule = find_rule(case, Effect.ALLOW)
    return None if rule is None else command_parts.allowed(rule)


def documentation(case: Case) -> Decision | None:
    if case.tool != FETCH or not is_documentation(str(case.input.get("url", ""))):
        return None
    return Allow("pages of well-known documentation are free", "other")


def command(case: Case, effects: Sequence[Effect] = command_parts.REFUSING) -> Decision | None:
    """A command may run when each of its parts may."""
    if case.tool != SHELL:
        return None
    if (folder := command_parts.leaving(case)) is not None:
        return Ask(
            f"the command changes to {folder}, outside the working directories",
            "workingDir",
            blocked_path=folder,
        )
    weighed = command_parts.weigh(case, effects)
    doubtful = next((each for each in weighed if not isinstance(each.opinion, Allow)), None)
    if doubtful is not None:
        decision = _doubt(case, doubtful)
    elif len(weighed) == 1:
        decision = weighed[0].opinion
    else:
        judged = command_parts.judged_whole(weighed)
        decision = Allow("every part of the command is allowed", "subcommandResults", judged=judged)
    return msgspec.structs.replace(decision, parts=command_parts.tell(weighed, decision))


def read_inside(case: Case) -> Decision | None:
    # A call that names no file says nothing about where it reads: a fetch, a search on a server.
    if case.read_only and case.access.reads and not case.access.writes and _all_inside(case):
        return Allow("reads in the working directories are allowed", "workingDir")
    return None


def no_effect(case: Case) -> Decision | None:
    return (
        Allow("the call has no effect outside the session") if has_no_effect(case.tool, case.input) else None
    )


def outside(case: Case) -> Decision | None:
    for path in (*case.access.reads, *case.access.writes):
        if not paths.is_within(case, path, case.roots):
            return Ask(f"{path} is outside the working directories", "workingDir", blocked_path=path)
    return None


CHECKS = (
    hook_denial,
    deny_rule,
    main_checkout,
    plan_question,
    own_file,
    plan,
    critical_removal,
    unreadable,
    ask_rule,
    unseen_command,
    named_command,
    kept_back_file,
    hook_question,
    leaving_the_sandbox,
    another_machine,
    bypass,
    sandboxed,
    protected_path,
    local_address,
    uploaded_file,
    accepted_edit,
    hook_approval,
    allow_rule,
    documentation,
    command,
    read_inside,
    no_effect,
    outside,
)
"""The order is the policy: the first with an opinion wins."""


_CHECKS_OF_COMMANDS = tuple(
    check
    for check in CHECKS
    if check
    not in (
        plan_question,
        own_file,
        another_machine,
        uploaded_file,
        accepted_edit,
        allow_rule,
        documentation,
        no_effect,
    )
)
"""Those that may have an opinion on a command: the others are about tools that this is not."""


def _first_opinion(case: Case) -> Decision:
    for check in _CHECKS_OF_COMMANDS if case.tool == SHELL else CHECKS:
        # Where the others have been asked before, no rule that denies or asks covers any part.
        opinion = command(case, ()) if check is command else check(case)
        if opinion is not None:
            return opinion
    return Ask("no permission rule matches")


def _later_opinion(before: Case, case: Case) -> Decision:
    """The first opinion on a command that was in doubt for one of its parts, after an answer to that.

    Where the answer was rules that allow something, no check before that of the parts has an opinion now:
    such rules only ever keep a check from having one."""
    same = case.roots == before.roots and case.mode == before.mode
    return (command(case, ()) if same else None) or _first_opinion(case)


def _spared(what: str) -> Deny:
    reason = f"{what}, which background sessions may not change"
    return Deny(f"{reason}: call EnterWorktree first and make the change there", "workingDir")


def _doubt(case: Case, weighed: command_parts.PartOpinion) -> Decision:
    """The doubt about one part, with its text so that it can be found in the whole."""
    opinion = weighed.opinion
    if len(command_parts.parts_of(case)) == 1 or isinstance(opinion, Allow):
        return opinion
    reason_type = "subcommandResults" if opinion.reason_type == "other" else opinion.reason_type
    return msgspec.structs.replace(
        opinion, reason=f"{_shortened(weighed.part.text)}: {opinion.reason}", reason_type=reason_type
    )


def _shortened(text: str) -> str:
    return text if len(text) <= 100 else f"{text[:100]}…"


def _written(case: Case) -> tuple[str, ...]:
    if case.tool != SHELL:
        return ()
    return tuple(path for part in command_parts.parts_of(case) for path in part.writes)


def _all_inside(case: Case) -> bool:
    readable = (*case.roots, *case.readable)
    return all(paths.is_within(case, path, readable) for path in case.access.reads) and all(
        paths.is_within(case, path, case.roots) for path in case.access.writes
    )

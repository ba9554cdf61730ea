"""Says what kept a call from running, and what would allow it."""

import shlex
from collections.abc import Iterator, Sequence

from bridle.permissions.rules import write
from bridle.permissions.updates import mode_of, rules_of
from bridle.types.permission import Deny, PartDecision, PermissionUpdate, ReasonType, Rule

_LONGEST = 100
_MOST_PARTS = 5


def refusal(tool: str, denied: Deny, *, no_approver: str = "") -> str:
    """What the model reads in place of a result; `no_approver` says why no one could be asked, if so."""
    sentences = (
        f"Permission to use {tool} was denied: {why(denied.reason, denied.parts)}.",
        "The rest of the command is allowed." if _is_half_fine(denied) else "",
        no_approver,
        remedy(denied, asked=bool(no_approver)),
        "Continue without it, or say what you need." if no_approver else "",
    )
    return " ".join(filter(None, sentences))


def why(reason: str, parts: Sequence[PartDecision]) -> str:
    """Which parts of a command were refused and why; the reason alone where the call is not a compound."""
    refused = [part for part in parts if part.decision != "allow"]
    if len(parts) < 2 or not refused:
        return reason
    text = ", ".join(f"`{_shortened(part.command)}` ({part.reason})" for part in refused[:_MOST_PARTS])
    if len(refused) > _MOST_PARTS:
        text += f" and {len(refused) - _MOST_PARTS} more"
    return text if _is_of_a_part(reason, refused) else f"{reason}: {text}"


def remedy(denied: Deny, *, asked: bool) -> str:
    """Which rule, folder or mode would allow the call, or that none does."""
    if needed := list(_needed(denied.suggestions)):
        return f"The user can allow it with {_joined(needed)}."
    if denied.rule is not None and denied.reason_type == "rule":
        return f"Only the user can change that rule{_place(denied.rule)}."
    return _without_rules(denied.reason_type) if asked or denied.reason_type == "mode" else ""


def flags(updates: Sequence[PermissionUpdate]) -> str:
    """What to add to the command line of the next run to allow the same call; empty if nothing would."""
    words: list[str] = []
    for update in updates:
        match update["type"]:
            case "addRules":
                words += ["--allowedTools", *(write(rule) for rule in rules_of(update))]
            case "addDirectories":
                words += (
                    word for folder in update.get("directories") or () for word in ("--add-dir", folder)
                )
            case "setMode":
                words += ["--permission-mode", mode_of(update)]
            case _:
                pass  # Nothing else is suggested.
    return shlex.join(words)


def _needed(updates: Sequence[PermissionUpdate]) -> Iterator[str]:
    for update in updates:
        match update["type"]:
            case "addRules":
                yield from (f"the rule {write(rule)}" for rule in rules_of(update))
            case "addDirectories":
                yield from (f"the working folder {folder}" for folder in update.get("directories") or ())
            case "setMode":
                yield f"the mode {mode_of(update)}"
            case _:
                pass  # Nothing else is suggested.


def _without_rules(reason_type: ReasonType) -> str:
    match reason_type:
        case "mode":
            return "Only another permission mode can allow it."
        case "hook" | "classifier":
            return ""
        case _:
            return "Rules cannot allow it: the user must approve each call."


def _place(rule: Rule) -> str:
    if rule.file is None:
        return ""
    return f" ({rule.file}:{rule.line})" if rule.line else f" ({rule.file})"


def _is_of_a_part(reason: str, refused: Sequence[PartDecision]) -> bool:
    """Whether the reason is that of one part, and not one about the command as a whole."""
    return any(part.reason in reason for part in refused)


def _is_half_fine(denied: Deny) -> bool:
    refused = [part for part in denied.parts if part.decision != "allow"]
    return 0 < len(refused) < len(denied.parts) and _is_of_a_part(denied.reason, refused)


def _joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"

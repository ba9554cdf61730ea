"""Reads what a hook printed or answered, and what its exit code means for the event."""

import os.path
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, assert_never

import msgspec
from msgspec import Struct

from bridle.hooks.fold import fold
from bridle.hooks.handler import Answered, Detached, Failed, HookCall, Ran, Refused, Reply, TimedOut, kind_of
from bridle.host.files import write_atomic
from bridle.types.hooks.calls import (
    PermissionRequest,
    PostToolBatch,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
)
from bridle.types.hooks.environment import (
    ConfigChange,
    Elicitation,
    ElicitationResult,
    PreModelSwitch,
    WorktreeCreate,
)
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import NO_STOP_REASON, NOTHING_SAID, ElicitationAction, Elicited, HookOutcome
from bridle.types.ids import new_uuid
from bridle.types.permission import Allow, Ask, Decision, Deny, PermissionUpdate
from bridle.types.text import decode_json

LONGEST_TEXT = 10_000
_LONGEST_PROBLEM = 1_000
_LONGEST_TITLE = 200
_LONGEST_CLASSIFIER_CONTEXT = 2_000

Cut = Callable[[str], str]
"""Shortens a text that is too long for the model, and keeps the whole of it somewhere."""


def cut_into(folder: str) -> Cut:
    """Shortens to what the model may see, and keeps long texts as files in `folder`."""

    def cut(text: str) -> str:
        if len(text) <= LONGEST_TEXT:
            return text
        path = os.path.join(folder, f"{new_uuid()}.txt")
        try:
            write_atomic(path, text.encode(), mode=0o600)
        except OSError:
            path = "not saved"
        notice = f"\n[{len(text):,} characters; full output: {path}]"
        return text[: LONGEST_TEXT - len(notice)] + notice

    return cut


def interpret(call: HookCall, reply: Reply, *, cut: Cut) -> HookOutcome:
    """What one hook's reply means; a reply that cannot be understood is no opinion and a problem to show."""
    match reply:
        case Ran():
            return _of_program(call, reply, cut)
        case Answered(output=output):
            return _of_answer(call, output, cut)
        case Refused(reason=reason):
            return _refusal(call.event, cut(reason.strip() or _NO_REASON))
        case Failed(reason=reason):
            return _failure(call, reason, closed=_fails_closed(call, timed_out=False))
        case TimedOut(seconds=seconds):
            reason = f"timed out after {seconds:g} seconds"
            return _failure(call, reason, closed=_fails_closed(call, timed_out=True))
        case Detached():
            return NOTHING_SAID
        case _:
            assert_never(reply)


_NO_REASON = "blocked by a hook without a reason"
_HEAR_TEXT = ("SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch")
"""Events where plain output is for the model."""


def _of_program(call: HookCall, ran: Ran, cut: Cut) -> HookOutcome:
    printed = ran.stdout.strip().removeprefix("\ufeff")
    try:
        output = _read(printed, call.event) if printed.startswith("{") else None
    except _FlawError as flaw:
        if ran.exit_code == 2:
            return fold((_problem(call, str(flaw)), _exit_2(call, ran, None, cut)))
        return _failure(call, str(flaw), closed=_fails_closed(call, timed_out=False))
    said = _effects(call, output, cut) if output is not None else NOTHING_SAID
    if ran.exit_code == 2:
        said = fold((said, _exit_2(call, ran, output, cut)))
    elif ran.exit_code == 0 and output is None:
        said = _plain(call.event, printed, cut)
    elif ran.exit_code != 0 and (output is None or isinstance(call.event, WorktreeCreate)):
        said = _failure(call, _exit_text(ran), closed=_fails_closed(call, timed_out=False))
    if ran.exported:
        said = msgspec.structs.replace(said, exported=ran.exported)
    return _with_path(call, said)


def _of_answer(call: HookCall, answer: Mapping[str, Any], cut: Cut) -> HookOutcome:
    try:
        output = _checked(answer, call.event)
    except _FlawError as flaw:
        return _failure(call, str(flaw), closed=_fails_closed(call, timed_out=False))
    return _with_path(call, _effects(call, output, cut))


def _plain(event: HookEvent, text: str, cut: Cut) -> HookOutcome:
    if isinstance(event, WorktreeCreate):
        return HookOutcome(worktree_path=text or None)
    if text and event.name in _HEAR_TEXT:
        return HookOutcome(context=(cut(text),))
    return NOTHING_SAID


def _with_path(call: HookCall, said: HookOutcome) -> HookOutcome:
    """A hook that makes worktrees must name one."""
    if isinstance(call.event, WorktreeCreate) and said.worktree_path is None and said.block is None:
        return _refusal(call.event, f"{_who(call)} returned no path")
    return said


def _exit_2(call: HookCall, ran: Ran, output: "_Output | None", cut: Cut) -> HookOutcome:
    if isinstance(call.event, PermissionRequest):
        return NOTHING_SAID
    reason = (output.any_reason() if output is not None else None) or ran.stderr.strip() or _NO_REASON
    return _refusal(call.event, cut(reason))


def _exit_text(ran: Ran) -> str:
    words = ran.stderr.strip() or ran.stdout.strip()
    how = (
        f"ended with exit code {ran.exit_code}"
        if ran.exit_code >= 0
        else f"was killed by signal {-ran.exit_code}"
    )
    return f"{how}: {words}" if words else how


def _fails_closed(call: HookCall, *, timed_out: bool) -> bool:
    """Whether a hook that could not say anything stops what it was asked about."""
    if getattr(call.hook, "on_failure", None) == "block" or isinstance(call.event, WorktreeCreate):
        return True
    if not timed_out:
        return False
    if call.event.name == "PreModelSwitch":
        return True
    return kind_of(call.hook) == "callback" and call.event.name in ("PreToolUse", "UserPromptSubmit")


def _failure(call: HookCall, reason: str, *, closed: bool) -> HookOutcome:
    problem = _problem(call, reason)
    return fold((problem, _refusal(call.event, problem.problems[0]))) if closed else problem


def _problem(call: HookCall, reason: str) -> HookOutcome:
    text = f"{_who(call)} {reason}"
    return HookOutcome(
        problems=(text if len(text) <= _LONGEST_PROBLEM else text[: _LONGEST_PROBLEM - 1] + "…",)
    )


def _who(call: HookCall) -> str:
    origin = call.origin
    place = origin.file if origin.line is None else f"{origin.file}:{origin.line}"
    return f"the {call.name} hook" + (f" of {place}" if place else "")


def _refusal(event: HookEvent, reason: str) -> HookOutcome:
    """What a refusal does, which each event decides for itself."""
    match event:
        case PreToolUse() | PreModelSwitch() | PermissionRequest():
            return HookOutcome(decision=Deny(reason, "hook"))
        case PostToolUseFailure():
            return HookOutcome(context=(reason,))
        case PostToolBatch():
            return HookOutcome(block=reason, stop=reason)
        case Elicitation() | ElicitationResult():
            return HookOutcome(elicited=Elicited("decline"))
        case ConfigChange(source="policy_settings"):
            return NOTHING_SAID
        case _ if event.name in _BLOCKABLE:
            return HookOutcome(block=reason)
        case _ if event.name in _SHOW_REFUSAL:
            return HookOutcome(problems=(reason,))
        case _:
            return NOTHING_SAID


_BLOCKABLE = (
    "UserPromptSubmit", "UserPromptExpansion", "PostToolUse", "SubagentStop", "TaskCreated", "TaskCompleted",
    "Stop", "TeammateIdle", "ConfigChange", "WorktreeCreate", "PreCompact",
)  # fmt: skip
_SHOW_REFUSAL = (
    "SessionStart", "Setup", "SubagentStart", "CwdChanged", "FileChanged", "PostCompact", "SessionEnd",
)  # fmt: skip
"""Too late to refuse; what the hook says is shown. Events on neither list have no ear for it."""


class _FlawError(Exception):
    """Output that is no valid output object of this event; the message begins after the hook's name."""


class _Verdict(Struct, frozen=True, rename="camel"):
    behavior: Literal["allow", "deny"]
    message: str | None = None
    interrupt: bool | None = None
    updated_input: dict[str, Any] | None = None
    updated_permissions: tuple[PermissionUpdate, ...] | None = None


class _Specific(Struct, frozen=True, kw_only=True, rename="camel"):
    hook_event_name: str | None = None
    permission_decision: Literal["allow", "deny", "ask", "defer"] | None = None
    permission_decision_reason: str | None = None
    reason: str | None = None
    decision: _Verdict | None = None
    updated_input: dict[str, Any] | None = None
    additional_context: str | None = None
    updated_tool_output: Any = None
    updated_mcp_tool_output: Any = msgspec.field(default=None, name="updatedMCPToolOutput")
    classifier_context: str | None = None
    retry: bool | None = None
    initial_user_message: str | None = None
    session_title: str | None = None
    suppress_original_prompt: bool | None = None
    watch_paths: tuple[str, ...] | None = None
    reload_skills: bool | None = None
    worktree_path: str | None = None
    display_content: str | None = None
    action: ElicitationAction | None = None
    content: dict[str, Any] | None = None


class _Output(Struct, frozen=True, kw_only=True, rename="camel"):
    go_on: bool | None = msgspec.field(default=None, name="continue")
    stop_reason: str | None = None
    suppress_output: bool | None = None
    system_message: str | None = None
    terminal_sequence: str | None = None
    decision: Literal["block", "approve"] | None = None
    reason: str | None = None
    specific: _Specific | None = msgspec.field(default=None, name="hookSpecificOutput")

    def any_reason(self) -> str | None:
        own = self.specific.permission_decision_reason or self.specific.reason if self.specific else None
        return own or self.reason or self.stop_reason


def _read(text: str, event: HookEvent) -> _Output:
    try:
        values: Any = decode_json(text.encode())
    except (msgspec.DecodeError, RecursionError) as error:
        raise _FlawError(f"printed invalid JSON: {error}") from error
    return _checked(values, event)


def _checked(values: Mapping[str, Any], event: HookEvent) -> _Output:
    try:
        output = msgspec.convert(values, _Output)
    except (msgspec.ValidationError, RecursionError) as error:
        raise _FlawError(f"returned invalid output: {error}") from error
    claimed = output.specific.hook_event_name if output.specific is not None else None
    if claimed is not None and claimed != event.name:
        raise _FlawError(f"answered for the event {claimed[:40]!r} instead of {event.name}")
    return output


def _effects(call: HookCall, output: _Output, cut: Cut) -> HookOutcome:
    """What an output object asks for, as far as the event can give it."""
    said = [_universal(call, output, cut), _only(call.event, _specific(call.event, output, cut))]
    if output.decision == "block":
        said.append(_refusal(call.event, cut(output.any_reason() or _NO_REASON)))
    return fold(said)


def _universal(call: HookCall, output: _Output, cut: Cut) -> HookOutcome:
    sequence, problems = output.terminal_sequence, ()
    if sequence and _HARMLESS_SEQUENCE.fullmatch(sequence) is None:
        sequence, problems = (
            None,
            _problem(call, "requested a terminal sequence that is not allowed").problems,
        )
    return HookOutcome(
        stop=cut(output.stop_reason or NO_STOP_REASON) if output.go_on is False else None,
        suppress_output=bool(output.suppress_output),
        system_messages=(cut(output.system_message),) if output.system_message else (),
        terminal_sequences=(sequence,) if sequence else (),
        problems=problems,
    )


_HARMLESS_SEQUENCE = re.compile(
    r"(?:\x07|\x1b\](?:0|1|2|9|99|777);[^\x00-\x1f\x7f-\x9f]{0,4096}(?:\x07|\x1b\\))+"
)
"""Titles, notifications and the bell."""

_CAN_SAY: dict[str, tuple[str, ...]] = {
    "SessionStart": ("context", "initial_user_message", "session_title", "watch_paths", "reload_skills"),
    "Setup": ("context",),
    "UserPromptSubmit": ("context", "session_title", "suppress_original_prompt"),
    "UserPromptExpansion": ("context",),
    "PreToolUse": ("decision", "deferred", "updated_input", "context"),
    "PermissionRequest": ("decision", "updated_input", "updated_permissions", "interrupt"),
    "PermissionDenied": ("retry",),
    "PostToolUse": ("context", "updated_output", "classifier_context"),
    "PostToolUseFailure": ("context",),
    "PostToolBatch": ("context",),
    "MessageDisplay": ("display_content",),
    "SubagentStart": ("context",),
    "SubagentStop": ("context",),
    "Stop": ("context",),
    "CwdChanged": ("watch_paths",),
    "FileChanged": ("watch_paths",),
    "WorktreeCreate": ("worktree_path",),
    "Elicitation": ("elicited",),
    "ElicitationResult": ("elicited",),
    "PreModelSwitch": ("decision",),
    "PostModelSwitch": ("context",),
}


def _only(event: HookEvent, said: HookOutcome) -> HookOutcome:
    return HookOutcome(**{name: getattr(said, name) for name in _CAN_SAY.get(event.name, ())})


def _specific(event: HookEvent, output: _Output, cut: Cut) -> HookOutcome:
    own = output.specific or _Specific()
    reason = cut(output.any_reason() or "decided by a hook")
    verdict = own.decision or _Verdict("deny")
    allowed = verdict if verdict.behavior == "allow" else None
    return HookOutcome(
        decision=_decision(event, output, reason, cut),
        deferred=reason if own.permission_decision == "defer" else None,
        updated_input=allowed.updated_input if allowed is not None else own.updated_input,
        updated_permissions=(allowed and allowed.updated_permissions) or (),
        interrupt=allowed is None and bool(verdict.interrupt),
        updated_output=_updated_output(event, own),
        context=(cut(own.additional_context),) if own.additional_context else (),
        classifier_context=own.classifier_context and own.classifier_context[:_LONGEST_CLASSIFIER_CONTEXT],
        retry=bool(own.retry),
        session_title=(own.session_title or "").strip()[:_LONGEST_TITLE] or None,
        initial_user_message=cut(own.initial_user_message) if own.initial_user_message else None,
        suppress_original_prompt=bool(own.suppress_original_prompt),
        watch_paths=own.watch_paths or (),
        reload_skills=bool(own.reload_skills),
        worktree_path=own.worktree_path or None,
        elicited=Elicited(own.action, own.content) if own.action is not None else None,
        display_content=cut(own.display_content) if own.display_content is not None else None,
    )


def _decision(event: HookEvent, output: _Output, reason: str, cut: Cut) -> Decision | None:
    own = output.specific or _Specific()
    if isinstance(event, PermissionRequest):
        if own.decision is None:
            return None
        if own.decision.behavior == "allow":
            return Allow(reason, "hook")
        return Deny(cut(own.decision.message) if own.decision.message else reason, "hook")
    match own.permission_decision:
        case "allow":
            return Allow(reason, "hook")
        case "ask":
            return Ask(reason, "hook")
        case "deny":
            return Deny(reason, "hook")
        case None if output.decision == "approve" and isinstance(event, PreToolUse):
            return Allow(reason, "hook")
        case _:
            return None


def _updated_output(event: HookEvent, own: _Specific) -> Any:
    if own.updated_tool_output is not None:
        return own.updated_tool_output
    is_foreign = isinstance(event, PostToolUse) and event.tool.startswith("mcp__")
    return own.updated_mcp_tool_output if is_foreign else None

"""The fourth phase of a call: whether it may run, and with which input."""

import os.path
from typing import Any, NoReturn

import msgspec
from msgspec import Struct

from bridle.engine.calls.call import Call
from bridle.engine.calls.changed_input import change_note
from bridle.engine.calls.confinement import doubt_about
from bridle.engine.calls.parsing import parse_input
from bridle.engine.hooks.call_hooks import fire_permission_denied
from bridle.engine.permissions.grants import grant
from bridle.engine.permissions.questions import answer_to
from bridle.engine.texts import MAY_RETRY, REFUSED_BEFORE
from bridle.engine.turn import Turn
from bridle.host.paths import config_home
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.transcripts.permission_answers import note_answer
from bridle.types.errors import ToolError
from bridle.types.event import PermissionDenied
from bridle.types.permission import Allow, Ask, Case, Decision, Deny, Judged, ReasonType
from bridle.types.question import Chosen, Permitted, Refused, Supplied
from bridle.types.sandbox import Refusal, beyond_words
from bridle.types.services.mcp import normalized
from bridle.types.tool import Tool
from bridle.types.turn import Denial


class AllowedCall(Struct, frozen=True, kw_only=True):
    """A call that the gate lets through, with what was known when it did."""

    call: Call
    input: Any
    case: Case
    judged: Judged = ""
    """What a call that only judgment let through was taken to do."""
    approved: bool = False
    """It would have been asked about, and was allowed."""
    note: str = ""
    """What the model must know of an input that a person has changed."""
    reason_type: ReasonType | None = None
    """What let it through; None for a person."""
    rule_source: str = ""
    """Where the rule is written that let it through."""


class CallDenied(Exception):
    """The gate did not let the call through; the text is for the model."""

    def __init__(self, text: str, *, by_person: bool = False) -> None:
        super().__init__(text)
        self.by_person = by_person


def read_call(call: Call, tool: Tool, turn: Turn) -> tuple[Call, Any]:
    """The first phase: the call with the input that every later phase uses, and that input for its tool.

    Raises:
        ToolError: the tool cannot take it.
    """
    call, input = parse_input(tool, call)
    complete = turn.runtime.features.complete_call(tool.name, call, input, turn)
    return (call, input) if complete is call else parse_input(tool, complete)


async def pass_gate(call: Call, tool: Tool, input: Any, turn: Turn, *, hook: Decision | None) -> AllowedCall:
    """The fourth phase: what to run.

    Raises:
        CallDenied: nothing.
    """
    await turn.runtime.features.before_decision(tool)
    case = _case(call, tool, input, turn, hook=hook)
    decision = turn.runtime.gate.decide(case)
    doubted = isinstance(decision, Ask)
    if tool.needs_person and isinstance(decision, Allow):
        reason = f"the user must approve each {tool.name} call"
        decision = Deny(reason, "mode") if case.mode == "dontAsk" else Ask(reason, needs_person=True)
    decision = await turn.runtime.features.review(turn, case, decision)
    if isinstance(decision, Allow) and decision.judged:
        decision = _remembered(case, turn) or decision
    match decision:
        case Allow():
            return AllowedCall(
                call=call,
                input=input,
                case=case,
                judged=decision.judged,
                approved=doubted,
                reason_type=decision.reason_type,
                rule_source="" if decision.rule is None else decision.rule.source,
            )
        case Deny():
            await _turn_away(call, tool, turn, decision)
        case Ask():
            return await _ask(AllowedCall(call=call, input=input, case=case), tool, turn, decision)


async def ask_again(asked: AllowedCall, tool: Tool, turn: Turn, refusal: Refusal) -> AllowedCall:
    """Ask about a call that tried more than it was judged to do; what to run then, with nothing to hold it.

    Raises:
        CallDenied: nothing.
    """
    doubt = doubt_about(beyond_words(refusal))
    if asked.case.mode == "dontAsk":
        await _turn_away(asked.call, tool, turn, Deny(doubt.reason, "mode"))
    return await _ask(msgspec.structs.replace(asked, judged=""), tool, turn, doubt)


def _remembered(case: Case, turn: Turn) -> Ask | Deny | None:
    """What to do about a command that was judged wrongly before."""
    if (refusal := turn.runtime.workspace.stopped_commands.get(case.subject)) is None:
        return None
    doubt = doubt_about(f"the last time it ran, {refusal}")
    return Deny(doubt.reason, "mode") if case.mode == "dontAsk" else doubt


async def _ask(asked: AllowedCall, tool: Tool, turn: Turn, doubt: Ask) -> AllowedCall:
    """Ask about the call; what is approved is this input, or the one in the answer."""
    call, doubt = asked.call, _with_hook_reason(doubt, asked.case.hook)
    refused_calls, key = turn.runtime.workspace.refused_calls, _key(call)
    if (said := refused_calls.get(key)) is not None:
        turn.denials.append(Denial(tool.name, call.id, call.input))
        raise CallDenied(f"{REFUSED_BEFORE}{said}", by_person=True)
    answer = await answer_to(call, tool, turn, doubt)
    if isinstance(answer, Permitted | Refused):
        note_answer(turn.session, call.id, tool.name, answer)
    match answer:
        case Permitted():
            await grant(turn, answer.updates)
            return await _approved(asked, answer, tool, turn)
        case Refused(by_person=False):
            denied = Deny(doubt.reason, doubt.reason_type, doubt.rule, doubt.parts, doubt.suggestions)
            await _turn_away(call, tool, turn, denied, no_approver=answer.message)
        case Refused():
            turn.denials.append(Denial(tool.name, call.id, call.input))
            if answer.stands:
                refused_calls[key] = answer.message
            if answer.interrupt:
                turn.stopped_by = answer.message
            raise CallDenied(answer.message, by_person=True)
        case Chosen() | Supplied():
            raise ToolError(
                f"{tool.name} was not run: the answer to the permission question has the wrong type."
            )


def _key(call: Call) -> str:
    """What two calls with the same tool and input share."""
    return f"{call.name} {msgspec.json.encode(call.input, order='deterministic').decode()}"


def _with_hook_reason(doubt: Ask, hook: Decision | None) -> Ask:
    """The doubt with the reason of a hook that asks as well, where another check came first."""
    if not isinstance(hook, Ask) or not hook.reason or hook.reason in doubt.reason:
        return doubt
    return msgspec.structs.replace(doubt, reason=f"{doubt.reason}; a hook requires approval: {hook.reason}")


async def _approved(asked: AllowedCall, answer: Permitted, tool: Tool, turn: Turn) -> AllowedCall:
    """The approval holds for one input only, and a denial that counts by now beats it."""
    if answer.input is None or answer.input == asked.call.input:
        allowed = asked
        # The files stay those that were shown; if they lead elsewhere by now, opening them fails.
        case = msgspec.structs.replace(asked.case, rules=turn.rules)
    else:
        allowed = _revised(asked, answer, tool, turn)
        case = allowed.case
    decision = turn.runtime.gate.decide(case)
    # A session that does not ask denies what it would ask about; that is not what the person was asked.
    if isinstance(decision, Deny) and decision.reason_type != "mode":
        await _turn_away(allowed.call, tool, turn, decision, note=allowed.note)
    if answer.by_hook and isinstance(decision, Ask) and decision.reason_type == "safetyCheck":
        # The hook has put in something that no hook may approve.
        return await _ask(allowed, tool, turn, decision)
    return msgspec.structs.replace(allowed, approved=True)


def _revised(asked: AllowedCall, answer: Permitted, tool: Tool, turn: Turn) -> AllowedCall:
    """The call with the input of the answer, which no one has looked at yet."""
    before, given = asked.call.input, answer.input or {}
    note = change_note(before, given) if answer.edited else ""
    try:
        call, input = read_call(msgspec.structs.replace(asked.call, input=given), tool, turn)
    except ToolError as error:
        raise CallDenied(f"{note}{error}") from error
    case = _case(call, tool, input, turn, hook=None)
    return AllowedCall(call=call, input=input, case=case, note=note)


async def _turn_away(
    call: Call, tool: Tool, turn: Turn, denied: Deny, *, no_approver: str = "", note: str = ""
) -> NoReturn:
    from bridle.permissions.explanations import refusal, remedy

    text = refusal(tool.name, denied, no_approver=no_approver)
    turn.denials.append(Denial(tool.name, call.id, call.input))
    turn.runtime.channel.emit(
        PermissionDenied(
            call_id=call.id,
            tool=tool.name,
            input=call.input,
            message=text,
            reason=denied.reason,
            reason_type=denied.reason_type,
            parts=denied.parts,
            suggestions=denied.suggestions,
            remedy=remedy(denied, asked=bool(no_approver)),
        )
    )
    if denied.reason_type == "classifier" and await fire_permission_denied(call, tool, turn, denied):
        words = [str(call.input.get("command", tool.name))]
        turn.session.say_system(
            "permission_retry",
            content=f"{tool.name} may be tried again.",
            fields={"commands": words, "level": "info"},
        )
        text = f"{text} {MAY_RETRY}"
    raise CallDenied(note + text)


def _case(call: Call, tool: Tool, input: Any, turn: Turn, *, hook: Decision | None) -> Case:
    asked = CallRequest(
        tool=tool.name,
        input=call.input,
        subject=tool.subject(input),
        read_only=tool.read_only(input),
        access=tool.access(input, turn.runtime.workspace),
        hook=hook,
    )
    case = prepare(asked, _position(tool, turn))
    if not (more := turn.runtime.features.rules(tool, asked.subject)):
        return case
    return msgspec.structs.replace(case, rules=(*case.rules, *more))


def _position(tool: Tool, turn: Turn) -> SessionPosition:
    """Where the session stands; a host may have set another mode for the calls of one server."""
    position, modes = standing(turn), turn.runtime.host.offer.server_modes
    for server, mode in modes.items():
        if tool.name.startswith(f"mcp__{normalized(server)}__"):
            return msgspec.structs.replace(position, mode=mode)
    return position


def standing(turn: Turn) -> SessionPosition:
    runtime, state, workspace = turn.runtime, turn.session.state, turn.runtime.workspace
    sandbox = runtime.gate.sandbox
    configuration = config_home(runtime.env)
    found = SessionPosition(
        rules=turn.rules,
        mode=state.mode,
        cwd=workspace.cwd,
        start=workspace.start,
        origins=workspace.origins,
        roots=workspace.roots,
        readable=(*runtime.records.folders, os.path.join(configuration, "plans")),
        home=runtime.env.get("HOME") or os.path.expanduser("~"),
        config_home=configuration,
        confines=lambda command: (
            sandbox is not None and runtime.gate.sandbox_allows and sandbox.covers(command)
        ),
        may_leave_sandbox=sandbox is None or sandbox.may_be_left,
        # Where no one answers, the channel says so; then an ask is a denial.
        attended=True,
        trusted=runtime.gate.trusted,
        env=runtime.env,
    )
    return runtime.features.standing(turn, found)

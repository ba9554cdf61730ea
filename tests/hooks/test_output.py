from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.config.hook_schema import CommandHook, PromptHook
from bridle.hooks.handler import (
    Answered,
    AnyHook,
    CallbackHook,
    Detached,
    Failed,
    Origin,
    Ran,
    Refused,
    Reply,
    TimedOut,
)
from bridle.hooks.output import LONGEST_TEXT, cut_into, interpret
from bridle.types.hooks import events as hook
from bridle.types.hooks.events import EVENTS, HookEvent
from bridle.types.hooks.outcome import NOTHING_SAID, Elicited, HookOutcome
from bridle.types.permission import Allow, Ask, Deny
from tests.fakes.hook_scripts import BASH, call
from tests.tables import table

_COMMAND = CommandHook(command="x")
_POST = hook.PostToolUse(tool="Bash", input={}, call_id="c", response={})
_REQUEST = hook.PermissionRequest(tool="Bash", input={})
_PROMPT = hook.UserPromptSubmit(prompt="p")
_STOP = hook.Stop(active=False)
_BATCH = hook.PostToolBatch(tool_calls=())
_SWITCH = hook.PreModelSwitch(
    from_model="a", to_model="b", context_tokens=1, prompt_cache_warm=True, cache_ttl=None,
    estimated_cache_write_usd=None,
)  # fmt: skip
_WORKTREE = hook.WorktreeCreate(worktree="w")
_ASKED = hook.Elicitation(server="db", message="m")

_EVENTS: dict[str, HookEvent] = {
    event.name: event
    for event in (
        hook.SessionStart(source="startup"), hook.Setup(trigger="init"), _PROMPT,
        hook.UserPromptExpansion(expansion_type="mcp_prompt", command_name="f", command_args="", prompt="p"),
        BASH, _REQUEST, hook.PermissionDenied(tool="Bash", input={}, call_id="c", reason="r"), _POST,
        hook.PostToolUseFailure(tool="Bash", input={}, call_id="c", error="e"), _BATCH,
        hook.Notification(message="m", kind="idle_prompt"),
        hook.MessageDisplay(turn_id="t", message_id="m", index=0, final=True, delta="d"),
        hook.SubagentStart(agent_id="1", agent_type="a"),
        hook.SubagentStop(active=False, agent_id="1", agent_type="a", agent_transcript_path="/p"),
        hook.TaskCreated(task_id="1", task_subject="s"), hook.TaskCompleted(task_id="1", task_subject="s"),
        _STOP, hook.StopFailure(error="unknown"), hook.TeammateIdle(teammate_name="a", team_name="b"),
        hook.InstructionsLoaded(file_path="/p", memory_type="User", load_reason="include"),
        hook.ConfigChange(source="user_settings"), hook.CwdChanged(old_cwd="/a", new_cwd="/b"),
        hook.DirectoryAdded(directory="/d", source="slash_command"),
        hook.FileChanged(file_path="/f", event="change"), _WORKTREE, hook.WorktreeRemove(worktree_path="/w"),
        hook.PreCompact(trigger="auto", custom_instructions=None),
        hook.PostCompact(trigger="auto", compact_summary="s"), _ASKED,
        hook.ElicitationResult(server="db", action="accept"), hook.SessionEnd(reason="other"), _SWITCH,
        hook.PostModelSwitch(
            from_model="a", to_model="b", context_tokens=1, prompt_cache_warm=True, cache_ttl=None,
            estimated_cache_write_usd=None,
        ),
    )
}  # fmt: skip


def _said(event: HookEvent, reply: Reply, asked: AnyHook = _COMMAND) -> HookOutcome:
    return interpret(call(asked, event), reply, cut=lambda text: text)


def _printed(event: HookEvent, output: object, exit_code: int = 0, stderr: str = "") -> HookOutcome:
    text = output if isinstance(output, str) else msgspec.json.encode(output).decode()
    return _said(event, Ran(exit_code=exit_code, stdout=text + "\n", stderr=stderr))


def _specific(event: HookEvent, **fields: Any) -> HookOutcome:
    return _printed(event, {"hookSpecificOutput": {"hookEventName": event.name, **fields}})


def test_every_event_is_tried_here():
    assert _EVENTS.keys() == EVENTS.keys()


@table("name", _EVENTS)
def test_text_reaches_the_model_only_where_it_should(name: str):
    said = _printed(_EVENTS[name], "hello")
    if name in ("SessionStart", "UserPromptSubmit", "UserPromptExpansion", "PostModelSwitch"):
        assert said == HookOutcome(context=("hello",))
    elif name == "WorktreeCreate":
        assert said == HookOutcome(worktree_path="hello")
    else:
        assert said == NOTHING_SAID


_DENIED = HookOutcome(decision=Deny("why", "hook"))
_BLOCKED = HookOutcome(block="why")
_SHOWN = HookOutcome(problems=("why",))
_DECLINED = HookOutcome(elicited=Elicited("decline"))
_ON_EXIT_2: dict[str, HookOutcome] = {
    "SessionStart": _SHOWN, "Setup": _SHOWN, "UserPromptSubmit": _BLOCKED, "UserPromptExpansion": _BLOCKED,
    "PreToolUse": _DENIED, "PermissionRequest": NOTHING_SAID, "PermissionDenied": NOTHING_SAID,
    "PostToolUse": _BLOCKED, "PostToolUseFailure": HookOutcome(context=("why",)),
    "PostToolBatch": HookOutcome(block="why", stop="why"), "Notification": NOTHING_SAID,
    "MessageDisplay": NOTHING_SAID, "SubagentStart": _SHOWN, "SubagentStop": _BLOCKED,
    "TaskCreated": _BLOCKED, "TaskCompleted": _BLOCKED, "Stop": _BLOCKED, "StopFailure": NOTHING_SAID,
    "TeammateIdle": _BLOCKED,
    "InstructionsLoaded": NOTHING_SAID, "ConfigChange": _BLOCKED, "CwdChanged": _SHOWN,
    "DirectoryAdded": NOTHING_SAID, "FileChanged": _SHOWN, "WorktreeCreate": _BLOCKED,
    "WorktreeRemove": NOTHING_SAID, "PreCompact": _BLOCKED, "PostCompact": _SHOWN, "Elicitation": _DECLINED,
    "ElicitationResult": _DECLINED, "SessionEnd": _SHOWN, "PreModelSwitch": _DENIED,
    "PostModelSwitch": NOTHING_SAID,
}  # fmt: skip


@table("name", _EVENTS)
def test_exit_code_2_does_what_the_event_says(name: str):
    said = _said(_EVENTS[name], Ran(exit_code=2, stdout="", stderr="why\n"))
    if name == "WorktreeCreate":
        assert said.block is not None
    else:
        assert said == _ON_EXIT_2[name]


def test_managed_settings_cannot_be_refused():
    event = hook.ConfigChange(source="policy_settings")
    assert _said(event, Ran(exit_code=2, stdout="", stderr="why")) == NOTHING_SAID


def test_exit_code_2_takes_its_reason_from_json_and_keeps_the_rest_of_it():
    output = {
        "reason": "from json",
        "systemMessage": "m",
        "hookSpecificOutput": {"permissionDecision": "allow"},
    }
    said = _printed(BASH, output, exit_code=2, stderr="from stderr")
    assert said == HookOutcome(decision=Deny("from json", "hook"), system_messages=("m",))


def test_exit_code_2_blocks_even_with_half_json_and_without_a_reason():
    said = _printed(BASH, '{"decision": "app', exit_code=2)
    assert isinstance(said.decision, Deny) and said.decision.reason
    assert len(said.problems) == 1


@table("name", [name for name in _EVENTS if name != "WorktreeCreate"])
def test_other_exit_codes_are_shown_and_stop_nothing(name: str):
    said = _said(_EVENTS[name], Ran(exit_code=1, stdout="", stderr="broken"))
    assert said == HookOutcome(problems=said.problems)
    assert said.problems and "exit code 1: broken" in said.problems[0]


def test_json_decides_after_other_exit_codes():
    assert _printed(BASH, {"decision": "block", "reason": "r"}, exit_code=3).decision == Deny("r", "hook")


def test_death_by_a_signal_is_shown_and_stops_nothing():
    said = _said(BASH, Ran(exit_code=-9, stdout="", stderr=""))
    assert said.decision is None and "signal 9" in said.problems[0]


def test_problem_names_the_hook_and_its_file():
    asked = call(_COMMAND, BASH, Origin(source="userSettings", file="/s.json", line=7))
    said = interpret(asked, Ran(exit_code=1, stdout="", stderr="x" * 9000), cut=lambda text: text)
    assert said.problems[0].startswith("the PreToolUse:Bash hook of /s.json:7 ended with exit code 1: xxx")
    assert len(said.problems[0]) == 1000


@table(
    "output",
    [
        '{"decision": "block"',
        '{"decision": "block"} and more',
        "{}{}",
        "{'decision': 'block'}",
        {"decision": "perhaps"},
        {"continue": "no"},
        {"systemMessage": 5},
        {"hookSpecificOutput": "deny"},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "denied"}},
        {"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": "rm"}},
        {"decision": "block", "hookSpecificOutput": {"hookEventName": "PostToolUse"}},
        '{"a":' * 5000,
    ],
)
def test_output_that_cannot_be_used_is_shown_and_no_opinion(output: object):
    said = _printed(BASH, output)
    assert said == HookOutcome(problems=said.problems)
    assert len(said.problems) == 1


def test_lie_about_the_event_is_named():
    said = _printed(BASH, {"hookSpecificOutput": {"hookEventName": "Stop", "permissionDecision": "allow"}})
    assert "'Stop'" in said.problems[0] and said.decision is None


def test_empty_object_is_no_opinion():
    assert _printed(BASH, {}) == NOTHING_SAID
    assert _printed(BASH, " \n{ }\n") == NOTHING_SAID


def test_unknown_fields_are_ignored():
    assert _printed(BASH, {"novelty": 1, "hookSpecificOutput": {"novelty": 2}}) == NOTHING_SAID


def test_universal_fields():
    output = {
        "continue": False, "stopReason": "enough", "suppressOutput": True, "systemMessage": "look",
        "terminalSequence": "\x1b]9;done\x07",
    }  # fmt: skip
    assert _printed(_POST, output) == HookOutcome(
        stop="enough",
        suppress_output=True,
        system_messages=("look",),
        terminal_sequences=("\x1b]9;done\x07",),
    )


def test_stop_without_a_reason_is_a_stop():
    assert _printed(_POST, {"continue": False}).stop
    assert _printed(_POST, {"continue": True, "stopReason": "x"}).stop is None


@pytest.mark.parametrize("sequence", ["\a", "\x1b]0;t\x1b\\", "\x1b]777;notify;a;b\a\a", "\x1b]99;;hi\x1b\\"])
def test_harmless_sequences_reach_the_terminal(sequence: str):
    assert _printed(_STOP, {"terminalSequence": sequence}).terminal_sequences == (sequence,)


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[2J",
        "\x1b]52;c;eA==\a",
        "\x1b]8;;http://x\a",
        "text",
        "\x1b]0;a\x1b[2J\a",
        "\x1b]0;a\x9c\x1b[H\a",
    ],
)
def test_other_sequences_do_not(sequence: str):
    said = _printed(_STOP, {"terminalSequence": sequence})
    assert said.terminal_sequences == () and len(said.problems) == 1


@pytest.mark.parametrize(
    "word, expected",
    [
        ("allow", HookOutcome(decision=Allow("r", "hook"))),
        ("ask", HookOutcome(decision=Ask("r", "hook"))),
        ("deny", HookOutcome(decision=Deny("r", "hook"))),
        ("defer", HookOutcome(deferred="r")),
    ],
)
def test_decisions_before_a_call(word: str, expected: HookOutcome):
    assert _specific(BASH, permissionDecision=word, permissionDecisionReason="r") == expected


def test_old_decisions_before_a_call():
    assert _printed(BASH, {"decision": "block", "reason": "r"}).decision == Deny("r", "hook")
    assert _printed(BASH, {"decision": "approve", "reason": "r"}).decision == Allow("r", "hook")
    assert _printed(_STOP, {"decision": "approve"}) == NOTHING_SAID


def test_block_beats_allow_in_one_output():
    output = {"decision": "block", "reason": "r", "hookSpecificOutput": {"permissionDecision": "allow"}}
    assert _printed(BASH, output).decision == Deny("r", "hook")


def test_approval_with_a_new_input():
    said = _specific(BASH, permissionDecision="allow", updatedInput={"command": "pwd"}, additionalContext="c")
    assert said.updated_input == {"command": "pwd"}
    assert isinstance(said.decision, Allow) and said.context == ("c",)
    old = {"decision": "approve", "hookSpecificOutput": {"updatedInput": {"command": "pwd"}}}
    assert isinstance(_printed(BASH, old).decision, Allow)


def test_answers_to_a_permission_request():
    update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    allowed = _specific(
        _REQUEST, decision={"behavior": "allow", "updatedInput": {"a": 1}, "updatedPermissions": [update]}
    )
    assert isinstance(allowed.decision, Allow)
    assert (allowed.updated_input, allowed.updated_permissions) == ({"a": 1}, (update,))
    denied = _specific(_REQUEST, decision={"behavior": "deny", "message": "m", "interrupt": True})
    assert denied == HookOutcome(decision=Deny("m", "hook"), interrupt=True)


def test_denial_of_a_permission_request_changes_no_rules():
    update = {"type": "setMode", "mode": "acceptEdits", "destination": "session"}
    denied = _specific(
        _REQUEST, decision={"behavior": "deny", "updatedPermissions": [update], "updatedInput": {}}
    )
    assert (denied.updated_permissions, denied.updated_input) == ((), None)


def test_result_is_rewritten():
    assert _specific(_POST, updatedToolOutput={"stdout": ""}).updated_output == {"stdout": ""}
    foreign = hook.PostToolUse(tool="mcp__db__q", input={}, call_id="c", response={})
    assert _specific(foreign, updatedMCPToolOutput="x").updated_output == "x"
    assert _specific(_POST, updatedMCPToolOutput="x") == NOTHING_SAID


def test_classifier_context_is_short():
    assert _specific(_POST, classifierContext="x" * 3000).classifier_context == "x" * 2000


@pytest.mark.parametrize(
    "event, fields, expected",
    [
        (
            hook.SessionStart(source="startup"),
            {"additionalContext": "c", "initialUserMessage": "i", "sessionTitle": " t ", "watchPaths": ["/w"],
             "reloadSkills": True},
            HookOutcome(context=("c",), initial_user_message="i", session_title="t", watch_paths=("/w",),
                        reload_skills=True),
        ),
        (_PROMPT, {"additionalContext": "c", "sessionTitle": "t", "suppressOriginalPrompt": True},
         HookOutcome(context=("c",), session_title="t", suppress_original_prompt=True)),
        (_EVENTS["PermissionDenied"], {"retry": True}, HookOutcome(retry=True)),
        (_EVENTS["MessageDisplay"], {"displayContent": ""}, HookOutcome(display_content="")),
        (_EVENTS["CwdChanged"], {"watchPaths": ["/a"]}, HookOutcome(watch_paths=("/a",))),
        (_EVENTS["FileChanged"], {"watchPaths": ["/a"]}, HookOutcome(watch_paths=("/a",))),
        (_ASKED, {"action": "accept", "content": {"k": 1}},
         HookOutcome(elicited=Elicited("accept", {"k": 1}))),
        (_WORKTREE, {"worktreePath": "/w"}, HookOutcome(worktree_path="/w")),
        (_SWITCH, {"permissionDecision": "deny", "reason": "r"}, HookOutcome(decision=Deny("r", "hook"))),
        (_STOP, {"additionalContext": "c"}, HookOutcome(context=("c",))),
        (_EVENTS["PostModelSwitch"], {"additionalContext": "c"}, HookOutcome(context=("c",))),
    ],
)  # fmt: skip
def test_what_events_can_be_told(event: HookEvent, fields: dict[str, Any], expected: HookOutcome):
    assert _specific(event, **fields) == expected


def test_events_are_not_told_what_is_not_theirs():
    fields = {"permissionDecision": "allow", "updatedInput": {}, "retry": True, "worktreePath": "/w"}
    assert _specific(_EVENTS["Notification"], **fields, additionalContext="c") == NOTHING_SAID


@pytest.mark.parametrize(
    "event", [_PROMPT, _POST, _STOP, _EVENTS["SubagentStop"], _EVENTS["TaskCreated"], _EVENTS["PreCompact"]]
)
def test_block_with_a_reason(event: HookEvent):
    assert _printed(event, {"decision": "block", "reason": "r"}) == HookOutcome(block="r")


def test_worktree_needs_a_path_and_exit_code_0():
    assert _said(_WORKTREE, Ran(exit_code=0, stdout="/w\n")) == HookOutcome(worktree_path="/w")
    for reply in (
        Ran(exit_code=0, stdout="\n"), Ran(exit_code=1, stdout="/w"), Answered(output={}),
        Failed(reason="broke"), TimedOut(seconds=1),
    ):  # fmt: skip
        said = _said(_WORKTREE, reply)
        assert said.block is not None and said.worktree_path is None


def test_variables_are_collected():
    said = _said(_EVENTS["SessionStart"], Ran(exit_code=0, stdout="hi", exported="export A=1\n"))
    assert said == HookOutcome(context=("hi",), exported="export A=1\n")


def test_answer_of_the_host_is_read_like_printed_json():
    assert _said(BASH, Answered(output={"decision": "block", "reason": "r"})).decision == Deny("r", "hook")
    assert _said(BASH, Answered(output={})) == NOTHING_SAID
    assert _said(BASH, Answered(output={"async": True})) == NOTHING_SAID
    assert _said(BASH, Answered(output={"decision": 1})).problems


def test_judge_who_says_no_blocks_like_exit_code_2():
    judge = PromptHook(prompt="ok?")
    assert _said(BASH, Refused(reason="r"), judge).decision == Deny("r", "hook")
    assert _said(_STOP, Refused(reason="r"), judge).block == "r"
    assert _said(_REQUEST, Refused(reason="r"), judge).decision == Deny("r", "hook")


def test_hook_in_the_background_has_no_opinion():
    async def rest() -> Reply:
        return Failed(reason="never")

    assert _said(BASH, Detached(rest=rest, timeout=1)) == NOTHING_SAID


_CALLBACK = CallbackHook(callback_id="1")


@pytest.mark.parametrize(
    "event, asked, closed",
    [
        (BASH, _CALLBACK, True),
        (_PROMPT, _CALLBACK, True),
        (_POST, _CALLBACK, False),
        (_STOP, _CALLBACK, False),
        (BASH, _COMMAND, False),
        (_PROMPT, _COMMAND, False),
        (_SWITCH, _COMMAND, True),
        (_SWITCH, _CALLBACK, True),
        (BASH, CommandHook(command="x", on_failure="block"), True),
    ],
)
def test_time_that_is_over_stops_only_what_must_not_go_on_unseen(
    event: HookEvent, asked: AnyHook, closed: bool
):
    said = _said(event, TimedOut(seconds=2), asked)
    assert "timed out after 2 seconds" in said.problems[0]
    assert (isinstance(said.decision, Deny) or said.block is not None) is closed


@pytest.mark.parametrize("asked, closed", [
    (_COMMAND, False), (_CALLBACK, False), (CommandHook(command="x", on_failure="continue"), False),
    (CommandHook(command="x", on_failure="block"), True),
    (CallbackHook(callback_id="1", on_failure="block"), True),
])  # fmt: skip
@pytest.mark.parametrize("event", [BASH, _PROMPT])
def test_failure_lets_go_on_unless_the_hook_says_block(event: HookEvent, asked: AnyHook, closed: bool):
    for reply in (Failed(reason="broke"), Ran(exit_code=1, stdout=""), Ran(exit_code=0, stdout="{")):
        said = _said(event, reply, asked)
        assert len(said.problems) == 1
        assert (isinstance(said.decision, Deny) or said.block is not None) is closed


def test_long_text_is_cut_and_kept_in_a_file(tmp_path: Path):
    cut = cut_into(str(tmp_path / "new"))
    text = "é" * (LONGEST_TEXT + 1)
    said = interpret(call(_COMMAND, _PROMPT), Ran(exit_code=0, stdout=text), cut=cut)
    (context,) = said.context
    assert len(context) == LONGEST_TEXT
    (file,) = (tmp_path / "new").iterdir()
    assert str(file) in context
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o77 == 0
    assert cut("x" * LONGEST_TEXT) == "x" * LONGEST_TEXT


def test_long_text_is_cut_where_nothing_can_be_written(tmp_path: Path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert len(cut_into(str(tmp_path / "file" / "x"))("x" * 20_000)) == LONGEST_TEXT


def test_new_input_is_not_cut():
    content = "x" * 50_000
    assert _specific(BASH, updatedInput={"content": content}).updated_input == {"content": content}


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from([
            "continue", "decision", "reason", "hookSpecificOutput", "hookEventName", "permissionDecision",
            "updatedInput", "behavior", "watchPaths", "action", "systemMessage",
        ]), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


@given(st.sampled_from(sorted(_EVENTS)), _JSON, st.sampled_from([0, 1, 2]), st.text(max_size=8))
def test_no_output_raises(name: str, output: object, code: int, noise: str):
    text = msgspec.json.encode(output).decode() + (noise if code == 1 else "")
    said = _said(_EVENTS[name], Ran(exit_code=code, stdout=text, stderr=noise))
    if code == 2 and name == "PreToolUse":
        assert isinstance(said.decision, Deny)

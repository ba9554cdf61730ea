import msgspec

from bridle.hooks.payload import HookContext, encode, payload
from bridle.types.hooks.calls import PreToolUse
from bridle.types.hooks.events import Notification, PreCompact, SessionStart, SubagentStart

_CONTEXT = HookContext(session_id="s", transcript_path="/t", cwd="/w")
_FULL = HookContext(
    session_id="s", transcript_path="/t", cwd="/w", permission_mode="plan", prompt_id="p", effort="high",
    agent_id="a1", agent_type="Explore", scratchpad_dir="/x",
)  # fmt: skip
_BASH = PreToolUse(tool="Bash", input={"command": "ls"}, call_id="c")


def test_input_is_the_session_then_the_event():
    assert payload(_CONTEXT, _BASH) == {
        "session_id": "s",
        "transcript_path": "/t",
        "cwd": "/w",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "ls"},
        "tool_use_id": "c",
    }


def test_what_is_known_of_the_agent_and_the_prompt_is_told():
    told = payload(_FULL, _BASH)
    names = ("permission_mode", "prompt_id", "effort", "agent_id", "agent_type", "scratchpad_dir")
    assert [told[name] for name in names] == ["plan", "p", {"level": "high"}, "a1", "Explore", "/x"]


def test_mode_is_told_to_tool_and_prompt_events_only():
    assert "permission_mode" not in payload(_FULL, Notification(message="m", kind="idle_prompt"))


def test_manual_mode_arrives_as_default():
    context = msgspec.structs.replace(_FULL, permission_mode="manual")
    assert payload(context, _BASH)["permission_mode"] == "default"


def test_event_names_its_own_agent():
    told = payload(_FULL, SubagentStart(agent_id="a2", agent_type="Plan"))
    assert (told["agent_id"], told["agent_type"]) == ("a2", "Plan")


def test_optional_fields_are_left_out_and_required_ones_are_null():
    assert "model" not in payload(_CONTEXT, SessionStart(source="startup"))
    assert (
        payload(_CONTEXT, PreCompact(trigger="auto", custom_instructions=None))["custom_instructions"] is None
    )


def test_input_is_one_line_of_json():
    data = encode(payload(_CONTEXT, _BASH))
    assert data.endswith(b"\n") and data.count(b"\n") == 1
    assert msgspec.json.decode(data) == payload(_CONTEXT, _BASH)


def test_half_a_surrogate_pair_does_not_stop_the_event():
    event = PreToolUse(tool="Bash", input={"command": "cat \udcff"}, call_id="c")
    assert msgspec.json.decode(encode(payload(_CONTEXT, event)))["tool_input"] == {"command": "cat \ufffd"}

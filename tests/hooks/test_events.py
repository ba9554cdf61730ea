import re
from typing import Any

import msgspec
import pytest

from bridle.cli.hooks.samples import sample
from bridle.hooks.callback import run_function
from bridle.hooks.handler import FunctionHook
from bridle.hooks.payload import HookContext
from bridle.hooks.runner import HookRunner, RunnerContext
from bridle.hooks.table import Listeners, from_host
from bridle.types.hooks.events import EVENTS, Setup
from bridle.types.hooks.outcome import HookOutcome, NoHooks
from tests.tables import table

_TOOL = {"tool_name": "Bash", "tool_input": {"command": "ls"}}
_CALL = {**_TOOL, "tool_use_id": "c1"}
_SWITCH = {
    "from_model": "a", "to_model": "b", "context_tokens": 1, "prompt_cache_warm": True, "cache_ttl": "5m",
    "estimated_cache_write_usd": 0.1,
}  # fmt: skip
_TASK = {"task_id": "1", "task_subject": "s"}
_AGENT = {"agent_id": "1", "agent_type": "Explore"}
_LEFT = "last_assistant_message background_tasks session_crons"

# Per event: what it always has on the wire, what it may have, and what matchers are held against.
_SPECIFIED: dict[str, tuple[dict[str, Any], str, str | None]] = {
    "SessionStart": (
        {"source": "fork"},
        "model agent_type session_title seconds_since_last_response context_tokens "
        "prompt_cache_likely_expired estimated_cache_write_usd",
        "fork",
    ),
    "Setup": ({"trigger": "init"}, "", "init"),
    "UserPromptSubmit": ({"prompt": "p"}, "session_title", None),
    "UserPromptExpansion": (
        {"expansion_type": "mcp_prompt", "command_name": "fix", "command_args": "", "prompt": "p"},
        "command_source",
        "fix",
    ),
    "PreToolUse": (_CALL, "mcp_server", "Bash"),
    "PermissionRequest": (_TOOL, "permission_suggestions mcp_server", "Bash"),
    "PermissionDenied": ({**_CALL, "reason": "r"}, "mcp_server", "Bash"),
    "PostToolUse": ({**_CALL, "tool_response": None}, "duration_ms mcp_server", "Bash"),
    "PostToolUseFailure": ({**_CALL, "error": "e"}, "is_interrupt duration_ms mcp_server", "Bash"),
    "PostToolBatch": ({"tool_calls": [_CALL]}, "", None),
    "Notification": ({"message": "m", "notification_type": "idle_prompt"}, "title", "idle_prompt"),
    "MessageDisplay": (
        {"turn_id": "t", "message_id": "m", "index": 0, "final": True, "delta": "d"}, "", None,
    ),
    "SubagentStart": (_AGENT, "", "Explore"),
    "SubagentStop": (
        {"stop_hook_active": False, **_AGENT, "agent_transcript_path": "/p"}, _LEFT, "Explore",
    ),
    "TaskCreated": (_TASK, "task_description teammate_name team_name", None),
    "TaskCompleted": (_TASK, "task_description teammate_name team_name", None),
    "Stop": ({"stop_hook_active": True}, _LEFT, None),
    "StopFailure": ({"error": "rate_limit"}, "error_details last_assistant_message", "rate_limit"),
    "TeammateIdle": ({"teammate_name": "a", "team_name": "b"}, "", None),
    "InstructionsLoaded": (
        {"file_path": "/p", "memory_type": "Project", "load_reason": "include"},
        "globs trigger_file_path parent_file_path",
        "include",
    ),
    "ConfigChange": ({"source": "skills"}, "file_path", "skills"),
    "CwdChanged": ({"old_cwd": "/a", "new_cwd": "/b"}, "", None),
    "DirectoryAdded": ({"directory": "/d", "source": "slash_command"}, "", "slash_command"),
    "FileChanged": ({"file_path": "/w/.env", "event": "add"}, "", ".env"),
    "WorktreeCreate": ({"name": "w"}, "", None),
    "WorktreeRemove": ({"worktree_path": "/w"}, "", None),
    "PreCompact": ({"trigger": "auto", "custom_instructions": None}, "", "auto"),
    "PostCompact": ({"trigger": "manual", "compact_summary": "s"}, "", "manual"),
    "Elicitation": (
        {"mcp_server_name": "db", "message": "m"}, "mode url elicitation_id requested_schema", "db",
    ),
    "ElicitationResult": ({"mcp_server_name": "db", "action": "accept"}, "content mode elicitation_id", "db"),
    "SessionEnd": ({"reason": "logout"}, "", "logout"),
    "PreModelSwitch": (_SWITCH, "", "b"),
    "PostModelSwitch": (_SWITCH, "", "b"),
}  # fmt: skip


def test_every_event_is_specified_here():
    assert list(_SPECIFIED) == list(EVENTS)
    assert len(EVENTS) == 33


@table("name", _SPECIFIED)
def test_event_has_its_fields_under_their_wire_names(name: str):
    required, optional, subject = _SPECIFIED[name]
    wire = {"hook_event_name": name, **required}
    event = msgspec.convert(wire, EVENTS[name])
    assert (event.name, event.subject) == (name, subject)
    assert msgspec.json.decode(msgspec.json.encode(event)) == wire
    fields = {field.encode_name for field in msgspec.structs.fields(event)}
    assert fields == {*required, *optional.split()}


async def test_nobody_listens_without_hooks():
    assert await NoHooks().fire(Setup(trigger="init")) == HookOutcome()


@pytest.mark.parametrize("name", sorted(EVENTS))
async def test_every_event_reaches_the_hooks_whose_matcher_speaks_of_it(name: str):
    event = sample(name, tool=None, given={}, cwd="/project")
    told: list[dict[str, Any]] = []
    subject = event.subject
    matchers = [None] if subject is None else [None, subject, f"^{re.escape(subject)}$", "something else"]
    entries = [from_host(name, FunctionHook(function=told.append), matcher=matcher) for matcher in matchers]
    context = HookContext(session_id="s1", transcript_path="/t.jsonl", cwd="/")
    around = RunnerContext(handlers={"function": run_function}, context=lambda: context, cut=str)
    listeners = Listeners()
    listeners.add(entries)
    said = await HookRunner(listeners, around).fire(event)
    assert len(told) == (1 if subject is None else 3)
    assert said.problems == () and all(each["hook_event_name"] == name for each in told)
    assert all(each.items() >= msgspec.to_builtins(event).items() for each in told)

"""Options ask for the same session and variables as the official SDK does."""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.cli.args import parse
from bridle.cli.options import session_options as of_command_line
from bridle.config.options import SessionOptions
from bridle.sdk import Options
from bridle.sdk.errors import CLIConnectionError
from bridle.sdk.options import introduction, session_options, variables, working_folder
from bridle.types.errors import UsageError
from bridle.types.ids import new_uuid

_ID = "11111111-2222-4333-8444-555555555555"
_CASES: dict[str, dict[str, Any]] = {
    "nothing": {},
    "tools": {
        "tools": ["Read", "Bash"],
        "allowed_tools": ["Read", "Bash(git *)"],
        "disallowed_tools": ["Write"],
    },
    "no tools": {"tools": []},
    "default tools": {"tools": {"type": "preset", "preset": "claude_code"}},
    "prompt": {"system_prompt": "--resume=x"},
    "custom prompt": {"system_prompt": {"type": "custom", "prompt": "Be brief."}},
    "preset": {"system_prompt": {"type": "preset", "preset": "claude_code"}},
    "appended": {"system_prompt": {"type": "preset", "preset": "claude_code", "append": "More."}},
    "prompt file": {"system_prompt": {"type": "file", "path": "/p.md"}},
    "limits": {"max_turns": 3, "max_budget_usd": 0.5, "task_budget": {"total": 1000}},
    "models": {"model": "opus", "fallback_model": "sonnet,haiku", "betas": ["a", "b"], "effort": "high"},
    "mode": {"permission_mode": "acceptEdits"},
    "continue": {"continue_conversation": True, "fork_session": True, "session_id": _ID},
    "resume": {"resume": _ID, "resume_session_at": "u1", "resume_drops_turn": ""},
    "settings": {"settings": '{"model": "haiku"}', "setting_sources": ["user", "local"]},
    "no sources": {"setting_sources": []},
    "sandbox": {"settings": '{"model": "haiku"}', "sandbox": {"enabled": True}},
    "folders": {"add_dirs": ["/a", "/b c"]},
    "partial": {"include_partial_messages": True, "include_hook_events": True, "strict_mcp_config": True},
    "adaptive": {"thinking": {"type": "adaptive", "display": "summarized"}},
    "budget": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
    "disabled": {"thinking": {"type": "disabled"}, "max_thinking_tokens": 5},
    "tokens": {"max_thinking_tokens": 0},
    "extra": {"extra_args": {"replay-user-messages": None, "name": "-dash"}},
    "skills": {"skills": ["a", "b"], "allowed_tools": ["Skill(a)"]},
    "all skills": {"skills": "all", "setting_sources": ["user"]},
}

_OFFICIAL = """
import json, sys
from claude_agent_sdk import ClaudeAgentOptions
from claude_agent_sdk._internal.transport.subprocess_cli import SubprocessCLITransport
found = {}
for name, given in json.load(sys.stdin).items():
    transport = SubprocessCLITransport(prompt="x", options=ClaudeAgentOptions(cli_path="/bin/true", **given))
    transport._cli_path = "/bin/true"
    found[name] = transport._build_command()[1:]
print(json.dumps(found))
"""


@cache
def official() -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-c", _OFFICIAL],
        input=json.dumps(_CASES),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


def _as_read(options: SessionOptions) -> dict[str, Any]:
    """Settings as values, and lists whether their parts came in one word or in several."""
    read = {
        name: ",".join(value) if isinstance(value, tuple) else value
        for name, value in msgspec.structs.asdict(options).items()
    }
    return {**read, "settings": json.loads(options.settings)} if options.settings else read


@pytest.mark.parametrize("case", _CASES)
def test_options_ask_for_the_session_that_the_flags_of_the_official_sdk_ask_for(case: str):
    ours = session_options(Options(**_CASES[case]), "/somewhere")
    theirs = of_command_line(parse(official()[case]))
    assert _as_read(ours) == _as_read(theirs)


def test_variables_are_added_for_the_session_alone(tmp_path: Path):
    inherited = {"CLAUDECODE": "1", "PATH": "/bin", "MINE": "old"}
    options = Options(env={"MINE": "new"}, enable_file_checkpointing=True, client_app="app/1", cwd=tmp_path)
    env = variables(options, inherited, working_folder(options))
    assert "CLAUDECODE" not in env
    assert (env["MINE"], env["PATH"], env["PWD"]) == ("new", "/bin", str(tmp_path))
    assert env["CLAUDE_CODE_ENTRYPOINT"] == "sdk-py"
    assert env["CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING"] == "true"
    assert env["CLAUDE_AGENT_SDK_CLIENT_APP"] == "app/1"
    assert inherited["MINE"] == "old"


def test_agents_and_shapes_go_with_the_introduction():
    from bridle.sdk import AgentDefinition

    options = Options(
        agents={"reviewer": AgentDefinition("Reviews", "Review.", tools=["Read"])},
        output_format={"type": "json_schema", "schema": {"type": "object"}},
        skills=["a"],
        forward_subagent_text=True,
        system_prompt={
            "type": "preset", "preset": "claude_code", "exclude_dynamic_sections": True, "snapshot": True,
        },
    )  # fmt: skip
    assert introduction(options, {}) == {
        "subtype": "initialize",
        "hooks": None,
        "agents": {"reviewer": {"description": "Reviews", "prompt": "Review.", "tools": ["Read"]}},
        "jsonSchema": {"type": "object"},
        "skills": ["a"],
        "forwardSubagentText": True,
        "excludeDynamicSections": True,
        "systemPromptSnapshot": True,
    }


@pytest.mark.parametrize(
    "given",
    [
        {"skills": ["a*"]},
        {"skills": [" a"]},
        {"plugins": [{"type": "remote", "path": "x"}]},
        {"thinking": {}},
        {"sandbox": {}, "settings": "/nowhere.json"},
        {"user": "root"},
        {"permission_prompt_tool_name": "mcp__a__b"},
    ],
)
def test_what_cannot_be_asked_for_is_refused(given: dict[str, Any]):
    with pytest.raises((ValueError, CLIConnectionError)):
        session_options(Options(**given), "/")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"max_turns": -1}, "max_turns"),
        ({"max_budget_usd": 0.0}, "max_budget_usd"),
        ({"permission_mode": "none"}, "permission_mode"),
        ({"effort": "lots"}, "effort"),
        ({"thinking": {"type": "sometimes"}}, "thinking"),
        ({"extra_args": {"max-total-tokens": "few"}}, "max_total_tokens"),
        ({"extra_args": {"no-such-flag": None}}, "--no-such-flag"),
        ({"extra_args": {"model": None}}, "model"),
    ],
)
def test_values_that_an_option_does_not_take_are_refused_by_name(given: dict[str, Any], complaint: str):
    with pytest.raises(UsageError, match=complaint):
        session_options(Options(**given), "/")


def test_extra_arguments_are_flags_by_name_and_lists_grow():
    options = Options(
        add_dirs=["/a"], extra_args={"add-dir": "/b", "max-total-tokens": "7", "bare": None, "tools": ""}
    )
    asked = session_options(options, "/")
    assert (asked.add_dir, asked.max_total_tokens, asked.bare, asked.tools) == (("/a", "/b"), 7, True, ("",))


def test_each_set_of_options_has_lists_of_its_own():
    one, two = Options(), Options()
    one.allowed_tools.append(new_uuid())
    assert two.allowed_tools == []

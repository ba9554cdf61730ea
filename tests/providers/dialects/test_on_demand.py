"""Which services are sent references to tools, and in what form."""

import json
from typing import Any

import pytest

from bridle.providers.connect import home_provider
from bridle.types.history import History
from bridle.types.model import ModelRequest, ToolDefinition

_SCHEMA: dict[str, Any] = {"type": "object", "properties": {}}
_TOOLS: tuple[ToolDefinition, ...] = (
    {"name": "CallTool", "description": "Call.", "input_schema": _SCHEMA},
    {"name": "ToolSearch", "description": "Find.", "input_schema": _SCHEMA},
    {"name": "Late", "description": "Late.", "input_schema": _SCHEMA, "defer_loading": True},
)
_FOUND: Any = {"type": "tool_use", "id": "c1", "name": "ToolSearch", "input": {"query": "select:Late"}}
_SHOWN: Any = [{"type": "text", "text": "# Late"}, {"type": "tool_reference", "tool_name": "Late"}]
_GONE: Any = [{"type": "text", "text": "# Gone"}, {"type": "tool_reference", "tool_name": "Gone"}]


def _sent(env: dict[str, str], model: str = "claude-sonnet-5-5", shown: Any = _SHOWN) -> Any:
    history = History.of(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [_FOUND]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": shown}]},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "Late", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "ok"}]},
    )
    request = ModelRequest(model=model, history=history, tools=_TOOLS, max_tokens=10)
    return json.loads(home_provider(env).body_of(request))


@pytest.mark.parametrize(
    "env",
    [
        {},
        {"ANTHROPIC_BASE_URL": "https://api.anthropic.com/"},
        {"ANTHROPIC_BASE_URL": "https://eu.api.anthropic.com:443/x"},
        {"ANTHROPIC_BASE_URL": "https://gateway.example", "ENABLE_TOOL_SEARCH": "true"},
    ],
)
def test_a_service_that_knows_references_is_sent_them_alone(env: dict[str, str]):
    body = _sent(env)
    assert [tool["name"] for tool in body["tools"]] == ["ToolSearch", "Late"]
    assert body["tools"][1]["defer_loading"] is True
    assert body["messages"][2]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "Late"}]
    assert body["messages"][3]["content"][0]["name"] == "Late"


@pytest.mark.parametrize(
    ("env", "model"),
    [
        ({"ANTHROPIC_BASE_URL": "https://gateway.example"}, "claude-sonnet-5-5"),
        ({"ANTHROPIC_BASE_URL": "https://api.anthropic.com.example"}, "claude-sonnet-5-5"),
        ({"CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1"}, "claude-sonnet-5-5"),
        ({}, "claude-haiku-4-5"),
        ({}, "claude-3-7-sonnet-latest"),
    ],
)
def test_others_are_sent_text_and_calls_by_way_of_another_tool(env: dict[str, str], model: str):
    body = _sent(env, model)
    assert [tool["name"] for tool in body["tools"]] == ["CallTool", "ToolSearch"]
    assert body["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "# Late"}]
    made = body["messages"][3]["content"][0]
    assert (made["name"], made["input"]) == ("CallTool", {"name": "Late", "input": {}})


def test_a_reference_to_a_tool_that_is_gone_becomes_its_text():
    """The service refuses references that lead nowhere."""
    body = _sent({}, shown=_GONE)
    assert body["messages"][2]["content"][0]["content"] == [{"type": "text", "text": "# Gone"}]
    body = _sent({}, shown=[_GONE[1]])
    assert body["messages"][2]["content"][0]["content"] == "Loaded: Gone."

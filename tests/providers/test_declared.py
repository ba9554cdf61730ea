"""What variables say of models whose names tell nothing."""

from pathlib import Path
from typing import Any

import pytest

from bridle.providers import catalog
from bridle.providers.connect import Providers
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


@pytest.mark.parametrize(
    ("listed", "thinking", "efforts"),
    [
        ("thinking", "budget", ()),
        ("effort,adaptive_thinking", "adaptive", ("low", "medium", "high")),
        ("effort, xhigh_effort, max_effort", "none", ("low", "medium", "high", "xhigh", "max")),
    ],
)
def test_capabilities_are_those_of_the_variable(listed: str, thinking: str, efforts: tuple[str, ...]):
    env = {
        "ANTHROPIC_DEFAULT_OPUS_MODEL": "deployment-7",
        "ANTHROPIC_DEFAULT_OPUS_MODEL_SUPPORTED_CAPABILITIES": listed,
    }
    model = Providers(env, {}).find("deployment-7")
    assert (model.thinking, model.efforts) == (thinking, efforts)


def test_an_entry_of_the_users_own_counts_first_and_nothing_is_made_of_nothing():
    own: dict[str, Any] = {"x": {"thinking": "always"}}
    env = {
        "ANTHROPIC_CUSTOM_MODEL_OPTION": "x",
        "ANTHROPIC_CUSTOM_MODEL_OPTION_SUPPORTED_CAPABILITIES": "thinking",
    }
    assert catalog.find("x", catalog.with_declared(own, env)).thinking == "always"
    assert catalog.with_declared(own, {"ANTHROPIC_CUSTOM_MODEL_OPTION": "x"}) is own


async def test_the_program_asks_a_declared_model_for_what_it_can(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url, ANTHROPIC_DEFAULT_SONNET_MODEL="deployment-7")
        await program.run("-p", "hi", "--model", "sonnet", "--effort", "high")
        able = {"ANTHROPIC_DEFAULT_SONNET_MODEL_SUPPORTED_CAPABILITIES": "effort,adaptive_thinking"}
        await program.run("-p", "hi", "--model", "sonnet", "--effort", "high", **able)
        plain, declared = (asked.body for asked in server.requests)
    assert "output_config" not in plain and "thinking" not in plain
    assert declared["output_config"] == {"effort": "high"} and declared["thinking"]["type"] == "adaptive"


async def test_adaptive_thinking_can_be_given_a_budget_where_the_model_takes_one(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url, CLAUDE_CODE_DISABLE_ADAPTIVE_THINKING="1")
        for model in ("claude-opus-4-6", "claude-opus-5"):
            await program.run("-p", "hi", "--model", model)
        kinds = [asked.body["thinking"]["type"] for asked in server.requests]
    assert kinds == ["enabled", "adaptive"]

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.config.schema import Settings
from bridle.providers import catalog
from bridle.providers.model_listing import Choice, is_available, offer, offers, settled
from bridle.providers.nearest import nearest_models


def choice(tmp_path: Path, env: dict[str, str] | None = None, **raw: Any) -> Choice:
    settings = msgspec.convert(raw, Settings)
    return Choice(
        settings=settings,
        own=raw.get("bridleModels") or {},
        env={"CLAUDE_CONFIG_DIR": str(tmp_path), **(env or {})},
    )


def test_an_offer_tells_price_window_capabilities_and_key(tmp_path: Path):
    line = offer("gpt-5", choice(tmp_path, {"OPENAI_API_KEY": "k"}))
    assert (line.model, line.vendor, line.window, line.max_output) == (
        "openai/gpt-5",
        "openai",
        400_000,
        128_000,
    )
    assert (line.input_price, line.output_price) == (1.25, 10.0)
    assert line.capabilities == ("tools", "images", "pdf", "reasoning")
    assert (line.key, line.key_source) == ("present", "OPENAI_API_KEY")
    assert offer("gpt-5", choice(tmp_path)).key == "missing"
    assert offer("ollama/qwen3:8b", choice(tmp_path)).key == "not needed"
    assert offer("groq/not-known-here", choice(tmp_path)).input_price is None


def test_only_vendors_with_a_key_are_listed_unless_all_are_wanted(tmp_path: Path):
    usable = offers(choice(tmp_path, {"GROQ_API_KEY": "k"}))
    assert {line.vendor for line in usable if "/" in line.value} <= {"groq", "local"}
    assert "opus" in {line.value for line in usable}
    everything = offers(choice(tmp_path), everything=True)
    assert {"openai", "gemini", "groq", "deepseek"} <= {line.vendor for line in everything}
    assert {line.vendor for line in offers(choice(tmp_path), vendor="openai")} == {"openai"}


def test_own_models_and_aliases_are_offered(tmp_path: Path):
    own = {"fast": "groq/llama-3.1-8b-instant", "house": {"dialect": "chat", "baseUrl": "http://x/v1"}}
    values = {line.value: line.model for line in offers(choice(tmp_path, bridleModels=own))}
    assert values["fast"] == "groq/llama-3.1-8b-instant"
    assert values["house"] == "house"


@pytest.mark.parametrize(
    ("allowed", "name", "expected"),
    [
        (["sonnet"], "sonnet", True),
        (["sonnet"], "claude-sonnet-4-5", True),
        (["sonnet"], "opus", False),
        (["claude-opus-4"], "claude-opus-4-5-20251101", True),
        (["opus-4"], "claude-opus-4-6", True),
        (["openai/*"], "gpt-5", True),
        (["openai/*"], "sonnet", False),
        (["opus"], "default", True),
    ],
)
def test_available_models_name_aliases_ids_beginnings_and_globs(
    tmp_path: Path, allowed: list[str], name: str, expected: bool
):
    assert is_available(name, choice(tmp_path, availableModels=allowed)) is expected


def test_an_enforced_default_is_the_first_that_is_available(tmp_path: Path):
    free = choice(tmp_path, availableModels=["opus"])
    enforced = choice(tmp_path, availableModels=["opus"], enforceAvailableModels=True)
    assert (settled("default", free), settled("default", enforced)) == ("default", "opus")


def test_a_misspelled_name_has_near_ones():
    assert "openai/gpt-5" in nearest_models("gpt5")
    assert "sonnet" in nearest_models("sonet")
    assert nearest_models("zzzzqqqq") == ()


def test_opusplan_is_opus_in_plan_mode_and_sonnet_otherwise():
    assert catalog.planner("opusplan", {}) == catalog.resolve("opus", {})
    assert catalog.planner("mine", {}, {"mine": "opusplan"}) == catalog.resolve("opus", {})
    assert catalog.planner("sonnet", {}) is None
    assert catalog.resolve("opusplan", {}) == catalog.resolve("sonnet", {})
    assert catalog.resolve("best", {}) == catalog.resolve("fable", {})


def test_an_answer_never_takes_the_whole_of_a_small_window():
    small = catalog.find("ollama/tiny", {"ollama/tiny": {"contextWindow": 4096}})
    assert small.max_tokens == 1024

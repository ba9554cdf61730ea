from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.catalog import DIALECTS, MODELS, cost, find, normal, resolve, small_model
from bridle.types.errors import ConfigError
from bridle.types.model import Thinking
from bridle.types.usage import Usage


@pytest.mark.parametrize(
    ("name", "input", "output"),
    [
        ("claude-sonnet-4-5", 3, 15),
        ("claude-sonnet-4-5-20250929", 3, 15),
        ("claude-sonnet-4-6", 3, 15),
        ("claude-sonnet-4-20250514", 3, 15),
        ("claude-sonnet-4-0", 3, 15),
        ("claude-haiku-4-5-20251001", 1, 5),
        ("claude-opus-4-5", 5, 25),
        ("claude-opus-4-6", 5, 25),
        ("claude-opus-4-1-20250805", 15, 75),
        ("claude-opus-4-20250514", 15, 75),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", 3, 15),
        ("claude-sonnet-4-5@20250929", 3, 15),
        ("anthropic/claude-sonnet-4.5", 3, 15),
        ("claude-3-7-sonnet-latest", 3, 15),
    ],
)
def test_ids_find_their_family_and_its_price(name: str, input: float, output: float):
    model = find(name)
    assert (model.id, model.input_price, model.output_price, model.priced) == (name, input, output, True)


@pytest.mark.parametrize("name", ["claude-opus-4-9", "claude-sonnet-9-20990101", "claude-new", "gpt-x", ""])
def test_models_nobody_knows_are_usable_and_their_price_is_not_guessed(name: str):
    model = find(name)
    assert (model.priced, model.input_price, model.output_price) == (False, 0, 0)
    assert model.context_window >= 100_000
    assert model.max_tokens == 32_000


def test_the_default_answer_length_is_that_of_the_model():
    assert find("claude-sonnet-4-5").max_tokens == 32_000
    assert find("claude-opus-4-6").max_tokens == 64_000
    assert find("claude-opus-5").max_tokens == 128_000
    assert all(model.max_tokens <= model.max_output for model in MODELS)


def test_the_long_window_is_a_suffix():
    assert find("claude-sonnet-4-5").context_window == 200_000
    long = find("claude-sonnet-4-5[1m]")
    assert (long.id, long.context_window, long.input_price) == ("claude-sonnet-4-5[1m]", 1_000_000, 3)


def test_each_way_of_thinking_has_its_default():
    assert find("claude-opus-4-6").default_thinking() == Thinking("adaptive")
    assert find("claude-sonnet-4-5").default_thinking() == Thinking("enabled")
    assert find("claude-3-5-haiku").default_thinking() is None


def test_the_cost_of_a_call_counts_every_kind_of_token():
    usage = Usage(
        input=1_000_000,
        output=1_000_000,
        cache_read=1_000_000,
        cache_write_5m=1_000_000,
        cache_write_1h=1_000_000,
        web_searches=3,
    )
    model = find("claude-haiku-4-5")
    assert cost(model, usage) == pytest.approx(1 + 5 + 0.1 + 1.25 + 2 + 0.03)


def test_long_prompts_cost_more_where_the_vendor_says_so():
    model = find("claude-sonnet-4-5")
    assert cost(model, Usage(input=200_000, output=1000)) == pytest.approx(0.6 + 0.015)
    assert cost(model, Usage(input=200_001, output=1000)) == pytest.approx(1.2 + 0.0225, rel=1e-4)


def test_the_offline_planner_is_free_and_says_what_it_is():
    model = find("offline")
    assert (model.dialect, model.priced, cost(model, Usage(input=10**9, output=10**9))) == (
        "offline",
        True,
        0,
    )
    assert "not a language model" in model.label


OWN: dict[str, Any] = {
    "my-model": {"inputPrice": 2, "outputPrice": 4, "contextWindow": 50_000, "maxOutput": 4_000},
    "claude-sonnet-4-5": {"inputPrice": 1, "cacheWritePrice": 8, "cacheReadPrice": 0.5, "unknown": True},
    "thinker": {"thinking": True},
}


def test_users_add_models():
    model = find("my-model", OWN)
    assert (model.input_price, model.output_price, model.priced) == (2, 4, True)
    assert (model.cache_read_price, model.cache_write_price, model.cache_write_1h_price) == (0.2, 2.5, 4)
    assert (model.context_window, model.max_output, model.max_tokens) == (50_000, 4_000, 4_000)
    assert find("thinker", OWN).default_thinking() == Thinking("enabled")


def test_users_change_models():
    model = find("claude-sonnet-4-5-20250929", OWN)
    assert (model.input_price, model.output_price) == (1, 15)
    assert (model.cache_read_price, model.cache_write_price) == (0.5, 8)
    assert model.context_window == 200_000


@pytest.mark.parametrize("entry", [5, {"inputPrice": "dear"}, {"thinking": "maybe"}])
def test_an_entry_that_cannot_be_read_is_named(entry: Any):
    with pytest.raises(ConfigError, match="my-model"):
        find("my-model", {"my-model": entry})


@pytest.mark.parametrize("alias", ["sonnet", "opus", "haiku", "fable", "default", "opusplan", "", "Sonnet"])
def test_every_alias_is_a_known_model(alias: str):
    name = resolve(alias, {})
    assert name.startswith("claude-")
    assert find(name).priced


@pytest.mark.parametrize(
    ("alias", "env", "expected"),
    [
        ("sonnet", {"ANTHROPIC_DEFAULT_SONNET_MODEL": "s"}, "s"),
        ("opus", {"ANTHROPIC_DEFAULT_OPUS_MODEL": "o"}, "o"),
        ("haiku", {"ANTHROPIC_DEFAULT_HAIKU_MODEL": "h", "ANTHROPIC_SMALL_FAST_MODEL": "f"}, "h"),
        ("haiku", {"ANTHROPIC_SMALL_FAST_MODEL": "f"}, "f"),
        ("opusplan", {"ANTHROPIC_DEFAULT_SONNET_MODEL": "s"}, "s"),
        ("default", {"ANTHROPIC_MODEL": "m", "ANTHROPIC_DEFAULT_MODEL": "d"}, "m"),
        ("default", {"ANTHROPIC_DEFAULT_MODEL": "d"}, "d"),
        ("default", {"ANTHROPIC_MODEL": "opus", "ANTHROPIC_DEFAULT_OPUS_MODEL": "o"}, "o"),
        ("default", {"ANTHROPIC_MODEL": "default", "ANTHROPIC_DEFAULT_SONNET_MODEL": "s"}, "s"),
        ("sonnet[1m]", {"ANTHROPIC_DEFAULT_SONNET_MODEL": "s"}, "s[1m]"),
        ("sonnet[1m]", {"ANTHROPIC_DEFAULT_SONNET_MODEL": "s[1m]"}, "s[1m]"),
        ("x[1m]", {"CLAUDE_CODE_DISABLE_1M_CONTEXT": "1"}, "x"),
        ("offline", {}, "offline"),
        ("Some-Model", {}, "Some-Model"),
    ],
)
def test_aliases_are_resolved_with_the_environment(alias: str, env: dict[str, str], expected: str):
    assert resolve(alias, env) == expected


def test_planning_uses_the_larger_model():
    env = {"ANTHROPIC_DEFAULT_OPUS_MODEL": "o", "ANTHROPIC_DEFAULT_SONNET_MODEL": "s"}
    assert resolve("opusplan", env, planning=True) == "o"


def test_small_questions_go_to_the_small_model():
    assert small_model({"ANTHROPIC_SMALL_FAST_MODEL": "f"}) == "f"
    assert "haiku" in small_model({})


@given(st.text(max_size=40))
def test_any_text_has_a_model(text: str):
    assert find(text).id == text
    assert normal(normal(text)) == normal(normal(normal(text)))


def test_every_model_speaks_a_dialect_that_exists():
    assert {model.dialect for model in MODELS} == set(DIALECTS)

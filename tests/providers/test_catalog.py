from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.catalog import DIALECTS, MODELS, cost, find, listed, normal, resolve, small_model
from bridle.types.errors import ConfigError
from bridle.types.model import Thinking
from bridle.types.usage import Usage
from tests.tables import table


@table(
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
    assert find("claude-opus-5").max_tokens == 64_000
    assert find("claude-opus-5-5").max_tokens == 128_000
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


@table(
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
    assert small_model({}, find("vertex/gemini-2.5-pro")) == "vertex/gemini-2.5-flash"


@pytest.mark.parametrize("cloud", ["vertex", "bedrock", "mantle", "anthropic-aws"])
def test_small_questions_of_a_claude_in_a_cloud_stay_with_it(cloud: str):
    main = f"{cloud}/claude-sonnet-4-5"
    assert small_model({}, find(main)) == main


@given(st.text(max_size=40))
def test_any_text_has_a_model(text: str):
    assert find(text).id == text
    assert normal(normal(text)) == normal(normal(normal(text)))


def test_every_model_speaks_a_dialect_that_exists():
    assert {model.dialect for model in listed()} <= set(DIALECTS)


def test_models_of_other_vendors_are_named_with_their_vendor():
    model = find("openai/gpt-5-2025-08-07")
    assert (model.vendor, model.dialect, model.wire_name) == ("openai", "responses", "gpt-5-2025-08-07")
    assert (model.input_price, model.output_price, model.cache_read_price) == (1.25, 10, 0.125)
    assert model.context_window == 400_000 and model.tools and model.images and model.documents
    assert model.default_thinking() == Thinking("adaptive") and "high" in model.efforts


def test_whoever_serves_a_known_model_its_facts_are_found():
    routed = find("openrouter/anthropic/claude-sonnet-4.5")
    assert (routed.vendor, routed.dialect, routed.wire_name) == (
        "openrouter",
        "chat",
        "anthropic/claude-sonnet-4.5",
    )
    assert (routed.input_price, routed.thinking) == (3, "budget")
    assert find("openrouter/openai/gpt-5").input_price == 1.25
    assert find("openrouter/openai/gpt-5:free").input_price == 0
    assert find("azure/gpt-5").context_window == 400_000
    assert find("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0").input_price == 3
    assert find("vertex/gemini-2.5-pro").documents


def test_models_at_home_are_small_and_cost_nothing():
    model = find("ollama/qwen3:8b")
    assert (model.vendor, model.wire_name, model.priced) == ("ollama", "qwen3:8b", True)
    assert (model.context_window, model.input_price, model.images) == (32_768, 0, False)


def test_a_prefix_that_is_no_vendor_is_part_of_the_name():
    model = find("somebody/their-model")
    assert (model.vendor, model.wire_name) == ("anthropic", "somebody/their-model")


def test_a_bare_name_that_one_vendor_has_finds_its_vendor():
    assert resolve("gpt-5", {}) == "openai/gpt-5"
    assert resolve("grok-4.5", {}) == "xai/grok-4.5"
    assert resolve("gpt-5", {"ANTHROPIC_BASE_URL": "http://gateway"}) == "gpt-5"
    assert resolve("gpt-oss-120b", {}) == "cerebras/gpt-oss-120b"


def test_users_have_aliases_of_their_own():
    own = {"fast": "groq/llama-3.3-70b-versatile", "best": "opus"}
    assert resolve("fast", {}, own=own) == "groq/llama-3.3-70b-versatile"
    assert resolve("best", {}, own=own) == resolve("opus", {})
    assert find("fast", own).id == "fast"


def test_users_describe_models_of_services_of_their_own():
    own: dict[str, Any] = {
        "mine": {
            "dialect": "chat",
            "baseUrl": "http://127.0.0.1:1/v1",
            "keyEnv": "MINE_KEY",
            "name": "qwen3",
            "contextWindow": 40_000,
            "capabilities": ["tools", "reasoning"],
        }
    }
    model = find("mine", own)
    assert (model.vendor, model.dialect, model.wire_name) == ("custom", "chat", "qwen3")
    assert (model.tools, model.images, model.thinking) == (True, False, "adaptive")
    assert model.access is not None and model.access.key_env == "MINE_KEY"


def test_an_address_of_its_own_never_gets_the_key_of_another():
    model = find("mine", {"mine": {"baseUrl": "http://127.0.0.1:1"}})
    assert (model.vendor, model.dialect) == ("custom", "anthropic")


def test_small_questions_stay_with_the_vendor_of_the_session():
    assert small_model({}, find("openai/gpt-5")) == "openai/gpt-5-mini"
    assert small_model({}, find("ollama/qwen3:8b")) == "ollama/qwen3:8b"
    assert small_model({"ANTHROPIC_DEFAULT_HAIKU_MODEL": "h"}, find("openai/gpt-5")) == "h"
    assert "haiku" in small_model({}, find("claude-opus-5"))


def test_every_model_that_is_listed_makes_sense():
    for model in listed():
        assert 0 < model.max_tokens <= model.max_output <= model.context_window
        assert model.input_price >= 0 and model.cache_read_price <= model.input_price
    assert len({model.id for model in listed()}) == len(listed()) > 100


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-unheard-of-9", False),
        ("claude-unheard-of-9[1m]", True),
        ("my-gateway-model", False),
        ("mine", True),
        ("ollama/unheard-of", False),
        ("openai/gpt-5", True),
    ],
)
def test_it_is_known_whether_the_size_of_a_window_is(name: str, known: bool):
    assert find(name, {"mine": {"contextWindow": 50_000}}).window_known is known

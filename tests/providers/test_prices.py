"""Prices: every model has one, the cache has its own, and the user's file comes first."""

import json
from pathlib import Path

import pytest

from bridle.providers import catalog
from bridle.providers.prices import PRICES
from bridle.types.errors import ConfigError
from bridle.types.usage import Usage
from tests.tables import table

_FREE = {"offline", "openrouter/openrouter/auto", "zai/glm-4.5-flash", "zai/glm-4.7-flash"}
"""The built-in planner, a name that stands for whatever model the service chooses, and what costs nothing."""


def test_every_model_of_the_catalog_has_a_price():
    without = {
        model.id
        for model in catalog.listed()
        if not (model.priced and model.input_price > 0 and model.output_price > 0)
        and not model.id.startswith("local/")
    }
    assert without - _FREE == set()


def test_every_alias_leads_to_a_model_with_a_price():
    named = {catalog.find(catalog.resolve(alias, {})).id for alias in catalog.ALIASES}
    assert named <= PRICES.keys()


@table(
    "name, each, long",
    [
        ("claude-fable-5-2", (8, 40, 0.2, 10, 16), None),
        ("claude-fable-5-1", (10, 50, 0.25, 12.5, 20), None),
        ("claude-opus-5-5", (4, 20, 0.2, 5, 8), None),
        ("claude-opus-5", (5, 25, 0.5, 6.25, 10), None),
        ("claude-sonnet-5-5", (2, 10, 0.1, 2.5, 4), None),
        ("claude-sonnet-5", (2, 10, 0.2, 2.5, 4), None),
        ("claude-haiku-5-5", (0.1, 0.5, 0.01, 0.125, 0.2), (0.5, 2.5, 0.05)),
        ("claude-haiku-4-5-20251001", (1, 5, 0.1, 1.25, 2), None),
    ],
)
def test_prices_of_the_cache_and_of_long_prompts_differ_by_model(
    name: str, each: tuple[float, ...], long: tuple[float, ...] | None
):
    model = catalog.find(name)
    used = (
        Usage(input=10_000), Usage(output=10_000), Usage(cache_read=10_000), Usage(cache_write_5m=10_000),
        Usage(cache_write_1h=10_000),
    )  # fmt: skip
    found = [catalog.cost(model, each) * 100 for each in used]
    assert found == pytest.approx(each)
    if long is not None:
        size = 150_000
        read = catalog.cost(model, Usage(input=size))
        both = catalog.cost(model, Usage(input=size, output=10_000))
        cached = catalog.cost(model, Usage(cache_read=size))
        assert (read / 0.15, (both - read) * 100, cached / 0.15) == pytest.approx(long)


def test_the_users_file_of_prices_comes_first_and_settings_before_it(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    (tmp_path / "bridle").mkdir()
    entry = {
        "inputPrice": 1,
        "outputPrice": 2,
        "cacheReadPrice": 0.5,
        "cacheWrite1hPrice": 9,
        "longPrompts": [5, 2, 3],
    }
    own = {"claude-opus-5-5": entry, "mine": {"inputPrice": 3, "outputPrice": 4}}
    (tmp_path / "bridle" / "prices.json").write_text(json.dumps(own))
    found = catalog.with_declared({"claude-opus-5-5": {"outputPrice": 7}}, env)
    model = catalog.find("claude-opus-5-5", found)
    assert (model.input_price, model.output_price, model.cache_read_price) == (1, 7, 0.5)
    assert (model.cache_write_1h_price, model.long_prompts and model.long_prompts.above) == (9, 5)
    assert catalog.find("mine", found).priced


def test_a_broken_file_of_prices_is_named(tmp_path: Path):
    (tmp_path / "bridle").mkdir()
    (tmp_path / "bridle" / "prices.json").write_text("[1]")
    with pytest.raises(ConfigError, match=r"prices\.json cannot be used"):
        catalog.with_declared({}, {"CLAUDE_CONFIG_DIR": str(tmp_path)})

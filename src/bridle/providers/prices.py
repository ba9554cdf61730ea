"""What Anthropic's models cost: the one table of prices, with its date and source.

A user's own prices stand in `~/.claude/bridle/prices.json`, in the form of the setting `bridleModels`,
or in that setting itself.
"""

import os
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.host import paths
from bridle.host.files import read_bytes
from bridle.providers.facts import LongPrompts
from bridle.types.errors import ConfigError

AS_OF = "2026-11-19"
SOURCE = "Anthropic's list prices, as Claude Code 2.1.325 counts them; other vendors: their list prices"
OWN_FILE = "prices.json"
_LARGEST = 1_000_000


class Price(Struct, frozen=True):
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write_5m: float
    cache_write_1h: float
    long_prompts: LongPrompts | None = None


def _usual(input: float, output: float, *, read: float = 0.1, long: LongPrompts | None = None) -> Price:
    """Writing to the cache costs 1.25 and 2 times the input; reading from it `read` times."""
    return Price(input, output, round(input * read, 6), input * 1.25, input * 2, long)


_FROM_200K = LongPrompts(200_000, 2.0, 1.5)

PRICES: Mapping[str, Price] = {
    "claude-fable-5-2": _usual(8, 40, read=0.025),
    "claude-fable-5-1": _usual(10, 50, read=0.025),
    "claude-fable-5": _usual(10, 50),
    "claude-opus-5-5": _usual(4, 20, read=0.05),
    "claude-opus-5": _usual(5, 25),
    "claude-opus-4-8": _usual(5, 25),
    "claude-opus-4-7": _usual(5, 25),
    "claude-opus-4-6": _usual(5, 25),
    "claude-opus-4-5": _usual(5, 25),
    "claude-opus-4-1": _usual(15, 75),
    "claude-opus-4": _usual(15, 75),
    "claude-sonnet-5-5": _usual(2, 10, read=0.05),
    "claude-sonnet-5": _usual(2, 10),
    "claude-sonnet-4-6": _usual(3, 15),
    "claude-sonnet-4-5": _usual(3, 15, long=_FROM_200K),
    "claude-sonnet-4": _usual(3, 15, long=_FROM_200K),
    "claude-haiku-5-5": _usual(0.1, 0.5, long=LongPrompts(100_000, 5.0, 5.0)),
    "claude-haiku-4-5": _usual(1, 5),
    "claude-3-7-sonnet": _usual(3, 15),
    "claude-3-5-sonnet": _usual(3, 15),
    "claude-3-5-haiku": _usual(0.8, 4),
}


def price_fields(name: str) -> dict[str, Any]:
    """The fields of a model of this table."""
    price = PRICES[name]
    return {
        "input_price": price.input,
        "output_price": price.output,
        "cache_read_price": price.cache_read,
        "cache_write_price": price.cache_write_5m,
        "cache_write_1h_price": price.cache_write_1h,
        "long_prompts": price.long_prompts,
    }


def own_prices(env: Mapping[str, str]) -> dict[str, Any]:
    """What the user's file of prices says, by model; nothing where there is no file.

    Raises:
        ConfigError: the file cannot be read.
    """
    path = os.path.join(paths.bridle_dir(env), OWN_FILE)
    try:
        return msgspec.json.decode(read_bytes(path, _LARGEST), type=dict[str, dict[str, Any]])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError, msgspec.ValidationError) as error:
        raise ConfigError(
            f"{path} cannot be used: {error}. It is an object such as "
            '{"claude-opus-5-5": {"inputPrice": 4, "outputPrice": 20}}; fix it or remove it.'
        ) from error

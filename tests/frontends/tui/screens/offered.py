"""Models as they are offered."""

from typing import Any

from bridle.providers.model_listing import ModelListing


def offered(value: str, model: str = "", **facts: Any) -> ModelListing:
    """A model of which nothing is known but what the test says."""
    known: dict[str, Any] = {
        "vendor": "anthropic", "service": "anthropic", "window": 200_000, "max_output": 32_000,
        "input_price": None, "output_price": None, "capabilities": (), "efforts": (), "key": "missing",
        **facts,
    }  # fmt: skip
    return ModelListing(value=value, model=model or value, **known)

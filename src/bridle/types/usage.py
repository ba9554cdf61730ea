"""Tokens that a model call used, and what they cost."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct


class Usage(Struct, frozen=True):
    """Token counts of one or more model calls."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write_5m: int = 0
    cache_write_1h: int = 0
    web_searches: int = 0
    thinking: int = 0
    """The part of `output` that is thinking, where the service says so."""
    fast: bool = False
    """It was served in fast mode, which costs more; a sum does not know any more."""

    @classmethod
    def from_api(cls, usage: Mapping[str, Any]) -> "Usage":
        """Read the API's `usage` object; absent and null counts are zero."""
        created: Mapping[str, Any] = usage.get("cache_creation") or {}
        written = usage.get("cache_creation_input_tokens") or 0
        long_lived = created.get("ephemeral_1h_input_tokens") or 0
        server: Mapping[str, Any] = usage.get("server_tool_use") or {}
        written_as: Mapping[str, Any] = usage.get("output_tokens_details") or {}
        return cls(
            input=usage.get("input_tokens") or 0,
            output=usage.get("output_tokens") or 0,
            cache_read=usage.get("cache_read_input_tokens") or 0,
            cache_write_5m=max(0, written - long_lived),
            cache_write_1h=long_lived,
            web_searches=server.get("web_search_requests") or 0,
            thinking=written_as.get("thinking_tokens") or 0,
            fast=usage.get("speed") == "fast",
        )

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write_5m + other.cache_write_5m,
            self.cache_write_1h + other.cache_write_1h,
            self.web_searches + other.web_searches,
            self.thinking + other.thinking,
        )

    def __sub__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input - other.input,
            self.output - other.output,
            self.cache_read - other.cache_read,
            self.cache_write_5m - other.cache_write_5m,
            self.cache_write_1h - other.cache_write_1h,
            self.web_searches - other.web_searches,
            self.thinking - other.thinking,
        )

    @property
    def context(self) -> int:
        """Tokens that the call put before the model."""
        return self.input + self.cache_read + self.cache_write_5m + self.cache_write_1h

    def to_api(self) -> dict[str, Any]:
        return {
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cache_creation_input_tokens": self.cache_write_5m + self.cache_write_1h,
            "cache_read_input_tokens": self.cache_read,
            "server_tool_use": {"web_search_requests": self.web_searches},
            "service_tier": "standard",
            "cache_creation": {
                "ephemeral_1h_input_tokens": self.cache_write_1h,
                "ephemeral_5m_input_tokens": self.cache_write_5m,
            },
        }


class Measured(Struct, frozen=True):
    """What a service said of one request, and what our own scale says of the same conversation."""

    tokens: int
    """In the request and its answer."""
    units: int
    """Of the conversation with that answer."""
    ratio: float
    """Tokens per unit in this conversation, with this model."""


class ModelSpend(Struct, frozen=True):
    """All that one model has cost so far."""

    usage: Usage = Usage()
    usd: float = 0.0
    context_window: int = 0
    max_output: int = 0

    def less(self, before: "ModelSpend") -> "ModelSpend":
        """What has been added since."""
        return ModelSpend(
            self.usage - before.usage, self.usd - before.usd, self.context_window, self.max_output
        )

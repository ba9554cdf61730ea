"""A service of models: its address, its key, and how it differs from the dialect that it speaks."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

KeyHeader = Literal["authorization", "x-api-key", "api-key", "x-goog-api-key"]
Switch = Literal["none", "effort", "type", "nested", "template"]
"""How thinking is asked for: not at all, `reasoning_effort`, `thinking.type`, `reasoning.effort`, or an
argument of the chat template."""


class Quirks(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """How a service differs from the plain form of its dialect; each can be set in `bridleModels`."""

    limit_field: str = "max_tokens"
    """What the chat dialect calls the bound of an answer."""
    stream_usage: bool = True
    """Whether usage at the end of a stream must be, and can be, asked for."""
    system_role: Literal["system", "developer"] = "system"
    parallel_calls: bool | None = None
    """Sent as `parallel_tool_calls` unless None."""
    strict: bool | None = None
    """Sent as `strict` with every tool unless None."""
    images: bool = True
    documents: bool = False
    """Whether PDF files may be sent."""
    thoughts: Literal["", "reasoning_content", "reasoning", "reasoning_details"] = ""
    """The field in which earlier reasoning of the same model is sent back."""
    thoughts_required: bool = False
    """Whether an answer with calls is refused when that field is missing."""
    switch: Switch = "none"
    short_ids: bool = False
    """Whether ids of calls must be nine letters or digits."""
    user_after_result: bool = True
    """Whether a user message may follow the results of calls."""
    cache_marks: bool = False
    """Whether prefixes are marked for caching where the model behind takes marks."""
    cache_key: bool = False
    """Whether requests of one session carry a key that keeps them together in the cache."""
    tool_mode: Literal["native", "schema"] = "native"
    """How calls are made: with the service's own means, or by holding every answer to a JSON schema."""
    recover_calls: bool = False
    """Whether a call that stands in the text of an answer counts as one."""
    experimental: bool = False
    """Whether beta features of the Messages API may be used."""


class Vendor(Struct, frozen=True, kw_only=True):
    """A service of models; `url` is empty where only a variable can tell it."""

    name: str
    label: str
    dialect: str
    url: str = ""
    url_env: tuple[str, ...] = ()
    root: str = ""
    """The path below which it answers, for an address in a variable that names only a host."""
    key_env: tuple[str, ...] = ()
    key_header: KeyHeader = "authorization"
    token_env: tuple[str, ...] = ()
    """Variables with a token for `Authorization`, which counts before the key."""
    key_needed: bool = True
    is_home: bool = False
    """Anthropic's own service, or a gateway in its place: what `ANTHROPIC_*` variables say holds there."""
    unguarded_env: str = ""
    """A variable that is set when a gateway in between adds the credentials."""
    serves_anthropic: bool = False
    """Whether it is a place for Anthropic's models, where `ANTHROPIC_CUSTOM_HEADERS` hold too."""
    headers: tuple[tuple[str, str], ...] = ()
    dialect_elsewhere: str = ""
    """Spoken instead when a variable names another address, where the newer dialect may be unknown."""
    small: str = ""
    """Its model for small questions on the side."""
    window: int = 128_000
    """The context of a model that the catalog does not know."""
    output: int = 16_384
    patience: float = 90.0
    """Seconds of silence that are normal; a model at home may read a long prompt for minutes."""
    quirks: Quirks = Quirks()


class CloudCommands(Struct, frozen=True, kw_only=True):
    """What the settings say about the credentials of clouds; None where they say nothing."""

    aws_refresh: str | None = None
    """`awsAuthRefresh`: renews what is in ~/.aws."""
    aws_export: str | None = None
    """`awsCredentialExport`: prints credentials as JSON."""
    gcp_refresh: str | None = None
    """`gcpAuthRefresh`: renews Google's application default credentials."""


HOME = Vendor(
    name="anthropic",
    label="Anthropic",
    dialect="anthropic",
    url="https://api.anthropic.com",
    url_env=("ANTHROPIC_BASE_URL",),
    key_env=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"),
    key_header="x-api-key",
    serves_anthropic=True,
    is_home=True,
    quirks=Quirks(experimental=True),
)
"""Stands here and not in the table, which most sessions never need."""


def request_id(headers: Mapping[str, str]) -> str | None:
    """What a service calls an exchange, for those who ask it what happened."""
    return headers.get("request-id") or headers.get("x-request-id")

"""Every dialect with a vendor that speaks it, and a provider that asks a fake of that vendor."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from bridle.providers.connect import Providers
from bridle.providers.dialects.aws_event_stream import write
from bridle.types.errors import ProviderError
from bridle.types.history import History
from bridle.types.model import BlockClosed, ModelEvent, ModelRequest, Provider, ToolDefinition
from tests.fakes.bedrock_server import CREDENTIALS, AwsMessagesApi, BedrockApi, MessagesApi, VertexApi
from tests.fakes.converse_server import ConverseApi
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Api, ModelServer, Script
from tests.fakes.openai_server import ChatApi, ResponsesApi

_KEY = "test-key"
_TOKEN = {"CLOUDSDK_AUTH_ACCESS_TOKEN": _KEY, "ANTHROPIC_VERTEX_PROJECT_ID": "p1"}
_AWS = {
    "AWS_ACCESS_KEY_ID": CREDENTIALS.access_key,
    "AWS_SECRET_ACCESS_KEY": CREDENTIALS.secret_key,
    "AWS_SESSION_TOKEN": CREDENTIALS.session_token or "",
    "AWS_REGION": "eu-central-1",
}


class Case(NamedTuple):
    """A dialect, who speaks it, and where it differs in what it can carry."""

    model: str
    api: Callable[[], Api]
    env: Mapping[str, str]
    """Variables; {} stands for the address of the server."""
    own: Mapping[str, Mapping[str, str]] = {}
    unknown: bytes = b'event: brand_new\ndata: {"type":"brand_new","delta":{"x":1}}\n\n'
    whole_calls: bool = False
    """Calls come in one piece."""

    def variables(self, url: str) -> dict[str, str]:
        return {name: value.replace("{}", url) for name, value in self.env.items()}

    def entries(self, url: str) -> dict[str, Any]:
        return {
            name: {key: value.replace("{}", url) for key, value in entry.items()}
            for name, entry in self.own.items()
        }


CASES: Mapping[str, Case] = {
    "chat": Case(
        "openai/gpt-5",
        ChatApi,
        {"OPENAI_BASE_URL": "{}/v1", "OPENAI_API_KEY": _KEY},
        unknown=b'data: {"id":"x","object":"brand.new","choices":[]}\n\n',
    ),
    "azure": Case(
        "azure/gpt-5",
        ChatApi,
        {"AZURE_OPENAI_ENDPOINT": "{}", "AZURE_OPENAI_API_KEY": _KEY},
        unknown=b'data: {"id":"","choices":[],"prompt_filter_results":[]}\n\n',
    ),
    "responses": Case(
        "openai/gpt-5",
        ResponsesApi,
        {"OPENAI_API_KEY": _KEY},
        {"openai/gpt-5": {"baseUrl": "{}/v1"}, "openai/gpt-5-mini": {"baseUrl": "{}/v1"}},
        unknown=b'event: response.brand_new\ndata: {"type":"response.brand_new","delta":{"x":1}}\n\n',
    ),
    "gemini": Case(
        "gemini/gemini-2.5-pro",
        GeminiApi,
        {"GOOGLE_GEMINI_BASE_URL": "{}/v1beta", "GEMINI_API_KEY": _KEY},
        unknown=b'data: {"brandNew":{"x":1}}\r\n\r\n',
        whole_calls=True,
    ),
    "vertex-gemini": Case(
        "vertex/gemini-2.5-pro",
        lambda: GeminiApi(header="authorization", value=f"Bearer {_KEY}"),
        {"ANTHROPIC_VERTEX_BASE_URL": "{}/v1", **_TOKEN},
        unknown=b'data: {"brandNew":{"x":1}}\r\n\r\n',
        whole_calls=True,
    ),
    "vertex-claude": Case(
        "vertex/claude-sonnet-4-5",
        VertexApi,
        {"ANTHROPIC_VERTEX_BASE_URL": "{}/v1", **_TOKEN},
    ),
    "bedrock": Case(
        "bedrock/claude-sonnet-4-5",
        BedrockApi,
        {"ANTHROPIC_BEDROCK_BASE_URL": "{}", **_AWS},
        unknown=write({":event-type": "brandNew", ":message-type": "event"}, b"{}"),
    ),
    "converse": Case(
        "bedrock/amazon.nova-pro-v1:0",
        ConverseApi,
        {"ANTHROPIC_BEDROCK_BASE_URL": "{}", **_AWS},
        unknown=write({":event-type": "brandNew", ":message-type": "event"}, b"{}"),
    ),
    "mantle": Case(
        "mantle/claude-sonnet-4-5",
        lambda: AwsMessagesApi("bedrock-mantle", name="anthropic."),
        {"ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "{}/anthropic", **_AWS},
    ),
    "anthropic-aws": Case(
        "anthropic-aws/claude-sonnet-4-5",
        lambda: AwsMessagesApi("aws-external-anthropic", workspace="w1"),
        {"ANTHROPIC_AWS_BASE_URL": "{}", "ANTHROPIC_AWS_WORKSPACE_ID": "w1", **_AWS},
    ),
    "messages": Case(
        "minimax/minimax-m2",
        MessagesApi,
        {"MINIMAX_BASE_URL": "{}", "MINIMAX_API_KEY": _KEY},
    ),
    "anthropic": Case(
        "claude-sonnet-4-5",
        MessagesApi,
        {"ANTHROPIC_BASE_URL": "{}", "ANTHROPIC_API_KEY": _KEY},
    ),
}


class Bench:
    """A provider and the server that it asks."""

    def __init__(self, name: str, server: ModelServer) -> None:
        self.case = CASES[name]
        self.name = name
        self.server = server
        self.made = Providers(self.case.variables(server.url), self.case.entries(server.url))

    @property
    def provider(self) -> Provider:
        return self.made

    def request(self, *messages: Any, **fields: Any) -> ModelRequest:
        asked: tuple[Any, ...] = messages or ({"role": "user", "content": "list the python files"},)
        history = History.of(*asked)
        given: dict[str, Any] = {"model": self.case.model, "max_tokens": 1000, "tools": TOOLS, **fields}
        return ModelRequest(history=history, **given)

    async def ask(self, step: Script, request: ModelRequest | None = None) -> list[ModelEvent]:
        self.server.script(step)
        async with asyncio.timeout(50):
            return [event async for event in self.provider.stream(request or self.request())]

    async def fail(self, step: Script, request: ModelRequest | None = None) -> ProviderError:
        with pytest.raises(ProviderError) as caught:
            await self.ask(step, request)
        return caught.value


TOOLS: tuple[ToolDefinition, ...] = (
    {
        "name": "Read",
        "description": "Read a file.",
        "input_schema": {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "file_path": {"type": "string"},
                "limit": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}},
            },
            "required": ["file_path"],
            "additionalProperties": False,
            "$defs": {"Tag": {"type": "object", "properties": {"kind": {"const": "x"}}}},
        },
    },
    {"name": "Stop", "description": "Stop.", "input_schema": {"type": "object", "properties": {}}},
)


def blocks_of(events: list[ModelEvent]) -> list[Any]:
    """What the whole blocks of an answer mean, whoever wrote them."""
    return [plain(event.block) for event in events if isinstance(event, BlockClosed)]


def plain(block: Any) -> Any:
    match block["type"]:
        case "thinking":
            return {"type": "thinking", "thinking": block["thinking"]}
        case _:
            return {key: value for key, value in block.items() if key != "bridle"}

"""A test call: one small request that shows whether a model answers and calls tools."""

import time
from collections.abc import Mapping

from msgspec import Struct

from bridle.config.load import Config
from bridle.providers import catalog
from bridle.session.parts.provider import provider_of
from bridle.types.block import text_of
from bridle.types.errors import UsageError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, ToolDefinition
from bridle.types.usage import Usage

_SCHEMA = {"type": "object", "properties": {"word": {"type": "string"}}, "required": ["word"]}
_TOOL: ToolDefinition = {"name": "report", "description": "Report a word.", "input_schema": _SCHEMA}
_CALLED = {True: "it called the tool", False: "it did not call the tool", None: ""}


class ModelAnswer(Struct, frozen=True, kw_only=True):
    """What a model made of a test call."""

    model: str
    seconds: float
    called: bool | None
    """Whether it called the tool; None for a model that was given none."""
    text: str
    usd: float | None
    """None where the price is not known."""

    def __str__(self) -> str:
        price = "price not known" if self.usd is None else f"${self.usd:.6f}"
        parts = (f"{self.model} answered in {self.seconds:.1f} s", _CALLED[self.called], price)
        return ", ".join(part for part in parts if part)


async def ask_once(config: Config, env: Mapping[str, str], model: str) -> ModelAnswer:
    """Send one request with a tool, with one retry.

    Raises:
        BridleError: the model cannot be asked or does not answer.
    """
    known = catalog.find(model, config.raw.get("bridleModels") or {})
    request = ModelRequest(
        model=model,
        history=History.of({"role": "user", "content": "Call the tool `report` with the word ready."}),
        tools=(_TOOL,) if known.tools and known.dialect != "offline" else (),
        max_tokens=min(1024, known.max_output),
        cache=False,
    )
    provider = provider_of(config, {**env, "CLAUDE_CODE_MAX_RETRIES": "1"}, model)
    begun = time.monotonic()
    try:
        async for event in provider.stream(request):
            if isinstance(event, Completed):
                content = event.message["content"]
                called = any(block["type"] == "tool_use" for block in content)
                usage = Usage.from_api(event.message["usage"])
                return ModelAnswer(
                    model=model,
                    seconds=round(time.monotonic() - begun, 3),
                    called=called if request.tools else None,
                    text=text_of(content)[:200],
                    usd=catalog.cost(known, usage) if known.priced else None,
                )
    finally:
        await provider.close()
    raise UsageError(f"{model} gave no answer")

"""WebFetch as tests call it, with a small model that keeps what it was asked."""

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path

from bridle.tools.web.web_fetch import TOOL, WebFetchInput
from bridle.types.block import AssistantMessage
from bridle.types.tool import Consultation, ToolOutput
from tests.fakes.tool_context import make_context

LOCAL = {"BRIDLE_WEBFETCH_ALLOW_LOCAL": "1", "NO_PROXY": "*", "no_proxy": "*"}


class FakeReader:
    """The small model: keeps what it was asked and answers with the same words."""

    def __init__(self, answer: str = "It is blue.") -> None:
        self.asked: list[Consultation] = []
        self._answer = answer

    async def __call__(self, consultation: Consultation) -> AssistantMessage:
        self.asked.append(consultation)
        return {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "small",
            "content": [{"type": "text", "text": self._answer}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {},
        }

    @property
    def page(self) -> str:
        """The page inside the fence of the last question."""
        found = re.search(r"<(page-\w+)>\n(.*)\n</\1>", self.asked[-1].prompt, re.DOTALL)
        assert found
        return found[2]


async def fetch(
    tmp_path: Path, url: str, *, reader: FakeReader | None = None, env: Mapping[str, str] = LOCAL
) -> ToolOutput:
    ctx = make_context(tmp_path, consult=reader or FakeReader(), env=env)
    async with asyncio.timeout(50):
        return await TOOL.run(WebFetchInput(url, "What color is the sky?"), ctx)

"""WebSearch asks the model service to search, and gives back links and what they say."""

from pathlib import Path
from typing import Any

import pytest

from bridle.tools.web.web_search import TOOL, WebSearchInput
from bridle.types.block import AssistantMessage
from bridle.types.errors import ProviderError, ToolError
from bridle.types.tool import Consultation, ToolOutput
from tests.fakes.tool_context import make_context


class FakeService:
    """Keeps what it was asked and answers with the given blocks."""

    def __init__(self, *blocks: Any) -> None:
        self.asked: list[Consultation] = []
        self._blocks = list(blocks)

    async def __call__(self, consultation: Consultation) -> AssistantMessage:
        self.asked.append(consultation)
        return {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "main",
            "content": self._blocks,
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {},
        }


def says(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def searches(query: str) -> dict[str, Any]:
    return {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": query}}


def finds(*links: tuple[str, str]) -> dict[str, Any]:
    hits = [
        {"type": "web_search_result", "title": title, "url": url, "encrypted_content": "x"}
        for title, url in links
    ]
    return {"type": "web_search_tool_result", "tool_use_id": "s1", "content": hits}


def fails(code: str) -> dict[str, Any]:
    content = {"type": "web_search_tool_result_error", "error_code": code}
    return {"type": "web_search_tool_result", "tool_use_id": "s1", "content": content}


async def search(
    tmp_path: Path,
    service: FakeService,
    *,
    limit: str = "",
    allowed_domains: list[str] | None = None,
    blocked_domains: list[str] | None = None,
) -> ToolOutput:
    env = {"CLAUDE_CODE_MAX_WEB_SEARCHES_PER_SESSION": limit}
    ctx = make_context(tmp_path, consult=service, env=env)
    return await TOOL.run(WebSearchInput("sky", allowed_domains, blocked_domains), ctx)


async def test_links_and_text_come_back_in_their_order(tmp_path: Path):
    service = FakeService(
        says("I look."),
        searches("sky"),
        finds(("Sky", "https://a.example/1"), ("", "https://b.example/2")),
        says("It is "),
        says("blue."),
    )

    output = await search(tmp_path, service)

    seconds = output.data.pop("durationSeconds")
    assert seconds >= 0
    assert output.data == {
        "query": "sky",
        "results": [
            "I look.",
            {
                "tool_use_id": "s1",
                "content": [
                    {"title": "Sky", "url": "https://a.example/1"},
                    {"title": "https://b.example/2", "url": "https://b.example/2"},
                ],
            },
            "It is blue.",
        ],
    }
    text = str(output.content)
    assert text.index("I look.") < text.index("- [Sky](https://a.example/1)") < text.index("It is blue.")


async def test_the_service_gets_its_own_search_tool(tmp_path: Path):
    service = FakeService(finds())
    await search(tmp_path, service)
    await search(tmp_path, service, allowed_domains=["a.example"])
    await search(tmp_path, service, blocked_domains=["b.example"])

    plain = {"type": "web_search_20250305", "name": "web_search", "max_uses": 8}
    assert [asked.tools for asked in service.asked] == [
        (plain,),
        ({**plain, "allowed_domains": ["a.example"]},),
        ({**plain, "blocked_domains": ["b.example"]},),
    ]
    assert {asked.role for asked in service.asked} == {"main"}
    assert "sky" in service.asked[0].prompt


def test_domains_are_allowed_or_blocked_but_not_both(tmp_path: Path):
    with pytest.raises(ToolError):
        TOOL.check(WebSearchInput("sky", ["a.example"], ["b.example"]), make_context(tmp_path))
    TOOL.check(WebSearchInput("sky", ["a.example"], []), make_context(tmp_path))


async def test_a_search_that_fails_is_named(tmp_path: Path):
    with pytest.raises(ToolError, match="too_many_requests"):
        await search(tmp_path, FakeService(searches("sky"), fails("too_many_requests"), says("Sorry.")))


async def test_one_failed_search_among_others_is_mentioned(tmp_path: Path):
    output = await search(
        tmp_path, FakeService(fails("max_uses_exceeded"), finds(("Sky", "https://a.example/")))
    )
    assert output.data["results"][0] == "Web search error: max_uses_exceeded"
    assert "max_uses_exceeded" in str(output.content)
    assert "https://a.example/" in str(output.content)


async def test_an_answer_without_a_search_is_not_passed_off_as_one(tmp_path: Path):
    with pytest.raises(ToolError):
        await search(tmp_path, FakeService(says("From memory: blue.")))


async def test_a_service_that_fails_is_an_error_for_the_model(tmp_path: Path):
    async def broken(consultation: Consultation) -> AssistantMessage:
        raise ProviderError(f"no answer to {consultation.prompt}")

    with pytest.raises(ToolError, match="no answer"):
        await TOOL.run(WebSearchInput("sky"), make_context(tmp_path, consult=broken))


async def test_a_session_has_a_number_of_searches(tmp_path: Path):
    service = FakeService(finds())
    for _ in range(2):
        await search(tmp_path, service, limit="2")
    with pytest.raises(ToolError, match="2"):
        await search(tmp_path, service, limit="2")
    assert len(service.asked) == 2
    await search(tmp_path, service)


async def test_two_hundred_searches_are_the_default(tmp_path: Path):
    count = tmp_path / "storage" / "web-searches"
    count.parent.mkdir()
    count.write_bytes(b"." * 200)
    with pytest.raises(ToolError):
        await search(tmp_path, FakeService(finds()))


async def test_long_text_is_bounded(tmp_path: Path):
    output = await search(
        tmp_path, FakeService(finds(("t" * 9_000, "https://a.example/")), says("x" * 200_000))
    )
    assert len(output.content) < 60_000


def test_it_reads_only_and_is_ruled_by_the_query():
    input = WebSearchInput("sky")
    assert (TOOL.subject(input), TOOL.read_only(input), TOOL.parallel(input)) == ("sky", True, True)

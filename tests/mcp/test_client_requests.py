import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from bridle.mcp.catalog import ServerTool
from bridle.mcp.client_requests import ClientRequests, RequestContext
from bridle.types.errors import McpError
from bridle.types.hooks.environment import Elicitation, ElicitationResult
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import Elicited, HookOutcome, NoHooks
from bridle.types.question import (
    Answer,
    ElicitationQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
    Supplied,
)
from tests.fakes.mcp_session import FakePerson, connected, plain

_FORM: dict[str, Any] = {
    "message": "Who?",
    "requestedSchema": {"type": "object", "properties": {"a": {"default": 1}, "b": {"type": "string"}}},
}


class FakeHooks(NoHooks):
    """Answers each event by its name."""

    def __init__(self, **outcomes: HookOutcome) -> None:
        self._outcomes = outcomes
        self.heard: list[HookEvent] = []

    def listens_to(self, event: str) -> bool:
        return True

    async def fire(self, event: HookEvent) -> HookOutcome:
        self.heard.append(event)
        return self._outcomes.get(type(event).__name__, HookOutcome())


def _requests(person: FakePerson, hooks: NoHooks | None = None) -> ClientRequests:
    held = hooks or NoHooks()
    return ClientRequests("s", RequestContext(roots=lambda: ("/a b", "/c"), ask=person, hooks=lambda: held))


@pytest.mark.parametrize(
    ("answer", "result"),
    [
        (Supplied(action="accept", content={"b": "x"}), {"action": "accept", "content": {"a": 1, "b": "x"}}),
        (Supplied(action="decline"), {"action": "decline"}),
        (Refused(message="no"), {"action": "decline"}),
        (Refused(message="nobody", by_person=False), {"action": "cancel"}),
        (Permitted(), {"action": "cancel"}),
    ],
)
async def test_question_of_a_server_is_put_to_the_person(answer: Answer, result: dict[str, Any]):
    person = FakePerson(answer)
    assert await _requests(person).elicit(_FORM) == result
    assert person.asked == [
        ElicitationQuestion(server="s", message="Who?", mode="form", schema=_FORM["requestedSchema"])
    ]


async def test_page_is_shown_with_its_whole_address():
    person = FakePerson(Supplied(action="accept"))
    page = {"mode": "url", "message": "Look", "url": "https://x.example/?a=b", "elicitationId": "e"}
    assert await _requests(person).elicit(page) == {"action": "accept"}
    assert person.asked == [
        ElicitationQuestion(
            server="s", message="Look", mode="url", url="https://x.example/?a=b", elicitation_id="e"
        )
    ]


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"message": 5, "requestedSchema": {}},
        {"message": "x"},
        {"mode": "url", "message": "x", "url": "file:///etc/passwd"},
        {"mode": "url", "message": "x", "url": "javascript:alert(1)"},
    ],
)
async def test_question_that_cannot_be_shown_is_refused_unasked(params: Mapping[str, Any]):
    person = FakePerson()
    with pytest.raises(McpError) as caught:
        await _requests(person).elicit(params)
    assert (caught.value.code, person.asked) == (-32602, [])


async def test_hook_answers_in_the_persons_place():
    hooks = FakeHooks(Elicitation=HookOutcome(elicited=Elicited("accept", {"b": "hook"})))
    person = FakePerson()
    assert await _requests(person, hooks).elicit(_FORM) == {
        "action": "accept",
        "content": {"a": 1, "b": "hook"},
    }
    assert person.asked == []
    asked, answered = hooks.heard
    assert isinstance(asked, Elicitation) and (asked.server, asked.message, asked.mode) == (
        "s",
        "Who?",
        "form",
    )
    assert isinstance(answered, ElicitationResult) and answered.content == {"b": "hook"}


async def test_hook_refuses_a_question_or_changes_its_answer():
    blocking = FakeHooks(Elicitation=HookOutcome(block="no"))
    assert await _requests(FakePerson(), blocking).elicit(_FORM) == {"action": "decline"}
    changing = FakeHooks(ElicitationResult=HookOutcome(elicited=Elicited("cancel")))
    person = FakePerson(Supplied(action="accept", content={}))
    assert await _requests(person, changing).elicit(_FORM) == {"action": "cancel"}
    holding = FakeHooks(ElicitationResult=HookOutcome(block="no"))
    person = FakePerson(Supplied(action="accept", content={}))
    assert await _requests(person, holding).elicit(_FORM) == {"action": "decline"}


async def test_working_folders_are_told():
    answer = await _requests(FakePerson()).answers()["roots/list"]({})
    assert answer == {"roots": [{"uri": "file:///a%20b", "name": "a b"}, {"uri": "file:///c", "name": "c"}]}


async def test_models_are_asked_for_servers_only_with_consent():
    async def sample(server: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        return {"model": "m", "content": {"type": "text", "text": server}}

    assert "sampling/createMessage" not in _requests(FakePerson()).answers()
    assert "sampling" not in _requests(FakePerson()).capabilities()
    person = FakePerson(Permitted(), Refused(message="no"))
    attendant = ClientRequests("s", RequestContext(roots=tuple, ask=person, sample=sample))
    assert "sampling" in attendant.capabilities()
    answer = attendant.answers()["sampling/createMessage"]
    assert (await answer({"messages": []}))["content"]["text"] == "s"
    with pytest.raises(McpError, match="denied"):
        await answer({"messages": []})
    assert isinstance(person.asked[0], PermissionQuestion) and person.asked[0].input == {"messages": []}


async def test_call_that_needs_a_page_is_repeated_when_the_page_is_done():
    class Visitor(FakePerson):
        async def __call__(self, question: Question) -> Answer:
            answer = await super().__call__(question)
            connection = servers._find("s")
            connection._requests.complete("another")
            asyncio.get_running_loop().call_soon(connection._requests.complete, "e1")
            return answer

    person = Visitor(Supplied(action="accept"), Supplied(action="decline"))
    async with asyncio.timeout(50), connected(plain(), person=person) as servers:
        # The server wants the page again, and the person has had enough.
        with pytest.raises(McpError, match="was not opened") as caught:
            await servers._find("s").call(_tool("url"), {})
        assert caught.value.code == -32042 and len(person.asked) == 2


def _tool(name: str) -> ServerTool:
    return ServerTool(full_name=name, name=name, description="", schema_json=b"{}")

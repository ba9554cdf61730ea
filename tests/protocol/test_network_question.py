import asyncio
from typing import Any

from bridle.frontends.stdio.channel import HostChannel
from bridle.protocol.control import ControlExchange, ControlResponse, Frame
from bridle.protocol.frames import Framer
from bridle.protocol.init_frame import InitFacts
from bridle.types.origin import Origin
from bridle.types.question import NetworkQuestion, Permitted, Refused

QUESTION = NetworkQuestion(host="registry.example", port=443)


class FakeHost:
    """Answers every request with the same words."""

    def __init__(self, answer: dict[str, Any], *, asks: bool = True) -> None:
        self.asked: list[Any] = []
        self._answer = answer
        self._letters = ControlExchange(self._take)
        framer = Framer(InitFacts(session_id="s", api_key_source="none"))
        self.channel = HostChannel(self._take, framer, self._letters, asks=asks, cwd=lambda: "/")

    def _take(self, frame: Frame) -> None:
        if frame["type"] == "control_request":
            self.asked.append(frame["request"])
            answer = ControlResponse(frame["request_id"], self._answer)
            asyncio.get_running_loop().call_soon(self._letters.take, answer)


async def test_the_host_decides_whether_a_confined_command_may_reach_a_machine():
    update = QUESTION.suggestions[0]
    host = FakeHost({"behavior": "allow", "updatedPermissions": [update]})

    assert await host.channel.ask(QUESTION) == Permitted(updates=(update,), origin=Origin(source="host"))
    (asked,) = host.asked
    assert (asked["subtype"], asked["tool_name"]) == ("can_use_tool", "SandboxNetworkAccess")
    assert asked["input"] == {"host": "registry.example"}
    assert asked["permission_suggestions"] == list(QUESTION.suggestions)
    assert "registry.example:443" in asked["description"]


async def test_what_the_host_refuses_stays_unreached():
    host = FakeHost({"behavior": "deny", "message": "not this one"})

    assert await host.channel.ask(QUESTION) == Refused(message="not this one", origin=Origin(source="host"))


async def test_a_host_that_answers_nothing_is_not_asked():
    host = FakeHost({}, asks=False)

    assert isinstance(await host.channel.ask(QUESTION), Refused)
    assert host.asked == []

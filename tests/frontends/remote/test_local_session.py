"""A running session, seen and steered from elsewhere: within what the user here allows (S5)."""

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.server import Inbox, Server
from bridle.features.teams.inbound import Inbound
from bridle.frontends.remote.channel import SharedChannel
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.local_session import LocalSession, LocalSessionParts
from bridle.permissions.rules import parse
from bridle.protocol.frames import Framer
from bridle.protocol.init_frame import InitFacts
from bridle.providers.scripted import calls, says
from bridle.types.command import Command, Reach, Says
from bridle.types.event import ModeChanged, Noticed, TurnFinished
from bridle.types.ids import new_uuid
from bridle.types.origin import TYPED
from bridle.types.permission import Effect
from bridle.types.question import Permitted, Refused
from bridle.types.tool import ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from tests.fakes.agents import EchoInput
from tests.fakes.engine import FakeChannel, make_runtime, make_session, requests
from tests.fakes.processes import eventually


class Commands:
    """A few commands by name."""

    def __init__(self, **reaches: Reach) -> None:
        self._known = {name: _command(name, reach) for name, reach in reaches.items()}

    def all(self) -> tuple[Command, ...]:
        return tuple(self._known.values())

    def find(self, name: str) -> Command | None:
        return self._known.get(name)

    def nearest(self, name: str) -> str | None:
        del name
        return None


class Scene:
    def __init__(self, folder: Path, script: Sequence[Any], local: FakeChannel | None = None) -> None:
        self.local = local or FakeChannel(Refused(message="nobody", by_person=False))
        self.channel = SharedChannel(self.local, here="the terminal")
        self.session = make_session(mode="default")
        self.inbox = Inbox()
        runtime = make_runtime(folder, script, _writer(), channel=self.local)
        self.server = Server(self.session, runtime, self.inbox)
        modes = ("default", "acceptEdits", "plan", "bypassPermissions")
        gate = msgspec.structs.replace(self.server.runtime.gate, modes=modes)
        self.server.change(channel=self.channel, gate=gate)
        inbound = Inbound(
            self.session,
            storage=lambda: str(folder / "storage"),
            inbound=lambda: "accept",
            deliver=self.server.submit,
            env={"HOME": str(folder)},
        )
        facts = InitFacts(session_id="s1", api_key_source="none")
        self.means = LocalSessionParts(
            framer=lambda: Framer(facts, partial=True, replay=True), inbound=inbound, name=lambda: "desk"
        )
        self.shared = LocalSession(self.session, self.server, self.means)
        self.channel.share(self.shared)

    def act(self, **wish: Any) -> Mapping[str, Any]:
        return self.shared.shared_session.act({"id": new_uuid(), **wish}, "Phone")

    def frames(self) -> list[Any]:
        log = self.shared.shared_session.log
        lines = log.since(log.epoch, 0, most=10**9)
        assert lines is not None
        return [json.loads(line)["frame"] for line in lines]

    def question(self) -> Any:
        return next((each for each in self.frames() if each["type"] == "control_request"), None)


@asynccontextmanager
async def running(
    folder: Path, script: Sequence[Any], local: FakeChannel | None = None
) -> AsyncGenerator[Scene]:
    scene = Scene(folder, script, local)
    serving = asyncio.create_task(scene.server.serve(wait_for_tasks=0, say_waiting=lambda _: None))
    try:
        yield scene
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)


async def test_a_prompt_from_elsewhere_runs_like_a_typed_one_and_is_told_to_all(tmp_path: Path):
    async with running(tmp_path, [says("Hello.")]) as scene:
        assert scene.act(do="prompt", text="hi") == {"queued": False}
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        assert requests(scene.server.runtime)[0].messages[-1]["content"] == "hi"
        kinds = [each["type"] for each in scene.frames()]
        assert {"user", "assistant", "result"} <= set(kinds)
        assert Noticed("From Phone, by remote control:", "notice") in scene.local.events
        states = [each["busy"] for each in scene.frames() if each.get("subtype") == "remote_state"]
        assert states == [True, False]


async def test_a_question_is_answered_from_elsewhere_and_the_call_runs(tmp_path: Path):
    async with running(tmp_path, [says(calls("mcp__t__write", text="x")), says("Done.")]) as scene:
        scene.act(do="prompt", text="write")
        await eventually(scene.question)
        asked = scene.question()
        assert asked["request"]["input"] == {"text": "x"}
        said = {"do": "answer", "request_id": asked["request_id"], "digest": asked["digest"]}
        assert scene.act(**said, behavior="allow") == {"counted": True}
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        assert "wrote x" in str(requests(scene.server.runtime)[-1].messages[-1])
        with pytest.raises(RequestRefused, match="Phone was first: allowed"):
            scene.act(**said, behavior="deny")


async def test_a_denying_rule_that_came_meanwhile_beats_an_approval_from_elsewhere(tmp_path: Path):
    """S1: what comes from elsewhere passes the same gate."""
    async with running(tmp_path, [says(calls("mcp__t__write", text="x")), says("Done.")]) as scene:
        scene.act(do="prompt", text="write")
        await eventually(scene.question)
        asked = scene.question()
        scene.session.swap(rules=(parse("mcp__t__write", Effect.DENY, "session"),))
        said = {"do": "answer", "request_id": asked["request_id"], "digest": asked["digest"]}
        scene.act(**said, behavior="allow")
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        assert "wrote" not in str(requests(scene.server.runtime)[-1].messages[-1])


async def test_the_person_here_may_be_first(tmp_path: Path):
    class Slow(FakeChannel):
        answer = asyncio.Event()

        async def ask(self, question: Any) -> Any:
            self.questions.append(question)
            await self.answer.wait()
            return Permitted()

    local = Slow()
    async with running(tmp_path, [says(calls("mcp__t__write", text="x")), says("Done.")], local) as scene:
        scene.act(do="prompt", text="write")
        await eventually(scene.question)
        local.answer.set()
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        closed = next(each for each in scene.frames() if each["type"] == "control_cancel_request")
        assert closed["decided"] == {"by": "the terminal", "how": "allowed"}


async def test_an_interrupt_from_elsewhere_ends_the_turn(tmp_path: Path):
    async with running(tmp_path, [says(calls("mcp__t__write", text="x")), says("Done.")]) as scene:
        assert scene.act(do="interrupt") == {"interrupted": False}
        scene.act(do="prompt", text="write")
        await eventually(scene.question)
        assert scene.act(do="interrupt") == {"interrupted": True}
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        closed = next(each for each in scene.frames() if each["type"] == "control_cancel_request")
        assert closed["decided"] == {"by": "the session", "how": "withdrawn"}


@pytest.mark.parametrize("mode", ["bypassPermissions", "dontAsk", "bubble", "", "x" * 100])
async def test_modes_that_the_user_has_not_made_available_are_not_chosen_elsewhere(tmp_path: Path, mode: str):
    """S5."""
    async with running(tmp_path, []) as scene:
        with pytest.raises(RequestRefused):
            scene.act(do="mode", mode=mode)
        assert scene.session.state.mode == "default"


async def test_other_modes_may_be_chosen_and_everybody_hears_of_it(tmp_path: Path):
    async with running(tmp_path, []) as scene:
        assert scene.act(do="mode", mode="plan") == {"mode": "plan"}
        assert scene.session.state.mode == "plan"
        assert ModeChanged("plan") in scene.local.events
        (state,) = [each for each in scene.frames() if each.get("subtype") == "remote_state"]
        assert state["mode"] == "plan"
        assert "bypassPermissions" not in scene.shared.shared_session.listing()["modes"]


async def test_commands_that_widen_or_open_something_are_for_the_place_itself(tmp_path: Path):
    async with running(tmp_path, []) as scene:
        known = Commands(permissions="keyboard", clear="person", deploy="anyone")
        scene.server.change(commands=known)
        with pytest.raises(RequestRefused, match="/permissions can be used only where the session runs"):
            scene.act(do="prompt", text=" /permissions allow Bash")
        assert len(scene.inbox) == 0


@pytest.mark.parametrize("text", ["/clear", "/deploy now", "/etc/hosts is odd", "/unknown"])
async def test_other_commands_and_what_only_looks_like_one_may_come(tmp_path: Path, text: str):
    scene = Scene(tmp_path, [])
    scene.server.change(commands=Commands(clear="person", deploy="anyone"))
    scene.act(do="prompt", text=text)
    assert len(scene.inbox) == 1


async def test_a_prompt_that_stands_in_the_conversation_is_not_taken_again(tmp_path: Path):
    async with running(tmp_path, [says("Hello.")]) as scene:
        id = new_uuid()
        scene.shared.prompt("hi", id=id, who="Phone")
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        assert scene.shared.prompt("hi", id=id, who="Phone") == {"queued": False}
        assert len(scene.inbox) == 0


async def test_a_conversation_that_stood_already_is_seen_from_its_beginning(tmp_path: Path):
    async with running(tmp_path, [says("Hello.")]) as scene:
        scene.server.submit(Prompt(content="before", origin=TYPED))
        await scene.local.seen(lambda event: isinstance(event, TurnFinished))
        later = LocalSession(scene.session, scene.server, scene.means)
        assert b"before" in later.shared_session.snapshot() and b"Hello." in later.shared_session.snapshot()


def _command(name: str, reach: Reach) -> Command:
    async def run(arguments: str, context: Any) -> Says:
        del arguments, context
        return Says("done")

    return Command(name=name, description="", run=run, reach=reach)


def _writer() -> Any:
    @tool("mcp__t__write", EchoInput)
    async def write(input: EchoInput, ctx: ToolContext) -> ToolOutput:
        """Write."""
        del ctx
        return ToolOutput(content=f"wrote {input.text}", data={})

    return write

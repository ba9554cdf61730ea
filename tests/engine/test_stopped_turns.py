"""After a person has stopped the turn, calls that have not begun do not run."""

import asyncio
import json
import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from bridle.engine.loop import run_turn
from bridle.engine.texts import CALL_STOPPED
from bridle.providers.connect import Providers
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.event import ToolFinished, ToolStarted
from bridle.types.origin import TYPED
from bridle.types.question import Answer, PermissionQuestion, Permitted, Question, Refused
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program


class _Input(Struct, frozen=True):
    name: str


class _Person(FakeChannel):
    """Approves calls until one is named `stop`, which ends the turn."""

    async def ask(self, question: Question) -> Answer:
        self.questions.append(question)
        if isinstance(question, PermissionQuestion) and question.input["name"] == "stop":
            return Refused(message="No, stop.", interrupt=True)
        return Permitted()


def _tool(name: str, ran: list[str], *, reads: bool) -> Tool:
    @tool(name, _Input, subject=lambda input: input.name, read_only=reads, parallel=lambda _: reads)
    async def work(input: _Input, ctx: ToolContext) -> ToolOutput:
        """Note that it ran."""
        ran.append(input.name)
        return ToolOutput(content="done", data=None)

    return work


@pytest.mark.parametrize("behind", [("Change", "Change"), ("Change", "Look"), ("Look", "Look"), ("Missing",)])
async def test_a_refusal_that_stops_the_turn_leaves_the_calls_behind_it_unrun(
    tmp_path: Path, behind: tuple[str, ...]
):
    ran: list[str] = []
    tools = (_tool("Change", ran, reads=False), _tool("Look", ran, reads=True))
    uses = [calls("Change", name="before"), calls("Change", name="stop")]
    uses += [calls(name, name=f"behind {number}") for number, name in enumerate(behind)]
    channel, provider = _Person(), ScriptedProvider([says(*uses), says("Next.")])
    runtime = make_runtime(tmp_path, provider, *tools, channel=channel)
    session = make_session(mode="default")

    outcome = await run_turn(session, Prompt(content="go", origin=TYPED), runtime)

    assert (ran, outcome.reason) == (["before"], "aborted_tools")
    finished = channel.of(ToolFinished)
    assert len(finished) == len(channel.of(ToolStarted)) == len(uses)
    assert [event.result["content"] for event in finished[2:]] == [CALL_STOPPED] * len(behind)
    assert len(channel.questions) == 2, "nobody is asked about what will not run"
    await run_turn(session, Prompt(content="and now?", origin=TYPED), runtime)
    results = [block for message in provider.requests[-1].messages for block in message["content"]]
    assert sum(isinstance(each, dict) and each["type"] == "tool_result" for each in results) == len(uses)


@pytest.mark.parametrize("write", [0, 1], ids=["Send it again, complete", "byte by byte"])
async def test_calls_that_arrive_after_the_stop_do_not_run_either(tmp_path: Path, write: int):
    ran: list[str] = []
    names = ("stop", *(f"behind {number}" for number in range(5)))
    uses = [
        {"type": "tool_use", "id": f"call_{number}", "name": "Change", "input": {"name": name}}
        for number, name in enumerate(names)
    ]
    async with MessagesServer([step(*uses, write=write)]) as server:
        provider = Providers({"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "key"}, {})
        runtime = make_runtime(tmp_path, provider, _tool("Change", ran, reads=False), channel=_Person())
        session = make_session(mode="default")
        session.swap(model="claude-sonnet-4-5")
        try:
            async with asyncio.timeout(50):
                outcome = await run_turn(session, Prompt(content="go", origin=TYPED), runtime)
        finally:
            await provider.close()
    assert (ran, outcome.reason) == ([], "aborted_tools")


async def test_an_interrupt_leaves_calls_that_have_not_begun_unrun(tmp_path: Path):
    uses: list[Any] = [
        {"type": "tool_use", "id": f"call_{number}", "name": "Bash", "input": {"command": command}}
        for number, command in enumerate(("touch begun; sleep 600", "touch never", "cat never"))
    ]
    async with MessagesServer([step(*uses), step("Again.")]) as server:
        program = Program(tmp_path, server.url)
        process = await program.start("-p", "go", "--allowedTools", "Bash")
        assert process.stdin is not None
        process.stdin.close()
        await eventually((program.project / "begun").exists)
        process.send_signal(signal.SIGINT)
        async with asyncio.timeout(50):
            await process.communicate()
        done = await program.run("-p", "-c", "and now?", "--allowedTools", "Bash")
    assert process.returncode == 130 and done.out == "Again.\n"
    assert not (program.project / "never").exists()
    sent = json.dumps(server.requests[-1].body["messages"])
    assert sent.count("tool_result") == len(uses)

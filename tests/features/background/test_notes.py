"""What background work has to say joins the turn that runs, all in one, and nothing is told twice."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from bridle.engine.server import Inbox, Server
from bridle.features.background.feature import BackgroundFeature
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.types.event import TurnFinished, TurnStarted
from bridle.types.origin import TYPED, Origin
from bridle.types.services.tasks import Task
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool
from bridle.types.turn import Prompt
from bridle.types.workspace import Workspace
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.features import feature_context, with_feature
from tests.fakes.messages_server import MessagesServer, Received, Step, step
from tests.fakes.program import Program
from tests.fakes.tool_context import FakeTasks

_FRAME = "not a message from the user"


def _task(number: int, status: Any = "running") -> Task:
    return Task(
        id=f"b{number}",
        kind="local_bash",
        description=f"job {number}",
        call_id=f"c{number}",
        status=status,
        output_file=f"/out/{number}",
        started=0.0,
        exit_code=None if status == "running" else 0,
    )


class _Nothing(Struct, frozen=True):
    pass


class _World:
    """A session whose only tool lets background jobs end."""

    def __init__(self, folder: Path, *script: Any, ends: tuple[int, ...] = ()) -> None:
        self.channel = FakeChannel()
        self.inbox = Inbox()
        self.tasks = FakeTasks(*(_task(number) for number in range(1, 4)))
        self._ends = ends
        self.provider = ScriptedProvider(script)
        workspace = Workspace(str(folder), tasks=self.tasks)
        self.background = BackgroundFeature(
            feature_context(
                folder, workspace=workspace, wake=self.inbox.put, runtime=lambda: self.server.runtime
            )
        )
        runtime = msgspec.structs.replace(
            make_runtime(folder, self.provider, self._tool(), channel=self.channel), workspace=workspace
        )
        self.session = make_session()
        self.server = Server(self.session, with_feature(runtime, self.background), self.inbox)

    def end(self, number: int) -> None:
        ended = _task(number, "completed")
        self.tasks.change(ended)
        self.background.note_task(ended)

    async def serve(self) -> list[Any]:
        """Serve all that waits; the texts of the turns' answers."""
        self.inbox.close()
        async with asyncio.timeout(50):
            await self.server.serve(wait_for_tasks=0, say_waiting=print)
        return [event.outcome.text for event in self.channel.of(TurnFinished)]

    def last(self, request: int) -> str:
        """The newest message of a request."""
        return json.dumps(self.provider.requests[request].messages[-1])

    def _tool(self) -> Tool:
        @tool("Work", _Nothing, read_only=True)
        async def work(input: _Nothing, ctx: ToolContext) -> ToolOutput:
            """Let jobs end."""
            for number in self._ends:
                self.end(number)
            return ToolOutput(content="worked", data=None)

        return work


async def test_notes_join_the_running_turn_behind_the_next_result_in_one(tmp_path: Path):
    world = _World(tmp_path, says(calls("Work")), says("I see both."), ends=(1, 2))
    world.inbox.put(Prompt(content="go", origin=TYPED))

    assert await world.serve() == ["I see both."]

    message: Any = world.provider.requests[1].messages[-1]
    result, note = message["content"]
    assert result["type"] == "tool_result" and note["text"].count("<task-notification>") == 2
    assert note["text"].count(_FRAME) == 1 and note["text"].endswith("Still running: b3 (job 3).")
    (entry,) = [entry for entry in world.session.entries if _FRAME in json.dumps(entry)]
    assert entry["type"] == "user" and entry.get("isMeta")
    assert Origin.from_entry(entry.get("origin")) == Origin(source="job")


async def test_notes_that_wait_for_a_turn_of_their_own_come_in_one(tmp_path: Path):
    world = _World(tmp_path, says("Noted."))
    for number in (1, 2, 3):
        world.end(number)

    assert await world.serve() == ["Noted."]

    (started,) = world.channel.of(TurnStarted)
    assert started.meta and str(started.prompt).count("<task-notification>") == 3
    assert str(started.prompt).endswith("Nothing else is running in the background.")


async def test_a_prompt_of_the_user_goes_before_notes(tmp_path: Path):
    world = _World(tmp_path, says("first"), says("then"))
    world.end(1)
    world.inbox.put(Prompt(content="hello", origin=TYPED))

    assert await world.serve() == ["first", "then"]

    assert [event.prompt == "hello" for event in world.channel.of(TurnStarted)] == [True, False]


async def test_what_was_told_meanwhile_begins_no_turn(tmp_path: Path):
    world = _World(tmp_path, says("Noted."))
    world.end(1)
    world.end(2)
    world.tasks.tell("b1")

    assert await world.serve() == ["Noted."]
    assert "b2" in world.last(0) and "<task-id>b1" not in world.last(0)

    world.end(3)
    world.tasks.tell("b3")
    assert await world.serve() == ["Noted."]


async def test_a_job_that_ends_while_the_model_works_is_told_in_that_turn(tmp_path: Path):
    def work_on(request: Received) -> Step:
        (tmp_path / "project" / "go").touch()
        last = json.dumps(request.body["messages"][-1])
        if "<task-notification>" in last:
            assert _FRAME in last and "tool_result" in last
            return step("I heard of it.")
        server.script([work_on])
        return step(_use("Read", f"r{len(server.requests)}", file_path="a.txt"))

    async with MessagesServer([step(_background("until [ -e go ]; do sleep 0.02; done")), work_on]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "a.txt").write_text("x", encoding="utf-8")
        done = await program.run(
            "-p", "go", "--allowedTools", "Bash", "--output-format", "stream-json", "--verbose"
        )
    assert done.result["result"] == "I heard of it." and done.code == 0


async def test_what_task_output_has_told_is_not_told_again(tmp_path: Path):
    done = await _ask_about(tmp_path, "echo hi", lambda job: _use("TaskOutput", "o1", task_id=job))
    assert done == ("All is said.\n", 3)


async def test_a_job_that_the_model_stopped_is_not_told_of(tmp_path: Path):
    done = await _ask_about(tmp_path, "sleep 600", lambda job: _use("TaskStop", "s1", task_id=job))
    assert done == ("All is said.\n", 3)


async def _ask_about(folder: Path, command: str, then: Callable[[str], Any]) -> tuple[str, int]:
    """Start a job, do something about it, and answer: what was printed, and how many requests that took."""

    def follow(request: Received) -> Step:
        (found,) = re.findall(r"ID: (\w+)", json.dumps(request.body["messages"][-1]))[:1]
        return step(then(found))

    script = [step(_background(command)), follow, step("All is said.")]
    async with MessagesServer(script) as server:
        done = await Program(folder, server.url).run("-p", "go", "--allowedTools", "Bash")
    return done.out, len(server.requests)


def _background(command: str) -> Any:
    return _use("Bash", "b1", command=command, run_in_background=True)


def _use(name: str, id: str, **input: Any) -> Any:
    return {"type": "tool_use", "id": id, "name": name, "input": input}

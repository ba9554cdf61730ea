"""What `--verbose` tells about agents, parallel calls and turns that end without an answer."""

import os
from collections.abc import Sequence
from typing import Any

from bridle.frontends.print.narrator import Narrator
from bridle.host.streams import Output
from bridle.types.block import AssistantBlock, result_block, text_block
from bridle.types.event import (
    Answered,
    AssistantReplied,
    Event,
    FromAgent,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from bridle.types.services.tasks import Task
from bridle.types.turn import Outcome
from bridle.types.usage import Usage

_JOB = Task(
    id="a457", kind="local_agent", description="Explain the parser", call_id="c1", output_file="", started=0.0
)


async def _told(*events: Event) -> list[str]:
    read, write = os.pipe()
    output = Output(write)
    narrator = Narrator(output)
    for event in events:
        narrator.take(event)
    await output.drain()
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as lines:
        return lines.read().splitlines()


def _said(*blocks: AssistantBlock, display: str | None = None) -> AssistantReplied:
    message: Any = {"id": "m", "role": "assistant", "content": list(blocks)}
    return AssistantReplied(uuid="u", timestamp="", message=message, display=display)


def _call(id: str, tool: str, **input: Any) -> ToolStarted:
    return ToolStarted(call_id=id, tool=tool, input=input)


def _result(id: str, tool: str, text: str, data: Any = None) -> ToolFinished:
    result = result_block(id, text, is_error=False)
    return ToolFinished(uuid="u", timestamp="", tool=tool, result=result, data=data, seconds=0.0)


def _end(text: str = "", *, errors: Sequence[str] = ()) -> TurnFinished:
    return TurnFinished(
        Outcome(
            subtype="error_max_turns" if errors else "success",
            reason="max_turns" if errors else "completed",
            is_error=bool(errors),
            text=text,
            errors=tuple(errors),
            num_turns=1,
            duration_ms=0,
            duration_api_ms=0,
            usage=Usage(),
            total_cost_usd=0.0,
            spend={},
        )
    )


def _of_agent(description: str, event: Event) -> FromAgent:
    return FromAgent(call_id="c", agent_id="a", agent_type="Explore", description=description, event=event)


async def test_agents_and_jobs_are_told_by_what_they_do():
    stopped = Task(
        id="b1", kind="local_bash", description="Run\nthe suite", call_id="c2", output_file="", started=0.0,
        status="failed", exit_code=2,
    )  # fmt: skip
    assert await _told(
        TaskStarted(_JOB),
        _of_agent("Explain the parser", _call("c3", "Read", file_path="/a.py", limit=5)),
        _of_agent("List the tests", _call("c4", "Grep", pattern="def test")),
        _call("c5", "SendMessage", to="a457", message="Hurry."),
        TaskEnded(stopped),
    ) == [
        "  Explain the parser: Read(/a.py, limit: 5)",
        "  List the tests: Grep(def test)",
        "* SendMessage(to: Explain the parser, message: Hurry.)",
        '* background job "Run the suite" failed with exit code 2',
    ]  # fmt: skip


async def test_tasks_are_told_by_their_subjects():
    made = {"task": {"id": "1", "subject": "Rename it"}}
    lines = await _told(
        _call("c1", "TaskCreate", subject="Rename it"),
        _result("c1", "TaskCreate", "Task #1 created", made),
        _call("c2", "TaskUpdate", taskId="1", status="completed"),
    )
    assert lines[-1] == "* TaskUpdate(taskId: Rename it, status: completed)"


async def test_results_of_calls_that_run_together_say_whose_they_are():
    assert await _told(
        _call("c1", "Read", file_path="a"),
        _call("c2", "Read", file_path="b"),
        _result("c2", "Read", "text of b"),
        _result("c1", "Read", "text of a"),
    ) == ["* Read(a)", "* Read(b)", "  | text of b", "  Read(a):", "  | text of a"]  # fmt: skip


async def test_long_values_are_cut():
    (line,) = await _told(_call("c1", "Write", file_path="a", content="x" * 1000, more={"deep": ["y"] * 200}))
    assert line.startswith("* Write(a, content: xxx") and line.count("…") == 2
    assert len(line) < 160


async def test_the_answer_is_left_to_standard_output_and_other_words_are_told():
    answer = text_block("The answer.")
    assert (await _told(_said(answer), _end("The answer.")))[:-1] == []
    assert (await _told(_said(answer, display="Shown."), _end("The answer.")))[:-1] == []
    assert (await _told(_said(answer), Answered("The answer."), _end()))[:-1] == []
    assert (await _told(_said(answer), _call("c1", "Bash", command="ls")))[0] == "The answer."
    # Of what was said before a limit, standard output says nothing.
    assert (await _told(_said(answer), _end(errors=["Too many turns."])))[:-1] == ["The answer."]
    # A refusal that was asked again is no part of the answer.
    assert (await _told(_said(text_block("No.")), _said(answer), _end("The answer.")))[:-1] == ["No."]

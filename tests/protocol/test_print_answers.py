"""Print mode as a place of its own: what is printed, and what the model is offered and told there."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, Received, Step, fault, step
from tests.fakes.program import Program

_ALLOWED = ("--allowedTools", "Bash")
_WAIT = "until [ -e go ]; do sleep 0.02; done"
_STOP_ONCE = """grep -q '"stop_hook_active": *true' || echo '{"decision": "block", "reason": "Check it."}'"""
_WATCHED = ("AskUserQuestion", "ExitPlanMode", "EnterPlanMode", "TaskCreate", "TaskUpdate", "TodoWrite")


def _use(name: str, id: str = "c1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def _settings(**values: Any) -> tuple[str, str]:
    return "--settings", json.dumps(values)


def _then_a_note(folder: Path, answer: str) -> list[Any]:
    """A job that ends behind an answer, so that a turn of its own tells of it."""

    def reply(_: Received) -> Step:
        (folder / "project" / "go").touch()
        return step(answer)

    return [step(_use("Bash", command=_WAIT, run_in_background=True)), reply]


async def test_the_answer_of_every_turn_is_printed_as_soon_as_it_is_whole(tmp_path: Path):
    script = [
        step(_use("Bash", command=_WAIT, run_in_background=True)),
        step("The long report."),
        step("The job has ended."),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        process = await program.start("-p", "work", *_ALLOWED)
        assert process.stdout is not None and process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(60):
            first = await process.stdout.readline()
            (program.project / "go").touch()
            rest, _ = await process.communicate()
    assert (first, rest) == (b"The long report.\n", b"The job has ended.\n")
    assert process.returncode == 0


async def test_a_turn_without_an_answer_prints_nothing(tmp_path: Path):
    async with MessagesServer([*_then_a_note(tmp_path, "Done."), step(), step()]) as server:
        done = await Program(tmp_path, server.url).run("-p", "work", *_ALLOWED)
    assert (done.out, done.code) == ("Done.\n", 0)


async def test_an_answer_that_a_stop_hook_sends_back_is_printed_too(tmp_path: Path):
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": _STOP_ONCE}]}]}
    async with MessagesServer([step("The report."), step("Checked.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "work", *_settings(hooks=hooks))
    assert (done.out, done.code) == ("The report.\nChecked.\n", 0)


async def test_an_answer_in_two_pieces_is_printed_as_one(tmp_path: Path):
    script = [step("half a", message={"stop_reason": "max_tokens"}), step(" sentence.")]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "work")
    assert done.out == "half a sentence.\n"


async def test_what_there_is_of_an_endless_answer_is_printed_before_the_error(tmp_path: Path):
    script = [step("more ", message={"stop_reason": "max_tokens"})] * 4
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "work")
    assert done.out.startswith("more more more more \nThe answer kept hitting the output limit")
    assert done.code == 1


async def test_an_answer_stands_when_a_later_turn_fails(tmp_path: Path):
    refusal = fault(400, "invalid_request_error", "No more.")
    async with MessagesServer([*_then_a_note(tmp_path, "The report."), refusal]) as server:
        done = await Program(tmp_path, server.url).run("-p", "work", *_ALLOWED)
    assert done.out.startswith("The report.\n") and "No more." in done.out
    assert done.code == 1


async def test_the_result_object_is_that_of_the_last_turn_and_counts_turns(tmp_path: Path):
    async with MessagesServer([*_then_a_note(tmp_path, "One."), step("Two.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "work", *_ALLOWED, "--output-format", "json")
    result = json.loads(done.out)
    assert (result["result"], result["result_index"]) == ("Two.", 1)


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("search", ["true", "false"])
async def test_nothing_that_needs_a_watcher_is_offered_or_spoken_of(tmp_path: Path, form: str, search: str):
    async with MessagesServer([step("Hi.")]) as server:
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH=search)
        await program.run("-p", "hi", "--output-format", form)
    asked = server.requests[0].raw.decode()
    for name in (*_WATCHED, "ScheduleWakeup", "SendUserFile", "EndConversation"):
        assert name not in asked
    for words in ("The user watches", "rendered in", "keep a list"):
        assert words not in asked
    assert "Only your last message is printed" in asked


@pytest.mark.parametrize(
    ("flags", "env", "tool"),
    [
        ((), {"CLAUDE_CODE_ENABLE_TASKS": "1"}, "TaskCreate"),
        ((), {"CLAUDE_CODE_ENABLE_TASKS": "0"}, "TodoWrite"),
        (("--allowedTools", "TaskCreate,TaskUpdate"), {}, "TaskCreate"),
        (("--tools", "Read,TodoWrite"), {}, "TodoWrite"),
    ],
)
async def test_a_list_of_tasks_is_there_for_those_who_ask(
    tmp_path: Path, flags: tuple[str, ...], env: dict[str, str], tool: str
):
    async with MessagesServer([step("Hi.")]) as server:
        await Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="false").run("-p", "hi", *flags, **env)
    assert tool in [each["name"] for each in server.requests[0].body["tools"]]


async def test_in_plan_mode_the_answer_is_the_plan(tmp_path: Path):
    async with MessagesServer([step("1. Rename it.\n2. Test it.")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "plan it", "--permission-mode", "plan")
    asked = server.requests[0].raw.decode()
    assert done.out == "1. Rename it.\n2. Test it.\n"
    assert "Your answer is the plan" in asked and "Make no changes now" in asked
    assert not any(name in asked for name in ("AskUserQuestion", "ExitPlanMode", "/plans/"))


async def test_a_continued_plan_is_again_the_answer(tmp_path: Path):
    async with MessagesServer([step("1. Rename it."), step("1. Rename it well.")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "plan it", "--permission-mode", "plan")
        done = await program.run("-p", "-c", "change it", "--permission-mode", "plan")
    last = json.dumps(server.requests[1].body["messages"][-1])
    assert "Your answer is the plan" in last and "ExitPlanMode" not in last
    assert done.out == "1. Rename it well.\n"


@pytest.mark.parametrize(
    ("tool", "advice"),
    [
        ("ExitPlanMode", "your answer is the plan"),
        ("EnterPlanMode", "no one can approve"),
        ("AskUserQuestion", "Choose the most sensible reading"),
        ("TodoWrite", "no one follows a task list"),
        ("TaskCreate", "no one follows a task list"),
    ],
)
async def test_a_call_of_a_tool_for_people_is_answered_with_what_to_do_instead(
    tmp_path: Path, tool: str, advice: str
):
    def follow(request: Received) -> Step:
        said = json.dumps(request.body["messages"][-1])
        assert advice in said and "Available tools" not in said
        return step("Fine.")

    async with MessagesServer([step(_use(tool)), follow]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", "--permission-mode", "plan")
    assert done.out == "Fine.\n"


async def test_verbose_tells_values_last_lines_and_names_and_leaves_the_answer_to_standard_output(
    tmp_path: Path,
):
    def follow(request: Received) -> Step:
        (job,) = re.findall(r"ID: (\w+)", json.dumps(request.body["messages"][-1]))[:1]
        return step(
            _use("TaskOutput", "c3", task_id=job), _use("Grep", "c4", pattern="x", output_mode="count")
        )

    script = [
        step("First I look.", _use("Bash", command="seq 1 20")),
        step(_use("Bash", "c2", command="true", run_in_background=True, description="Build all of it")),
        follow,
        step("The answer."),
    ]
    async with MessagesServer(script) as server:
        done = await Program(tmp_path, server.url).run("-p", "work", *_ALLOWED, "--verbose")
    assert done.out == "The answer.\n" and "The answer." not in done.err
    lines = done.err.splitlines()
    assert lines[1:3] == ["First I look.", "* Bash(seq 1 20)"]
    assert lines[3:10] == ["  | … 14 earlier lines", *(f"  | {number}" for number in range(15, 21))]
    assert "* Bash(true, description: Build all of it, run_in_background: true)" in lines
    assert "* TaskOutput(Build all of it)" in lines
    assert "* Grep(x, output_mode: count)" in lines
    assert '* background job "Build all of it" completed' in lines

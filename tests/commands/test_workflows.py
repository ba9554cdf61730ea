"""/workflows, and workflow files as commands."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.commands.workflows import complete, workflows
from bridle.permissions.rules import parse
from bridle.providers.scripted import says
from bridle.types.command import Says, Shows
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Effect
from bridle.types.services.workflows import read_arguments
from tests.fakes.commanded import Commanded
from tests.fakes.processes import eventually
from tests.fakes.workflows import WorkflowSession, answer_of, save, workflow_session

_ENV = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}


class _Desk:
    """A command line for a session with workflows."""

    def __init__(self, made: WorkflowSession, commanded: Commanded) -> None:
        self.made = made
        self.context = commanded.context

    async def say(self, arguments: str) -> str:
        match await workflows(arguments, self.context):
            case Says(text=text) | Shows(text=text):
                return text
            case other:
                raise AssertionError(other)


@asynccontextmanager
async def _desk(folder: Path, scripts: dict[str, Any]) -> AsyncGenerator[_Desk]:
    async with workflow_session(folder, scripts, env=_ENV) as made:
        commanded = Commanded(folder)
        commanded.server.runtime = made.team.runtime
        yield _Desk(made, commanded)


async def test_runs_are_listed_with_what_can_be_run(tmp_path: Path):
    save(tmp_path, "saved", "return 1")
    async with _desk(tmp_path, {"a": [says("Found it.")]}) as desk:
        assert await desk.say("") == "No workflows have run in this session.\nSaved: /saved"
        task = await desk.made.finish(
            "phase('Look'); log('hello'); return await agent('<a>', {label: 'first'})"
        )
        listed = await desk.say("")
        details = await desk.say(task.id)
        assert complete(desk.context) == (task.id,)
    assert listed.startswith(f"{task.id}  completed  ") and "1 of 1 agents done" in listed
    assert "[Look] 1 done" in details and "1. first (done, model-a, 15 tokens, 0 calls" in details
    assert "> hello" in details and "Found it." in details


async def test_a_run_is_named_by_its_beginning_or_its_workflow(tmp_path: Path):
    async with _desk(tmp_path, {}) as desk:
        task = await desk.made.finish("return 1")
        assert task.id in await desk.say(task.id[:6]) and task.id in await desk.say("test")
        with pytest.raises(UsageError, match=f"Unknown workflow run nothing. Runs: {task.id}"):
            await desk.say("nothing")
        with pytest.raises(UsageError, match="Use /workflows"):
            await desk.say(f"{task.id} dance")
        with pytest.raises(UsageError, match="is completed"):
            await desk.say(f"{task.id} pause")


async def test_a_run_is_paused_gone_on_with_and_its_agents_directed(tmp_path: Path):
    never = asyncio.Event()
    scripts = {"a": [says("A", then=never.wait)], "b": [says("B")], "c": [says("C", then=never.wait)]}
    async with _desk(tmp_path, scripts) as desk:
        run_id = (
            await desk.made.start(
                "const a = await agent('<a>'); return [a, await agent('<b>'), await agent('<c>')]"
            )
        ).run_id
        await _asked(desk, "a")
        assert "Paused" in await desk.say(f"{run_id} pause")
        assert "paused" in await desk.say("")
        assert "Agent 1 (agent 1) is skipped." in await desk.say(f"{run_id} skip 1")
        assert "continues" in await desk.say(f"{run_id} resume")
        await _asked(desk, "c")
        assert "is stopped" in await desk.say(f"{run_id} stop 3")
        (task,) = await desk.made.team.over()
    assert answer_of(task) == '[null,"B",null]'


async def test_a_stopped_run_is_gone_on_with_where_it_was(tmp_path: Path):
    never = asyncio.Event()
    scripts = {"a": [says("A")], "b": [says("B", then=never.wait), says("B")]}
    async with _desk(tmp_path, scripts) as desk:
        run_id = (await desk.made.start("return [await agent('<a>'), await agent('<b>')]")).run_id
        await _asked(desk, "b")
        assert "Stopped" in await desk.say(f"{run_id} stop")
        assert "reusing 1 result" in await desk.say(f"{run_id} resume")
        _, task = await desk.made.team.over(2)
        assert len(desk.made.team.models.requests("a")) == 1
    assert answer_of(task) == '["A","B"]'


async def test_a_script_is_saved_and_not_replaced_unasked(tmp_path: Path):
    async with _desk(tmp_path, {}) as desk:
        task = await desk.made.finish("return 1")
        first = await desk.say(f"{task.id} save mine")
        with pytest.raises(ToolError, match="--force"):
            await desk.say(f"{task.id} save mine")
        assert await desk.say(f"{task.id} save mine --force") == first
        user = await desk.say(f"{task.id} save --user")
    assert first == f"Saved to {tmp_path / '.claude' / 'workflows' / 'mine.js'}."
    assert user == f"Saved to {tmp_path / 'home' / '.claude' / 'workflows' / 'test.js'}."


async def test_without_workflows_the_command_says_so(tmp_path: Path):
    with pytest.raises(UsageError, match="are off"):
        await workflows("", Commanded(tmp_path).context)


async def test_workflow_files_are_commands_with_their_source(tmp_path: Path):
    path = save(tmp_path, "saved", "return [args ?? 'none']", "Does much.")
    async with _desk(tmp_path, {}) as desk:
        (command,) = desk.made.workflows.commands()
        said = await command.run('{"n": 1}', desk.context)
        (task,) = await desk.made.team.over()
    assert (command.name, command.description, command.source, command.origin) == (
        "saved",
        "Does much.",
        "project",
        str(path),
    )
    assert isinstance(said, Says) and "The workflow saved is running in the background" in said.text
    assert answer_of(task) == '[{"n":1}]'
    assert task.result is not None and 'The user requested it with /saved {"n": 1}' in task.result


async def test_a_rule_against_a_workflow_counts_for_whoever_types_its_name(tmp_path: Path):
    save(tmp_path, "saved", "return 1")
    async with _desk(tmp_path, {}) as desk:
        (command,) = desk.made.workflows.commands()
        desk.context.session.swap(rules=(parse("Workflow(saved)", Effect.DENY, "policySettings"),))
        with pytest.raises(ToolError, match="is not allowed"):
            await command.run("", desk.context)


@pytest.mark.parametrize(
    ("text", "args"),
    [
        ("what is it?", "what is it?"),
        ('{"a": [1]}', {"a": [1]}),
        ("[1, 2]", [1, 2]),
        ("[x", "[x"),
        ("7", "7"),
    ],
)
def test_arguments_are_json_where_they_are_an_object_or_a_list(text: str, args: object):
    assert read_arguments(f" {text} ") == args


async def _asked(desk: _Desk, key: str) -> None:
    await eventually(lambda: desk.made.team.models.requests(key))

"""Workflows are turned off and on again while a session runs."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bridle.commands.models import choose_effort
from bridle.commands.workflows import workflows
from bridle.features.workflows.feature import OFF
from bridle.providers.scripted import calls, says
from bridle.types.command import Shows
from bridle.types.errors import ToolError, UsageError
from tests.fakes.commanded import Commanded
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.sse import tool_use
from tests.fakes.workflows import META, answer_of, save, workflow_session

_FAN = META + "return await parallel([0, 1].map(n => () => agent(`Do part ${n}.`)))"


async def test_while_they_are_off_no_run_begins_and_one_sentence_says_so(tmp_path: Path):
    save(tmp_path, "saved", "return 1")
    scripts = {"main": [says("x", calls("Workflow", name="saved")), says("Then not.")]}
    async with workflow_session(tmp_path, scripts) as made:
        made.workflows.switch = lambda: False
        with pytest.raises(ToolError, match=OFF):
            await made.start("return 1")
        assert made.workflows.commands() == () and not made.workflows.offered and made.workflows.files() == {}
        await made.team.prompt()
        shown = made.team.models.requests("main")[-1].messages[-1]["content"]
        made.workflows.switch = lambda: True
        assert answer_of(await made.finish(name="saved")) == "1"
    assert OFF in str(shown)


async def test_what_runs_when_they_are_turned_off_finishes_with_all_that_it_calls(tmp_path: Path):
    save(tmp_path, "inner", "return await agent('<b>')")
    gate = asyncio.Event()
    scripts = {"a": [says("A", then=gate.wait)], "b": [says("B")]}
    async with workflow_session(tmp_path, scripts) as made:
        await made.start("return await agent('<a>') + await workflow('inner')")
        made.workflows.switch = lambda: False
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == "AB"


async def test_a_run_that_is_left_is_shown_and_stopped_by_commands_alone(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("A", then=asyncio.Event().wait)]}) as made:
        commanded = Commanded(tmp_path)
        commanded.server.runtime = made.team.runtime
        run = (await made.start("await agent('<a>')")).run_id
        made.workflows.switch = lambda: False
        shown = await workflows("", commanded.context)
        with pytest.raises(UsageError, match="ultracode needs workflows"):
            await choose_effort("ultracode", commanded.context)
        await workflows(f"{run} stop", commanded.context)
        with pytest.raises(UsageError, match="are off"):
            await workflows(f"{run} resume", commanded.context)
    assert isinstance(shown, Shows) and run in shown.text
    assert shown.text.endswith("Workflows are off: running workflows can finish, but no new ones start.")


@pytest.mark.parametrize(
    ("off", "on"),
    [
        ({"disableWorkflows": True}, {"disableWorkflows": None}),
        ({"enableWorkflows": False}, {"enableWorkflows": True}),
        (
            {"env": {"CLAUDE_CODE_DISABLE_WORKFLOWS": "1"}},
            {"env": {"CLAUDE_CODE_DISABLE_WORKFLOWS": "0"}},
        ),
        (
            {"env": {"CLAUDE_CODE_DISABLE_WORKFLOWS": "1"}},
            {"env": {"CLAUDE_CODE_DISABLE_WORKFLOWS": None}},
        ),
    ],
)
async def test_a_host_turns_them_off_and_on_from_one_turn_to_the_next(
    tmp_path: Path, off: dict[str, Any], on: dict[str, Any]
):
    script = [
        step(tool_use("Workflow", id="w1", name="fan"), when='"text":"second"'),
        step("Hello.", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        async with FakeHost(program, "-p", "--allowedTools", "Workflow") as host:
            await _ask(host, "first workflow")
            await host.request("apply_flag_settings", settings=off)
            await _ask(host, "second")
            listed = await _ask(host, "/workflows")
            await host.request("apply_flag_settings", settings=on)
            await _ask(host, "third")
            back = await _ask(host, "/workflows")
            await host.close()
        tools = [_offers(request.body) for request in server.requests]
        refused = next(request for request in server.requests if b'"tool_result"' in request.raw)
    assert tools == [True, False, False, True]
    assert OFF.encode() in refused.raw
    assert "are off" in listed and "/fan" in back


async def test_a_settings_file_turns_them_off_and_tells_of_what_still_runs(tmp_path: Path):
    script = [
        step("Did it.", when="Do part", held=True, repeat=True),
        step("All is done.", when="2 of 2 agents finished"),
        step("Hello.", repeat=True),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        async with FakeHost(program, "-p") as host:
            started = await _ask(host, "/fan")
            (program.project / ".claude" / "settings.json").write_text(json.dumps({"disableWorkflows": True}))
            shown = await host.until(lambda frame: "Workflows are off" in json.dumps(frame))
            server.released.set()
            await host.until(lambda frame: frame.get("result") == "All is done.")
            await host.close()
    run = next(word.rstrip(".") for word in started.split() if word.startswith("wf_"))
    assert run in json.dumps(shown)


async def test_a_variable_that_settings_no_longer_set_is_again_what_it_was_before(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9", CLAUDE_CODE_DISABLE_WORKFLOWS="1")
    _install(program)
    shown: list[bool] = []
    async with FakeHost(program, "-p") as host:
        for value in (None, "0", None):
            variables = {"CLAUDE_CODE_DISABLE_WORKFLOWS": value}
            await host.request("apply_flag_settings", settings={"env": variables})
            shown.append("/fan" in await _ask(host, "/workflows"))
        await host.close()
    assert shown == [False, True, False]


async def test_a_session_that_began_without_them_gets_them(tmp_path: Path):
    async with MessagesServer([step("Hello.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _install(program)
        async with FakeHost(program, "-p", "--settings", '{"disableWorkflows": true}') as host:
            off = await _ask(host, "/workflows")
            await _ask(host, "is there a workflow?")
            await host.request("apply_flag_settings", settings={"disableWorkflows": False})
            on = await _ask(host, "/workflows")
            await _ask(host, "is there a workflow now?")
            await host.close()
        tools = [_offers(request.body) for request in server.requests]
    assert "are off" in off and "/fan" in on
    assert tools == [False, True]


async def _ask(host: FakeHost, text: str) -> str:
    host.prompt(text)
    result = await host.result()
    return result["result"]


def _install(program: Program) -> None:
    folder = program.project / ".claude" / "workflows"
    folder.mkdir(parents=True)
    (folder / "fan.js").write_text(_FAN.replace("'test'", "'fan'"))


def _offers(body: Any) -> bool:
    return "Workflow" in [tool["name"] for tool in body["tools"]]

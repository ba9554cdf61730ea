"""Directing a run while it works: pause, resume, stop, one agent of it, and keeping its script."""

import asyncio
from pathlib import Path

import pytest

from bridle.features.workflows.saved import save as save_run
from bridle.providers.scripted import says
from bridle.types.errors import ToolError
from tests.fakes.processes import eventually
from tests.fakes.workflows import WorkflowSession, answer_of, save, workflow_session

_ENV = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}


async def test_while_paused_no_agent_begins_and_those_at_work_finish(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A", then=gate.wait)], "b": [says("B")]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = made.run(
            (await made.start("const a = await agent('<a>'); return a + await agent('<b>')")).run_id
        )
        await _asked(made, "a")
        run.pause()
        assert run.state == "paused"
        gate.set()
        await eventually(lambda: [each.state for each in run.view().agents] == ["done", "waiting"])
        assert made.team.models.requests("b") == []
        run.resume()
        (task,) = await made.team.over()
    assert answer_of(task) == "AB"


async def test_stopping_ends_every_agent_and_leaves_what_was_finished(tmp_path: Path):
    never = asyncio.Event()
    scripts = {"a": [says("A")], "b": [says("B", then=never.wait)] * 3}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        launched = await made.start(
            "await agent('<a>'); await parallel([1, 2, 3].map(n => () => agent(`<b> ${n}`)))"
        )
        await _asked(made, "b", 3)
        task = await made.team.runtime.workspace.tasks.stop(launched.run_id)
        view = made.run(launched.run_id).view()
        assert not made.team.agents.registry.running
    assert task.status == "killed" and view.state == "stopped"
    assert [each.state for each in view.agents] == ["done", "stopped", "stopped", "stopped"]


async def test_an_interrupt_stops_all_at_once_and_begins_no_turn(tmp_path: Path):
    never = asyncio.Event()
    async with workflow_session(tmp_path, {"b": [says("B", then=never.wait)] * 16}, env=_ENV) as made:
        for _ in range(2):
            await made.start("await parallel(Array.from({length: 8}, (_, n) => () => agent(`<b> ${n}`)))")
        await _asked(made, "b", 16)
        assert made.workflows.interrupt() == 2
        ended = await made.team.over(2)
    assert [(task.status, task.hushed) for task in ended] == [("killed", True)] * 2


async def test_one_agent_is_skipped_stopped_or_restarted(tmp_path: Path):
    never = asyncio.Event()
    scripts = {
        "a": [says("A", then=never.wait)],
        "b": [says("B", then=never.wait)],
        "c": [says("C", then=never.wait), says("C again")],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        launched = await made.start("return await parallel(['a', 'b', 'c'].map(k => () => agent(`<${k}>`)))")
        run = made.run(launched.run_id)
        for key in "abc":
            await _asked(made, key)
        assert "is skipped" in run.decide(1, "skip")
        run.decide(2, "stop")
        run.decide(3, "restart")
        (task,) = await made.team.over()
        with pytest.raises(ToolError, match="not running"):
            run.decide(1, "stop")
    assert answer_of(task) == '[null,null,"C again"]'
    assert [each.state for each in run.view().agents] == ["skipped", "stopped", "done"]


async def test_an_agent_that_waits_can_be_skipped_too(tmp_path: Path):
    gate = asyncio.Event()
    env = {"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1"}
    async with workflow_session(
        tmp_path, {"a": [says("A", then=gate.wait)], "b": [says("B")]}, env=env
    ) as made:
        launched = await made.start("return await parallel(['a', 'b'].map(k => () => agent(`<${k}>`)))")
        await _asked(made, "a")
        made.run(launched.run_id).decide(2, "skip")
        gate.set()
        (task,) = await made.team.over()
        assert made.team.models.requests("b") == []
    assert answer_of(task) == '["A",null]'


async def test_a_script_is_kept_for_the_project_or_the_user_under_any_name(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        task = await made.finish("return 5")
        folder, runtime = made.run(task.id).folder, made.team.runtime
        own = save_run(folder, runtime, name=None, scope="project", replace=False)
        user = save_run(folder, runtime, name="other", scope="user", replace=False)
        for name in ("../x", "", ".x", "a b"):
            if name:
                with pytest.raises(ToolError, match="Invalid workflow name"):
                    save_run(folder, runtime, name=name, scope="project", replace=False)
    async with workflow_session(tmp_path, {}) as later:
        again = await later.finish(name="test")
    assert Path(own) == tmp_path / ".claude" / "workflows" / "test.js"
    assert Path(user) == tmp_path / "home" / ".claude" / "workflows" / "other.js"
    assert "name: 'other'" in Path(user).read_text()
    assert answer_of(again) == "5"


async def test_a_file_that_is_there_is_replaced_only_on_demand(tmp_path: Path):
    before = save(tmp_path, "test", "return 1")
    text = before.read_text()
    async with workflow_session(tmp_path, {}) as made:
        task = await made.finish("return 5")
        folder, runtime = made.run(task.id).folder, made.team.runtime
        with pytest.raises(ToolError, match="--force"):
            save_run(folder, runtime, name=None, scope="project", replace=False)
        assert before.read_text() == text
        save_run(folder, runtime, name=None, scope="project", replace=True)
    assert before.read_text().endswith("return 5")


async def _asked(made: WorkflowSession, key: str, count: int = 1) -> None:
    await eventually(lambda: len(made.team.models.requests(key)) >= count)

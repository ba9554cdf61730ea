"""An agent that failed is restarted while its run continues, and the work of the others is kept."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.engine.runtime import Runtime
from bridle.features.workflows.run import WorkflowRun
from bridle.providers.scripted import says
from bridle.types.errors import ProviderError, ToolError
from bridle.types.permission import Case, Decision
from tests.fakes.engine import with_gate
from tests.fakes.processes import eventually
from tests.fakes.workflows import WorkflowSession, answer_of, save, workflow_session

_ENV = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}
_FAN = "return await parallel(args.map(key => () => agent(`<${key}>`)))"
_BROKEN = ProviderError("Too many.", kind="invalid_request", status=400)


async def test_a_failed_agent_works_again_beside_those_that_never_noticed(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A", then=gate.wait)], "b": [_BROKEN, says("B")], "c": [says("C")]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b", "c"])
        await _stands(run, "running failed done")
        assert "Agent 2 (agent 2) is restarted" in run.decide(2, "restart")
        await _stands(run, "running done done")
        gate.set()
        (task,) = await made.team.over()
        asked = {key: len(made.team.models.requests(key)) for key in "abc"}
        journal = (Path(run.folder.path) / "journal.jsonl").read_text()
    assert answer_of(task) == '["A","B","C"]' and asked == {"a": 1, "b": 2, "c": 1}
    assert task.result is not None and "3 of 3 agents finished." in task.result
    assert journal.count("\n") == 3


async def test_every_token_is_counted_once_however_often_an_agent_begins(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {
        "a": [says("A", then=gate.wait)],
        "b": [says("B", then=asyncio.Event().wait), says("no object"), says("B")],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b"])
        await eventually(lambda: len(made.team.models.requests("b")) == 1)
        run.decide(2, "stop")
        await _stands(run, "running stopped")
        run.decide(2, "restart")
        await _stands(run, "running done")
        gate.set()
        (task,) = await made.team.over()
        view = run.view()
    assert answer_of(task) == '["A","no object"]'
    assert view.tokens == sum(agent.tokens for agent in view.agents)
    assert task.usage is not None and task.usage.tokens == view.tokens


async def test_what_the_script_did_about_the_failure_is_not_asked_for_again(tmp_path: Path):
    script = "const first = await agent('<a>'); return first ?? await agent('<b>')"
    scripts = {"a": [_BROKEN, says("A")], "b": [says("B", then=asyncio.Event().wait)]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, script)
        await _stands(run, "failed running")
        run.decide(1, "restart")
        (task,) = await made.team.over()
        assert not made.team.agents.registry.running
    assert answer_of(task) == "A"
    assert _states(run) == "done stopped"


async def test_others_that_failed_or_were_left_out_stay_as_they_are(tmp_path: Path):
    never, gate = asyncio.Event(), asyncio.Event()
    scripts = {
        "a": [_BROKEN],
        "b": [says("B", then=never.wait)],
        "c": [_BROKEN, says("C")],
        "d": [says("D", then=gate.wait)],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b", "c", "d"])
        await _stands(run, "failed running failed running")
        run.decide(2, "skip")
        await _stands(run, "failed skipped failed running")
        run.decide(3, "restart")
        await _stands(run, "failed skipped done running")
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == '[null,null,"C","D"]'
    assert task.result is not None and "Failed: agent 1: " in task.result and "agent 3" not in task.result


async def test_several_are_restarted_at_once_and_one_that_fails_again_once_more(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {
        "a": [_BROKEN, _BROKEN, says("A")],
        "b": [_BROKEN, says("B")],
        "c": [says("C", then=gate.wait)],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b", "c"])
        await _stands(run, "failed failed running")
        run.decide(1, "restart")
        run.decide(2, "restart")
        await _stands(run, "failed done running")
        run.decide(1, "restart")
        await _stands(run, "done done running")
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == '["A","B","C"]'


async def test_those_that_wait_for_a_place_begin_only_if_they_are_asked_for_again(tmp_path: Path):
    script = (
        "const first = await agent('<a>')\n"
        "return parallel((first ? ['b', 'c'] : ['b', 'd', 'c']).map(key => () => agent(`<${key}>`)))"
    )
    gate = asyncio.Event()
    scripts = {
        "a": [_BROKEN, says("A")],
        "b": [says("B", then=gate.wait)],
        "c": [says("C")],
        "d": [says("D")],
    }
    env = {**_ENV, "CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1"}
    async with workflow_session(tmp_path, scripts, env=env) as made:
        run = await _begun(made, script)
        await _stands(run, "failed running waiting waiting")
        run.decide(1, "restart")
        await eventually(lambda: [each.number for each in run.view().agents] == [1, 2])
        gate.set()
        (task,) = await made.team.over()
        asked = {key: len(made.team.models.requests(key)) for key in "abcd"}
    assert answer_of(task) == '["B","C"]'
    assert asked == {"a": 2, "b": 1, "c": 1, "d": 0}


async def test_calls_that_have_just_come_are_no_obstacle(tmp_path: Path):
    script = (
        "const a = await agent('<a>'); return a + await parallel([1, 2].map(n => () => agent(`<b> ${n}`)))"
    )
    scripts = {"a": [_BROKEN, says("A")], "b": [says("B"), says("B")]}
    at: list[WorkflowRun] = []

    def change(runtime: Runtime) -> Runtime:
        def decide(case: Case) -> Decision:
            if at and _states(at[0]) == "failed":
                # Before anything can come of the call that is being looked at.
                asyncio.get_running_loop().call_soon(at[0].decide, 1, "restart")
                at.clear()
            return runtime.gate.decide(case)

        return with_gate(runtime, decide=decide)

    async with workflow_session(tmp_path, scripts, env=_ENV, change=change) as made:
        at.append(run := await _begun(made, script))
        (task,) = await made.team.over()
    assert at == [] and answer_of(task) == "AB,B"
    assert _states(run) == "done done done"


async def test_an_agent_of_a_nested_workflow_is_restarted_as_well(tmp_path: Path):
    save(tmp_path, "inner", "return await parallel(['a', 'b'].map(key => () => agent(`<${key}>`)))")
    gate = asyncio.Event()
    scripts = {"a": [_BROKEN, says("A")], "b": [says("B", then=gate.wait)]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, "return await workflow('inner')")
        await _stands(run, "failed running")
        run.decide(1, "restart")
        await _stands(run, "done running")
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == '["A","B"]'


async def test_an_agent_that_ended_with_a_nested_script_begins_again_where_the_script_now_waits_for_it(
    tmp_path: Path,
):
    save(
        tmp_path,
        "inner",
        "const a = agent('<a>'); const b = await agent('<b>'); return b ? b + await a : 'none'",
    )
    gate, never = asyncio.Event(), asyncio.Event()
    scripts = {
        "a": [says("lost", then=never.wait), says("A")],
        "b": [_BROKEN, says("B")],
        "c": [says("C", then=gate.wait)],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, "return await workflow('inner') + await agent('<c>')")
        await _stands(run, "stopped failed running")
        run.decide(2, "restart")
        await _stands(run, "done done running")
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == "BAC"


async def test_in_a_paused_run_it_waits_with_all_others(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A", then=gate.wait)], "b": [_BROKEN, says("B")]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b"])
        await _stands(run, "running failed")
        run.pause()
        assert "when the run is resumed" in run.decide(2, "restart")
        gate.set()
        await _stands(run, "done waiting")
        assert run.state == "paused" and len(made.team.models.requests("b")) == 1
        run.resume()
        (task,) = await made.team.over()
    assert answer_of(task) == '["A","B"]'


async def test_lines_and_faults_of_the_script_are_not_reported_twice(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A", then=gate.wait)], "b": [_BROKEN, says("B")]}
    script = f"log('hello'); try {{ await agent('x', {{agentType: 'nobody'}}) }} catch {{}}\n{_FAN}"
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, script, args=["a", "b"])
        await _stands(run, "running failed")
        run.decide(2, "restart")
        await _stands(run, "running done")
        logs = run.view().logs
        gate.set()
        (task,) = await made.team.over()
    assert logs[:2] == ("Agent 2 (agent 2) is restarted, and the script runs again.", "hello")
    assert task.result is not None and task.result.count("does not exist") == logs.count("hello") == 1


async def test_an_agent_that_has_finished_or_is_unknown_cannot_be_restarted(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {"a": [says("A")], "b": [_BROKEN], "c": [says("C", then=gate.wait)]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b", "c"])
        await _stands(run, "done failed running")
        with pytest.raises(ToolError, match=r"Agent 1 \(agent 1\) has finished"):
            run.decide(1, "restart")
        with pytest.raises(ToolError, match="Agent 9 is not running"):
            run.decide(9, "restart")
        with pytest.raises(ToolError, match="Agent 2 is not running"):
            run.decide(2, "skip")
        gate.set()
        await made.team.over()
        with pytest.raises(ToolError, match="Resume the run when it is over"):
            run.decide(2, "restart")


async def test_without_budget_no_agent_is_restarted_and_the_run_continues(tmp_path: Path):
    gate = asyncio.Event()
    scripts = {
        "a": [_BROKEN],
        "b": [says("B", usage={"input_tokens": 1, "output_tokens": 1400})],
        "c": [says("C", then=gate.wait)],
    }
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["c", "a", "b"], prompt="do it +1k")
        await _stands(run, "running failed done")
        with pytest.raises(ToolError, match="The budget of 1,000 tokens is used"):
            run.decide(2, "restart")
        gate.set()
        (task,) = await made.team.over()
    assert answer_of(task) == '["C",null,"B"]'


async def test_stopping_a_run_right_after_leaves_nothing_at_work(tmp_path: Path):
    scripts = {"a": [_BROKEN, says("A")], "b": [says("B", then=asyncio.Event().wait)]}
    async with workflow_session(tmp_path, scripts, env=_ENV) as made:
        run = await _begun(made, _FAN, args=["a", "b"])
        await _stands(run, "failed running")
        run.decide(1, "restart")
        await run.stop()
        assert not made.team.agents.registry.running
        assert run.state == "stopped" and not any(each.state == "running" for each in run.view().agents)


async def _begun(made: WorkflowSession, script: str, **launch: Any) -> WorkflowRun:
    return made.run((await made.start(script, **launch)).run_id)


def _states(run: WorkflowRun) -> str:
    return " ".join(agent.state for agent in run.view().agents)


async def _stands(run: WorkflowRun, states: str) -> None:
    await eventually(lambda: _states(run) == states)

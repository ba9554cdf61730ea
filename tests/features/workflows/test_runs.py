"""Workflow runs from their first call to their end, with the real child and a scripted model."""

import asyncio
import json
from pathlib import Path

import msgspec
import pytest

from bridle.engine.runtime import Limits, Runtime
from bridle.features.workflows.slots import Slots
from bridle.providers.scripted import calls, says
from bridle.tools.files.write import TOOL as WRITE
from bridle.tools.tasks.task_output import TOOL as TASK_OUTPUT
from bridle.tools.tasks.task_output import TaskOutputInput
from bridle.types.agent import AgentDefinition
from bridle.types.errors import ProviderError, ToolError
from bridle.types.event import FromAgent, TaskEnded, TaskProgressed, TaskStarted
from tests.fakes.agents import echo
from tests.fakes.processes import eventually
from tests.fakes.repositories import GIT_ENV, repository
from tests.fakes.tool_context import make_context
from tests.fakes.workflows import answer_of, save, workflow_session

_SCHEMA = "{type: 'object', required: ['n'], properties: {n: {type: 'integer'}}}"


async def test_agents_work_for_the_script_and_its_value_is_the_result(tmp_path: Path):
    scripts = {"a": [says("Found a.")], "b": [says(calls("Echo", text="hi")), says("Found b.")]}
    async with workflow_session(tmp_path, scripts, echo) as made:
        task = await made.finish(
            "const found = await parallel([() => agent('<a>'), () => agent('<b>')])\nreturn found.join(' ')"
        )
        (view,) = await made.runs.views(made.team.runtime)
    assert (task.status, task.kind, task.name) == ("completed", "local_workflow", "test")
    assert answer_of(task) == "Found a. Found b."
    assert task.usage is not None and (task.usage.tokens, task.usage.tool_uses) == (30, 1)
    assert [(each.number, each.label, each.state, each.preview) for each in view.agents] == [
        (1, "agent 1", "done", "Found a."),
        (2, "agent 2", "done", "Found b."),
    ]


async def test_the_run_is_one_job_and_its_agents_are_none_of_their_own(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("x")]}) as made:
        await made.finish("phase('Look'); log('hello'); return await agent('<a>')")
        channel = made.team.channel
        (run_id,) = {event.task.id for event in channel.of(TaskStarted)}
        assert [task.id for task in made.team.runtime.workspace.jobs()] == [run_id]
    assert [event.task.kind for event in channel.of(TaskStarted)] == ["local_workflow"]
    assert [event.task.status for event in channel.of(TaskEnded)] == ["completed"]
    assert {event.task.id for event in channel.of(TaskProgressed)} == {run_id}
    assert {event.call_id for event in channel.of(FromAgent)} == {"call-0"}


async def test_its_agents_leave_side_chains_like_any_other(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("x")]}) as made:
        await made.finish("return await agent('<a>', {label: 'first'})")
        (view,) = await made.runs.views(made.team.runtime)
    folder = tmp_path / "storage" / "subagents"
    meta = json.loads((folder / f"agent-{view.agents[0].agent_id}.meta.json").read_text())
    assert (meta["agentType"], meta["description"], meta["toolUseId"]) == (
        "workflow-worker",
        "first",
        "call-0",
    )
    rows = (folder / f"agent-{view.agents[0].agent_id}.jsonl").read_text().splitlines()
    assert any('"isSidechain":true' in row for row in rows)


async def test_an_agent_with_a_schema_answers_with_an_object_that_fits(tmp_path: Path):
    scripts = {"a": [says(calls("StructuredOutput", n="x")), says(calls("StructuredOutput", n=3))]}
    async with workflow_session(tmp_path, scripts) as made:
        task = await made.finish(f"return (await agent('<a>', {{schema: {_SCHEMA}}})).n + 1")
        names = [tool["name"] for tool in made.team.models.requests("a")[0].tools]
    assert answer_of(task) == "4"
    assert "StructuredOutput" in names and "Workflow" not in names


async def test_an_agent_that_gives_no_object_or_fails_is_null_and_named(tmp_path: Path):
    scripts = {
        "a": [says("Just words."), says("Still words.")],
        "b": [ProviderError("The service is gone.", kind="invalid_request", status=400)],
    }
    async with workflow_session(tmp_path, scripts) as made:
        task = await made.finish(
            f"return [await agent('<a>', {{schema: {_SCHEMA}}}), await agent('<b>', {{label: 'second'}})]"
        )
        (view,) = await made.runs.views(made.team.runtime)
    assert answer_of(task) == "[null,null]"
    assert task.result is not None and "0 of 2 agents finished" in task.result
    assert "second: The agent could not finish: The service is gone" in task.result
    assert [each.state for each in view.agents] == ["failed", "failed"]


async def test_options_choose_type_model_and_effort(tmp_path: Path):
    helper = AgentDefinition(name="helper", description="Helps.", text="You help.", model="model-h")
    scripts = {key: [says("x")] for key in "abcd"}
    env = {"CLAUDE_CODE_WORKFLOW_SUBAGENT_MODEL": "model-w", "CLAUDE_CODE_SUBAGENT_MODEL": "model-s"}
    async with workflow_session(tmp_path, scripts, agents=[helper], env=env) as made:
        await made.finish(
            "await agent('<a>', {agentType: 'helper'}); await agent('<b>');"
            "await agent('<c>', {model: 'model-c', agentType: 'helper'})"
        )
        models = {key: made.team.models.requests(key)[0].model for key in "abc"}
        system = made.team.models.requests("a")[0].system[0]["text"]
    assert models == {"a": "model-h", "b": "model-w", "c": "model-c"}
    assert system == "You help."


async def test_phases_and_lines_are_seen_and_written_along(tmp_path: Path):
    script = (
        "export const meta = {name: 'p', description: 'd',\n"
        "  phases: [{title: 'One', detail: 'first'}, {title: 'Two'}]}\n"
        "phase('One'); await agent('<a>'); phase('Extra'); console.log('half way');\n"
        "await agent('<b>', {phase: 'Two'})"
    )
    async with workflow_session(tmp_path, {"a": [says("x")], "b": [says("y")]}) as made:
        task = await made.finish(script)
        (view,) = await made.runs.views(made.team.runtime)
    assert [(each.title, each.detail, each.done) for each in view.phases] == [
        ("One", "first", 1),
        ("Two", "", 1),
        ("Extra", "", 0),
    ]
    assert view.logs == ("[One]", "[Extra]", "half way")
    written = Path(task.output_file).read_text()
    assert "half way" in written and "+ agent 1: done. x" in written
    assert answer_of(task) == "(The script returned nothing.)"


async def test_the_model_reads_how_far_a_run_is_and_what_came_of_it(tmp_path: Path):
    never = asyncio.Event()
    async with workflow_session(tmp_path, {"a": [says("A")], "b": [says("B", then=never.wait)]}) as made:
        launched = await made.start("log('one'); await agent('<a>'); await agent('<b>'); return 1")
        await eventually(lambda: made.team.models.requests("b"))
        context = make_context(tmp_path, workspace=made.team.runtime.workspace)
        running = await TASK_OUTPUT.run(TaskOutputInput(task_id=launched.run_id, block=False), context)
        made.run(launched.run_id).decide(2, "skip")
        ended = await TASK_OUTPUT.run(TaskOutputInput(task_id="test"), context)
    assert "one\n+ agent 1: done. A" in running.content
    assert running.data["task"]["task_type"] == "local_workflow"
    assert "1 of 2 agents finished." in ended.content


async def test_no_more_than_sixteen_work_at_once(tmp_path: Path):
    at_work = most = 0
    several = asyncio.Event()

    async def wait() -> None:
        nonlocal at_work, most
        at_work += 1
        most = max(most, at_work)
        if at_work == 16:
            several.set()
        await several.wait()
        await asyncio.sleep(0)
        at_work -= 1

    lines = [says("x", then=wait) for _ in range(40)]
    env = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "0"}
    async with workflow_session(tmp_path, {"a": lines}, env=env) as made:
        task = await made.finish(
            "return (await parallel(Array.from({length: 40}, (_, i) => () => agent(`<a> ${i}`)))).length"
        )
    assert answer_of(task) == "40" and most == 16


async def test_the_limit_of_agents_at_once_may_be_lower():
    slots = Slots({"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1"})
    async with asyncio.timeout(50), slots.place(("a",)):
        second = asyncio.create_task(_enter(slots, ("b",)))
        await asyncio.sleep(0)
        assert not second.done()
    async with asyncio.timeout(50):
        await second


async def test_agents_that_begin_alike_wait_for_the_first_answer_of_the_first():
    slots = Slots({"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "60000"})
    async with asyncio.timeout(50), slots.place(("same",)) as warm:
        other = asyncio.create_task(_enter(slots, ("other",)))
        alike = asyncio.create_task(_enter(slots, ("same",)))
        await other
        assert not alike.done()
        warm.set()
        await alike


async def test_the_wait_for_the_first_answer_is_bounded():
    slots = Slots({"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "1"})
    async with asyncio.timeout(50), slots.place(("same",)):
        await _enter(slots, ("same",))


async def test_the_first_answer_of_an_agent_lets_those_like_it_begin(tmp_path: Path):
    first = asyncio.Event()
    lines = [says(calls("Echo", text="hi"), then=first.wait), says("x"), says("y"), says("z")]
    env = {"CLAUDE_CODE_WORKFLOW_PREFIX_STAGGER_MS": "60000"}
    async with workflow_session(tmp_path, {"a": lines}, echo, env=env) as made:
        await made.start("return await parallel([() => agent('<a> 1'), () => agent('<a> 2')])")
        await made.team.channel.seen(lambda event: isinstance(event, FromAgent))
        first.set()
        (task,) = await made.team.over()
    assert task.status == "completed"


async def test_the_call_after_the_thousandth_throws(tmp_path: Path):
    record = {"label": "x", "phase": None, "model": "m", "agentId": None, "tokens": 0, "outputTokens": 0}
    async with workflow_session(tmp_path, {"a": [says("x")]}) as made:
        first = await made.finish("return await agent('<a>')")
        journal = tmp_path / "storage" / "workflows" / first.id / "journal.jsonl"
        key = json.loads(journal.read_text())["key"]
        known = [
            {**record, "key": key, "occurrence": n, "number": n, "toolUses": 0, "seconds": 0, "result": "x"}
            for n in range(1_000)
        ]
        journal.write_text("".join(json.dumps(each) + "\n" for each in known))
        script = (
            "for (let i = 0; i < 1000; i++) await agent('<a>');\n"
            "try { await agent('<a>') } catch (error) { return error.message }"
        )
        task = await made.finish(script, resume=first.id)
    assert "at most 1,000 agents" in answer_of(task)


async def test_a_token_target_of_the_prompt_is_the_budget_and_ends_agents(tmp_path: Path):
    lines = [says("x", usage={"input_tokens": 1, "output_tokens": 700}) for _ in range(3)]
    script = (
        "const seen = [budget.total, budget.spent()]; await agent('<a> 1'); seen.push(budget.remaining());\n"
        "await agent('<a> 2');\n"
        "try { await agent('<a> 3') } catch (error) { return [...seen, budget.spent(), error.message] }"
    )
    async with workflow_session(tmp_path, {"a": lines}) as made:
        task = await made.finish(script, prompt="do it +1k")
    assert json.loads(answer_of(task)) == [1000, 0, 300, 1400, "The budget of 1,000 tokens is used."]


async def test_agents_that_wait_when_the_budget_is_used_up_do_not_begin(tmp_path: Path):
    lines = [says("x", usage={"input_tokens": 1, "output_tokens": 700}) for _ in range(30)]
    env = {"CLAUDE_CODE_MAX_CONCURRENT_SUBAGENTS": "1"}
    async with workflow_session(tmp_path, {"a": lines}, env=env) as made:
        task = await made.finish(
            "const all = await parallel(Array.from({length: 30}, (_, i) => () => agent(`<a> ${i}`)))\n"
            "return all.filter(Boolean)",
            prompt="+1k do it",
        )
        assert len(made.team.models.requests("a")) == 2
    assert answer_of(task) == '["x","x"]'


async def test_the_spending_limit_of_the_session_holds_for_its_workflows(tmp_path: Path):
    def limited(runtime: Runtime) -> Runtime:
        return msgspec.structs.replace(runtime, limits=Limits(max_budget_usd=0.0001))

    async with workflow_session(tmp_path, {"a": [says("x"), says("y")]}, change=limited) as made:
        task = await made.finish("await agent('<a> 1'); await agent('<a> 2')")
        assert len(made.team.models.requests("a")) == 1
    assert task.status == "failed" and "Reached maximum budget" in (task.error or "")


async def test_a_workflow_calls_another_one_level_deep_and_shares_its_journal(tmp_path: Path):
    save(tmp_path, "inner", "phase('Deep'); return [args, await agent('<a>')]")
    save(tmp_path, "outer", "return await workflow('inner', 1)")
    async with workflow_session(tmp_path, {"a": [says("x")]}) as made:
        task = await made.finish("return await workflow('inner', {n: 1})")
        (view,) = await made.runs.views(made.team.runtime)
        deep = await made.finish("try { await workflow('outer') } catch (error) { return error.message }")
        unknown = await made.finish("try { await workflow('iner') } catch (error) { return error.message }")
    assert answer_of(task) == '[{"n":1},"x"]'
    assert [(phase.title, phase.done) for phase in view.phases] == [("inner: Deep", 1)]
    assert "A nested workflow cannot call another workflow" in answer_of(deep)
    assert "did you mean inner?" in answer_of(unknown)


async def test_a_nested_script_file_passes_the_gate_of_reads(tmp_path: Path):
    (tmp_path / "inner.js").write_text("export const meta = {name: 'i', description: 'd'}\nreturn 7")
    outside = tmp_path.parent / f"{tmp_path.name}-outside.js"
    outside.write_text("export const meta = {name: 'o', description: 'd'}\nreturn 8")
    script = "try { return await workflow({scriptPath: args}) } catch (error) { return error.message }"
    async with workflow_session(tmp_path, {}) as made:
        made.team.session.swap(mode="default")
        inside = await made.finish(script, args="inner.js")
        refused = await made.finish(script, args=str(outside))
    assert answer_of(inside) == "7"
    assert "nobody is there" in answer_of(refused)


async def test_an_uncaught_error_fails_the_run_with_its_line(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("x")]}) as made:
        task = await made.finish("await agent('<a>')\nthrow new Error('no good')")
    assert task.status == "failed"
    assert "line 3: " in (task.error or "") and "no good" in (task.error or "")
    assert f"resumeFromRunId {task.id}" in (task.error or "")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("return await agent('x'.repeat(400001))", "let it read a file"),
        ("return await agent('<a>', {agentType: 'nobody'})", "agentType 'nobody' does not exist"),
        ("return await agent('<a>', {schema: {type: 'array'}})", "must have the type"),
        ("return await agent('<a>', {schema: {type: 'object', properties: 3}})", "cannot be used"),
        ("return await agent('<a>', {isolation: 'moon'})", "invalid options for agent"),
    ],
)
async def test_an_invalid_call_throws_in_the_script_and_is_reported(tmp_path: Path, script: str, words: str):
    async with workflow_session(tmp_path, {}) as made:
        task = await made.finish(f"try {{ {script} }} catch (error) {{ return error.message }}")
        lost = await made.finish(f"return await parallel([async () => {{ {script} }}])")
    assert words in answer_of(task)
    assert lost.result is not None and words in lost.result


async def test_an_isolated_agent_changes_a_work_tree_that_the_note_names(tmp_path: Path):
    project = repository(tmp_path / "project")
    scripts = {
        "a": [says(calls("Write", file_path="new.txt", content="x")), says(calls("StructuredOutput", n=1))],
        "b": [says("Only looked.")],
    }
    script = (
        f"return [await agent('<a>', {{isolation: 'worktree', schema: {_SCHEMA}}}),"
        "await agent('<b>', {isolation: 'worktree'})]"
    )
    async with workflow_session(project, scripts, WRITE, env=GIT_ENV) as made:
        task = await made.finish(script)
    assert answer_of(task) == '[{"n":1},"Only looked."]'
    (tree,) = (project / ".claude" / "worktrees").iterdir()
    assert (tree / "new.txt").read_text() == "x" and not (project / "new.txt").exists()
    assert task.result is not None and f"Changes are in: {tree} on branch worktree-agent-" in task.result


async def test_agents_that_are_not_awaited_end_with_the_script(tmp_path: Path):
    async with workflow_session(tmp_path, {"a": [says("x", then=asyncio.Event().wait)]}) as made:
        task = await made.finish("agent('<a>'); return 'done'")
        assert not made.team.agents.registry.running
        (view,) = await made.runs.views(made.team.runtime)
    assert answer_of(task) == "done" and [each.state for each in view.agents] == ["stopped"]


async def test_a_script_that_cannot_be_parsed_is_no_run(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        with pytest.raises(ToolError, match="line 2"):
            await made.start("const = 3")
        assert made.team.runtime.workspace.jobs() == ()


async def test_a_large_result_is_kept_whole_and_shown_in_part(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        task = await made.finish("return 'x'.repeat(300000)")
    kept = json.loads((tmp_path / "storage" / "workflows" / task.id / "result.json").read_text())
    assert len(kept) == 300_000 and len(answer_of(task)) == 300_000


async def _enter(slots: Slots, prefix: tuple[object, ...]) -> None:
    async with slots.place(prefix):
        pass

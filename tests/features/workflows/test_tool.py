"""The Workflow tool before the gate, and what a model reads of bad input."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.tools.files.write import TOOL as WRITE
from bridle.types.block import text_of
from bridle.types.event import FromAgent, PermissionDenied
from bridle.types.permission import Effect, Mode
from bridle.types.question import PermissionQuestion, Permitted
from tests.fakes.engine import FakeChannel
from tests.fakes.processes import eventually
from tests.fakes.workflows import META, WorkflowSession, answer_of, save, workflow_session

_MODES: tuple[Mode, ...] = ("default", "dontAsk", "bypassPermissions")
_PHASED = (
    "export const meta = {name: 'inline', description: 'Looks around.', phases: [{title: 'Look'}]}\nreturn 1"
)


async def _called(
    made: WorkflowSession, *, mode: Mode = "default", allow: Sequence[str] = (), **rules: str
) -> str:
    """The result that the model reads of the one call that it makes."""
    allowed = [parse(text, Effect.ALLOW, "session") for text in allow]
    others = [parse(text, Effect[name.upper()], "session") for name, text in rules.items()]
    made.team.session.swap(mode=mode, rules=(*allowed, *others))
    await made.team.prompt()
    (block,) = [
        block
        for entry in made.team.session.entries
        if entry["type"] == "user" and not isinstance(entry["message"]["content"], str)
        for block in entry["message"]["content"]
        if block["type"] == "tool_result"
    ]
    content = block.get("content") or ""
    return (
        content if isinstance(content, str) else text_of([each for each in content if each["type"] == "text"])
    )


def _main(**input: Any) -> dict[str, Any]:
    return {"main": [says(calls("Workflow", **input)), says("ok")]}


async def test_the_approval_says_what_would_run_and_may_be_kept(tmp_path: Path):
    path = save(tmp_path, "saved", "return 1", "Does much.")
    scripts = {
        "main": [says(calls("Workflow", name="saved")), says("ok"), says(calls("Workflow", name="saved"))]
    }
    scripts["main"].append(says("ok"))
    update = {
        "type": "addRules",
        "rules": [{"toolName": "Workflow", "ruleContent": "saved"}],
        "behavior": "allow",
        "destination": "session",
    }
    channel = FakeChannel(Permitted(updates=(update,)))
    async with workflow_session(tmp_path, scripts, channel=channel) as made:
        made.team.session.swap(mode="default")
        await made.team.prompt()
        await made.team.prompt()
        tasks = await made.team.over(2)
    (question,) = channel.questions
    assert isinstance(question, PermissionQuestion)
    assert f"the workflow saved: Does much. Script: {path}" in question.reason
    assert [each["rules"] for each in question.suggestions] == [update["rules"]]
    assert [answer_of(task) for task in tasks] == ["1", "1"]


async def test_a_script_that_was_written_out_is_described_and_approved_for_itself_alone(tmp_path: Path):
    channel = FakeChannel()
    async with workflow_session(tmp_path, _main(script=_PHASED), channel=channel) as made:
        result = await _called(made, allow=["Workflow(inline)"])
    (question,) = channel.questions
    assert isinstance(question, PermissionQuestion)
    assert "the workflow inline: Looks around. Phases: Look. Script: part of the call" in question.reason
    (suggestion,) = question.suggestions
    assert suggestion["rules"][0]["ruleContent"].startswith("script:")
    assert "nobody is there" in result
    rule = f"Workflow({suggestion['rules'][0]['ruleContent']})"
    async with workflow_session(tmp_path, _main(script=_PHASED)) as made:
        assert "runs in the background" in await _called(made, allow=[rule])
    async with workflow_session(tmp_path, _main(script=_PHASED + "\n")) as made:
        assert "nobody is there" in await _called(made, allow=[rule])


async def test_a_script_in_a_file_is_described_where_it_may_be_read(tmp_path: Path):
    (tmp_path / "own.js").write_text(_PHASED)
    outside = tmp_path.parent / f"{tmp_path.name}-other.js"
    outside.write_text(_PHASED)
    reasons: list[str] = []
    for path in ("own.js", str(outside), "nowhere.js"):
        channel = FakeChannel()
        async with workflow_session(tmp_path, _main(scriptPath=path), channel=channel) as made:
            await _called(made)
        (question,) = channel.questions
        assert isinstance(question, PermissionQuestion)
        reasons.append(question.reason)
    assert "the workflow inline: Looks around. Phases: Look. Script: own.js" in reasons[0]
    assert f"a workflow without a description. Script: {outside}" in reasons[1]
    assert "a workflow without a description. Script: nowhere.js" in reasons[2]


async def test_a_run_to_resume_is_described_by_its_script(tmp_path: Path):
    async with workflow_session(tmp_path, {}) as made:
        task = await made.finish(_PHASED)
    channel = FakeChannel()
    async with workflow_session(tmp_path, _main(resumeFromRunId=task.id), channel=channel) as made:
        await _called(made)
    (question,) = channel.questions
    assert (
        isinstance(question, PermissionQuestion) and "the workflow inline: Looks around." in question.reason
    )


@pytest.mark.parametrize(
    ("mode", "rules", "runs"),
    [
        ("bypassPermissions", {}, True),
        ("acceptEdits", {}, False),
        ("dontAsk", {}, False),
        ("dontAsk", {"allow": ["Workflow(saved)"]}, True),
        ("default", {"allow": ["Workflow"]}, True),
        ("default", {"allow": ["Workflow(other)"]}, False),
        ("bypassPermissions", {"deny": "Workflow(saved)"}, False),
        ("plan", {"allow": ["Workflow(saved)"]}, False),
    ],
)
async def test_rules_and_modes_decide_as_for_any_call(
    tmp_path: Path, mode: Mode, rules: dict[str, Any], runs: bool
):
    save(tmp_path, "saved", "return 1")
    async with workflow_session(tmp_path, _main(name="saved")) as made:
        result = await _called(made, mode=mode, **rules)
        assert bool(made.team.runtime.workspace.jobs()) is runs
    assert ("runs in the background" in result) is runs


async def test_what_agents_of_a_run_do_passes_the_gate_of_the_session(tmp_path: Path):
    save(tmp_path, "saved", "return await agent('<job>')")
    scripts = {
        **_main(name="saved"),
        "job": [says(calls("Write", file_path="made.txt", content="x")), says("I may not.")],
    }
    async with workflow_session(tmp_path, scripts, WRITE) as made:
        await _called(made, allow=["Workflow(saved)"])
        (task,) = await made.team.over()
        (question,) = made.team.channel.questions
        (denied,) = [
            event.event
            for event in made.team.channel.events
            if isinstance(event, FromAgent) and isinstance(event.event, PermissionDenied)
        ]
    assert answer_of(task) == "I may not." and not (tmp_path / "made.txt").exists()
    assert isinstance(question, PermissionQuestion) and question.agent_id is not None
    assert denied.tool == "Write"


async def test_a_rule_against_a_workflow_holds_where_another_calls_it(tmp_path: Path):
    save(tmp_path, "inner", "return 1")
    save(tmp_path, "outer", "try { return await workflow('inner') } catch (error) { return error.message }")
    found: list[str] = []
    for rules in ({}, {"deny": "Workflow(inner)"}):
        for mode in _MODES:
            async with workflow_session(tmp_path, _main(name="outer")) as made:
                await _called(made, mode=mode, allow=["Workflow(outer)"], **rules)
                found.append(answer_of((await made.team.over())[0]))
    assert found[:3] == ["1"] * 3
    assert all("denied by rule" in each or "was denied" in each for each in found[3:])


async def test_a_rule_against_a_type_of_agent_holds_in_workflows(tmp_path: Path):
    save(
        tmp_path, "saved", "try { await agent('<a>', {agentType: 'Explore'}) } catch (e) { return e.message }"
    )
    async with workflow_session(tmp_path, _main(name="saved")) as made:
        await _called(made, mode="bypassPermissions", deny="Agent(Explore)")
        (task,) = await made.team.over()
    assert "agentType 'Explore' is not allowed" in answer_of(task)


async def test_a_script_file_passes_the_gate_of_reads(tmp_path: Path):
    (tmp_path / "own.js").write_text(META + "return 1")
    async with workflow_session(tmp_path, _main(scriptPath="own.js")) as made:
        assert "runs in the background" in await _called(made, allow=["Workflow"])
    async with workflow_session(tmp_path, _main(scriptPath="own.js")) as made:
        refused = await _called(made, allow=["Workflow"], deny="Read(own.js)")
    assert "scriptPath: Permission to use Read was denied" in refused


@pytest.mark.parametrize(
    ("input", "words"),
    [
        ({}, "Give a script, the name of a saved workflow, or a scriptPath."),
        ({"script": META, "name": "saved"}, "Give only one of script, name and scriptPath."),
        ({"name": "savd"}, "Unknown workflow savd: did you mean saved?"),
        ({"scriptPath": "nowhere.js"}, "nowhere.js"),
        ({"scriptPath": "/dev/zero"}, "/dev/zero"),
        ({"script": "return 1"}, "meta"),
        ({"script": META + "return (1"}, "Could not run the script: line 2:"),
        ({"script": META + "import fs from 'fs'"}, "Could not run the script: line 2:"),
        ({"name": "saved", "resumeFromRunId": "wf_0123456789ab"}, "Unknown workflow run wf_0123456789ab"),
        ({"name": "saved", "args": "x" * 1_000_001}, "larger than"),
    ],
)
async def test_bad_input_is_one_line_that_says_what_to_do(tmp_path: Path, input: dict[str, Any], words: str):
    save(tmp_path, "saved", "return 1")
    async with workflow_session(tmp_path, _main(**input)) as made:
        result = await _called(made, mode="bypassPermissions")
        assert made.team.runtime.workspace.jobs() == ()
    assert words in result and "\n" not in result.strip()


async def test_without_background_tasks_the_call_waits(tmp_path: Path):
    save(tmp_path, "saved", "if (args) throw new Error('no good'); return await agent('<a>')")
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    async with workflow_session(tmp_path, {**_main(name="saved"), "a": [says("Found.")]}, env=env) as made:
        result = await _called(made, mode="bypassPermissions")
        assert [task.backgrounded for task in made.team.ended] == [False]
    async with workflow_session(tmp_path, _main(name="saved", args=1), env=env) as made:
        failed = await _called(made, mode="bypassPermissions")
    assert result == "1 of 1 agents finished.\n\nFound." and "no good" in failed


async def test_a_call_that_waits_and_is_interrupted_stops_its_run(tmp_path: Path):
    save(tmp_path, "saved", "return await agent('<a>')")
    env = {"CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1"}
    scripts = {**_main(name="saved"), "a": [says("x", then=asyncio.Event().wait)]}
    async with workflow_session(tmp_path, scripts, env=env) as made:
        turn = asyncio.create_task(made.team.prompt())
        await eventually(lambda: made.team.models.requests("a"))
        turn.cancel()
        await asyncio.wait([turn], timeout=50)
        assert [task.status for task in made.team.ended] == ["killed"]


async def test_objects_and_lists_in_text_are_taken_as_such(tmp_path: Path):
    save(tmp_path, "saved", "return [typeof args, args]")
    found: list[str] = []
    for args in ('{"n": 1}', "plain words", "[broken", {"n": 2}):
        async with workflow_session(tmp_path, _main(name="saved", args=args)) as made:
            await _called(made, mode="bypassPermissions")
            found.append(answer_of((await made.team.over())[0]))
    assert found == [
        '["object",{"n":1}]',
        '["string","plain words"]',
        '["string","[broken"]',
        '["object",{"n":2}]',
    ]


async def test_a_rule_that_asks_about_agents_is_asked_about_once_in_a_run(tmp_path: Path):
    save(tmp_path, "saved", "return await parallel(['a', 'b', 'c'].map(x => () => agent(`<${x}>`)))")
    scripts = _main(name="saved") | {name: [says("done")] for name in "abc"}
    channel = FakeChannel(Permitted())
    async with workflow_session(tmp_path, scripts, channel=channel) as made:
        await _called(made, allow=["Workflow(saved)"], ask="Agent")
        (task,) = await made.team.over()
    asked = [each for each in channel.questions if isinstance(each, PermissionQuestion)]
    assert [each.tool for each in asked] == ["Agent"]
    assert "null" not in answer_of(task)


async def test_a_rule_against_all_agents_holds_in_workflows(tmp_path: Path):
    save(tmp_path, "saved", "try { await agent('<a>') } catch (e) { return e.message }")
    async with workflow_session(tmp_path, _main(name="saved")) as made:
        await _called(made, mode="bypassPermissions", deny="Agent")
        (task,) = await made.team.over()
    assert "'workflow-worker' is not allowed" in answer_of(task)

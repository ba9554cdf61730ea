"""Hooks run at the start and the end of agents, and agents bring hooks of their own."""

from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.feature import Features
from bridle.engine.runtime import Runtime
from bridle.features.agents.feature import AgentsFeature
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.teams.feature import TeamsFeature
from bridle.hooks.handler import FunctionHook, Origin
from bridle.hooks.table import Entry, from_host
from bridle.providers.scripted import calls, says
from bridle.tools.agent import TOOL as AGENT
from bridle.tools.tasks.task_create import TOOL as CREATE
from bridle.tools.tasks.task_update import TOOL as UPDATE
from bridle.types.agent import AgentDefinition
from tests.fakes.agents import ScriptedModels, echo
from tests.fakes.hooked import hooked, output

_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user")
_CALL = calls("Agent", description="d", prompt="<job>", subagent_type="helper", run_in_background=False)
_CALL_APART = {**_CALL, "input": {**_CALL["input"], "isolation": "worktree"}}


def _with_agents(**setup: Any) -> Any:
    def change(runtime: Runtime) -> Runtime:
        registry = AgentRegistry(AgentSetup(found=lambda: (_HELPER,), **setup), runtime.env)
        return msgspec.structs.replace(
            runtime, features=Features([TeamsFeature(), AgentsFeature(Agents(registry))])
        )

    return change


async def test_hooks_get_the_start_and_the_stop_of_an_agent_with_its_id(tmp_path: Path):
    models = ScriptedModels({"main": [says(_CALL), says("ok")], "job": [says("report")]})
    async with hooked(tmp_path, models, AGENT, change=_with_agents()) as made:
        for event in ("SubagentStart", "SubagentStop", "Stop", "UserPromptSubmit"):
            made.listen(event, output(event, additionalContext="From a hook.") if "Start" in event else None)
        await made.prompt("<main>")
        (start,), (stop,) = made.inputs("SubagentStart"), made.inputs("SubagentStop")
        agent_id = start["agent_id"]
        assert (start["agent_type"], stop["agent_id"], stop["agent_type"]) == ("helper", agent_id, "helper")
        assert stop["last_assistant_message"] == "report"
        assert stop["stop_hook_active"] is False
        assert stop["agent_transcript_path"].endswith(f"/subagents/agent-{agent_id}.jsonl")
        assert [input["last_assistant_message"] for input in made.inputs("Stop")] == ["ok"]
        assert [input["prompt"] for input in made.inputs("UserPromptSubmit")] == ["<main>"]
    assert "From a hook." in msgspec.json.encode(models.requests("job")[0].messages).decode()


async def test_a_stop_hook_can_send_an_agent_back_to_work(tmp_path: Path):
    models = ScriptedModels({"main": [says(_CALL), says("ok")], "job": [says("too short"), says("better")]})

    def reply(input: dict[str, Any]) -> Any:
        again = input["last_assistant_message"] == "too short"
        return {"decision": "block", "reason": "Say more."} if again else None

    async with hooked(tmp_path, models, AGENT, change=_with_agents()) as made:
        made.listen("SubagentStop", reply)
        await made.prompt("<main>")
        assert [input["stop_hook_active"] for input in made.inputs("SubagentStop")] == [False, True]
    assert "Say more." in msgspec.json.encode(models.requests("job")[1].messages).decode()
    assert "better" in msgspec.json.encode(models.requests("main")[1].messages).decode()


async def test_hooks_of_an_agent_listen_while_it_works_and_to_it_alone(tmp_path: Path):
    models = ScriptedModels(
        {
            "main": [says(_CALL), says(calls("Echo", text="mine")), says("ok")],
            "job": [says(calls("Echo", text="its")), says("report")],
        }
    )
    texts: list[str] = []

    def note(input: dict[str, Any]) -> None:
        texts.append(input["tool_input"]["text"])

    made_here: list[Any] = []

    def add(definition: AgentDefinition, agent_id: str) -> Any:
        hook = from_host("PreToolUse", FunctionHook(function=note))
        entry: Entry = msgspec.structs.replace(
            hook, scope=agent_id, origin=Origin(source="session", owner=definition.name)
        )
        return made_here[0].hooks.add([entry])

    async with hooked(tmp_path, models, AGENT, echo, change=_with_agents(add_hooks=add)) as made:
        made_here.append(made)
        await made.prompt("<main>")
        assert texts == ["its"]
        assert not made.hooks.listens_to("PreToolUse")


async def test_hooks_may_refuse_a_task_of_the_list_and_its_end(tmp_path: Path):
    models = ScriptedModels(
        {
            "main": [
                says(calls("TaskCreate", subject="bad", description="")),
                says(calls("TaskCreate", subject="good", description="more")),
                says(calls("TaskUpdate", taskId="2", status="completed")),
                says("ok"),
            ]
        }
    )
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "config")}
    async with hooked(tmp_path, models, CREATE, UPDATE, env=env) as made:
        made.listen(
            "TaskCreated",
            lambda input: (
                {"decision": "block", "reason": "Not this."} if input["task_subject"] == "bad" else None
            ),
        )
        made.listen("TaskCompleted", {"continue": False, "stopReason": "Not yet."})
        await made.prompt("<main>")
        (created, second), (completed,) = made.inputs("TaskCreated"), made.inputs("TaskCompleted")
    assert (created["task_id"], second["task_id"]) == ("1", "2")
    assert (completed["task_id"], completed["task_subject"], completed["task_description"]) == (
        "2",
        "good",
        "more",
    )
    folder = tmp_path / "config" / "tasks" / "s1"
    assert sorted(path.name for path in folder.glob("*.json")) == ["2.json"]
    assert msgspec.json.decode((folder / "2.json").read_bytes())["status"] == "pending"


async def test_a_hook_makes_and_removes_the_work_tree_of_an_isolated_agent(tmp_path: Path):
    place = tmp_path / "made-by-hook"
    place.mkdir()
    models = ScriptedModels({"main": [says(_CALL_APART), says("ok")], "job": [says("report")]})
    async with hooked(tmp_path, models, AGENT, change=_with_agents()) as made:
        made.listen("WorktreeCreate", output("WorktreeCreate", worktreePath=str(place)))
        made.listen("WorktreeRemove")
        made.listen("SubagentStop")
        await made.prompt("<main>")
        (wanted,), (unused,) = made.inputs("WorktreeCreate"), made.inputs("WorktreeRemove")
    assert wanted["name"].startswith("agent-")
    assert unused["worktree_path"] == str(place)
    assert [input["cwd"] for input in made.inputs("SubagentStop")] == [str(place)]


async def test_an_agent_without_the_place_that_a_hook_refuses_is_not_started(tmp_path: Path):
    models = ScriptedModels({"main": [says(_CALL_APART), says("ok")]})
    async with hooked(tmp_path, models, AGENT, change=_with_agents()) as made:
        made.listen("WorktreeCreate", output("WorktreeCreate"))
        await made.prompt("<main>")
    assert (
        "The WorktreeCreate hook created no worktree"
        in msgspec.json.encode(models.requests("main")[1].messages).decode()
    )

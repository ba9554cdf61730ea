"""Named members of a team: names, the shared list, and hooks that will not let them rest."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.runtime import Runtime
from bridle.features.agents.feature import AgentsFeature
from bridle.features.agents.registry import AgentRegistry, Agents, AgentSetup
from bridle.features.teams.feature import TeamsFeature
from bridle.providers.scripted import calls, says
from bridle.tools.agent import TOOL as AGENT
from bridle.tools.tasks.task_create import TOOL as CREATE
from bridle.tools.tasks.task_update import TOOL as UPDATE
from bridle.types.agent import AgentDefinition
from tests.fakes.agents import ScriptedModels, team
from tests.fakes.features import with_feature
from tests.fakes.hooked import hooked
from tests.fakes.processes import eventually

_HELPER = AgentDefinition(name="helper", description="d", text="p", source="user")
_TEAMS = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1", "CLAUDE_CODE_TEAM_NAME": "blue"}


def _start(prompt: str = "<job>", **more: Any) -> Any:
    return calls(
        "Agent", description="d", prompt=prompt, subagent_type="helper", run_in_background=True, **more
    )


def _in_a_team(runtime: Runtime) -> Runtime:
    env = {**runtime.env, **_TEAMS}
    registry = AgentRegistry(AgentSetup(found=lambda: (_HELPER,)), env)
    runtime = msgspec.structs.replace(runtime, env=env)
    return with_feature(runtime, TeamsFeature(), AgentsFeature(Agents(registry)))


async def test_a_member_knows_its_name_and_shares_the_task_list(tmp_path: Path):
    scripts = {"main": [says(_start(name="ann")), says("ok")], "job": [says("done")]}
    async with team(tmp_path, scripts, CREATE, UPDATE, agents=[_HELPER], env=_TEAMS) as made:
        await made.prompt()
        await made.over()
        (asked,) = made.models.requests("job")
    assert "You are `ann` in the team `blue`" in asked.system[0]["text"]
    assert [each["name"] for each in asked.tools] == ["TaskCreate", "TaskUpdate"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("ann", "is already running: send it a message, or choose another name"),
        ("main", "Invalid teammate name 'main'"),
        ("a b", "Invalid teammate name 'a b'"),
    ],
)
async def test_a_name_leads_to_one_member(tmp_path: Path, name: str, sentence: str):
    scripts = {
        "main": [says(_start("<a>", name="ann"), _start("<b>", name=name)), says("ok")],
        "a": [says("done")],
        "b": [says("done")],
    }
    async with team(tmp_path, scripts, agents=[_HELPER], env=_TEAMS) as made:
        await made.prompt()
        result = made.result("call-2")
    assert sentence in result


async def test_an_idle_hook_sends_a_member_back_to_work(tmp_path: Path):
    models = ScriptedModels({
        "main": [says(_start(name="ann")), says("ok")],
        "job": [says("first"), says("second")],
    })  # fmt: skip

    async with hooked(tmp_path, models, AGENT, change=_in_a_team) as made:
        seen: list[Any] = []

        def reply(input: dict[str, Any]) -> Any:
            seen.append((input["teammate_name"], input["team_name"]))
            return {"decision": "block", "reason": "Look again."} if len(seen) == 1 else None

        made.listen("TeammateIdle", reply)
        await made.prompt("<main>")
        await eventually(lambda: len(seen) == 2)
    assert seen == [("ann", "blue"), ("ann", "blue")]
    assert "Look again." in msgspec.json.encode(models.requests("job")[1].messages).decode()


async def test_hooks_get_the_items_of_an_idle_member(tmp_path: Path):
    models = ScriptedModels({
        "main": [
            says(calls("TaskCreate", subject="Test it", description="All of it.")),
            says(calls("TaskUpdate", taskId="1", status="in_progress", owner="ann")),
            says(_start(name="ann")),
            says("ok"),
        ],
        "job": [says("done")],
    })  # fmt: skip

    async with hooked(tmp_path, models, AGENT, CREATE, UPDATE, change=_in_a_team) as made:
        made.listen("TaskCompleted", None)
        made.listen("TaskCreated", None)
        await made.prompt("<main>")
        await eventually(lambda: made.inputs("TaskCompleted"))
        (created,), (completed,) = made.inputs("TaskCreated"), made.inputs("TaskCompleted")
    assert (completed["task_subject"], completed["teammate_name"], completed["team_name"]) == (
        "Test it", "ann", "blue",
    )  # fmt: skip
    assert created["team_name"] == "blue"

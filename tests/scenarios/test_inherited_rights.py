"""S5: whoever works for a session has at most its rights."""

from pathlib import Path

import pytest

from bridle.permissions.rules import parse
from bridle.providers.scripted import calls, says
from bridle.types.agent import AgentDefinition
from bridle.types.permission import Effect, Mode
from bridle.types.question import PermissionQuestion
from tests.fakes.agents import team, touch

RULES = (
    parse("Touch(denied)", Effect.DENY, "userSettings"),
    parse("Touch(asked)", Effect.ASK, "userSettings"),
    parse("Agent", Effect.ALLOW, "userSettings"),
)


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypassPermissions"])
async def test_rules_that_refuse_hold_for_agents_in_every_mode(tmp_path: Path, mode: Mode):
    given = {"description": "d", "prompt": "<job>", "subagent_type": "worker", "run_in_background": False}
    scripts = {
        "main": [says(calls("Agent", **given)), says("ok")],
        "job": [says(calls("Touch", path="denied")), says(calls("Touch", path="asked")), says("done")],
    }
    worker = AgentDefinition(name="worker", description="works", text="Work.", source="user")
    async with team(tmp_path, scripts, touch, agents=[worker]) as made:
        made.session.swap(mode=mode, rules=RULES)
        await made.prompt()
        asked = [each for each in made.channel.questions if isinstance(each, PermissionQuestion)]
    assert [each.input for each in asked if each.tool == "Touch"] == [{"path": "asked"}]
    assert not (tmp_path / "denied").exists()

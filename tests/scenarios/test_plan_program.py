"""Plan mode over stdio, as host programs use it."""

import json
from pathlib import Path
from typing import Any

from bridle.context.plans import plan_path
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

SESSION = "22222222-2222-4222-8222-222222222222"


def _use(name: str, **input: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call_{name}", "name": name, "input": input}


async def test_a_host_sees_the_plan_and_chooses_the_mode(tmp_path: Path):
    plan = plan_path(SESSION, str(tmp_path / "home" / ".claude" / "plans"))
    script = [
        step(_use("Write", file_path=plan, content="1. Rename it.")),
        step(_use("ExitPlanMode")),
        step("Renaming."),
        step("run the tests"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        flags = ("--permission-prompt-tool", "stdio", "--permission-mode", "plan", "--session-id", SESSION)
        async with FakeHost(program, *flags) as host:
            await host.request("initialize", promptSuggestions=True)
            host.prompt("rename it")
            question = await host.asked()
            asked = question["request"]
            assert (asked["tool_name"], asked["input"]["plan"]) == ("ExitPlanMode", "1. Rename it.")
            modes = [each["mode"] for each in asked["permission_suggestions"]]
            assert modes == ["acceptEdits", "default"]
            host.answer(
                question,
                {
                    "behavior": "allow",
                    "updatedInput": {**asked["input"], "plan": "1. Rename it well."},
                    "updatedPermissions": asked["permission_suggestions"][:1],
                },
            )
            result = await host.result()

            assert result["result"] == "Renaming."
            told = [frame["permissionMode"] for frame in host.frames if "status" in frame.get("subtype", "")
                    and frame.get("permissionMode")]  # fmt: skip
            assert told == ["acceptEdits"]
            assert Path(plan).read_text() == "1. Rename it well."
            suggested = await host.until(lambda frame: frame["type"] == "prompt_suggestion")
            assert suggested["suggestion"] == "run the tests"
            assert "Plan mode" in json.dumps(server.requests[0].body["messages"])

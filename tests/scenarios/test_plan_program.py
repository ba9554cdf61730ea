"""Plan mode over stdio, as host programs use it: the four answers."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.features.plan_mode.answers import implementation_prompt
from bridle.features.plan_mode.plans import plan_path
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, Step, step
from tests.fakes.program import Program

SESSION = "22222222-2222-4222-8222-222222222222"
_FLAGS = ("--permission-prompt-tool", "stdio", "--permission-mode", "plan", "--session-id", SESSION)
_WANTED = [{"tool": "Bash", "prompt": "run the tests"}]


def _use(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call_{name}", "name": name, "input": input}


def _plan(folder: Path) -> str:
    return plan_path(SESSION, str(folder / "home" / ".claude" / "plans"))


@asynccontextmanager
async def _handed_in(folder: Path, *after: Step) -> AsyncGenerator[tuple[FakeHost, MessagesServer, Any]]:
    """A host that was asked about a plan."""
    script = [
        step(_use("Write", file_path=_plan(folder), content="1. Rename it.")),
        step(_use("ExitPlanMode", allowedPrompts=_WANTED)),
        *after,
    ]
    async with MessagesServer(script) as server, FakeHost(Program(folder, server.url), *_FLAGS) as host:
        await host.request("initialize", promptSuggestions=True)
        host.prompt("rename it")
        question = await host.asked()
        assert question["request"]["tool_name"] == "ExitPlanMode"
        yield host, server, question


def _modes(host: FakeHost) -> list[str]:
    return [
        frame["permissionMode"]
        for frame in host.frames
        if "status" in frame.get("subtype", "") and frame.get("permissionMode")
    ]


@pytest.mark.parametrize(("at", "mode"), [(0, "acceptEdits"), (1, "default")])
async def test_a_host_sees_the_plan_and_chooses_the_mode(tmp_path: Path, at: int, mode: str):
    after = (step("Renaming."), step("Renamed."), step("run the tests"))
    async with _handed_in(tmp_path, *after) as (host, server, question):
        asked = question["request"]
        assert asked["input"]["plan"] == "1. Rename it."
        assert [each["mode"] for each in asked["permission_suggestions"]] == ["acceptEdits", "default"]
        host.answer(
            question,
            {
                "behavior": "allow",
                "updatedInput": {**asked["input"], "plan": "1. Rename it well."},
                "updatedPermissions": asked["permission_suggestions"][at : at + 1],
            },
        )
        result = await host.result()

        assert result["result"] == "Renaming."
        assert _modes(host) == [mode]
        assert Path(_plan(tmp_path)).read_text() == "1. Rename it well."
        host.prompt("is it done?")
        suggested = await host.until(lambda frame: frame["type"] == "prompt_suggestion")
        assert suggested["suggestion"] == "run the tests"
        assert "Plan mode" in json.dumps(server.requests[0].body["messages"])


async def test_a_host_says_what_to_change(tmp_path: Path):
    async with _handed_in(tmp_path, step("Thinking again."), step("NONE")) as (host, server, question):
        host.answer(question, {"behavior": "deny", "message": "use c instead"})
        result = await host.result()
        assert result["result"] == "Thinking again."
        assert "use c instead" in json.dumps(server.requests[2].body["messages"])
        assert _modes(host) == []


async def test_a_host_has_the_plan_carried_out_in_a_new_conversation(tmp_path: Path):
    async with _handed_in(tmp_path, step("Afresh."), step("NONE")) as (host, server, question):
        plan = question["request"]["input"]
        host.answer(question, {"behavior": "deny", "message": "afresh", "interrupt": True})
        assert (await host.result())["is_error"]
        await host.request("set_permission_mode", mode="acceptEdits")
        host.prompt("/clear")
        await host.result()
        host.prompt(implementation_prompt(plan["plan"], plan["planFilePath"]))
        result = await host.result()
        assert result["result"] == "Afresh."
        said = json.dumps(server.requests[2].body["messages"])
        assert "1. Rename it." in said and "rename it" not in said
        assert _modes(host)[-1] == "acceptEdits"

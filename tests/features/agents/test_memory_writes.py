"""Agents write their own memory unasked, and nothing else beside it."""

from pathlib import Path
from typing import Any

import pytest

from bridle.extensions.roots import ExtensionRoots, roots_of
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_PLACES = {
    "user": "home/.claude/agent-memory/keeper",
    "project": "project/.claude/agent-memory/keeper",
    "local": "project/.claude/agent-memory-local/keeper",
}


def _agent(config: Path, scope: str) -> None:
    file = config / "agents" / "keeper.md"
    file.parent.mkdir(parents=True)
    file.write_text(f"---\nname: keeper\ndescription: Keeps notes\nmemory: {scope}\n---\nYou keep notes.\n")


def _use(name: str, id: str = "w", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": name, "input": input}


def _write(path: Path, id: str = "w") -> dict[str, Any]:
    return _use("Write", id, file_path=str(path), content="- learned\n")


def _delegate() -> dict[str, Any]:
    return _use(
        "Agent",
        "a",
        description="Note",
        prompt="note it",
        subagent_type="keeper",
        run_in_background=False,
    )


async def _denied(folder: Path, *steps: Any, flags: tuple[str, ...] = ()) -> list[str]:
    """The files whose writing was refused."""
    async with MessagesServer(steps) as server:
        done = await Program(folder, server.url).run("-p", "go", "--output-format", "json", *flags)
    return [Path(each["tool_input"]["file_path"]).name for each in done.result["permission_denials"]]


@pytest.mark.parametrize("scope", sorted(_PLACES))
async def test_an_agent_writes_its_memory_in_print_mode(tmp_path: Path, scope: str):
    _agent(tmp_path / "home" / ".claude", scope)
    note = tmp_path / _PLACES[scope] / "MEMORY.md"
    steps = [step(_delegate()), step(_write(note)), step("noted"), step("done")]

    assert (await _denied(tmp_path, *steps), note.read_text()) == ([], "- learned\n")


async def test_the_main_thread_as_an_agent_does_so_too_and_no_other_file_is_free(tmp_path: Path):
    _agent(tmp_path / "home" / ".claude", "user")
    memory = tmp_path / _PLACES["user"]
    other = tmp_path / "home" / ".claude" / "agent-memory" / "another" / "other.md"
    uses = [_write(memory / "a.md", "1"), _write(memory / "run.sh", "2"), _write(other, "3")]
    refused = await _denied(tmp_path, step(*uses), step("done"), flags=("--agent", "keeper"))

    assert (refused, (memory / "a.md").exists()) == (["run.sh", "other.md"], True)


async def test_a_link_in_place_of_the_memory_leads_nowhere(tmp_path: Path):
    _agent(tmp_path / "home" / ".claude", "project")
    target = tmp_path / "elsewhere"
    target.mkdir()
    place = tmp_path / _PLACES["project"]
    place.parent.mkdir(parents=True)
    place.symlink_to(target)
    await _denied(tmp_path, step(_delegate()), step(_write(place / "a.md")), step("no"), step("done"))

    assert list(target.iterdir()) == []


async def test_tools_for_time_and_notices_do_not_ask_but_a_lasting_schedule_does(tmp_path: Path):
    uses = [
        _use("CronCreate", "1", cron="0 0 1 1 *", prompt="hi"),
        _use("CronList", "2"),
        _use("PushNotification", "3", message="hello"),
        _use("CronCreate", "4", cron="0 0 1 1 *", prompt="hi", durable=True),
    ]
    async with MessagesServer([step(*uses), step("done")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "go", "--output-format", "json")
    denied = [(each["tool_name"], each["tool_use_id"]) for each in done.result["permission_denials"]]

    assert denied == [("CronCreate", "4")]


def test_agents_of_the_project_go_before_those_of_the_user_and_skills_after(tmp_path: Path):
    where = ExtensionRoots(
        home=str(tmp_path / "home"), cwd=str(tmp_path / "p"), managed_dir=str(tmp_path / "m")
    )
    sources = {kind: [root.source for root in roots_of(kind, where)] for kind in ("agents", "skills")}

    assert sources["agents"][:2] == ["managed", "project"] and sources["agents"][-1] == "user"
    assert sources["skills"][:2] == ["managed", "user"]

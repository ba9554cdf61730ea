"""Rows beside the conversation that other programs look for."""

import json
from pathlib import Path
from typing import Any

from bridle.context.attachment_facts import attachment_of
from bridle.context.reminders import reminder
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.usage import Usage
from tests.transcripts.entries import call, message, say, text


def open_session(path: Path, entrypoint: str) -> Session:
    return Session("s", writer=Transcript(str(path), warn=print), cwd="/p", entrypoint=entrypoint)


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def kinds(path: Path) -> list[str]:
    return [row["type"] for row in rows(path)]


def test_queued_prompts_are_told_with_the_first_row_and_not_before(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl", "sdk-cli")
    session.note_taken("dequeue", "hi")
    assert rows(path) == []
    session.say_user("hi")
    assert kinds(path) == ["queue-operation", "queue-operation", "user"]
    assert [row.get("content") for row in rows(path)[:2]] == ["hi", None]
    session.note_taken("remove", "more")
    session.note_taken("dequeue", [{"type": "text", "text": "blocks"}])
    found = [(row["operation"], row.get("content")) for row in rows(path)[3:]]
    assert found == [("enqueue", "more"), ("remove", "more"), ("enqueue", None), ("dequeue", None)]


def test_a_tool_is_told_once_before_the_answer_that_calls_it_also_that_of_an_agent(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl", "sdk-cli")
    session.say_user("hi")
    say(session, "m", call("a"))
    say(session, "n", call("b"))
    agent = session.child("agent", str(tmp_path / "agent.jsonl"), cwd="/p")
    agent.say_user("work")
    other: Any = {**call("c"), "name": "Other"}
    say(agent, "o", other)
    say(session, "p", text("done"))
    used = [row["tools"] for row in rows(path) if row["type"] == "tools-used"]
    name = call("a")["name"]
    assert used == [[name], [name, "Other"]]
    assert kinds(path)[:3] == ["user", "tools-used", "assistant"]
    prompt = rows(tmp_path / "agent.jsonl")[0]
    assert prompt["promptId"] == rows(path)[0]["promptId"]
    assert prompt.keys().isdisjoint({"permissionMode", "promptSource", "turnOrigin", "turnPosition"})


def test_a_terminal_tells_its_mode_first_and_after_each_change(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl", "cli")
    session.say_user("hi")
    session.say_user("more")
    session.swap(mode="plan")
    session.say_user("plan")
    assert kinds(path) == ["mode", "permission-mode", "user", "user", "mode", "permission-mode", "user"]
    assert [row["permissionMode"] for row in rows(path) if row["type"] == "permission-mode"] == [
        "default",
        "plan",
    ]


def test_the_last_lines_are_what_was_asked_and_what_it_cost(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl", "sdk-cli")
    session.say_user("hi")
    session.say_assistant(message("m", text("x"), stop="end_turn"))
    session.record_cost("model", Usage(input=3, output=2), 0.5, context_window=9, max_output=9)
    session.close()
    assert kinds(path)[-2:] == ["last-prompt", "cost-state"]
    facts = session.last_facts()
    assert (facts["lastCost"], facts["lastSessionId"], facts["lastTotalOutputTokens"]) == (0.5, "s", 2)
    assert facts["lastModelUsage"]["model"]["costUSD"] == 0.5


def test_attachments_name_what_they_announce():
    listed = reminder("# Skills\nLoad one.\n- run: Start it\n- my:plug: Of a plugin")
    assert attachment_of(listed, initial=True) == (
        "skill_listing",
        {
            "isInitial": True,
            "content": "- run: Start it\n- my:plug: Of a plugin",
            "skillCount": 2,
            "names": ["run", "my:plug"],
        },
    )
    kind, agents = attachment_of(reminder("# Agent types\n- Plan: plans\n- mine: works"))
    assert (kind, agents["addedTypes"], agents["builtInTypes"]) == (
        "agent_listing_delta",
        ["Plan", "mine"],
        ["Plan"],
    )
    kind, tools = attachment_of(reminder("# More tools\nLoad them first:\nWebFetch\nmcp__a__b"))
    assert (kind, tools["addedNames"]) == ("deferred_tools_delta", ["WebFetch", "mcp__a__b"])
    kind, files = attachment_of(
        reminder("# Instructions\nFollow.\n\n## /p/(x)/CLAUDE.md (Project: shared)\n\nBe kind.")
    )
    assert (kind, files["files"]) == (
        "instructions",
        [{"path": "/p/(x)/CLAUDE.md", "type": "Project", "content": "Be kind."}],
    )
    assert attachment_of(reminder("# Other\nwords"))[0] == "critical_system_reminder"

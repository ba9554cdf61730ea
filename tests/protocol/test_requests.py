"""What a host may ask of a session besides prompts."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bridle.features.plan_mode.plans import plan_path
from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, fault, step
from tests.fakes.program import Program

_NOWHERE = "http://127.0.0.1:9"


def _call(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": name, "input": input}


async def _asked(tmp_path: Path, subtype: str, *flags: str, **fields: Any) -> Any:
    async with FakeHost(Program(tmp_path, _NOWHERE), *flags) as host:
        return await host.request(subtype, **fields)


async def test_second_introduction_replaces_the_first(tmp_path: Path):
    agents = {"a": {"description": "one", "prompt": "p"}}
    async with FakeHost(Program(tmp_path, _NOWHERE)) as host:
        first = await host.request("initialize", agents=agents, skills=["x"], plugins=[{"path": "/p"}])
        second = await host.request("initialize", hooks={"Stop": [{"hookCallbackIds": ["h"]}]})
    assert first["response"]["agents"][-1] == {"name": "a", "description": "one"}
    assert first["response"]["plugins_applied"] is False and "hooks_applied" not in first["response"]
    assert "a" not in {each["name"] for each in second["response"]["agents"]}
    assert second["response"]["hooks_applied"] is True


async def test_introduction_may_name_the_session(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            await host.request("initialize", title="my work")
            host.prompt("go")
            await host.result()
            await host.close()
    titles = [frame["title"] for frame in host.frames if frame.get("subtype") == "session_title_changed"]
    assert titles == ["my work"]
    assert "my work" in [row.get("customTitle") for row in program.rows()]


async def test_introduction_with_a_bad_schema_is_refused_and_the_session_goes_on(tmp_path: Path):
    async with FakeHost(Program(tmp_path, _NOWHERE)) as host:
        bad = await host.request("initialize", jsonSchema={"type": "array"})
        worse = await host.request("initialize", hooks=[1])
        good = await host.request("initialize")
    assert (bad["subtype"], worse["subtype"], good["subtype"]) == ("error", "error", "success")
    assert "JSON Schema" in bad["error"]


async def test_unknown_request_has_an_error_code(tmp_path: Path):
    answer = await _asked(tmp_path, "dance")
    assert answer["error_code"] == "unsupported_request"


async def test_thinking_may_be_changed(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        async with FakeHost(Program(tmp_path, server.url), "--model", "claude-haiku-4-5") as host:
            for wanted in (3000, 0, None):
                await host.request("set_max_thinking_tokens", max_thinking_tokens=wanted)
                host.prompt("go")
                await host.result()
            bad = await host.request("set_max_thinking_tokens", max_thinking_tokens="much")
        thinking = [request.body["thinking"] for request in server.requests]
    assert thinking[:2] == [{"type": "enabled", "budget_tokens": 3000}, {"type": "disabled"}]
    assert thinking[2]["type"] == "enabled" and thinking[2]["budget_tokens"] != 3000
    assert bad["subtype"] == "error"


async def test_settings_may_be_laid_over_the_session(tmp_path: Path):
    calls = [step(_call("Bash", command="touch $NAME")), step("ok"), step("ok")]
    async with MessagesServer(calls) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            settings = {
                "permissions": {"allow": ["Bash"]},
                "env": {"NAME": "made"},
                "model": "haiku",
            }
            assert (await host.request("apply_flag_settings", settings=settings))["subtype"] == "success"
            host.prompt("go")
            await host.result()
            told = (await host.request("get_settings"))["response"]
            await host.request("apply_flag_settings", settings={"permissions": None})
            rules = (await host.request("list_permission_rules"))["response"]["rules"]
            bad = await host.request("apply_flag_settings", settings={"permissions": {"allow": 3}})
        assert "haiku" in server.requests[0].body["model"]
    assert (program.project / "made").exists() and rules == []
    assert told["effective"]["env"] == {"NAME": "made"} and "haiku" in told["applied"]["model"]
    assert [source["source"] for source in told["sources"]] == ["flagSettings"]
    assert bad["subtype"] == "error"


async def test_host_may_write_two_settings_and_no_other(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    async with FakeHost(program) as host:
        good = await host.request(
            "update_settings", source="localSettings", settings={"outputStyle": "plain"}
        )
        bad = await host.request("update_settings", source="localSettings", settings={"env": {"A": "b"}})
        worse = await host.request("update_settings", source="policySettings", settings={})
    assert [each["subtype"] for each in (good, bad, worse)] == ["success", "error", "error"]
    assert json.loads((program.project / ".claude/settings.local.json").read_text()) == {
        "outputStyle": "plain"
    }


async def test_hooks_of_the_settings_are_listed(tmp_path: Path):
    hook = {"type": "command", "command": "true", "timeout": 5}
    settings = json.dumps({"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}})
    listing = (await _asked(tmp_path, "get_hooks_listing", "--settings", settings))["response"]
    (row,) = listing["hooks"]
    assert (row["event"], row["matcher"], row["commandText"]) == ("PreToolUse", "Bash", "true")
    assert row["source"] == "flagSettings" and row["timeout"] == 5 and "disabled" not in row
    assert listing["events"][0]["hookCount"] == 1 and len(listing["eventCatalog"]) > 30


async def test_a_title_comes_from_the_small_model_or_else_from_the_first_words(tmp_path: Path):
    described = "fix the login button on mobile and then write a test for the whole of it"
    async with MessagesServer(
        [step('"Login button on mobile"'), fault(400, "invalid_request_error")]
    ) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            made = await host.request("generate_session_title", description=described, persist=True)
            fallen_back = await host.request("generate_session_title", description=described)
            empty = await host.request("generate_session_title", description=" ")
        assert "haiku" in server.requests[0].body["model"]
    assert made["response"] == {"title": "Login button on mobile"}
    assert fallen_back["response"] == {"title": "fix the login button on mobile and then"}
    assert empty["subtype"] == "error"
    titles = [each["title"] for each in host.frames if each.get("subtype") == "session_title_changed"]
    assert titles == ["Login button on mobile"]


async def test_a_side_question_knows_the_conversation_and_leaves_no_trace_in_it(tmp_path: Path):
    async with MessagesServer([step("Hello."), step("Green."), step("Bye.")]) as server:
        async with FakeHost(Program(tmp_path, server.url)) as host:
            host.prompt("first words")
            await host.result()
            aside = await host.request("side_question", question="which colour?")
            exported = (await host.request("export_conversation"))["response"]
            host.prompt("second words")
            await host.result()
        sent = [json.dumps(each.body["messages"]) for each in server.requests]
    assert aside["response"] == {"response": "Green.", "synthetic": False}
    assert "first words" in sent[1] and "which colour?" in sent[1] and "which colour?" not in sent[2]
    assert "first words" in exported["text"] and "Green." not in exported["text"]
    assert exported["default_filename"].endswith("-first-words.txt")


async def test_panels_show_status_plan_instructions_and_skills(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "CLAUDE.md").write_text("Be brief.")
    skill = program.home / ".claude" / "skills" / "folder" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\nname: shown\ndescription: What it does.\n---\nText.")
    async with FakeHost(program, "--session-id", "8a0b6d3e-0000-4000-8000-000000000001") as host:
        status = (await host.request("get_status"))["response"]
        none = (await host.request("get_plan"))["response"]
        plan = Path(plan_path("8a0b6d3e-0000-4000-8000-000000000001", str(program.home / ".claude/plans")))
        plan.parent.mkdir()
        plan.write_text("1. Begin.")
        some = (await host.request("get_plan"))["response"]
        memory = (await host.request("get_memory_dialog"))["response"]["files"]
        skills = (await host.request("get_skills_dialog"))["response"]["skills"]
    rows = {row["label"]: row["value"] for section in status["sections"] for row in section["rows"]}
    assert rows["cwd"] == str(program.project) and rows["Session ID"].startswith("8a0b6d3e")
    assert none == {"exists": False} and some == {"exists": True, "path": str(plan), "content": "1. Begin."}
    assert [(each["kind"], each["exists"]) for each in memory[:2]] == [("project", True), ("user", False)]
    assert memory[0]["description"] == "Saved in ./CLAUDE.md"
    (row,) = [each for each in skills if each["name"] == "folder"]
    assert (row["display_name"], row["source"], row["state"], row["advertised"]) == (
        "shown",
        "user",
        "on",
        True,
    )


async def test_ratings_and_feedback_stay_on_this_machine(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    async with FakeHost(program) as host:
        rated = await host.request(
            "message_rated", messageUuid="u", sentiment="negative", surface="assistant_text", cleared=False
        )
        wrong = await host.request("message_rated", messageUuid="u", sentiment="fine", surface="x")
        told = (await host.request("submit_feedback", description="It is slow.", title="Slow"))["response"]
    kept = program.home / ".claude" / "bridle" / "feedback.jsonl"
    rows = [json.loads(line) for line in kept.read_text().splitlines()]
    assert (rated["subtype"], wrong["subtype"]) == ("success", "error")
    assert told["feedback_id"] is None and str(kept) in told["unavailable_reason"]
    assert [(row["kind"], row.get("sentiment"), row.get("description")) for row in rows] == [
        ("rating", "negative", None), ("feedback", None, "It is slow."),
    ]  # fmt: skip
    assert kept.stat().st_mode & 0o777 == 0o600


async def test_a_host_moves_the_session_to_folders_that_it_works_in_or_trusts(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    inside, outside = program.project / "sub", tmp_path / "other"
    inside.mkdir()
    outside.mkdir()
    async with FakeHost(program) as host:
        answers = [
            (await host.request("set_cwd", **fields))["response"]
            for fields in (
                {"path": str(tmp_path / "missing")},
                {"path": str(inside)},
                {"path": str(inside)},
                {"path": str(outside)},
                {"path": str(outside), "trust_accepted": True},
            )
        ]
        status = (await host.request("get_status"))["response"]
    assert [(each["status"], each.get("reason"), each.get("changed")) for each in answers] == [
        ("rejected", "not_found", None),
        ("ok", None, True),
        ("ok", None, False),
        ("needs_trust", None, None),
        ("ok", None, True),
    ]
    assert {"label": "cwd", "value": str(outside)} in status["sections"][0]["rows"]


async def test_suggestions_pause_while_the_host_wants_none(tmp_path: Path):
    answers = [step("One."), step("Two."), step("Three."), step("run the tests")]
    async with MessagesServer(answers) as server, FakeHost(Program(tmp_path, server.url)) as host:
        await host.request("initialize", promptSuggestions=True)
        await host.request("set_prompt_suggestions_paused", paused=True)
        for text in ("one", "two"):
            host.prompt(text)
            await host.result()
        wrong = await host.request("set_prompt_suggestions_paused", paused="yes")
        await host.request("set_prompt_suggestions_paused", paused=False)
        host.prompt("three")
        await host.result()
        suggested = await host.until(lambda each: each["type"] == "prompt_suggestion")
    assert suggested["suggestion"] == "run the tests" and wrong["subtype"] == "error"


async def test_file_can_be_read_in_both_encodings(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "a.bin").write_bytes(b"\xff\x00ab")
    async with FakeHost(program) as host:
        text = (await host.request("read_file", path="a.bin"))["response"]
        raw = (await host.request("read_file", path="a.bin", encoding="base64", max_bytes=2))["response"]
    assert text["lossy"] is True and (raw["contents"], raw["truncated"]) == ("/wA=", True)


async def test_files_are_suggested_by_their_letters(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "src").mkdir()
    (program.project / "src" / "main.py").touch()
    (program.project / "notes.md").touch()
    async with FakeHost(program) as host:
        found = (await host.request("file_suggestions", query="mainpy"))["response"]["suggestions"]
    assert found == [{"path": "src/main.py", "isDirectory": False}]


async def test_file_that_the_host_has_read_may_be_edited(tmp_path: Path):
    edit = _call("Edit", file_path="a.txt", old_string="one", new_string="two")
    async with MessagesServer([step(edit), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        path = program.project / "a.txt"
        path.write_text("one\n")
        mtime = os.stat(path).st_mtime_ns // 1_000_000
        async with FakeHost(program, "--permission-mode", "acceptEdits") as host:
            await host.request("seed_read_state", path=str(path), mtime=mtime)
            host.prompt("go")
            await host.result()
            gone = await host.request("seed_read_state", path="gone.txt", mtime=1)
    assert path.read_text() == "two\n" and gone["subtype"] == "error"


async def test_folder_inside_the_project_can_be_registered(tmp_path: Path):
    program = Program(tmp_path, _NOWHERE)
    (program.project / "inner").mkdir()
    async with FakeHost(program) as host:
        good = await host.request("register_repo_root", directory="inner")
        bad = await host.request("register_repo_root", directory="/")
        state = (await host.request("list_permission_rules"))["response"]["state"]
    assert (good["subtype"], bad["subtype"]) == ("success", "error")
    assert [each["path"] for each in state["workspaceDirectories"]] == [str(program.project / "inner")]


@pytest.mark.parametrize(
    ("subtype", "fields", "keys"),
    [
        ("reload_skills", {}, {"skills"}),
        ("reload_plugins", {}, {"commands", "agents", "plugins", "mcpServers", "error_count"}),
        ("reload_output_styles", {}, {"available_output_styles"}),
        ("get_usage", {}, {"session", "rate_limits_available"}),
        ("get_session_cost", {}, {"text", "total_cost_usd"}),
        ("list_models", {}, {"models"}),
        ("get_binary_version", {}, {"version"}),
        (
            "get_context_usage",
            {},
            {"categories", "totalTokens", "gridRows", "mcpTools", "agents", "apiUsage"},
        ),
        ("mcp_set_servers", {"servers": {"x": {"command": "x"}}}, {"added", "removed", "errors"}),
        ("set_color", {"color": "red"}, set[str]()),
        ("set_has_subscribers", {"has_subscribers": False}, set[str]()),
        ("background_tasks", {}, set[str]()),
        ("stop_task", {"task_id": "none"}, set[str]()),
        ("interrupt", {}, {"still_queued"}),
    ],
)
async def test_request_is_answered(tmp_path: Path, subtype: str, fields: dict[str, Any], keys: set[str]):
    answer = await _asked(tmp_path, subtype, **fields)
    assert answer["subtype"] == "success" and keys <= answer.get("response", {}).keys()


@pytest.mark.parametrize(
    ("subtype", "fields"),
    [
        ("mcp_toggle", {"serverName": "x", "enabled": False}),
        ("mcp_message", {"server_name": "x", "message": {}}),
        ("mcp_call", {"tool": "mcp__x__y"}),
        ("mcp_read_resource", {"serverName": "x", "uri": "ui://a"}),
        ("get_task_output", {"task_id": "none"}),
        ("set_color", {}),
        ("apply_flag_settings", {}),
        ("rename_session", {"title": "a", "session_id": "another"}),
    ],
)
async def test_request_that_makes_no_sense_gets_a_sentence(
    tmp_path: Path, subtype: str, fields: dict[str, Any]
):
    answer = await _asked(tmp_path, subtype, **fields)
    assert answer["subtype"] == "error" and len(answer["error"]) > 10


async def test_end_of_the_session_drops_what_waits(tmp_path: Path):
    async with MessagesServer([step("one")]) as server, FakeHost(Program(tmp_path, server.url)) as host:
        host.prompt("first")
        await host.result()
        await host.request("end_session")
        assert await host.process.wait() == 0


async def test_nobody_is_asked_where_prompts_are_turned_off(tmp_path: Path):
    flags = ("--permission-prompt-tool", "stdio", "--permission-prompts", "none")
    async with MessagesServer([step(_call("Bash", command="touch made")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, *flags) as host:
            host.prompt("go")
            init = await host.until(lambda frame: frame.get("subtype") == "init")
            result = await host.result()
    assert not (program.project / "made").exists() and len(result["permission_denials"]) == 1
    assert "AskUserQuestion" not in init["tools"]
    assert "control_request" not in {frame["type"] for frame in host.frames}


async def test_permission_prompt_tool_must_be_a_tool_of_a_server(tmp_path: Path):
    done = await Program(tmp_path, _NOWHERE).run("-p", "hi", "--permission-prompt-tool", "nonsense")
    assert done.code == 1 and "mcp__server__tool" in done.err


async def test_permission_prompt_tool_without_its_server_denies(tmp_path: Path):
    async with MessagesServer([step(_call("Bash", command="touch made")), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--permission-prompt-tool", "mcp__gate__ask")
        told = server.requests[1].body["messages"][-1]["content"][0]
    assert done.code == 0 and not (program.project / "made").exists()
    assert told["is_error"] and "gate" in told["content"]

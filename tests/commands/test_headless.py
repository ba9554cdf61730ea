import json
from pathlib import Path
from typing import Any

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program, lines, user

_STREAM = ("-p", "--output-format", "stream-json", "--verbose")
_TALK = ("--input-format", "stream-json", *_STREAM)
_SUMMARY = step("<summary>They spoke of apples.</summary>")


def _kinds(frames: list[Any]) -> list[str]:
    return [frame.get("subtype") or frame["type"] for frame in frames]


def _sent(server: MessagesServer, number: int = -1) -> str:
    return json.dumps(server.requests[number].body["messages"])


async def test_a_command_prints_its_text_and_asks_no_model(tmp_path: Path):
    async with MessagesServer() as server:
        done = await Program(tmp_path, server.url).run("-p", "/status")
        assert server.requests == []
    assert done.code == 0 and "Model: claude-sonnet-5-5" in done.out


async def test_a_command_that_fails_leaves_with_an_error(tmp_path: Path):
    async with MessagesServer() as server:
        done = await Program(tmp_path, server.url).run("-p", "/add-dir /not/there")
    assert done.code == 1 and "/not/there" in done.out


async def test_the_frames_of_a_command_are_init_output_and_a_result_without_turns(tmp_path: Path):
    async with MessagesServer() as server:
        done = await Program(tmp_path, server.url).run(*_STREAM, "/effort status")
    assert _kinds(done.frames) == ["init", "user", "success"]
    output = done.frames[1]
    assert output["isReplay"] is True
    assert output["message"]["content"].startswith("<local-command-stdout>Effort: ")
    assert done.result["num_turns"] == 0 and done.result["result"].startswith("Effort: ")
    assert "terminal_reason" not in done.result and done.result["is_error"] is False


async def test_init_and_initialize_list_the_commands(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server, FakeHost(Program(tmp_path, server.url)) as host:
        answer = await host.request("initialize")
        host.prompt("hi")
        await host.result()
        await host.close()
    commands = {each["name"]: each for each in answer["response"]["commands"]}
    assert commands["compact"] == {
        "name": "compact",
        "description": "Compact the conversation into a summary",
        "argumentHint": "[focus]",
        "builtin": True,
    }
    assert "theme" not in commands and "vim" not in commands
    init = next(frame for frame in host.frames if frame.get("subtype") == "init")
    assert {"clear", "compact", "context"} <= set(init["slash_commands"])
    assert "theme" in init["terminal_slash_commands"] and "theme" not in init["slash_commands"]


async def test_compacting_over_the_stream_has_the_lines_that_hosts_expect(tmp_path: Path):
    async with MessagesServer([step("Hm."), _SUMMARY, step("ok")]) as server:
        host = FakeHost(Program(tmp_path, server.url))
        async with host:
            host.prompt("apples are red")
            first = await host.result()
            seen = len(host.frames)
            host.prompt("/compact the colors")
            result = await host.result()
            frames = host.frames[seen:]
            host.prompt("and now?")
            await host.result()
            await host.close()
        assert "the colors" in _sent(server, 1)
        assert "They spoke of apples." in _sent(server) and "Hm." not in _sent(server)
    kinds = [kind for kind in _kinds(frames) if kind != "session_state_changed"]
    assert kinds == ["status", "status", "init", "compact_boundary", "user", "user", "success"]
    statuses = [
        (frame["status"], frame.get("compact_result")) for frame in frames if frame.get("subtype") == "status"
    ]
    assert statuses == [("compacting", None), (None, "success")]
    boundary = next(frame for frame in frames if frame.get("subtype") == "compact_boundary")
    assert boundary["compact_metadata"]["trigger"] == "manual"
    assert frames[-2]["isReplay"] is True
    assert (result["num_turns"], result["result"]) == (0, "")
    assert result["session_id"] == first["session_id"]


async def test_clearing_over_the_stream_gives_another_session_with_nothing_spent(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        host = FakeHost(Program(tmp_path, server.url))
        async with host:
            host.prompt("apples")
            first = await host.result()
            host.prompt("/clear", uuid="5f0c8a3e-0000-4000-8000-000000000001")
            cleared = await host.result()
            host.prompt("pears")
            second = await host.result()
            await host.close()
        assert "apples" not in _sent(server)
    reset = next(frame for frame in host.frames if frame["type"] == "conversation_reset")
    assert reset["session_id"] == first["session_id"] and reset["trigger"] == "clear"
    assert (
        reset["new_conversation_id"] == cleared["session_id"] == second["session_id"] != first["session_id"]
    )
    assert reset["user_message_uuid"] == "5f0c8a3e-0000-4000-8000-000000000001"
    assert (cleared["num_turns"], cleared["total_cost_usd"], cleared["modelUsage"]) == (0, 0, {})
    after = host.frames[host.frames.index(reset) + 1 :]
    assert {frame["session_id"] for frame in after if "session_id" in frame} == {second["session_id"]}


async def test_both_conversations_are_on_disk_after_clearing(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        prompts = lines(user("apples"), user("/clear"), user("pears"))
        done = await program.run(*_TALK, stdin=prompts)
    assert done.code == 0
    texts = [path.read_text() for path in program.transcripts()]
    assert len(texts) == 2
    assert sorted("apples" in text for text in texts) == [False, True]
    assert sorted("pears" in text for text in texts) == [False, True]


async def test_an_unknown_command_and_a_composed_prompt_reach_the_model(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        prompts = lines(user("/frobnicate x"), user("/help", client_composed=True))
        await Program(tmp_path, server.url).run(*_TALK, stdin=prompts)
        assert "/frobnicate x" in _sent(server, 0) and "/help" in _sent(server, 1)


async def test_a_command_that_stands_for_a_prompt_runs_a_turn(tmp_path: Path):
    async with MessagesServer([step("Written.")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "/team-onboarding keep it short")
        sent = _sent(server)
    assert done.out == "Written.\n"
    assert "/team-onboarding keep it short" in sent and "Write a short guide" in sent


async def test_mentioned_files_go_along(tmp_path: Path):
    async with MessagesServer([step("I see.")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "a.py").write_text("answer = 42\n")
        await program.run("-p", "explain @a.py")
        assert "answer = 42" in _sent(server)


async def test_rules_are_kept_in_the_settings_of_the_project(tmp_path: Path):
    async with MessagesServer() as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "/permissions allow Bash(npm test) project")
    assert done.code == 0
    kept = json.loads((program.project / ".claude" / "settings.json").read_text())
    assert kept == {"permissions": {"allow": ["Bash(npm test)"]}}


async def test_settings_that_a_command_writes_count_at_once(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        prompts = lines(user("/config model=haiku"), user("hi"))
        program = Program(tmp_path, server.url)
        done = await program.run(*_TALK, stdin=prompts)
        assert server.requests[0].body["model"] == "claude-haiku-5-5"
    assert done.code == 0
    kept = json.loads((program.home / ".claude" / "settings.json").read_text())
    assert kept == {"model": "haiku"}


async def test_leaving_ends_the_program_when_the_last_prompt_is_done(tmp_path: Path):
    async with MessagesServer() as server, FakeHost(Program(tmp_path, server.url)) as host:
        host.prompt("/exit")
        result = await host.result()
        closed = await host.close()
    assert result["num_turns"] == 0 and closed[0] == 0


async def test_the_doctor_is_a_subcommand_too(tmp_path: Path):
    program = Program(tmp_path)
    done = await program.run("doctor")
    assert done.code == 1 and "ANTHROPIC_API_KEY" in done.out
    well = await program.run("doctor", "--json", ANTHROPIC_API_KEY="k")
    checks = json.loads(well.out)
    assert well.code == 0 and {check["health"] for check in checks} <= {"ok", "warning"}
    odd = await program.run("doctor", "now")
    assert odd.code == 1 and "takes one of security" in odd.err


async def test_a_skill_that_runs_apart_answers_and_the_conversation_knows_it(tmp_path: Path):
    async with MessagesServer([step("Three faults."), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        skill = program.home / ".claude" / "skills" / "inspect"
        skill.mkdir(parents=True)
        text = "---\nname: inspect\ndescription: Looks around.\ncontext: fork\n---\nInspect $ARGUMENTS.\n"
        (skill / "SKILL.md").write_text(text)
        done = await program.run(*_TALK, stdin=lines(user("/inspect the code"), user("mend them")))
        assert "Inspect the code." in _sent(server, 0)
        assert "Three faults." in _sent(server, 1) and "mend them" in _sent(server, 1)
        assert "Inspect the code." not in _sent(server, 1)
    results = [frame for frame in done.frames if frame["type"] == "result"]
    assert [result["result"] for result in results] == ["Three faults.", "ok"]


async def test_skills_of_files_are_commands_too(tmp_path: Path):
    async with MessagesServer([step("Shipped.")]) as server:
        program = Program(tmp_path, server.url)
        folder = program.home / ".claude" / "commands"
        folder.mkdir(parents=True)
        (folder / "ship.md").write_text("---\ndescription: Ships.\n---\nShip $ARGUMENTS today.\n")
        done = await program.run(*_STREAM, "/ship it")
        assert "Ship it today." in _sent(server)
    assert done.result["result"] == "Shipped." and "ship" in done.frames[0]["slash_commands"]

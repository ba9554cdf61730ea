"""Skills, command files, agent files and output styles in the whole program."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program, lines, user

_STREAM = ("-p", "--output-format", "stream-json", "--verbose")


def _use(name: str, call: str = "toolu_1", **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call, "name": name, "input": input}


def _write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def _skill(program: Program, name: str, text: str, *, of: str = "project") -> Path:
    folder = program.project / ".claude" if of == "project" else program.home / ".claude"
    return _write(folder / "skills" / name / "SKILL.md", text)


def _trusted(program: Program) -> dict[str, str]:
    return {"BRIDLE_TRUST_FOLDER": str(program.project)}


def _said(body: Any) -> str:
    return json.dumps(body["messages"], ensure_ascii=False)


async def test_model_is_told_of_skills_and_their_text_comes_with_the_call(tmp_path: Path):
    script = [step("loading", _use("Skill", skill="greet", args="Bob")), step("Hello Bob")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "---\ndescription: Greets people\n---\nSay hello to $0 in rhyme.")
        done = await program.run(*_STREAM, "go")
        first, second = (request.body for request in server.requests)
    assert done.result["result"] == "Hello Bob"
    assert "- greet: Greets people" in _said(first)
    assert "in rhyme" not in _said(first)
    assert "Say hello to Bob in rhyme." in _said(second)
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert "greet" in init["skills"] and "greet" in init["slash_commands"] and "Skill" in init["tools"]
    (result,) = [frame for frame in done.frames if frame.get("tool_use_result")]
    assert result["tool_use_result"] == {"success": True, "commandName": "greet", "status": "inline"}


async def test_users_call_skills_and_command_files_by_their_names(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "Say hello to $ARGUMENTS.", of="user")
        _write(program.project / ".claude/commands/git/tidy.md", "Tidy the $0 branch.")
        await program.run("-p", "/greet Ann and Bob")
        await program.run("-p", "/git:tidy main")
        first, second = (request.body for request in server.requests)
    assert "Say hello to Ann and Bob." in _said(first)
    assert "Tidy the main branch." in _said(second)


async def test_skill_that_waits_is_listed_only_where_the_session_lasts(tmp_path: Path):
    async with MessagesServer([step("Hi."), step("Hi."), step("Once.")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi")
        await program.run(
            "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose",
            stdin=lines(user("hi")),
        )  # fmt: skip
        called = await program.run("-p", "/loop 5m look")
    printed, hosted, asked = (_said(request.body) for request in server.requests)
    assert ("- loop:" in printed, "- loop:" in hosted) == (False, True)
    assert called.out == "Once.\n" and "5m look" in asked


async def test_model_cannot_call_what_only_users_may(tmp_path: Path):
    script = [
        step("x", _use("Skill", skill="deploy")),
        step("x", _use("Skill", "toolu_2", skill="nope")),
        step("ok"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "deploy", "---\ndescription: Ships\ndisable-model-invocation: yes\n---\nShip it.")
        done = await program.run(*_STREAM, "go")
        bodies = [request.body for request in server.requests]
    assert "- deploy" not in _said(bodies[0])
    assert "Ship it." not in _said(bodies[2])
    results = [
        block
        for frame in done.frames
        if frame["type"] == "user"
        for block in frame["message"]["content"]
        if block["type"] == "tool_result"
    ]
    assert [block["is_error"] for block in results] == [True, True]
    assert "type /deploy" in results[0]["content"]


async def test_skill_for_the_model_alone_is_no_command(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "inner", "---\ndescription: Inner\nuser-invocable: no\n---\nSecret text.")
        done = await program.run(*_STREAM, "/inner")
        (request,) = server.requests
    assert "- inner: Inner" in _said(request.body)
    assert "Secret text." not in _said(request.body)
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert "inner" not in init["slash_commands"] and "inner" not in init["skills"]


async def test_embedded_commands_run_with_what_the_skill_allows(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _skill(
            program,
            "state",
            "---\nallowed-tools: Bash(tee *)\n---\nNow: !`echo hello | tee out`\n\n```!\ncat out\n```",
            of="user",
        )
        await program.run("-p", "/state")
        (request,) = server.requests
    assert "Now: hello\\n\\nhello" in _said(request.body)


async def test_embedded_command_that_is_not_allowed_or_fails_aborts_the_skill(tmp_path: Path):
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "bad", "!`touch made.txt`", of="user")
        _skill(program, "failing", "!`ls /nowhere-at-all`", of="user")
        refused = await program.run("-p", "/bad")
        failed = await program.run("-p", "/failing")
        assert not server.requests
    assert not (program.project / "made.txt").exists()
    assert (refused.code, failed.code) == (1, 1)
    assert "touch made.txt" in refused.out + refused.err
    assert "/nowhere-at-all" in failed.out + failed.err


async def test_untrusted_folder_runs_nothing_and_allows_nothing(tmp_path: Path):
    hooks = "{PreToolUse: [{hooks: [{type: command, command: touch hooked}]}]}"
    text = f"---\nallowed-tools: Bash(touch *)\nhooks: {hooks}\n---\n"
    script = [step("x", _use("Bash", command="touch made.txt")), step("ok"), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "wide", f"{text}Go ahead.")
        _skill(program, "shell", f"{text}!`touch made.txt`")
        await program.run("-p", "/wide")
        stopped = await program.run("-p", "/shell")
        assert len(server.requests) == 2
    assert stopped.code == 1
    assert not (program.project / "made.txt").exists()
    assert not (program.project / "hooked").exists()


async def test_trusted_skill_allows_denies_and_hooks_for_its_turn(tmp_path: Path):
    text = (
        "---\nallowed-tools: Bash(touch *)\ndisallowed-tools: Write\nhooks: {PostToolUse: [{matcher: Bash, "
        "hooks: [{type: command, command: echo x >> hooked, once: true}]}]}\n"
        "---\nGo ahead."
    )
    script = [
        step("x", _use("Bash", command="touch a.txt"), _use("Bash", "toolu_2", command="touch b.txt")),
        step("x", _use("Write", "toolu_3", file_path="c.txt", content="c")),
        step("ok"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "wide", text)
        done = await program.run("-p", "/wide", "--permission-mode", "acceptEdits", **_trusted(program))
    assert done.code == 0
    assert (program.project / "a.txt").exists() and (program.project / "b.txt").exists()
    assert not (program.project / "c.txt").exists()
    assert (program.project / "hooked").read_text() == "x\n"


async def test_model_and_effort_of_a_skill_count_for_its_turn(tmp_path: Path):
    async with MessagesServer([step("ok")] * 4) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "think", "---\nmodel: opus\neffort: low\n---\nThink.")
        async with FakeHost(program) as host:
            for text in ("/think", "plain"):
                host.prompt(text)
                await host.result()
            await host.close()
        first, second = (request.body for request in server.requests[:2])
    assert "opus" in first["model"] and "opus" not in second["model"]
    assert json.dumps(first).count('"effort": "low"') == 1


async def test_forked_skill_is_followed_by_an_agent(tmp_path: Path):
    script = [step("x", _use("Skill", skill="study", args="cats")), step("Cats purr."), step("done")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "study", "---\ndescription: Studies\ncontext: fork\nagent: Explore\n---\nStudy $0.")
        done = await program.run(*_STREAM, "go")
        bodies = [request.body for request in server.requests]
    assert "Study cats." in _said(bodies[1])
    assert "Study cats." not in _said(bodies[0])
    (result,) = [frame for frame in done.frames if (frame.get("tool_use_result") or {}).get("commandName")]
    data = result["tool_use_result"]
    assert (data["status"], data["result"], bool(data["agentId"])) == ("forked", "Cats purr.", True)


async def test_files_that_a_skill_mentions_are_attached(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "rules.txt").write_text("Rule one\n")
        _skill(program, "check", "Follow @rules.txt closely.")
        await program.run("-p", "/check")
        (request,) = server.requests
    assert "Rule one" in _said(request.body)


async def test_skill_for_certain_files_is_told_when_one_is_touched(tmp_path: Path):
    script = [step("x", _use("Read", file_path="web/app.ts")), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _write(program.project / "web/app.ts", "let x\n")
        _skill(program, "typed", "---\ndescription: For types\npaths: '**/*.ts'\n---\nx")
        _skill(program, "styled", "---\ndescription: For styles\npaths: '**/*.css'\n---\nx")
        _write(program.project / "web/.claude/skills/bundle/SKILL.md", "---\ndescription: Bundles\n---\nx")
        await program.run("-p", "go")
        first, second = (_said(request.body) for request in server.requests)
    assert "- typed" not in first and "- bundle" not in first
    assert "- typed: For types" in second and "- bundle: Bundles" in second
    assert "- styled" not in second


async def test_host_may_name_the_only_skills_and_reload_them(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "one", "---\ndescription: First\n---\nx")
        _skill(program, "two", "---\ndescription: Second\n---\nx")
        async with FakeHost(program) as host:
            answer = (await host.request("initialize", skills=["one"]))["response"]
            names = {command["name"] for command in answer["commands"]}
            assert {"one", "two", "verify"} <= names
            assert "Learning" in answer["available_output_styles"]
            _skill(program, "three", "---\ndescription: Third\n---\nx")
            reloaded = (await host.request("reload_skills"))["response"]
            assert "three" in {each["name"] for each in reloaded["skills"]}
            changed = [frame for frame in host.frames if frame.get("subtype") == "commands_changed"]
            assert "three" in {each["name"] for each in changed[-1]["commands"]}
            host.prompt("hi")
            await host.result()
            await host.close()
        (request,) = server.requests
    assert "- one: First" in _said(request.body)
    assert "- two" not in _said(request.body)


async def test_host_is_told_within_seconds_when_a_file_comes(tmp_path: Path):
    async with MessagesServer([]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program) as host:
            known = (await host.request("initialize"))["response"]["commands"]
            _write(program.project / ".claude/commands/fresh.md", "x")
            changed = await host.until(lambda frame: frame.get("subtype") == "commands_changed")
            names = [{each["name"] for each in listed} for listed in (known, changed["commands"])]
            await host.close()
    assert names[1] - names[0] == {"fresh"}


async def test_skill_that_widens_rights_is_asked_about_when_the_model_calls_it(tmp_path: Path):
    script = [step("x", _use("Skill", skill="wide")), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(
            program, "wide", "---\ndescription: Wide\nallowed-tools: Bash(*)\n---\nBody of wide.", of="user"
        )
        done = await program.run(*_STREAM, "go")
        refused = _said(server.requests[-1].body)
    assert [denial["tool_name"] for denial in done.result["permission_denials"]] == ["Skill"]
    assert "Body of wide." not in refused
    async with MessagesServer(script) as server:
        program.env["ANTHROPIC_BASE_URL"] = server.url
        await program.run("-p", "--allowedTools", "Skill(wide)", "--", "go")
        allowed = _said(server.requests[-1].body)
    assert "Body of wide." in allowed


async def test_skill_that_comes_during_a_session_is_told(tmp_path: Path):
    script = [
        step(
            "x",
            _use("Write", file_path=".claude/skills/late/SKILL.md", content="---\ndescription: Late\n---\nx"),
        ),
        step("ok"),
        step("ok"),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--permission-mode", "bypassPermissions", IS_SANDBOX="1") as host:
            host.prompt("go")
            await host.result()
            await host.request("reload_skills")
            host.prompt("again")
            await host.result()
            await host.close()
        last = server.requests[-1].body
    assert "- late: Late" in _said(last)


@pytest.mark.parametrize("flag", ["--disable-slash-commands", "--bare"])
async def test_skills_can_be_turned_off(tmp_path: Path, flag: str):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "---\ndescription: Greets\n---\nSay hello.")
        await program.run("-p", flag, "/greet")
        (request,) = server.requests
    assert "# Skills" not in _said(request.body)
    assert "Say hello." not in _said(request.body)


async def test_without_slash_commands_they_are_plain_text_for_the_model(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(*_STREAM, "--disable-slash-commands", "/help me")
        (request,) = server.requests
    assert "/help me" in _said(request.body)
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert init["slash_commands"] == []


async def test_settings_decide_who_sees_a_skill(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        for name in ("off", "user", "named", "seen"):
            _skill(program, name, f"---\ndescription: Words of {name}\n---\nx")
        overrides = {"off": "off", "user": "user-invocable-only", "named": "name-only"}
        settings = json.dumps({"skillOverrides": overrides, "disableBundledSkills": True})
        done = await program.run(*_STREAM, "--settings", settings, "hi")
        (request,) = server.requests
    said = _said(request.body)
    assert "- named\\n- seen: Words of seen" in said
    assert "- off" not in said and "- user" not in said and "- verify" not in said
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert "user" in init["slash_commands"] and "off" not in init["slash_commands"]


async def test_skills_in_use_are_given_back_after_a_compaction(tmp_path: Path):
    script = [step("x", _use("Skill", skill="greet")), step("ok"), step("A summary."), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "---\ndescription: Greets\n---\nSay hello in rhyme.")
        async with FakeHost(program) as host:
            for text in ("go", "/compact", "on"):
                host.prompt(text)
                await host.result()
            await host.close()
        last = _said(server.requests[-1].body)
    assert "# Skills in use" in last
    assert "Say hello in rhyme." in last


async def test_bundled_skill_brings_its_files_where_they_can_be_read(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "/verify the login")
        (request,) = server.requests
    said = _said(request.body)
    assert "the login" in said
    (extracted,) = (program.home / ".claude/projects").rglob("ways.md")
    assert f"Base directory for this skill: {extracted.parent}" in said
    assert extracted.stat().st_mode & 0o777 == 0o600
    assert extracted.parent.stat().st_mode & 0o777 == 0o700


async def test_agent_files_are_offered_and_can_be_the_main_thread(tmp_path: Path):
    async with MessagesServer([step("ok")] * 2) as server:
        program = Program(tmp_path, server.url)
        text = "---\nname: poet\ndescription: Writes verse\ntools: Read\n---\nYou are a poet."
        _write(program.project / ".claude/agents/deep/poet.md", text)
        done = await program.run(*_STREAM, "hi")
        await program.run("-p", "--agent", "poet", "hi")
        first, second = (request.body for request in server.requests)
    assert "- poet: Writes verse" in _said(first)
    (init,) = [frame for frame in done.frames if frame.get("subtype") == "init"]
    assert "poet" in init["agents"]
    assert "You are a poet." in json.dumps(second["system"])
    assert [tool["name"] for tool in second["tools"]] == ["Read"]


async def test_output_style_joins_the_system_prompt(tmp_path: Path):
    async with MessagesServer([step("ok")] * 2) as server:
        program = Program(tmp_path, server.url)
        _write(
            program.project / ".claude/output-styles/pirate.md", "---\nname: Pirate\n---\nTalk like a pirate."
        )
        await program.run("-p", "--settings", '{"outputStyle": "Pirate"}', "hi")
        await program.run("-p", "--settings", '{"outputStyle": "Concise"}', "hi")
        first, second = (json.dumps(request.body["system"]) for request in server.requests)
    assert "Talk like a pirate." in first
    assert "as few words" in second
    assert len(first) < len(second)


async def test_broken_files_are_named_on_standard_error_and_the_session_goes_on(tmp_path: Path):
    async with MessagesServer([step("ok")] * 2) as server:
        program = Program(tmp_path, server.url)
        skill = _skill(program, "bad", "---\nname: x\ndescription: [never closed\n---\nBody")
        agent = _write(program.project / ".claude/agents/mute.md", "---\nname: mute\n---\nBody")
        told = await program.run("-p", "hi")
        silent = await program.run("-p", "hi", CLAUDE_CODE_ENTRYPOINT="sdk-py")
    assert (told.code, told.out) == (0, "ok\n")
    assert f"{skill}:" in told.err and str(agent) in told.err
    assert silent.err == ""


async def test_forked_skill_that_the_user_calls_is_followed_by_an_agent(tmp_path: Path):
    async with MessagesServer([step("Cats purr."), step("done")]) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "study", "---\ndescription: Studies\ncontext: fork\n---\nStudy $0.")
        done = await program.run("-p", "/study cats")
        first = server.requests[0].body
    assert "Study cats." in _said(first)
    assert "Cats purr." in done.out


async def test_skills_used_before_a_resume_are_given_back_after_a_compaction(tmp_path: Path):
    script = [
        step("x", _use("Skill", skill="greet", args="Bob")), step("Hello"), step("A summary."), step("on"),
    ]  # fmt: skip
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "greet", "---\ndescription: Greets\n---\nSay hello to $0 in rhyme.")
        done = await program.run(*_STREAM, "go")
        (program.project / ".claude/skills/greet/SKILL.md").unlink()
        host = FakeHost(program, "--resume", done.result["session_id"])
        async with host:
            for text in ("/compact", "on"):
                host.prompt(text)
                await host.result()
            await host.close()
        last = server.requests[-1].body
    assert "Say hello to Bob in rhyme." in _said(last)


async def test_what_a_forked_skill_allows_its_agent_may_do(tmp_path: Path):
    script = [
        step("x", _use("Skill", skill="note")), step("y", _use("Bash", "toolu_2", command="touch made")),
        step("done"), step("all done"),
    ]  # fmt: skip
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        front = "---\ndescription: Notes\ncontext: fork\nallowed-tools: Bash(touch:*)\n---\nNote it."
        _skill(program, "note", front, of="user")
        done = await program.run(*_STREAM, "go", "--allowedTools", "Skill(note)")
    assert done.result["permission_denials"] == []
    assert (program.project / "made").exists()


async def test_text_of_a_forked_skill_is_not_given_back_to_the_conversation_that_never_had_it(tmp_path: Path):
    script = [step("x", _use("Skill", skill="study")), step("Cats."), step("ok"), step("s"), step("on")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "study", "---\ndescription: Studies\ncontext: fork\n---\nStudy the cats.")
        async with FakeHost(program) as host:
            for text in ("go", "/compact", "on"):
                host.prompt(text)
                await host.result()
            await host.close()
        last = server.requests[-1].body
    assert "Study the cats." not in _said(last)


async def test_a_file_among_the_arguments_is_attached_once(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        (program.project / "rules.txt").write_text("Rule one\n")
        _skill(program, "check", "Check $ARGUMENTS.")
        await program.run("-p", "/check @rules.txt")
        (request,) = server.requests
    assert _said(request.body).count("Rule one") == 1


async def test_a_skill_of_the_project_attaches_no_files_from_elsewhere(tmp_path: Path):
    secret = _write(tmp_path / "elsewhere" / "secret.txt", "hunter2")
    async with MessagesServer([step("ok")] * 4) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "sly", f"Look at @{secret}.")
        _skill(program, "own", f"Look at @{secret}.", of="user")
        _skill(program, "plain", "Look at $0.")
        for prompt in ("/sly", "/own", f"/plain @{secret}", f"look at @{secret}"):
            await program.run("-p", prompt)
        said = ["hunter2" in _said(request.body) for request in server.requests]
    assert said == [False, True, True, True]


async def test_the_model_cannot_have_files_from_elsewhere_by_naming_them_to_a_skill(tmp_path: Path):
    secret = _write(tmp_path / "elsewhere" / "secret.txt", "hunter2")
    script = [step("x", _use("Skill", skill="own", args=f"@{secret}")), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "own", "Look at $ARGUMENTS.", of="user")
        await program.run("-p", "go")
        last = server.requests[-1]
    assert "Look at @" in _said(last.body) and "hunter2" not in _said(last.body)


async def test_an_output_style_that_is_not_there_is_told(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        _write(program.home / ".claude/settings.json", json.dumps({"outputStyle": "Nobody's"}))
        done = await program.run("-p", "go")
        unknown = await program.run("-p", "/output-style nobody's")
    assert done.code == 0 and 'unknown output style "Nobody\'s"' in done.err
    assert unknown.code == 1 and "Concise" in unknown.out


async def test_what_is_shown_of_extension_files_cannot_steer_a_terminal(tmp_path: Path):
    program = Program(tmp_path)
    evil = '"a \\e]0;title\\a \\e[31m b"'
    _skill(program, "one", f"---\ndescription: {evil}\nargument-hint: {evil}\n---\nx", of="user")
    _skill(program, "two", "\x1b[31m first words \x00", of="user")
    _write(program.home / ".claude/agents/a.md", f"---\nname: digger\ndescription: {evil}\n---\nDig.")
    for command in ("/skills", "/agents", "/help"):
        done = await program.run("-p", command, "--model", "offline")
        assert done.code == 0 and not set(done.out) & {"\x1b", "\x07", "\x00"}


async def test_the_window_counts_the_list_of_skills_as_it_was_cut(tmp_path: Path):
    program = Program(tmp_path)
    for number in range(150):
        _skill(program, f"skill-{number}", f"---\ndescription: {'word ' * 60}\n---\nx", of="user")
    done = await program.run("-p", "/context", "--model", "offline")
    (line,) = [line for line in done.out.splitlines() if "Skills:" in line]
    assert 500 < int(line.rpartition(" ")[2].replace(",", "")) <= 2_000


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("Look at @$ARGUMENTS.", "{secret}"),
        ("Look at @$0 closely.", "{secret}"),
        ("Look at @$ARGUMENTS[0]", "{secret}"),
        ('Look at @"$ARGUMENTS".', "{secret}"),
        ("Look at @$what", "{secret}"),
        ("Look at @/$ARGUMENTS", "{secret}"),
        ("Look at @notes/$ARGUMENTS", "../../elsewhere/secret.txt"),
        ("Look at $ARGUMENTS", "@{secret}"),
        ("Look at ($0)", "x (@{secret})"),
        ("Look at @$ARGUMENTS", '"{secret}"'),
        ("Look at @$ARGUMENTS", "{secret}#L1-2"),
        ("Look at it.", "@{secret}"),
    ],
)
@pytest.mark.parametrize("mode", ["default", "plan", "dontAsk"])
async def test_no_argument_of_the_model_reads_a_file_from_elsewhere(
    tmp_path: Path, body: str, arguments: str, mode: str
):
    """S1, S30: a skill of the user lends its author's rights to what its author wrote, not to arguments."""
    secret = _write(tmp_path / "elsewhere" / "secret.txt", "hunter2")
    script = [step("x", _use("Skill", skill="look", args=arguments.format(secret=secret))), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        (program.project / "notes").mkdir()
        _skill(program, "look", f"---\narguments: what\n---\n{body}", of="user")
        await program.run("-p", "go", "--permission-mode", mode)
        last = server.requests[-1]
    assert "Look at" in _said(last.body) and "hunter2" not in _said(last.body)


async def test_what_the_user_types_behind_a_skill_is_attached_and_what_is_piped_in_is_not(tmp_path: Path):
    """S30: a path that the user typed is theirs; one in a file that is piped in is anyone's."""
    secret = _write(tmp_path / "elsewhere" / "secret.txt", "hunter2")
    async with MessagesServer([step("ok")] * 4) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "look", "Look at @$ARGUMENTS", of="user")
        await program.run("-p", f"/look {secret}")
        await program.run("-p", "/look", stdin=str(secret).encode())
        await program.run("-p", "explain this", stdin=f"see @{secret}".encode())
        await program.run("-p", stdin=f"see @{secret}".encode())
        said = ["hunter2" in _said(request.body) for request in server.requests]
    assert said == [True, False, False, True]


@pytest.mark.parametrize(
    "arguments", ["; touch pwned", "$(touch pwned)", "`touch pwned`", "x\ntouch pwned", "| tee pwned"]
)
async def test_arguments_of_the_model_run_nothing_in_the_commands_of_a_skill(tmp_path: Path, arguments: str):
    """S1, S10: the command passes the gate with its arguments in it."""
    script = [step("x", _use("Skill", skill="look", args=arguments)), step("ok")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        _skill(program, "look", "Out: !`echo $ARGUMENTS`", of="user")
        await program.run("-p", "go")
    assert not (program.project / "pwned").exists()


@pytest.mark.parametrize(
    ("header", "runs"),
    [
        ("description: x", True),
        ("disable-model-invocation: true", False),
        ("allowed-tools: Bash(touch *)", False),
    ],
)
async def test_a_skill_that_no_person_called_passes_the_gate_as_a_call_of_the_model(
    tmp_path: Path, header: str, runs: bool
):
    """S1, S5: a hook's first prompt calls what the model could call unasked."""
    said = {"hookSpecificOutput": {"hookEventName": "SessionStart", "initialUserMessage": "/greet Bob"}}
    hook = {"type": "command", "command": f"echo '{json.dumps(said)}'"}
    async with MessagesServer([step("Hello Bob")]) as server:
        program = Program(tmp_path, server.url)
        _write(
            program.home / ".claude/settings.json",
            json.dumps({"hooks": {"SessionStart": [{"hooks": [hook]}]}}),
        )
        _skill(program, "greet", f"---\n{header}\n---\nSay hello to $0 in rhyme.", of="user")
        async with FakeHost(program, "-p") as host:
            result = await host.result()
            await host.close()
    assert result["is_error"] is not runs and len(server.requests) == int(runs)
    assert not runs or "Say hello to Bob in rhyme." in _said(server.requests[0].body)

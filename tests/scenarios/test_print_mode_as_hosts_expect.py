"""Print mode waits for hooks that may wake the model, and takes a user's own names first."""

import json
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program


def _user_file(program: Program, path: str, text: str) -> None:
    file = program.home / ".claude" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


async def test_the_words_of_a_background_hook_continue_the_turn(tmp_path: Path):
    once = "read -r input; [ -e woken ] || { touch woken; echo 'look again' >&2; exit 2; }"
    hook = {"type": "command", "command": once, "asyncRewake": True}
    async with MessagesServer([step("first"), step("second")]) as server:
        program = Program(tmp_path, server.url)
        _user_file(program, "settings.json", json.dumps({"hooks": {"Stop": [{"hooks": [hook]}]}}))
        done = await program.run("-p", "hi", "--output-format", "stream-json", "--verbose")
        assert "look again" in json.dumps(server.requests[-1].body["messages"])
    assert done.result["result"] == "second"
    assert server.left == 0


async def test_a_skill_answers_to_its_folder_and_to_the_name_of_its_header(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _user_file(program, "skills/folder/SKILL.md", "---\nname: header\ndescription: x\n---\nBODY")
        for name in ("folder", "header"):
            await program.run("-p", f"/{name}")
            assert "BODY" in json.dumps(server.requests[-1].body["messages"])


async def test_a_users_own_command_takes_the_name_of_one_that_scripts_do_not_rely_on(tmp_path: Path):
    async with MessagesServer([step("ok", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        for name in ("plan", "diff", "context"):
            _user_file(program, f"commands/{name}.md", f"OWN {name}")
        for name in ("plan", "diff"):
            await program.run("-p", f"/{name}")
            assert f"OWN {name}" in json.dumps(server.requests[-1].body["messages"])
        asked = len(server.requests)
        await program.run("-p", "/context")
        assert all("OWN context" not in json.dumps(each.body) for each in server.requests[asked:])


async def test_a_subscription_token_is_refused_in_one_sentence_and_a_missing_key_asks_for_a_login(
    tmp_path: Path,
):
    program = Program(tmp_path)
    plain = await program.run("-p", "hi")
    token = await program.run("-p", "hi", CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-x")
    folder = program.home / ".claude"
    folder.mkdir(exist_ok=True)
    (folder / ".credentials.json").write_text(
        json.dumps({"claudeAiOauth": {"accessToken": "sk-ant-oat01-x"}})
    )
    file = await program.run("-p", "hi")
    status = await program.run("auth", "status", "--text")
    reason = "Anthropic allows it only in its own programs"
    assert "Please run /login" in plain.out and reason not in plain.out
    assert reason in token.out and reason in file.out and reason in status.out
    assert (plain.code, token.code, file.code) == (1, 1, 1)

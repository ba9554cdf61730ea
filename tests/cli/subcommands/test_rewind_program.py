"""`bridle rewind`, as users run it."""

import json
from pathlib import Path
from typing import Any

from bridle.sdk import Client, Options, UserMessage
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_KEEPS = {"CLAUDE_CODE_ENABLE_SDK_FILE_CHECKPOINTING": "1"}
_HOOK = {
    "PostToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "echo hook > by_hook.txt"}]}]
}


def _bash(number: int, command: str) -> Any:
    return step({"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": {"command": command}})


def _files(program: Program) -> dict[str, str]:
    return {path.name: path.read_text() for path in program.project.iterdir() if path.is_file()}


def _asked(program: Program) -> list[str]:
    """The prompts of the conversation that a resume would continue."""
    rows = program.rows()
    leaf = next(row["leafUuid"] for row in reversed(rows) if row["type"] in ("bridle-leaf", "last-prompt"))
    known = {row["uuid"]: row for row in rows if "uuid" in row}
    found: list[str] = []
    while leaf is not None:
        row = known[leaf]
        if row["type"] == "user" and isinstance(row["message"]["content"], str):
            found.append(row["message"]["content"])
        leaf = row["parentUuid"]
    return found[::-1]


async def test_conversation_and_files_go_back_and_forth_together(tmp_path: Path):
    answers = [
        _bash(1, "echo one > a.txt; chmod 600 a.txt"),
        step("first done"),
        _bash(2, "rm a.txt; mkdir folder; echo two > folder/b.txt"),
        step("second done"),
        step("third done"),
    ]
    settings = json.dumps({"hooks": _HOOK})
    words = ("-p", "--settings", settings, "--permission-mode", "acceptEdits", "--allowedTools", "Bash")
    async with MessagesServer(answers) as server:
        program = Program(tmp_path, server.url, **_KEEPS)
        (program.project / "kept.txt").write_text("kept")
        for number, flags in (("first", ()), ("second", ("--continue",))):
            done = await program.run(*words, *flags, "--", number)
            assert (done.code, done.out) == (0, f"{number} done\n"), done
        after = _files(program)
        assert set(after) == {"kept.txt", "by_hook.txt"}
        listed = await program.run("rewind")
        assert [line.split()[0] for line in listed.out.splitlines()] == ["1", "2"], listed
        preview = await program.run("rewind", "2", "--dry-run")
        assert "would change" in preview.out
        assert _files(program) == after
        back = await program.run("rewind", "1")
        assert (back.code, "Rewound the conversation." in back.out) == (0, True), back
        assert (program.project / "a.txt").read_text() == "one\n"
        assert (program.project / "a.txt").stat().st_mode & 0o777 == 0o600
        assert not (program.project / "folder").exists()
        assert _asked(program) == ["first"]
        further = await program.run("rewind", "1")
        assert further.code == 0, further
        assert _files(program) == {"kept.txt": "kept"}
        for _ in range(2):
            redone = await program.run("rewind", "--redo")
            assert (redone.code, "continues where it was" in redone.out) == (0, True), redone
        assert _files(program) == after
        assert _asked(program) == ["first", "second"]
        assert "nothing to redo" in (await program.run("rewind", "--redo")).err

        assert (await program.run("rewind", "1", "--conversation")).code == 0
        assert _files(program) == after
        third = await program.run(*words, "--continue", "--", "third")
        assert third.out == "third done\n", third
        branches = await program.run("rewind", "--branches")
        assert branches.out.startswith("1  ")
        assert "1 prompts  second" in branches.out
        assert (await program.run("rewind", "--branch", "1")).code == 0
        assert _asked(program) == ["first", "second"]


async def test_what_others_changed_is_refused_by_name_and_bad_words_too(tmp_path: Path):
    async with MessagesServer([_bash(1, "echo one > a.txt"), step("done")]) as server:
        program = Program(tmp_path, server.url, **_KEEPS)
        assert (await program.run("rewind")).out == "Nothing to rewind to.\n"
        assert (await program.run("-p", "--allowedTools", "Bash", "--", "go")).code == 0
    (program.project / "a.txt").write_text("mine")
    refused = await program.run("rewind", "1")
    assert (refused.code, "another program has changed" in refused.err) == (1, True), refused
    assert _asked(program) == ["go"]
    shown = await program.run("rewind", "1", "--dry-run")
    assert "changed by another program: " in shown.out
    assert (await program.run("rewind", "1", "--force")).code == 0
    assert not (program.project / "a.txt").exists()
    for argv, words in {
        ("rewind", "9"): "There is no prompt 9",
        ("rewind", "1", "--redo"): "one of them",
        ("rewind", "1", "--files", "--conversation"): "one of them at most",
        ("rewind", "--branch", "7"): "/rewind branches lists them",
    }.items():
        done = await program.run(*argv)
        assert (done.code, words in done.err) == (1, True), done


async def test_programs_rewind_and_redo(tmp_path: Path):
    async with MessagesServer([_bash(1, "echo one > a.txt"), step("done")]) as server:
        program = Program(tmp_path, server.url)
        options = Options(
            cwd=str(program.project),
            env={**program.env},
            allowed_tools=["Bash"],
            enable_file_checkpointing=True,
            extra_args={"replay-user-messages": None},
        )
        async with Client(options) as client:
            await client.query("go")
            seen = [message async for message in client.receive_response()]
            prompt = next(each.uuid for each in seen if isinstance(each, UserMessage) and each.uuid)
            changed = await client.rewind(str(prompt))
            assert changed["filesChanged"] == [str(program.project / "a.txt")]
            assert not (program.project / "a.txt").exists()
            await client.redo()
            assert (program.project / "a.txt").read_text() == "one\n"

"""A session with an audit chain, as users run it."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_SECRET = "sk-planted-4f9d27c1b8"
_ON = json.dumps({"bridleAudit": {"enabled": True}})


def _tool(number: int, name: str, **input: Any) -> Any:
    return step({"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": input})


def _chain(program: Program) -> Path:
    (path,) = (program.home / ".claude" / "bridle" / "audit").glob("*.jsonl")
    return path


async def _session(program_folder: Path, *flags: str) -> Program:
    file = program_folder / "project" / "a.txt"
    answers = [
        _tool(1, "Write", file_path=str(file), content=f"key {_SECRET}\n"),
        _tool(2, "Bash", command=f"cat a.txt # {_SECRET}"),
        _tool(3, "Bash", command="touch denied.txt"),
        _tool(4, "Read", file_path=str(file)),
        _tool(5, "Read", file_path=str(program_folder / "nowhere")),
        step(f"done {_SECRET}"),
    ]
    async with MessagesServer(answers) as server:
        program = Program(program_folder, server.url, MY_TOKEN=_SECRET)
        rule = "Bash(cat a.txt:*)"
        words = ("-p", "--settings", _ON, "--allowedTools", "Write", rule, *flags, "--", f"keep {_SECRET}")
        done = await program.run(*words)
    assert done.code == 0, done.err
    return program


async def test_chain_and_transcript_agree_and_hold_no_secret(tmp_path: Path):
    program = await _session(tmp_path)
    path = _chain(program)
    assert path.stat().st_mode & 0o777 == 0o600
    records = [json.loads(line) for line in path.read_text().splitlines()]
    kinds = [each["kind"] for each in records]
    assert (kinds[0], kinds[-1]) == ("begin", "seal")
    for kind, count in {"turn": 1, "model": 6, "answered": 6, "call": 5, "result": 5, "file": 1}.items():
        assert kinds.count(kind) >= count, (kind, kinds)
    decided = [each["data"] for each in records if each["kind"] == "decision"]
    assert "cliArg" in {each["rule"]["source"] for each in decided if "rule" in each}
    assert "toolu_3" in {each["data"]["call"] for each in records if each["kind"] == "denied"}
    (changed,) = (each["data"] for each in records if each["kind"] == "file")
    assert (changed["before"], len(changed["after"])) == ("none", 64)
    for file in path.parent.iterdir():
        assert _SECRET not in file.read_text()
    verified = await program.run("audit", "verify")
    assert (verified.code, "no faults, sealed" in verified.out) == (0, True), verified
    for call in range(1, 6):
        proved = await program.run("audit", "prove", f"toolu_{call}")
        assert (proved.code, "verified: signed" in proved.out) == (0, True), proved

    (transcript,) = program.transcripts()
    text = transcript.read_text()
    transcript.write_text(text.replace("touch denied.txt", "touch other.txt"))
    verified = await program.run("audit", "verify")
    assert verified.code == 1
    assert "call toolu_3 (Bash) has another input in the transcript" in verified.out
    transcript.write_text(text)

    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5] + lines[6:]))
    verified = await program.run("audit")
    assert verified.code == 1
    assert "record 5 was removed" in verified.out


async def test_records_in_other_forms(tmp_path: Path):
    program = await _session(tmp_path)
    count = len(_chain(program).read_text().splitlines())
    shown = await program.run("audit", "show")
    assert (shown.code, len(shown.out.splitlines())) == (0, count)
    jsonl = await program.run("audit", "export")
    assert [each["i"] for each in jsonl.frames] == [*range(count)]
    table = await program.run("audit", "export", "--format", "csv")
    assert len(table.out.splitlines()) == count + 1
    otel = await program.run("audit", "export", "--format", "otel")
    (logs,) = json.loads(otel.out)["resourceLogs"][0]["scopeLogs"]
    assert len(logs["logRecords"]) == count


async def test_off_unless_the_user_asks_for_it(tmp_path: Path):
    async with MessagesServer([step("done")]) as server:
        program = Program(tmp_path, server.url)
        folder = program.project / ".claude"
        folder.mkdir()
        (folder / "settings.json").write_text(_ON)
        await program.run("-p", "hello")
    assert not (program.home / ".claude" / "bridle" / "audit").exists()
    none = await program.run("audit")
    assert none.code == 1
    assert "No audit key" in none.err


async def test_a_session_goes_on_where_no_chain_can_be_kept(tmp_path: Path):
    async with MessagesServer([step("done")]) as server:
        program = Program(tmp_path, server.url)
        place = program.home / ".claude" / "bridle"
        place.mkdir(parents=True)
        (place / "audit").write_text("in the way")
        done = await program.run("-p", "--settings", _ON, "hello")
    assert (done.code, done.out) == (0, "done\n")
    assert done.err.count("audit chain") == 1

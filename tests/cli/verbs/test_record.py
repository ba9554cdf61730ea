import json
import re
import shlex
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.sse import tool_use

_DOCS = Path(__file__).parents[3] / "docs" / "record-replay.md"


async def test_a_run_is_recorded_once_and_replayed_without_its_model(tmp_path: Path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    async with MessagesServer() as server:
        first = Program(tmp_path / "one", server.url)
        note = first.project / "note.txt"
        note.write_text("swordfish\n")
        server.script([step("Reading.", tool_use("Read", file_path=str(note))), step("It is swordfish.")])
        flags = ("-p", "what is the word?", "--model", "sonnet")
        done = await first.run("record", "-o", "c.jsonl", "--", *flags)
        assert (done.code, done.out) == (0, "It is swordfish.\n")
        assert done.err == "recorded in c.jsonl\n"
    cassette = (first.project / "c.jsonl").read_text()
    assert "test-key" not in cassette and str(tmp_path) not in cassette
    second = Program(tmp_path / "two", "http://127.0.0.1:9")
    (second.project / "note.txt").write_text("swordfish\n")
    (second.project / "c.jsonl").write_text(cassette)
    again = await second.run("replay", "c.jsonl", "--", *flags)
    assert (again.code, again.out, again.err) == (0, "It is swordfish.\n", "")
    (second.project / "note.txt").write_text("halibut\n")
    changed = await second.run("replay", "c.jsonl", "--", *flags)
    assert changed.code == 1
    assert "messages[2].content[0].content" in changed.err
    assert "swordfish" in changed.err and "halibut" in changed.err


async def test_a_run_that_asks_less_than_was_recorded_fails(tmp_path: Path):
    program = Program(tmp_path)
    flags = ("-p", "--model", "offline", "list the files")
    await program.run("record", "--", *flags)
    done = await program.run("replay", "cassette.jsonl", "--", *flags, "--max-turns", "1")
    assert done.code == 1
    assert "recorded requests were not replayed" in done.err


async def test_words_that_are_off_are_refused(tmp_path: Path):
    program = Program(tmp_path)
    for words, code, told in (
        (("record", "-p", "hi"), 1, "put -- before"),
        (("record", "--"), 1, "missing argument -- <arguments>"),
        (("record", "--ignore", "(", "--", "-p", "hi"), 1, "not a valid regular expression"),
        (("replay", "nothing.jsonl", "--", "-p", "hi"), 1, "Could not read"),
        (("replay", "--", "-p", "hi"), 1, "missing argument <file>"),
    ):
        done = await program.run(*words)
        assert (done.code, done.out) == (code, "")
        assert told in done.err


async def test_the_example_of_the_documentation_works(tmp_path: Path):
    program = Program(tmp_path)
    text = _DOCS.read_text(encoding="utf-8")
    hook = re.search(r"```json\n(.*?)```", text, re.DOTALL)
    commands = re.findall(r"^\$ bridle (.*)$", text, re.MULTILINE)
    assert hook is not None
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(hook[1])
    assert json.loads(hook[1])
    (program.project / "notes.txt").write_text("milk\n")
    record, replay = commands[:2]
    env = {"BRIDLE_TRUST_FOLDER": str(program.project)}
    assert (await program.run(*shlex.split(record), **env)).code == 0
    assert (await program.run(*shlex.split(replay), **env)).code == 0
    (program.project / ".claude" / "settings.json").write_text(hook[1].replace("Keep it short", "Be long"))
    changed = await program.run(*shlex.split(replay), **env)
    assert changed.code == 1
    assert "Keep it short" in changed.err and "Be long" in changed.err

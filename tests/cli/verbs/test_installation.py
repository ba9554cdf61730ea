"""`bridle update`, `install`, `import`, `project purge`, `setup-token`, `man` and `--complete`."""

import json
import sys
from pathlib import Path

import pytest

from bridle.cli.verbs.update import newest_in
from bridle.commands.imports import AGENTS, plan_all
from bridle.config.installation import Installation, Kind
from bridle.version import __version__
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.tables import table

_ID = "11111111-2222-4333-8444-555555555555"


@table(
    "kind, version, expected",
    [
        ("pipx", "", "pipx upgrade bridle"),
        ("pipx", "0.2.0", "pipx install --force bridle==0.2.0"),
        ("uv tool", "", "uv tool upgrade bridle"),
        ("uv tool", "0.2.0", "uv tool install --force bridle==0.2.0"),
        ("uv", "", "uv pip install --python /py --upgrade bridle"),
        ("pip", "0.2.0", "/py -m pip install --upgrade bridle==0.2.0"),
        ("pip --user", "", "/py -m pip install --user --upgrade bridle"),
        ("conda", "", None),
        ("distribution", "", None),
        ("source", "", None),
    ],
)
def test_the_program_that_installed_bridle_updates_it(kind: Kind, version: str, expected: str | None):
    found = Installation(kind=kind, place="/env", version="0.1.0", python="/py")
    command = found.command(version)

    assert (None if command is None else " ".join(command)) == expected
    assert command is not None or "update" in found.advice


def test_what_did_not_come_from_an_index_is_not_looked_for_in_one():
    plain: tuple[Kind, ...] = ("pip", "uv", "pip --user")
    for kind in plain:
        found = Installation(kind=kind, place="/env", version="0.1.0", source="/dist/bridle.whl")
        assert (found.command(), found.command("0.2.0"), found.question()) == (None, None, None)
        assert "/dist/bridle.whl" in found.advice
    tools: dict[Kind, str] = {"pipx": "pipx upgrade bridle", "uv tool": "uv tool upgrade bridle"}
    for kind, expected in tools.items():
        found = Installation(kind=kind, place="/env", version="0.1.0", source="git+https://x")
        assert " ".join(found.command() or ()) == expected and found.command("0.2.0") is None


@table(
    "report, log, expected",
    [
        (json.dumps({"install": [{"metadata": {"name": "bridle", "version": "0.2.0"}}]}), "", "0.2.0"),
        ("", "Would install 1 package\n + bridle==0.3.1\n", "0.3.1"),
        ("", "Would make no changes\n", __version__),
        ("", "ERROR: no network", None),
        ("[" * 100_000, "", None),
        ('{"install": [{"metadata": {"version": "\x1b[31m"}}]}', " + bridle==;rm", None),
        ('{"install": 3}', "", None),
    ],
)
def test_the_newest_version_is_read_from_what_the_installer_says(report: str, log: str, expected: str | None):
    assert newest_in(report, log) == expected


async def test_a_checkout_is_told_how_to_update_and_nothing_runs(tmp_path: Path):
    program = Program(tmp_path)
    for words in (("update",), ("install", "0.1.0"), ("update", "--check")):
        done = await program.run(*words)
        assert done.code == 1 and "git -C" in done.out, words
    off = await program.run("update", DISABLE_UPDATES="1")
    wrong = await program.run("install", "; rm -rf /")
    assert (off.code, wrong.code) == (1, 1)
    assert "DISABLE_UPDATES" in off.err and "is not a version" in wrong.err


async def test_verbs_that_are_not_there_are_one_line_and_no_prompt(tmp_path: Path):
    async with MessagesServer([step("hello")]) as server:
        program = Program(tmp_path, server.url)
        for words in (
            ("mcpp",),
            ("mcpp", "list"),
            ("ssh", "host"),
            ("server",),
            ("open", "cc://x"),
            ("updat",),
        ):
            done = await program.run(*words)
            assert (done.code, done.out, len(done.err.splitlines())) == (1, "", 1), words
        assert server.requests == []
        assert (await program.run("-p", "mcpp")).out == "hello\n"


async def test_help_of_every_verb_ends_well(tmp_path: Path):
    program = Program(tmp_path)
    for words in (
        ("update",),
        ("project", "purge"),
        ("import",),
        ("agents",),
        ("rm",),
        ("mcp", "add"),
        ("man",),
    ):
        done = await program.run(*words, "--help")
        assert done.code == 0 and done.out.startswith(f"Usage: bridle {' '.join(words)}"), words


async def test_short_flags_and_searches_work(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / "a.txt").write_text("needle\n")
    version, found, missing = [
        await program.run(*words)
        for words in (
            ("-V",),
            ("--ripgrep", "-n", "needle", "a.txt"),
            ("--ripgrep", "nothing-of-it", "a.txt"),
        )
    ]
    assert version.out.startswith("2.") and version.code == 0
    assert (found.out, found.code, missing.code) == ("1:needle\n", 0, 1)


async def test_a_conversation_is_resumed_by_its_name_or_a_part_of_it(tmp_path: Path):
    async with MessagesServer([step("one"), step("two"), step("three"), step("four")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hello", "-n", "Fix the login")
        await program.run("-p", "other", "-n", "Fix the parser")
        by_name = await program.run("-p", "again", "--resume", "fix the login", "--output-format", "json")
        by_part = await program.run("-p", "again", "-r", "parser", "--output-format", "json")
        several = await program.run("-p", "again", "--resume", "fix")
        none = await program.run("-p", "again", "--resume", "nothing like it")
        sent = [json.dumps(request.body["messages"]) for request in server.requests[2:]]
    assert (by_name.code, by_part.code, several.code, none.code) == (0, 0, 1, 1)
    assert "hello" in sent[0] and "other" in sent[1] and len(sent) == 2
    assert "2 conversations match" in several.err and "No conversation found" in none.err


async def test_purging_a_project_shows_asks_and_leaves_other_projects_alone(tmp_path: Path):
    async with MessagesServer([step("one"), step("two")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hello")
        (transcript,) = program.transcripts()
        other = transcript.parent.parent / "-other" / f"{_ID}.jsonl"
        other.parent.mkdir()
        other.write_text("{}\n")
        history = program.home / ".claude" / "file-history" / transcript.stem
        history.mkdir(parents=True, exist_ok=True)
        dry = await program.run("project", "purge", "--dry-run")
        unasked = await program.run("project", "purge")
        assert transcript.exists() and (dry.code, unasked.code) == (0, 1)
        assert str(transcript.parent) in dry.out and "not interactive" in unasked.err
        done = await program.run("project", "purge", "-y")
    assert (done.code, transcript.parent.exists(), history.exists(), other.exists()) == (
        0,
        False,
        False,
        True,
    )
    assert (await program.run("project", "purge", "-y")).out == "Nothing is stored for this project.\n"


async def test_another_agents_configuration_is_brought_over_once(tmp_path: Path):
    program = Program(tmp_path)
    files = {
        ".codex/config.toml": '[mcp_servers.db]\ncommand = "db"\nargs = ["x", 3]\n',
        ".codex/prompts/fix.md": "Fix it",
        ".gemini/settings.json": '{"mcpServers": {"web": {"httpUrl": "https://x.example"}}}',
        ".config/opencode/opencode.jsonc": """{ // servers
            "mcp": {"own": {"type": "local", "command": ["own", "-v"], "environment": {"A": "1"}},
                    "off": {"type": "local", "command": ["off"], "enabled": false}}}""",
        ".config/opencode/AGENTS.md": "Be brief.",
    }
    for name, text in files.items():
        path = program.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    dry = await program.run("import", "--dry-run", XDG_CONFIG_HOME="")
    state = program.home / ".claude" / ".claude.json"
    assert dry.code == 0 and not state.exists()
    done = await program.run("import", "--yes", XDG_CONFIG_HOME="")
    again = await program.run("import", "--yes", XDG_CONFIG_HOME="")
    servers = json.loads(state.read_text())["mcpServers"]
    assert done.code == 0 and "Nothing new to import" in again.out
    assert sorted(servers) == ["db", "own", "web"]
    assert (servers["db"]["args"], servers["own"]["env"]) == (["x"], {"A": "1"})
    assert (program.home / ".claude" / "CLAUDE.md").read_text() == "Be brief."
    assert (program.home / ".claude" / "commands" / "fix.md").read_text() == "Fix it"


_HOSTILE = (
    b"",
    b"\x00\xff\xfe",
    b"{" * 50_000,
    b"[" * 200_000,
    b'{"mcp": 3, "mcpServers": [], "mcp_servers": "x"}',
    b'{"mcp": {"a": {"type": "local", "command": []}, "b": 3}, "mcpServers": {"\\u001b": {"command": "x"}}}',
    b'[mcp_servers]\n"' + b"a" * 5_000 + b'" = {command = "x"}\n',
    b"a = " + b"[" * 20_000,
    b"x" * 2_000_000,
)


@pytest.mark.parametrize("data", _HOSTILE, ids=range(len(_HOSTILE)))
def test_broken_deep_and_huge_files_bring_nothing_over_and_break_nothing(tmp_path: Path, data: bytes):
    env = {"HOME": str(tmp_path), "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
    for name in (".codex/config.toml", ".gemini/settings.json", ".config/opencode/opencode.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / ".gemini" / "commands").mkdir()
    (tmp_path / ".gemini" / "commands" / "a.toml").write_bytes(data)

    assert [step for agent in AGENTS for step in plan_all([agent], env)] == []


async def test_a_key_is_printed_and_stored_nowhere(tmp_path: Path):
    program = Program(tmp_path)
    done = await program.run("setup-token", "--key-stdin", "--no-verify", stdin="sk-some-key\n")
    kept = [path for path in program.home.rglob("*") if path.is_file() and b"sk-some" in path.read_bytes()]
    assert (done.code, done.out, kept) == (0, "sk-some-key\n", [])
    bad = await program.run("setup-token", "--key-stdin", "--no-verify", stdin="two words\n")
    assert (bad.code, bad.out) == (1, "")


async def test_names_for_shells_are_plain_words_only(tmp_path: Path):
    async with MessagesServer([step("one")] * 4) as server:
        program = Program(tmp_path, server.url)
        for name in ("plain-name", "$(touch x)", "two words", "a;b"):
            await program.run("-p", "hello", "-n", name)
        sessions = (await program.run("--complete", "sessions")).out.split("\n")
    named = [each for each in sessions if (each and not each[:8].isalnum()) or each == "plain-name"]
    assert named == ["plain-name"] and len([each for each in sessions if each]) == 5
    agents = program.home / ".claude" / "agents"
    agents.mkdir(parents=True, exist_ok=True)
    (agents / "a.md").write_text("---\nname: reviewer\ndescription: d\n---\nx\n")
    assert "reviewer\n" in (await program.run("--complete", "agents")).out
    assert "sonnet\n" in (await program.run("--complete", "models")).out


_LINES: tuple[tuple[tuple[str, ...], list[str] | None], ...] = (
    (("mcp", "add-"), ["add-from-claude-desktop", "add-json"]),
    (("--permission-mode", "ac"), ["acceptEdits"]),
    (("import", "c"), ["codex"]),
    (("nonsense", "x" * 100_000), []),
    (("\x1b", "\udcff", ""), None),
    (("--", "--complete", "line"), None),
    ((), None),
)


async def test_a_whole_line_is_completed_whatever_is_in_it(tmp_path: Path):
    program = Program(tmp_path)
    for words, expected in _LINES:
        done = await program.run("--complete", "line", "--", *words)
        assert (done.code, done.err) == (0, ""), words
        assert expected is None or done.out.split() == expected, words


async def test_the_manual_page_is_one_that_man_can_show(tmp_path: Path):
    done = await Program(tmp_path).run("man")
    assert done.code == 0 and done.out.startswith(".TH BRIDLE 1")
    assert not any(line.startswith("'") for line in done.out.splitlines())
    for word in (r"\-\-resume", "bridle mcp add", "bridle project purge"):
        assert word in done.out
    assert sys.executable not in done.out

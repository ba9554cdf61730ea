"""S61: whatever a model, file, server or repository says, no verb lets it steer the terminal."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bridle.cli.flags import ALIASES, SUBCOMMANDS
from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.program import Program
from tests.fakes.tty import ALL, NAME, RAW, Shown, harm, show
from tests.frontends.tui.app.session import bridle

_SERVER = """
import json, sys
spite = json.loads(sys.argv[1])
sys.stderr.write(spite); sys.stderr.flush()
for line in sys.stdin:
    asked = json.loads(line)
    result = {}
    if asked.get("method") == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                  "serverInfo": {"name": spite, "version": spite}, "instructions": spite}
    elif asked.get("method") == "tools/list":
        tool = {"name": "t", "title": spite, "description": spite, "inputSchema": {"type": "object"}}
        result = {"tools": [tool]}
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""


class Scene(NamedTuple):
    """A folder of a stranger, and a home in which strangers have been named."""

    project: Path
    home: Path
    env: dict[str, str]

    async def show(self, *argv: str, stdin: bytes = b"", out: bool = True, err: bool = True) -> Shown:
        return await show(argv, env=self.env, cwd=self.project, stdin=stdin, out=out, err=err)


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    program = Program(tmp_path, "http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="0")
    project = tmp_path / f"project{NAME}"
    project.mkdir()
    config = program.home / ".claude"
    server: Any = {"command": sys.executable, "args": ["-I", "-c", _SERVER, json.dumps(ALL)]}
    hook = [{"matcher": ALL, "hooks": [{"type": "command", "command": f": '{ALL}'"}]}]
    _write(project / ".claude/settings.json", {
        ALL: 1, "env": {ALL: ALL, "PATH": ALL}, "hooks": {"PreToolUse": hook, ALL: hook}, "model": 7,
        "permissions": {"allow": [f"Bash({ALL})", f"{ALL}(x)"], "deny": [ALL], "defaultMode": ALL},
        "apiKeyHelper": ALL, "statusLine": {"type": ALL}, "extraKnownMarketplaces": {ALL: ALL},
    })  # fmt: skip
    _write(project / ".mcp.json", {"mcpServers": {f"theirs{ALL}": {"command": ALL}, "odd": {"type": ALL}}})
    _write(config / "settings.json", {
        "env": {"MARK": ALL}, "permissions": {"ask": [f"Bash({ALL})"]}, "hooks": {"PreToolUse": hook},
        "autoMode": {"allow": [ALL]}, ALL: ALL, "bridleModels": {f"mine/{ALL}": {"context": 1}},
    })  # fmt: skip
    _write(config / ".claude.json", {"mcpServers": {f"mine{ALL}": server, "mine": server}})
    _write(project / "plugin/.claude-plugin/plugin.json", {
        "name": "p", "version": ALL, "description": ALL, "author": {"name": ALL}, ALL: ALL, "commands": ALL,
    })  # fmt: skip
    _write(project / "market/.claude-plugin/marketplace.json", {
        "name": "m", "owner": {"name": ALL}, ALL: ALL,
        "plugins": [{"name": "q", "source": "./q", "description": ALL, "version": ALL, "category": ALL}],
    })  # fmt: skip
    for folder in ("agents", "skills/s", "commands", f"skills/{NAME}"):
        (project / ".claude" / folder).mkdir(parents=True, exist_ok=True)
    said = f"---\nname: {json.dumps(ALL)}\ndescription: {json.dumps(ALL)}\n---\n{ALL}\n"
    for file in ("agents/a.md", f"agents/{NAME}.md", "skills/s/SKILL.md", "commands/c.md"):
        (project / ".claude" / file).write_text(said, newline="")
    task = {"id": "aaaaaaaa", "prompt": ALL, "cron": "* * * * *", "recurring": True, "createdAt": 1}
    _write(project / ".claude/scheduled_tasks.json", {"tasks": [task, {**task, "id": ALL}]})
    (project / "CLAUDE.md").write_text(ALL, newline="")
    (project / "cassette.jsonl").write_text(json.dumps({"version": ALL}) + "\n" + ALL, newline="")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    (project / ".git/HEAD").write_text(f"ref: refs/heads/b{NAME.replace(chr(27), '').replace(chr(7), '')}\n")
    transcript = config / "projects/p/00000000-0000-4000-8000-000000000001.jsonl"
    _write(transcript, {
        "type": "user", "message": {"role": "user", "content": f"needle {ALL}"}, "cwd": f"/{ALL}",
        "uuid": "u1", "parentUuid": None, "sessionId": ALL, "gitBranch": ALL,
        "timestamp": "2026-01-01T00:00:00.000Z",
    })  # fmt: skip
    transcript.write_text(transcript.read_text() + "\n")
    _job(config, {"id": "aaaaaa01", "name": ALL, "state": ALL, "cwd": f"/{ALL}", "waitingFor": ALL})
    return Scene(project, program.home, {**program.env, "MARK": ALL})


def _job(config: Path, facts: dict[str, Any]) -> None:
    folder = config / "jobs" / facts["id"]
    _write(folder / "state.json", {
        "kind": "shell", "argv": [ALL], "startedAt": 1, "endedAt": 2, "socket": "/none",
        "prompt": ALL, **facts,
    })  # fmt: skip
    (folder / "holder.lock").touch()
    (folder / "output").write_bytes(b"out" + ALL.encode() + RAW + b"\nbegins ends\n")


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


_WORDS = (
    ("lock", ALL), ("lock", "check"), ("lock", "check", ALL), ("lock", "diff", ALL, ALL), ("lock", "write"),
    ("rewind",), ("rewind", ALL), ("rewind", "--session", ALL), ("links", ALL), ("ultrareview", ALL),
    ("bundle", ALL), ("bundle", "--extras", ALL), ("policy", "replay"), ("policy", "replay", "--rules", ALL),
    ("policy", "learn", "--all"), ("policy", "diff", ALL, ALL), ("policy", "test", ALL),
    ("audit", ALL), ("audit", "verify", ALL), ("audit", "verify", "--witness", ALL), ("audit", "show", ALL),
    ("audit", "export", ALL), ("audit", "export", "--format", ALL), ("audit", "prove", ALL),
    ("audit", "prove", ALL, "--session", ALL),
    ("search", ALL), ("search", "--json", ALL), ("search", "--regex", ALL), ("search", "--regex", f"({ALL}"),
    ("search", "--show", ALL), ("search", "--since", ALL, "x"), ("search", "--limit", ALL, "x"),
    ("search", "--source", ALL, "x"), ("search", "--session", ALL, "x"), ("search", "needle"),
    ("search", "--show", "1"),
    ("fleet", ALL), ("fleet", "run", ALL), ("fleet", "run", "--on", ALL, "x"), ("fleet", "show", ALL),
    ("fleet", "run", "--label", ALL, "."), ("fleet", "map", "x", ALL), ("fleet", "workflow", ALL),
    ("fleet", "list"), ("eval", ALL), ("eval", "--show", ALL), ("eval", "--matrix", ALL, "."),
    ("acp", ALL), ("acp", "--model", ALL), ("demo", ALL), ("gateway", ALL),
    ("gateway", "--config", ALL), ("hub", ALL), ("hub", "status", "--data", ALL),
    ("hub", "pair", "--name", ALL), ("hub", "devices"), ("hub", "revoke", ALL), ("hub", "join", ALL, ALL),
    ("hub", "serve", "--listen", ALL), ("hub", "restore", ALL),
    ("import", ALL), ("import", "--dry-run"), ("install", "--dry-run", ALL),
    ("man", ALL), ("project", ALL), ("project", "purge", ALL), ("setup-token", ALL), ("update", ALL),
    ("agents",), ("agents", "--all"), ("agents", "--json"), ("agents", ALL), ("agents", "--cwd", ALL),
    ("attach", ALL), ("attach", "aaaaaa01"), ("auth", "status", "--text"),
    ("auth", "login", ALL), ("auth", "status"),
    ("auto-mode", "config"), ("auto-mode", ALL), ("auto-mode", "defaults", "--label", ALL),
    ("completion", ALL), ("help", ALL), ("help", "mcp", ALL), ("mcp", "list", f"--{ALL}"),
    ("mcp", "add", "--scope", ALL), ("trust", ".", ALL), ("merge", "--timeout", ALL),
    ("config", "list"), ("config", "check"), ("config", "explain", "env"), ("config", "explain", ALL),
    ("config", "get", "permissions"), ("config", "get", ALL), ("config", "set", ALL, ALL),
    ("daemon", "status"), ("daemon", ALL), ("debug", ALL), ("docs", ALL), ("docs", "-s", ALL),
    ("chrome",), ("chrome", "status"), ("chrome", "install", ALL), ("chrome", "uninstall"),
    ("doctor",), ("doctor", "--json"), ("doctor", ALL),
    ("doctor", "security"), ("doctor", "security", "--json"),
    ("hooks", "list"), ("hooks", "list", "--json"), ("hooks", "lint"), ("hooks", "test", "PreToolUse"),
    ("hooks", "test", ALL), ("kill", ALL), ("kill", "aaaaaa01"), ("local", ALL), ("local",),
    ("logs", "aaaaaa01"), ("logs", ALL), ("mcp", "list"), ("mcp", "get", "mine"),
    ("mcp", "get", f"mine{ALL}"), ("mcp", "get", f"theirs{ALL}"), ("mcp", "add", "x", ALL),
    ("mcp", "add", ALL, "x"),
    ("mcp", "remove", ALL), ("mcp", "login", f"mine{ALL}"), ("mcp", ALL), ("mcp", "add-json", "x", ALL),
    ("merge", "--dry-run"), ("merge", ALL), ("models", "show", ALL), ("models", "list", ALL),
    ("models", "chain"), ("models", "list", "--all", "--json"), ("packages", "list"),
    ("packages", "check", ALL),
    ("plugin", "list"), ("plugin", "validate", "plugin"), ("plugin", "validate", "market"),
    ("plugin", "validate", "plugin", "--json"), ("plugin", "eval", "plugin"), ("plugin", "details", ALL),
    ("plugin", "marketplace", "add", "./market"), ("plugin", "marketplace", "list"), ("plugins", ALL),
    ("plugin", "install", ALL, "--marketplace", "./market"), ("plugin", "init", ALL),
    ("policy", "why", f"Bash({ALL})"), ("policy", "why", f"Bash({ALL})", "--json"), ("policy", "lint"),
    ("policy", "lint", "--json"), ("policy", "why", f"{ALL}"), ("policy", "why", f"Read({ALL})"),
    ("rc", ALL), ("record", ALL), ("remote", "list"), ("remote", "add", "name", ALL), ("remote", ALL),
    ("remote-control", "--name", ALL, ALL), ("replay", "cassette.jsonl", "--", "-p", "hi"),
    ("replay", ALL, "--", "-p", "hi"), ("respawn", "aaaaaa01"), ("rm", "aaaaaa01"), ("rm", ALL),
    ("schedules",), ("schedules", "approve", ALL), ("schedules", ALL),
    ("stop", "aaaaaa01"), ("stop", ALL), ("trust", "--status"), ("trust", "--status", ALL), ("trust", "-y"),
    ("trust", ALL), ("usage",), ("usage", "--by", ALL), ("usage", ALL),
    ("--mcp-cli", "tools"), ("--mcp-cli", ALL), ("-p", "hi", "--resume", ALL), ("-p", "hi", f"--{ALL}"),
    ("-p", "hi", "--model", ALL), ("-p", "hi", "--settings", ALL), ("-p", "hi", "--mcp-config", ALL),
    ("-p", "hi", "--agent", ALL), ("-p", "hi", "--add-dir", ALL), ("-p", "hi", "--allowedTools", ALL),
    ("-p", "hi", "--output-format", ALL), ("-p", "hi", "--debug-file", f"/none/{ALL}"), ("install", ALL),
    ("-p", "hi", "--json-schema", ALL), ("-p", "hi", "--plugin-dir", ALL),
    ("-p", "hi", "--plugin-dir", "plugin"), ("--tmux", "--worktree", ALL), ("--bg", "--exec"),
    ("--teammate", ALL), ("--bg", "-p", ALL),
)  # fmt: skip


def test_every_verb_is_tried():
    assert {*SUBCOMMANDS, *ALIASES} <= {words[0] for words in _WORDS}


@pytest.mark.parametrize("words", _WORDS, ids=lambda words: " ".join(words).replace(ALL, "ALL"))
async def test_no_verb_lets_anything_through(scene: Scene, words: tuple[str, ...]):
    shown = await scene.show(*words)
    assert shown.out + shown.err != b"" or shown.code == 0
    assert harm(shown.out) == [] and harm(shown.err) == []
    assert b"defect" not in shown.err


@pytest.mark.parametrize(
    "words",
    [
        ("config", "list"), ("config", "check"), ("hooks", "list"), ("mcp", "list"),
        ("mcp", "get", f"mine{ALL}"), ("policy", "why", f"Bash({ALL})"), ("policy", "lint"),
        ("plugin", "validate", "plugin"), ("doctor",), ("agents", "--all"), ("trust",),
        ("models", "show", ALL), ("usage", ALL),
    ],
    ids=lambda words: " ".join(words).replace(ALL, "ALL"),
)  # fmt: skip
async def test_what_strangers_wrote_is_shown_all_the_same(scene: Scene, words: tuple[str, ...]):
    shown = await scene.show(*words)
    assert b"begins" in shown.out + shown.err


async def test_decisions_about_hostile_calls_are_shown_harmlessly(scene: Scene):
    call = {"id": ALL, "tool": ALL, "input": {"command": ALL}, "rules": {"allow": [ALL]}, "cwd": "/"}
    lines = json.dumps(call) + "\n" + json.dumps({**call, "tool": "Bash"}) + f"\n{ALL}\n"
    shown = await scene.show("debug", "permissions", "--json", stdin=lines.encode())
    assert shown.out.count(b"\n") >= 3
    assert harm(shown.out) == [] and harm(shown.err) == []


async def test_folder_whose_name_is_no_text_is_named_harmlessly(scene: Scene, tmp_path: Path):
    folder = os.fsencode(tmp_path) + b"/" + RAW
    os.mkdir(folder)
    for words in (
        ("trust", "--status"),
        ("doctor",),
        ("doctor", "security"),
        ("doctor", "security", "--json"),
        ("config", "check"),
        ("mcp", "list"),
    ):
        shown = await show(words, env=scene.env, cwd=folder)
        assert harm(shown.out) == [] and harm(shown.err) == [], words


_FORMS = (("text",), ("text", "--verbose"), ("json",), ("json", "--verbose"), ("stream-json", "--verbose"))


@pytest.mark.parametrize("form", _FORMS, ids=" ".join)
async def test_answer_of_a_model_does_not_steer_the_terminal(scene: Scene, form: tuple[str, ...]):
    shown = await _ask(scene, [step(ALL)], "--output-format", *form)
    assert shown.code == 0, shown.err
    assert b"begins" in shown.out and harm(shown.out) == []
    assert harm(shown.err) == []


async def test_call_and_its_result_are_narrated_harmlessly(scene: Scene):
    call = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": f"printf '%s' '{ALL}'"}}
    read = {"type": "tool_use", "id": "c2", "name": "Read", "input": {"file_path": "CLAUDE.md"}}
    shown = await _ask(scene, [step(ALL, call, read), step(ALL)], "--verbose", "--debug")
    assert shown.code == 0, shown.err
    assert harm(shown.out) == [] and harm(shown.err) == []


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_error_of_a_server_does_not_steer_the_terminal(scene: Scene, status: int):
    body = {"type": "error", "error": {"type": ALL, "message": ALL}}
    shown = await _ask(scene, [{"status": status, "body": body, "repeat": True}], "--verbose")
    assert shown.code == 1
    assert harm(shown.out) == [] and harm(shown.err) == []


async def test_name_of_a_model_and_other_variables_do_not_steer_the_terminal(scene: Scene):
    model = {"ANTHROPIC_MODEL": ALL, "ANTHROPIC_BASE_URL": f"http://{ALL}"}
    env = {**scene.env, **model, "BASH_MAX_OUTPUT_LENGTH": ALL}
    for words in (("-p", "hi"), ("doctor",), ("models", "chain")):
        shown = await show(words, env=env, cwd=scene.project)
        assert harm(shown.out) == [] and harm(shown.err) == [], words


async def test_each_stream_is_judged_for_itself_and_pipes_get_every_byte(scene: Scene):
    piped = await _ask(scene, [step(ALL)], out=False)
    assert piped.out == f"{ALL}\n".encode()
    assert b"begins" in piped.err and harm(piped.err) == []
    piped = await _ask(scene, [step(ALL)], err=False)
    assert b"begins" in piped.out and harm(piped.out) == []
    assert b"\x1b" in piped.err


async def test_terminal_with_another_encoding_gets_no_bytes_that_it_reads_as_controls(scene: Scene):
    """In Latin-1 the second byte of many letters is a control character."""
    spite = "begins ě31m ŝ0;pwned Ŝ ends"
    async with MessagesServer([step(spite)]) as server:
        env = {**scene.env, "ANTHROPIC_BASE_URL": server.url, "PYTHONIOENCODING": "latin-1"}
        shown = await show(("-p", "hi"), env=env, cwd=scene.project)
    assert shown.out == b"begins ?31m ?0;pwned ? ends\n"
    shown = await show(("models", "show", spite), env=env, cwd=scene.project)
    assert b"ends" in shown.err and not any(0x80 <= byte < 0xA0 for byte in shown.out + shown.err)


async def test_dumb_terminal_is_not_steered_by_an_answer(tmp_path: Path):
    async with bridle(tmp_path, [step(f"{ALL}\n\nover")], TERM="dumb") as terminal:
        await terminal.ready()
        terminal.type("hello\r")
        await terminal.until(lambda screen: "over" in screen.text)
        shown = bytes(terminal.output)
    assert b"begins" in shown and harm(shown.replace(b"\r", b"")) == []


async def _ask(scene: Scene, script: Script, *flags: str, out: bool = True, err: bool = True) -> Shown:
    async with MessagesServer(script) as server:
        env = {**scene.env, "ANTHROPIC_BASE_URL": server.url}
        return await show(("-p", "hi", *flags), env=env, cwd=scene.project, out=out, err=err)

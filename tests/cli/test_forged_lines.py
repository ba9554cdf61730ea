"""S61: a name with a line break in it makes no line of its own in what a verb prints."""

import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bridle.cli.flags import ALIASES, SUBCOMMANDS
from tests.fakes.program import Program
from tests.fakes.tty import show

BAD = "n\nFORGED one\r\nFORGED two\rFORGED three\n\tFORGED four"
"""A name whose parts would be lines of a table."""
_FILE = "n\nFORGED\rFORGED m"
"""The same, short enough for files and folders."""


class Scene(NamedTuple):
    project: Path
    env: dict[str, str]


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """A folder of a stranger, and a home in which strangers have been named."""
    program = Program(tmp_path, "http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="0", MCP_TIMEOUT="3000")
    project = tmp_path / f"p{_FILE}"
    project.mkdir()
    config = program.home / ".claude"
    hook = [{"matcher": BAD, "hooks": [{"type": "command", "command": f": '{BAD}'"}]}]
    _write(project / ".claude/settings.json", {
        BAD: 1, "env": {BAD: BAD, "PATH": BAD}, "hooks": {"PreToolUse": hook, BAD: hook}, "model": 7,
        "permissions": {"allow": [f"Bash({BAD})", f"{BAD}(x)"], "deny": [BAD], "defaultMode": BAD},
        "apiKeyHelper": BAD, "statusLine": {"type": BAD}, "extraKnownMarketplaces": {BAD: BAD},
    })  # fmt: skip
    _write(project / ".mcp.json", {"mcpServers": {f"theirs{BAD}": {"command": BAD}, BAD: {"type": BAD}}})
    _write(config / "settings.json", {
        "env": {"MARK": BAD}, "permissions": {"ask": [f"Bash({BAD})"]}, "hooks": {"PreToolUse": hook},
        "autoMode": {"allow": [BAD]}, BAD: BAD, "bridleModels": {f"mine/{BAD}": {"context": 1}},
    })  # fmt: skip
    _write(config / ".claude.json", {"mcpServers": {f"mine{BAD}": {"command": "false", "args": [BAD]}}})
    _write(project / "plugin/.claude-plugin/plugin.json", {
        "name": BAD, "version": BAD, "description": BAD, "author": {"name": BAD}, BAD: BAD, "commands": BAD,
    })  # fmt: skip
    _write(project / "market/.claude-plugin/marketplace.json", {
        "name": "m", "owner": {"name": BAD}, BAD: BAD,
        "plugins": [{"name": "q", "source": "./q", "description": BAD, "version": BAD, "category": BAD},
                    {"name": BAD, "source": f"./{BAD}"}],
    })  # fmt: skip
    said = f"---\nname: {json.dumps(BAD)}\ndescription: {json.dumps(BAD)}\n---\nText.\n"
    for name in ("agents/a.md", f"agents/{_FILE}.md", f"skills/{_FILE}/SKILL.md", f"commands/{_FILE}.md"):
        (project / ".claude" / name).parent.mkdir(parents=True, exist_ok=True)
        (project / ".claude" / name).write_text(said, newline="")
    task = {"id": "aaaaaaaa", "prompt": BAD, "cron": "* * * * *", "recurring": True, "createdAt": 1}
    _write(project / ".claude/scheduled_tasks.json", {"tasks": [task, {**task, "id": BAD}]})
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    transcript = config / "projects/p/00000000-0000-4000-8000-000000000001.jsonl"
    _write(transcript, {
        "type": "user", "message": {"role": "user", "content": "needle"}, "cwd": f"/{BAD}",
        "uuid": "u1", "parentUuid": None, "sessionId": BAD, "gitBranch": BAD,
        "timestamp": "2026-01-01T00:00:00.000Z",
    })  # fmt: skip
    transcript.write_text(transcript.read_text() + "\n")
    _job(config, {"id": "aaaaaa01", "name": BAD, "state": BAD, "cwd": f"/{BAD}", "waitingFor": BAD})
    return Scene(project, {**program.env, "MARK": BAD})


def _job(config: Path, facts: dict[str, Any]) -> None:
    folder = config / "jobs" / facts["id"]
    _write(folder / "state.json", {
        "kind": "shell", "argv": [BAD], "startedAt": 1, "endedAt": 2, "socket": "/none",
        "prompt": BAD, **facts,
    })  # fmt: skip
    (folder / "holder.lock").touch()
    (folder / "output").write_bytes(b"")


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


_WORDS = (
    ("lock", BAD), ("lock", "check"), ("lock", "check", BAD), ("lock", "diff", BAD, BAD), ("lock", "write"),
    ("rewind",), ("rewind", BAD), ("rewind", "--session", BAD), ("links", BAD), ("ultrareview", BAD),
    ("bundle", BAD), ("bundle", "--extras", BAD), ("policy", "replay"), ("policy", "replay", "--rules", BAD),
    ("policy", "learn", "--all"), ("policy", "diff", BAD, BAD), ("policy", "test", BAD),
    ("audit", BAD), ("audit", "verify", BAD), ("audit", "verify", "--witness", BAD), ("audit", "show", BAD),
    ("audit", "export", BAD), ("audit", "export", "--format", BAD), ("audit", "prove", BAD),
    ("audit", "prove", BAD, "--session", BAD),
    ("search", BAD), ("search", "--json", BAD), ("search", "--regex", BAD), ("search", "--regex", f"({BAD}"),
    ("search", "--show", BAD), ("search", "--since", BAD, "x"), ("search", "--limit", BAD, "x"),
    ("search", "--source", BAD, "x"), ("search", "--session", BAD, "x"), ("search", "needle"),
    ("search", "--show", "1"),
    ("fleet", BAD), ("fleet", "run", BAD), ("fleet", "run", "--on", BAD, "x"), ("fleet", "show", BAD),
    ("fleet", "run", "--label", BAD, "."), ("fleet", "map", "x", BAD), ("fleet", "workflow", BAD),
    ("fleet", "list"), ("eval", BAD), ("eval", "--show", BAD), ("eval", "--matrix", BAD, "."),
    ("acp", BAD), ("acp", "--model", BAD), ("demo", BAD), ("gateway", BAD),
    ("gateway", "--config", BAD), ("hub", BAD), ("hub", "status", "--data", BAD),
    ("hub", "pair", "--name", BAD), ("hub", "devices"), ("hub", "revoke", BAD), ("hub", "join", BAD, BAD),
    ("hub", "serve", "--listen", BAD), ("hub", "restore", BAD),
    ("import", BAD), ("import", "--dry-run"), ("install", "--dry-run", BAD),
    ("man", BAD), ("project", BAD), ("project", "purge", BAD), ("setup-token", BAD), ("update", BAD),
    ("agents",), ("agents", "--all"), ("agents", BAD), ("attach", BAD), ("auth", "status", "--text"),
    ("auth", "login", BAD), ("auto-mode", "config"), ("auto-mode", BAD),
    ("completion", BAD), ("help", BAD), ("help", "mcp", BAD), ("mcp", "list", f"--{BAD}"),
    ("mcp", "add", "--scope", BAD), ("trust", ".", BAD), ("merge", "--timeout", BAD),
    ("config", "list"), ("config", "check"), ("config", "explain", "env"), ("config", "explain", BAD),
    ("config", "get", BAD), ("config", "set", BAD, BAD), ("daemon", "status"), ("daemon", BAD),
    ("chrome",), ("chrome", "install", BAD),
    ("debug", BAD), ("docs", BAD), ("docs", "-s", BAD), ("doctor",), ("doctor", "security"), ("doctor", BAD),
    ("hooks", "list"), ("hooks", "lint"), ("hooks", "test", "PreToolUse"), ("hooks", "test", BAD),
    ("kill", BAD), ("local", BAD), ("logs", BAD), ("mcp", "list"), ("mcp", "get", f"mine{BAD}"),
    ("mcp", "get", f"theirs{BAD}"), ("mcp", "add", BAD, "x"), ("mcp", "remove", BAD), ("mcp", BAD),
    ("mcp", "login", f"mine{BAD}"), ("merge", BAD), ("models", "show", BAD), ("models", "list", "--all"),
    ("models", "list", BAD), ("models", "chain"), ("packages", "list"), ("packages", "check", BAD),
    ("plugin", "list"), ("plugin", "validate", "plugin"), ("plugin", "validate", "market"),
    ("plugin", "details", BAD), ("plugin", "marketplace", "add", "./market"),
    ("plugin", "marketplace", "list"), ("plugin", "install", BAD),
    ("plugins", BAD), ("policy", "why", f"Bash({BAD})"), ("policy", "lint"), ("policy", "why", BAD),
    ("rc", BAD), ("record", BAD), ("remote", "list"), ("remote", "add", BAD, "http://127.0.0.1:9"),
    ("remote", BAD), ("remote-control", BAD), ("replay", BAD, "--", "-p", "hi"), ("respawn", BAD),
    ("rm", BAD), ("schedules",), ("schedules", "approve", BAD), ("stop", BAD), ("trust", "--status"),
    ("trust", "-y"),
    ("trust", "--status", BAD), ("usage",), ("usage", "--by", BAD), ("usage", BAD),
    ("-p", "hi", "--resume", BAD), ("-p", "hi", f"--{BAD}"), ("-p", "hi", "--model", BAD),
    ("-p", "hi", "--settings", BAD), ("-p", "hi", "--mcp-config", BAD), ("-p", "hi", "--agent", BAD),
    ("-p", "hi", "--add-dir", BAD), ("-p", "hi", "--allowedTools", BAD),
    ("-p", "hi", "--plugin-dir", "plugin"),
    ("--mcp-cli", BAD), ("--teammate", BAD), ("--bg", "-p", BAD),
)  # fmt: skip


def test_every_verb_is_tried():
    assert {*SUBCOMMANDS, *ALIASES} <= {words[0] for words in _WORDS}


@pytest.mark.parametrize("words", _WORDS, ids=lambda words: " ".join(words).replace(BAD, "BAD"))
async def test_no_name_forges_a_line(scene: Scene, words: tuple[str, ...]):
    shown = await show(words, env=scene.env, cwd=scene.project, out=False, err=False)
    assert shown.out + shown.err != b"" or shown.code == 0
    assert _forged(shown.out) == [] and _forged(shown.err) == []


def _forged(output: bytes) -> list[str]:
    lines = output.decode("utf-8", "replace").replace("\r", "\n").split("\n")
    return [line for line in lines if line.strip().startswith("FORGED")]

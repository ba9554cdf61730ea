"""Keys that are planted everywhere stand in nothing that bridle prints or writes down."""

import json
from pathlib import Path

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_MARK = "zq7x"
_VERBS = (
    ("doctor",), ("doctor", "--managed"), ("doctor", "security"), ("auth", "status"),
    ("auth", "status", "--text"), ("config", "list"), ("config", "explain", "env"),
    ("config", "explain", "env.MY_TOKEN", "--json"), ("config", "check"), ("mcp", "list"),
    ("mcp", "get", "a"), ("mcp", "get", "b"), ("usage", "--json"), ("usage",), ("models",),
    ("project", "purge", "--dry-run"), ("debug", "prompt"),
)  # fmt: skip
_COMMANDS = (
    "status",
    "doctor",
    "config",
    "mcp",
    "feedback",
    "heapdump",
    "export",
    "privacy-settings",
    "insights",
)


def _plant(program: Program) -> None:
    config = program.home / ".claude"
    config.mkdir()
    settings = {
        "env": {"MY_TOKEN": "sk-zq7x-env-0123456789", "DEPLOY_PASSWORD": "zq7x-password-987654"},
        "apiKeyHelper": "cat helper",
        "bridleRecordUsage": True,
    }
    (program.project / "helper").write_text("sk-zq7x-helper-0123456789", encoding="utf-8")
    (config / "settings.json").write_text(json.dumps(settings), encoding="utf-8")
    remote = {
        "type": "http",
        "url": "http://127.0.0.1:9/mcp?token=zq7x-query-112233",
        "headers": {"Authorization": "Bearer zq7x-header-445566"},
    }
    local = {"command": "/bin/false", "env": {"API_KEY": "zq7x-server-778899"}}
    state = {"mcpServers": {"a": remote, "b": local}}
    (config / ".claude.json").write_text(json.dumps(state), encoding="utf-8")


async def test_planted_keys_are_printed_nowhere_and_kept_nowhere_else(tmp_path: Path):
    async with MessagesServer([step("Hi.", repeat=True)]) as server:
        program = Program(tmp_path, server.url)
        _plant(program)
        program.env["OPENAI_API_KEY"] = "sk-zq7x-openai-0123456789"
        program.env["ANTHROPIC_API_KEY"] = "sk-zq7x-key-0123456789"
        before = {path for path in tmp_path.rglob("*") if path.is_file()}
        log = str(tmp_path / "debug.log")
        runs = [
            ("-p", "--debug-file", log, "hi"),
            *_VERBS,
            *(("-p", f"/{name}") for name in _COMMANDS),
        ]
        leaks: list[str] = []
        for argv in runs:
            done = await program.run(*argv)
            leaks += [" ".join(argv)] if _MARK in done.out + done.err else []
            assert "Traceback" not in done.err, argv
        with_password = server.url.replace("//", "//user:zq7x-pass-0123@")
        assert _MARK not in (await program.run("-p", "/status", ANTHROPIC_BASE_URL=with_password)).out
        assert server.requests
    assert leaks == []
    files = {path for path in tmp_path.rglob("*") if path.is_file()} - before
    assert (tmp_path / "debug.log") in files
    assert [path for path in files if _MARK.encode() in path.read_bytes()] == []

"""bridle.lock, as users write, check and use it."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bridle
from bridle.session.lock.file import differences, digest_of, read
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program

_EDITS = {
    "context/sections.py": ("Be brief and plain; begin with the result.", "Old advice on tone."),
    "tools/definitions.json": ("Give a task to an agent", "Old: give a task to an agent"),
    "context/summary.py": ("Be exact about names", "Old: be exact about names"),
    "features/agents/builtin.py": ("You carry out one task", "Old: you carry out one task"),
}


def _edit(lock: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change parts of a lock as another version would have written them."""
    content = json.loads(lock.read_text())
    change(content["parts"])
    lock.write_text(json.dumps(content))


def _part(value: Any) -> dict[str, Any]:
    return {"digest": digest_of(value), "value": value}


def _other_version(folder: Path) -> Path:
    """The sources of bridle with other texts."""
    package = folder / "older" / "bridle"
    shutil.copytree(Path(bridle.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (old, new) in _EDITS.items():
        text = (package / name).read_text()
        assert old in text, name
        (package / name).write_text(text.replace(old, new))
    return package.parent


def _run(program: Program, *words: str, sources: Path) -> None:
    env = {**program.env, "PYTHONPATH": str(sources)}
    done = subprocess.run(
        [sys.executable, "-m", "bridle", *words],
        cwd=program.project,
        env=env,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


_AGENT = step(
    {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Agent",
        "input": {
            "description": "Look",
            "prompt": "look",
            "subagent_type": "general-purpose",
            "run_in_background": False,
        },
    }
)


def _bodies(server: MessagesServer) -> list[Any]:
    """What was sent, without what is new for each session."""
    found: list[Any] = []
    for request in server.requests:
        body = {key: value for key, value in request.body.items() if key != "metadata"}
        found.append({**body, "messages": body["messages"][:1]})
    return found


async def test_another_version_sends_the_same_bytes_with_a_lock(tmp_path: Path):
    older = _other_version(tmp_path)
    sent: list[list[Any]] = []
    async with MessagesServer([_AGENT, step("seen"), step("done")] * 3) as server:
        program = Program(tmp_path, server.url)
        await asyncio.to_thread(_run, program, "lock", sources=older)
        await asyncio.to_thread(_run, program, "-p", "go", sources=older)
        sent.append(_bodies(server))
        for flags in (("--locked", "--trust"), ()):
            server.requests.clear()
            done = await program.run("-p", *flags, "--", "go")
            assert (done.code, done.out) == (0, "done\n"), done
            sent.append(_bodies(server))
        assert [len(each) for each in sent] == [3, 3, 3]
        assert sent[1] == sent[0]
        assert sent[2] != sent[0]
        checked = await program.run("lock", "check")
        compared = await program.run("lock", "diff", "bridle.lock")
    assert checked.code == 1
    assert "Other in this version; --locked sends what the lock has:" in checked.out
    assert "--locked refuses" not in checked.out
    for name in ("system/tone", "tools/Agent", "compaction/request", "builtin-agents/general-purpose"):
        assert f"  {name}: changed\n" in checked.out
        assert f"{name}: changed\n" in compared.out
    assert "-- Old advice on tone." in compared.out


async def test_what_a_lock_cannot_bring_is_refused_by_name(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    skill = program.project / ".claude" / "skills" / "deploy" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("---\ndescription: Deploys\n---\nDeploy it.\n")
    agent = program.project / ".claude" / "agents" / "helper.md"
    agent.parent.mkdir()
    agent.write_text("---\nname: helper\ndescription: Helps\n---\nHelp.\n")
    hook = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]}
    settings = program.project / ".claude" / "settings.json"
    settings.write_text(json.dumps({"hooks": hook}))
    assert (await program.run("trust", "-y")).code == 0
    written = await program.run("lock")
    assert written.code == 0, written.err
    lock = program.project / "bridle.lock"
    assert read(str(lock)).group("skills")["deploy"]["text"].strip() == "Deploy it."
    assert (await program.run("lock", "check")).code == 0

    skill.write_text("---\ndescription: Deploys\n---\nDeploy elsewhere.\n")
    agent.unlink()
    settings.write_text("{}")
    _edit(lock, lambda parts: parts.update({"tools/Gone": _part({"name": "Gone"})}))
    checked = await program.run("lock", "check", "--json")
    found = json.loads(checked.out)
    assert checked.code == 1
    assert found["refused"] == ["agents/helper", "hooks/PreToolUse", "skills/deploy"]
    assert found["lost"] == ["tools/Gone"]
    refused = await program.run("-p", "--locked", "--trust", "--", "hi")
    assert refused.code == 1
    for name in (
        "agents/helper: removed",
        "hooks/PreToolUse: removed",
        "skills/deploy: changed",
        "tools/Gone",
    ):
        assert name in refused.err
    other = await program.run("-p", "--locked", "--trust", "--model", "opus", "--", "hi")
    assert "models/claude-opus-5-5: added" in other.err


async def test_tools_of_a_server_that_changed_are_not_sent(tmp_path: Path):
    async with MessagesServer([step("ok")] * 2) as server:
        program = Program(tmp_path, server.url, ENABLE_TOOL_SEARCH="0", PYTHONPATH=os.getcwd())
        config = {
            "mcpServers": {"plain": {"command": sys.executable, "args": ["-m", "tests.fakes.mcp_plain"]}}
        }
        (program.project / ".mcp.json").write_text(json.dumps(config))
        local = program.project / ".claude" / "settings.local.json"
        local.parent.mkdir()
        local.write_text(json.dumps({"enableAllProjectMcpServers": True}))
        assert (await program.run("trust", "-y")).code == 0
        written = await program.run("lock")
        assert written.code == 0, written.err
        lock = program.project / "bridle.lock"
        tools = read(str(lock)).group("servers")
        assert tools, written
        words = ("-p", "--locked", "--", "hi")
        assert (await program.run(*words, MCP_CONNECTION_NONBLOCKING="0")).code == 0
        name = next(iter(tools["plain"]))
        changed = {**tools["plain"], name: {**tools["plain"][name], "description": "Another."}}
        _edit(lock, lambda parts: parts.update({"servers/plain": _part(changed)}))
        refused = await program.run(*words, MCP_CONNECTION_NONBLOCKING="0")
        assert refused.code == 1
        assert f"--locked: mcp__plain__{name} is not as in" in refused.out + refused.err
        assert len(server.requests) == 1


async def test_bad_locks_are_named_and_other_files_stay(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    lock = program.project / "bridle.lock"
    words = ("-p", "--locked", "--trust", "--", "hi")
    assert "there is no bridle.lock here. Write one with: bridle lock" in (await program.run(*words)).err
    assert (await program.run("lock")).code == 0
    whole = lock.read_text()
    untrusted = await program.run("-p", "--locked", "--", "hi")
    assert "this folder is not trusted" in untrusted.err
    damaged = {
        "is damaged": whole[:-300],
        "it was edited by hand": whole.replace("Being truthful", "Being careful"),
        "reads 1. Update bridle.": whole.replace('"bridleLock": 1', '"bridleLock": 9'),
        "is not a lock of bridle": "{}",
    }
    for words_of_error, text in damaged.items():
        lock.write_text(text)
        done = await program.run(*words)
        assert (done.code, words_of_error in done.err) == (1, True), done
        assert "Traceback" not in done.err
    other = await program.run("lock", "--output", "notes.txt")
    assert other.code == 0
    (program.project / "notes.txt").write_text("mine")
    other = await program.run("lock", "--output", "notes.txt")
    assert "is not a lock of bridle, and is left alone" in other.err
    assert (program.project / "notes.txt").read_text() == "mine"
    assert "is no lock file, no commit" in (await program.run("lock", "diff", "nowhere")).err


async def test_commits_and_versions_are_compared_and_secrets_stay_out(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9", MY_TOKEN="sk-planted-77aa1c9d02")
    hook = {"Stop": [{"hooks": [{"type": "command", "command": "echo sk-planted-77aa1c9d02"}]}]}
    user = program.home / ".claude" / "settings.json"
    user.parent.mkdir(exist_ok=True)
    user.write_text(json.dumps({"hooks": hook}))
    assert (await program.run("lock")).code == 0
    lock = program.project / "bridle.lock"
    assert "sk-planted" not in lock.read_text()
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b.invalid", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "bridle.lock"), ("commit", "-qm", "one")):
        subprocess.run([*git, *command], cwd=program.project, env=program.env, check=True)
    before = read(str(lock))
    _edit(lock, lambda parts: parts.update({"system/tone": _part("New tone.")}))
    compared = await program.run("lock", "diff", "HEAD", "bridle.lock")
    assert compared.code == 1
    assert "system/tone: changed" in compared.out
    assert "+New tone." in compared.out
    assert [str(each) for each in differences(before.parts, read(str(lock)).parts)] == [
        "system/tone: changed"
    ]
    by_version = await program.run("lock", "diff", before.bridle, "HEAD")
    assert (by_version.code, "no difference" in by_version.out) == (0, True)

"""S42 in the whole program: what comes or changes after trust runs only when the user has approved it."""

import json
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import mcp_plain
from tests.fakes.messages_server import MessagesServer, Received, Step, step
from tests.fakes.program import Done, Program
from tests.fakes.terminal import PtyProgram

TOLD = "changed since you trusted this folder"
AGENT = {"description": "work", "prompt": "Work.", "subagent_type": "worker"}
CALL = {"type": "tool_use", "id": "t1", "name": "Agent", "input": AGENT}


class Repository:
    """A repository that leaves a mark whenever something of it runs."""

    def __init__(self, folder: Path, url: str) -> None:
        self.program = Program(folder, url)
        self.mark = folder / "mark"
        self.write(".git/HEAD", "ref: refs/heads/main\n")

    def write(self, name: str, text: str) -> None:
        path = self.program.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def hooks(self, command: str, event: str = "SessionStart") -> dict[str, Any]:
        return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}]}]}}

    async def run(self, prompt: str = "go", *flags: str, code: int = 0) -> tuple[Done, bool]:
        """One run, and whether anything left a mark in it."""
        self.mark.unlink(missing_ok=True)
        done = await self.program.run("-p", prompt, "--verbose", "--output-format", "stream-json", *flags)
        assert done.code == code, done.err
        return done, self.mark.exists()

    async def approve(self, *words: str) -> None:
        done = await self.program.run(*words)
        assert done.code == 0, done.err

    async def only_runs_when_approved(
        self, prompt: str = "go", *flags: str, by: str = "hooks approve", refused: int = 0
    ) -> None:
        done, ran = await self.run(prompt, *flags, code=refused)
        assert not ran
        assert TOLD in done.err + done.out.replace("\\n", " ")
        await self.approve(*by.split(), "-y")
        done, ran = await self.run(prompt, *flags)
        assert ran, done.err
        assert TOLD not in done.err + done.out


@asynccontextmanager
async def repository(folder: Path, *script: Any) -> AsyncGenerator[Repository, None]:
    async with MessagesServer([*script, step("ok", repeat=True)]) as server:
        yield Repository(folder, server.url)


@pytest.mark.parametrize("by", ["hooks approve", "trust"])
@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
async def test_a_hook_that_changed(tmp_path: Path, name: str, by: str):
    async with repository(tmp_path) as place:
        place.write(f".claude/{name}", json.dumps(place.hooks("true")))
        await place.approve("trust", "-y")
        place.write(f".claude/{name}", json.dumps(place.hooks(f"touch {place.mark}")))
        await place.only_runs_when_approved(by=by)


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
async def test_a_hook_that_is_new(tmp_path: Path, name: str):
    async with repository(tmp_path) as place:
        await place.approve("trust", "-y")
        place.write(f".claude/{name}", json.dumps(place.hooks(f"touch {place.mark}")))
        await place.only_runs_when_approved()


@pytest.mark.parametrize(
    "command",
    [
        "./tools/check.sh",
        'sh "$CLAUDE_PROJECT_DIR"/tools/check.sh',
        "cd tools && sh ./check.sh",
        "sh $(git rev-parse --show-toplevel 2>/dev/null || pwd)/tools/check.sh",
        'D=tools; sh "$D"/check.sh',
        "sh ${CLAUDE_PROJECT_DIR:-.}/tools/check.sh",
    ],
)
async def test_a_script_that_a_hook_names(tmp_path: Path, command: str):
    async with repository(tmp_path) as place:
        place.write("tools/check.sh", "#!/bin/sh\n")
        (place.program.project / "tools" / "check.sh").chmod(0o755)
        place.write(".claude/settings.json", json.dumps(place.hooks(command)))
        await place.approve("trust", "-y")
        place.write("tools/check.sh", f"#!/bin/sh\ntouch {place.mark}\n")
        await place.only_runs_when_approved()


async def test_a_hook_of_a_skill(tmp_path: Path):
    async with repository(tmp_path) as place:
        skill = (
            "---\nname: look\ndescription: looks\nhooks:\n  Stop:\n    - hooks:\n        - type: command\n"
        )
        place.write(".claude/skills/look/SKILL.md", f"{skill}          command: 'true'\n---\nLook.\n")
        await place.approve("trust", "-y")
        changed = f"{skill}          command: touch {place.mark}\n---\nLook.\n"
        place.write(".claude/skills/look/SKILL.md", changed)
        await place.only_runs_when_approved("/look")


def _calls(name: str, input: dict[str, Any]) -> Step:
    return step({"type": "tool_use", "id": "t1", "name": name, "input": input})


@pytest.mark.parametrize(
    ("file", "header"),
    [
        ("skills/look/SKILL.md", "allowed-tools: Bash(touch *)"),
        ("skills/look/SKILL.md", '"allowed\\x2dtools":\n  - Bash(touch *)'),
        ("commands/look.md", "allowed-tools: [Read, 'Bash(touch *)']"),
    ],
)
async def test_allowed_tools_of_a_skill(tmp_path: Path, file: str, header: str):
    """S42: by the model's call behind the skill, which the skill allows."""

    def answers(request: Received) -> Step:
        touch = {"command": f"touch {tmp_path / 'mark'}"}
        return step("ok") if b"tool_result" in request.raw else _calls("Bash", touch)

    async with repository(tmp_path, *[answers] * 12) as place:
        place.write(f".claude/{file}", "---\ndescription: looks\n---\nLook.\n")
        await place.approve("trust", "-y")
        place.write(f".claude/{file}", f"---\ndescription: looks\n{header}\n---\nLook.\n")
        await place.only_runs_when_approved("/look", by="trust")


@pytest.mark.parametrize("of", ["project", "plugin"])
async def test_the_text_of_a_skill_that_may_widen_rights(tmp_path: Path, of: str):
    """S42: the header is as it was, but what is done with what it allows is another."""
    folder = ".claude/skills/look" if of == "project" else ".claude/skills/p/skills/look"
    name = "look" if of == "project" else "p:look"
    head = "---\nname: look\ndescription: looks\nallowed-tools: Bash(touch *)\n---\n"
    async with repository(tmp_path) as place:
        if of == "plugin":
            place.write(".claude/skills/p/.claude-plugin/plugin.json", json.dumps({"name": "p"}))
        place.write(f"{folder}/SKILL.md", f"{head}Look: !`touch {place.mark}`\n")
        await place.approve("trust", "-y")
        done, ran = await place.run(f"/{name}")
        assert ran and TOLD not in done.err + done.out
        place.write(f"{folder}/SKILL.md", f"{head}Look: !`touch {place.mark} -r .`\n")
        await place.only_runs_when_approved(f"/{name}", by="trust", refused=1)


async def test_allowed_tools_of_a_skill_that_the_model_calls(tmp_path: Path):
    """S42: also where a rule lets the model call the skill unasked."""

    def answers(request: Received) -> Step:
        told = request.raw.count(b'"tool_result"')
        if told == 0:
            return _calls("Skill", {"skill": "look"})
        touch = {
            "type": "tool_use",
            "id": "t2",
            "name": "Bash",
            "input": {"command": f"touch {tmp_path}/mark"},
        }
        return step(touch) if told == 1 else step("ok")

    async with repository(tmp_path, *[answers] * 12) as place:
        place.write(".claude/skills/look/SKILL.md", "---\ndescription: looks\n---\nLook.\n")
        await place.approve("trust", "-y")
        head = "---\ndescription: looks\nallowed-tools: Bash(touch *)\n---\n"
        place.write(".claude/skills/look/SKILL.md", f"{head}Look.\n")
        await place.only_runs_when_approved("go", "--allowedTools", "Skill", by="trust")


async def test_allowed_tools_that_come_in_a_running_session(tmp_path: Path):
    """S42: the skill file is changed while the model answers, before the skill is called."""
    places: list[Repository] = []

    def answers(request: Received) -> Step:
        (place,) = places
        told = request.raw.count(b'"tool_result"')
        if told == 0:
            head = "---\ndescription: looks\nallowed-tools: Bash(touch *)\n---\n"
            place.write(".claude/skills/look/SKILL.md", f"{head}Look.\n")
            return _calls("Skill", {"skill": "look"})
        touch = {"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": f"touch {place.mark}"}}
        return step(touch) if told == 1 else step("ok")

    async with repository(tmp_path, *[answers] * 6) as place:
        places.append(place)
        place.write(".claude/skills/look/SKILL.md", "---\ndescription: looks\n---\nLook.\n")
        await place.approve("trust", "-y")
        _, ran = await place.run("go", "--allowedTools", "Skill")
        assert not ran


def _worker(**more: Any) -> str:
    fields = {"name": "worker", "description": "works", **more}
    return (
        "---\n" + "".join(f"{key}: {json.dumps(value)}\n" for key, value in fields.items()) + "---\nWork.\n"
    )


def _once(request: Received) -> Step:
    """The first answer of a run hands work to an agent."""
    return step("ok") if "tool_result" in request.raw.decode() or b"Work." in request.raw else step(CALL)


async def test_a_hook_of_an_agent(tmp_path: Path):
    async with repository(tmp_path, *[_once] * 12) as place:
        place.write(".claude/agents/worker.md", _worker(**place.hooks("true", "SubagentStop")))
        await place.approve("trust", "-y")
        hooks = place.hooks(f"touch {place.mark}", "Stop")
        place.write(".claude/agents/worker.md", _worker(**hooks))
        await place.only_runs_when_approved()


def _server(mark: Path) -> dict[str, Any]:
    serve = f"runpy.run_path({mcp_plain.__file__!r}, run_name='__main__')"
    code = f"import runpy; open({str(mark)!r}, 'w').close(); {serve}"
    return {"command": sys.executable, "args": ["-c", code]}


@pytest.mark.parametrize("before", [None, {"name": "s", "command": "true"}])
async def test_a_server_of_an_agent(tmp_path: Path, before: Any):
    async with repository(tmp_path, *[_once] * 12) as place:
        place.write(".claude/agents/worker.md", _worker(mcpServers=[before]) if before else _worker())
        await place.approve("trust", "-y")
        place.write(".claude/agents/worker.md", _worker(mcpServers=[{"s": _server(place.mark)}]))
        await place.only_runs_when_approved()


@pytest.mark.parametrize(
    "settings", [{}, {"enabledMcpjsonServers": ["s"]}, {"enableAllProjectMcpServers": True}]
)
@pytest.mark.parametrize("before", [None, {"command": "true"}])
async def test_a_server_of_the_project(tmp_path: Path, before: Any, settings: dict[str, Any]):
    async with repository(tmp_path) as place:
        place.write(".claude/settings.json", json.dumps(settings))
        if before:
            place.write(".mcp.json", json.dumps({"mcpServers": {"s": before}}))
        await place.approve("trust", "-y")
        place.write(".mcp.json", json.dumps({"mcpServers": {"s": _server(place.mark)}}))
        await place.only_runs_when_approved()


async def test_a_mode_of_an_agent(tmp_path: Path):
    def answers(request: Received) -> Step:
        if b"tool_result" in request.raw or b"Work." not in request.raw:
            return _once(request)
        written = {"file_path": str(tmp_path / "project" / "new.txt"), "content": "x"}
        return step({"type": "tool_use", "id": "t2", "name": "Write", "input": written})

    async with repository(tmp_path, *[answers] * 12) as place:
        place.write(".claude/agents/worker.md", _worker())
        await place.approve("trust", "-y")
        place.write(".claude/agents/worker.md", _worker(permissionMode="acceptEdits"))
        done, _ = await place.run()
        assert not (tmp_path / "project" / "new.txt").exists()
        assert f"without its permissionMode acceptEdits: its file {TOLD}" in done.err
        await place.approve("trust", "-y")
        done, _ = await place.run()
        assert TOLD not in done.err
        assert (tmp_path / "project" / "new.txt").exists()


async def test_a_script_that_a_server_names(tmp_path: Path):
    async with repository(tmp_path) as place:
        place.write("serve.py", "")
        place.write(
            ".mcp.json", json.dumps({"mcpServers": {"s": {"command": "python3", "args": ["serve.py"]}}})
        )
        await place.approve("trust", "-y")
        place.write("serve.py", f"open({str(place.mark)!r}, 'w').close()\n")
        await place.only_runs_when_approved()


@pytest.mark.parametrize("kind", ["hooks", "servers"])
async def test_a_plugin_of_the_project(tmp_path: Path, kind: str):
    async with repository(tmp_path) as place:
        plugin = ".claude/skills/p"
        place.write(f"{plugin}/.claude-plugin/plugin.json", json.dumps({"name": "p"}))
        place.write(f"{plugin}/SKILL.md", "---\nname: p\ndescription: d\n---\nText.\n")
        await place.approve("trust", "-y")
        if kind == "hooks":
            place.write(f"{plugin}/hooks/hooks.json", json.dumps(place.hooks(f"touch {place.mark}")))
        else:
            place.write(f"{plugin}/.mcp.json", json.dumps({"mcpServers": {"s": _server(place.mark)}}))
        await place.only_runs_when_approved()


@pytest.mark.parametrize("what", ["script", "settings"])
async def test_what_changes_in_a_running_session(tmp_path: Path, what: str):
    """The model's first answer comes when the repository has changed already."""
    places: list[Repository] = []

    def change(_: Received) -> Step:
        (place,) = places
        if what == "script":
            place.write("check.sh", f"touch {place.mark}\n")
        else:
            place.write(".claude/settings.json", json.dumps(place.hooks(f"touch {place.mark}", "Stop")))
        return step({"type": "tool_use", "id": "t1", "name": "Glob", "input": {"pattern": "*"}})

    async with repository(tmp_path, change) as place:
        places.append(place)
        place.write("check.sh", "true\n")
        place.write(".claude/settings.json", json.dumps(place.hooks("sh check.sh", "Stop")))
        await place.approve("trust", "-y")
        done, ran = await place.run()
        assert not ran
        if what == "script":
            assert TOLD in done.err + done.out
        await place.only_runs_when_approved()


async def test_what_lies_above_the_repository_is_not_trusted_with_it(tmp_path: Path):
    async with repository(tmp_path, *[_once] * 12) as place:
        above = tmp_path / ".claude" / "agents"
        above.mkdir(parents=True)
        (above / "worker.md").write_text(_worker(mcpServers=[{"s": _server(place.mark)}]))
        await place.approve("trust", "-y")
        _, ran = await place.run()
        assert not ran


async def test_the_terminal_asks_about_changes_and_goes_by_the_answer(tmp_path: Path):
    async with repository(tmp_path) as place:
        await place.approve("trust", "-y")
        place.write(".claude/settings.json", json.dumps(place.hooks(f"touch {place.mark}")))
        argv = [sys.executable, "-m", "bridle"]
        for keys, runs in (("2", False), ("1", True)):
            where: dict[str, Any] = {
                "env": place.program.env,
                "cwd": place.program.project,
                "size": (120, 40),
            }
            async with PtyProgram(argv, **where) as terminal:
                await terminal.until_text("Do you approve these changes?")
                await terminal.until_text("hooks.SessionStart[0].hooks[0]")
                assert not place.mark.exists()
                await terminal.until_text("enter to choose")
                terminal.type(keys)
                await terminal.until(lambda screen: "approve these changes" not in screen.text)
                terminal.type("hello\r")
                await terminal.until_text("ok")
            assert place.mark.exists() is runs

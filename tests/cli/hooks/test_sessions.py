"""Hooks in the whole program: flags, frames, files that change, a host that brings its own."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.host import FakeHost
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program

STREAM = ("--output-format", "stream-json", "--verbose")


def _bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}


def _command(command: str, *, matcher: str | None = None, **more: Any) -> list[dict[str, Any]]:
    return [{"matcher": matcher, "hooks": [{"type": "command", "command": command, **more}]}]


async def _run(
    tmp_path: Path, hooks: dict[str, Any], script: list[Any], *flags: str, **settings: Any
) -> tuple[Done, Program, list[Any]]:
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        done = await program.run(
            "-p", *flags, "--settings", json.dumps({"hooks": hooks, **settings}), *STREAM
        )
        return done, program, [request.body for request in server.requests]


def _hook_frames(done: Done) -> list[tuple[str, str]]:
    return [
        (frame["subtype"], frame["hook_name"])
        for frame in done.frames
        if str(frame.get("subtype")).startswith("hook_")
    ]


@pytest.mark.parametrize("asked", [False, True])
async def test_hooks_are_reported_when_asked_for_and_those_of_the_start_always(tmp_path: Path, asked: bool):
    hooks = {"SessionStart": _command("echo hi"), "Stop": _command("echo bye >&2; exit 1")}
    flags = ("--include-hook-events",) if asked else ()
    done, _, _ = await _run(tmp_path, hooks, [step("ok")], "go", *flags)
    start = [("hook_started", "SessionStart:startup"), ("hook_response", "SessionStart:startup")]
    assert _hook_frames(done) == [
        *start,
        *([("hook_started", "Stop"), ("hook_response", "Stop")] if asked else []),
    ]
    first = next(frame for frame in done.frames if frame.get("subtype") == "hook_response")
    expected = {
        "hook_event": "SessionStart", "stdout": "hi\n", "stderr": "", "output": "hi\n",
        "exit_code": 0, "outcome": "success",
    }  # fmt: skip
    assert first.items() >= expected.items() and first["hook_id"]
    if asked:
        last = [frame for frame in done.frames if frame.get("subtype") == "hook_response"][-1]
        assert (last["outcome"], last["exit_code"], last["stderr"]) == ("error", 1, "bye\n")


@pytest.mark.parametrize(("flag", "trigger"), [("--init", "init"), ("--maintenance", "maintenance")])
async def test_project_is_set_up_before_the_prompt(tmp_path: Path, flag: str, trigger: str):
    hooks = {
        "Setup": _command("cat > setup.json"),
        "SessionStart": _command("test -e setup.json && echo ready"),
    }
    done, program, bodies = await _run(tmp_path, hooks, [step("ok")], "go", flag)
    assert json.loads((program.project / "setup.json").read_text())["trigger"] == trigger
    assert done.result["result"] == "ok" and "ready" in json.dumps(bodies[0]["messages"])
    assert ("hook_started", f"Setup:{trigger}") in _hook_frames(done)


async def test_setup_alone_needs_no_prompt_and_asks_no_model(tmp_path: Path):
    hooks = {
        "Setup": _command("touch setup"),
        "SessionStart": _command("touch start"),
        "SessionEnd": _command("touch end"),
    }
    done, program, bodies = await _run(tmp_path, hooks, [], "--init-only")
    assert (done.code, bodies) == (0, [])
    assert all((program.project / name).exists() for name in ("setup", "start", "end"))


async def test_call_that_was_put_off_goes_on_in_another_process(tmp_path: Path):
    defer = json.dumps({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "defer"}})
    hook = f"test -e decided && exit 0; echo '{defer}'"
    hooks = {"PreToolUse": _command(hook, matcher="Bash")}
    flags = ("--allowedTools", "Bash")
    done, program, _ = await _run(tmp_path, hooks, [step("One moment.", _bash("touch x"))], "go", *flags)
    assert (done.result["stop_reason"], done.result["terminal_reason"]) == ("tool_deferred", "tool_deferred")
    assert done.result["deferred_tool_use"] == {"id": "t1", "name": "Bash", "input": {"command": "touch x"}}
    assert done.code == 0 and not (program.project / "x").exists()

    (program.project / "decided").touch()
    resume = ("--resume", done.result["session_id"], *flags)
    done, _, bodies = await _run(tmp_path, hooks, [step("All done.")], *resume)
    assert done.result["result"] == "All done." and (program.project / "x").exists()
    assert "deferred_tool_use" not in done.result
    kinds = [frame.get("subtype") or frame["type"] for frame in done.frames]
    assert kinds.index("init") < kinds.index("user")
    (answer,) = bodies[0]["messages"][-1]["content"]
    assert (answer["tool_use_id"], answer.get("is_error", False)) == ("t1", False)

    again = await program.run("-p", "--resume", done.result["session_id"])
    assert again.code == 1 and "no prompt" in again.err


async def test_instruction_files_are_told_when_they_are_read(tmp_path: Path):
    hooks = {"InstructionsLoaded": _command("cat >> loaded.jsonl")}
    program = Program(tmp_path)
    (program.project / "CLAUDE.md").write_text("@more.md\nBe kind.\n")
    (program.project / "more.md").write_text("Be brief.\n")
    await _run(tmp_path, hooks, [step("ok")], "go")
    lines = (program.project / "loaded.jsonl").read_text().splitlines()
    told = {Path(each["file_path"]).name: each for each in map(json.loads, lines)}
    assert (told["CLAUDE.md"]["memory_type"], told["CLAUDE.md"]["load_reason"]) == (
        "Project",
        "session_start",
    )
    assert told["more.md"]["load_reason"] == "include"
    assert Path(told["more.md"]["parent_file_path"]).name == "CLAUDE.md"


async def test_variables_of_the_start_reach_commands(tmp_path: Path):
    hooks = {"SessionStart": _command('echo "export COLOR=red" >> "$CLAUDE_ENV_FILE"')}
    flags = ("go", "--allowedTools", "Bash")
    _, _, bodies = await _run(tmp_path, hooks, [step(_bash('echo "[$COLOR]"')), step("ok")], *flags)
    assert "[red]" in json.dumps(bodies[1]["messages"][-1])


@pytest.mark.parametrize("settings", [{"disableAllHooks": True}, {}])
async def test_hooks_can_be_switched_off(tmp_path: Path, settings: dict[str, Any]):
    flags = () if settings else ("--bare",)
    _, program, _ = await _run(
        tmp_path, {"Stop": _command("touch hooked")}, [step("ok")], "go", *flags, **settings
    )
    assert not (program.project / "hooked").exists()


async def test_hooks_of_settings_that_change_count_at_once_unless_a_hook_refuses(tmp_path: Path):
    async with MessagesServer([step("one"), step("two"), step("three")]) as server:
        program = Program(tmp_path, server.url)
        user = program.home / ".claude" / "settings.json"
        user.parent.mkdir(parents=True, exist_ok=True)
        guard = _command("test ! -e frozen || exit 2", matcher="user_settings")
        user.write_text(json.dumps({"hooks": {"ConfigChange": guard}}))
        async with FakeHost(program) as host:
            host.prompt("one")
            await host.result()
            settings = {"hooks": {"ConfigChange": guard, "Stop": _command("touch stopped")}}
            user.write_text(json.dumps(settings))
            await host.until(lambda frame: "were reloaded" in str(frame.get("content")))
            host.prompt("two")
            await host.result()
            assert (program.project / "stopped").exists()
            (program.project / "frozen").touch()
            user.write_text(json.dumps({**settings, "model": "other"}))
            await host.until(lambda frame: "blocked the settings change" in str(frame.get("content")))
            host.prompt("three")
            await host.result()
            assert (await host.close())[0] == 0


async def test_host_decides_in_its_own_process(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("I see.")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash") as host:
            answer = await host.request(
                "initialize",
                hooks={
                    "PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["hook_0"], "timeout": 60}],
                    "UserPromptSubmit": [{"matcher": None, "hookCallbackIds": ["hook_1"]}],
                },
            )
            assert answer["response"]["hooks_applied"] is True
            host.prompt("go")
            asked = await host.asked("hook_callback")
            assert asked["request"]["callback_id"] == "hook_1"
            # Before anything else is said of the turn.
            assert not any(frame.get("subtype") == "init" for frame in host.frames)
            host.answer(
                asked,
                {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "hm"}},
            )
            asked = await host.asked("hook_callback")
            assert (asked["request"]["callback_id"], asked["request"]["tool_use_id"]) == ("hook_0", "t1")
            assert asked["request"]["input"]["tool_input"] == {"command": "touch x"}
            host.answer(asked, {"decision": "block", "reason": "not here"})
            result = await host.result()
        assert result["result"] == "I see." and not (program.project / "x").exists()
        said = json.dumps([request.body["messages"] for request in server.requests])
        assert "hm" in said and "not here" in said


async def test_callback_that_never_answers_is_withdrawn_and_stops_the_call(tmp_path: Path):
    async with MessagesServer([step(_bash("touch x")), step("I see.")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(program, "--allowedTools", "Bash") as host:
            await host.request(
                "initialize", hooks={"PreToolUse": [{"hookCallbackIds": ["h"], "timeout": 0.3}]}
            )
            host.prompt("go")
            asked = await host.asked("hook_callback")
            cancelled = await host.until(lambda frame: frame["type"] == "control_cancel_request")
            assert cancelled["request_id"] == asked["request_id"]
            await host.result()
        assert not (program.project / "x").exists()


async def test_background_hook_starts_a_turn_of_its_own(tmp_path: Path):
    hooks = {"PostToolUse": _command("cat >/dev/null; echo 'tests broke' >&2; exit 2", asyncRewake=True)}
    async with MessagesServer([step(_bash("true")), step("first"), step("fixed")]) as server:
        program = Program(tmp_path, server.url)
        async with FakeHost(
            program, "--allowedTools", "Bash", "--settings", json.dumps({"hooks": hooks})
        ) as host:
            host.prompt("go")
            results = [await host.result(), await host.result()]
            await host.close()
        said = json.dumps([request.body["messages"] for request in server.requests])
    assert "tests broke" in said
    assert results[-1]["result"] in ("fixed", "first") and results[-1]["origin"] == {"kind": "hook"}


async def test_start_of_a_session_without_hooks_knows_nothing_of_them(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        probe = (
            "import sys; sys.argv = ['bridle', '-p', 'hi']; from bridle.__main__ import main; main();"
            "print([m for m in sys.modules"
            " if m.startswith('bridle.hooks') or m == 'bridle.types.hooks.events'])"
        )
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", probe, cwd=program.project, env=program.env,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, _ = await process.communicate()
    assert out.decode().splitlines()[-1] == "[]"

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program


def _bash(command: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": command}}


async def _run(
    tmp_path: Path, hooks: dict[str, Any], script: list[Any], *flags: str
) -> tuple[Done, Program, list[Any]]:
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        settings = json.dumps({"hooks": hooks})
        done = await program.run(
            "-p", "go", "--settings", settings, "--output-format", "stream-json", "--verbose", *flags
        )
        return done, program, [request.body for request in server.requests]


def _command(command: str, **more: Any) -> list[dict[str, Any]]:
    return [{"hooks": [{"type": "command", "command": command}], **more}]


async def test_hook_may_deny_a_call_that_a_rule_allows(tmp_path: Path):
    hooks = {"PreToolUse": _command("echo 'not on my watch' >&2; exit 2", matcher="Bash")}
    done, program, bodies = await _run(
        tmp_path, hooks, [step(_bash("touch x")), step("I see.")], "--allowedTools", "Bash"
    )
    assert not (program.project / "x").exists()
    assert "not on my watch" in json.dumps(bodies[1]["messages"][-1])
    assert len(done.result["permission_denials"]) == 1


async def test_hook_may_allow_what_would_be_asked_but_not_what_is_denied(tmp_path: Path):
    answer = {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}
    hooks = {"PreToolUse": _command(f"echo '{json.dumps(answer)}'")}
    _, program, _ = await _run(tmp_path, hooks, [step(_bash("touch x")), step("ok")])
    assert (program.project / "x").exists()
    (program.project / "x").unlink()
    await _run(tmp_path, hooks, [step(_bash("touch x")), step("ok")], "--disallowedTools", "Bash(touch:*)")
    assert not (program.project / "x").exists()


async def test_changed_input_is_decided_again(tmp_path: Path):
    changed = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "allow",
        "updatedInput": {"command": "touch y"},
    }
    hooks = {"PreToolUse": _command(f"echo '{json.dumps({'hookSpecificOutput': changed})}'")}
    _, program, _ = await _run(tmp_path, hooks, [step(_bash("touch x")), step("ok")])
    assert (program.project / "y").exists() and not (program.project / "x").exists()
    _, program, _ = await _run(
        tmp_path, hooks, [step(_bash("touch x")), step("ok")], "--disallowedTools", "Bash(touch y)"
    )


async def test_prompt_and_session_hooks_speak_to_the_model(tmp_path: Path):
    hooks = {
        "UserPromptSubmit": _command("echo 'the moon is full'"),
        "SessionStart": _command("echo 'good morning'"),
    }
    _, _, bodies = await _run(tmp_path, hooks, [step("ok")])
    said = json.dumps(bodies[0]["messages"])
    assert "the moon is full" in said and "good morning" in said


async def test_refused_prompt_never_reaches_the_model(tmp_path: Path):
    done, _, bodies = await _run(tmp_path, {"UserPromptSubmit": _command("echo no >&2; exit 2")}, [])
    assert bodies == [] and done.result["num_turns"] == 0 and "no" in done.result["result"]


async def test_stop_hook_keeps_the_turn_going_until_it_is_content(tmp_path: Path):
    once = 'if [ -e seen ]; then exit 0; fi; touch seen; echo "one more thing" >&2; exit 2'
    done, _, bodies = await _run(tmp_path, {"Stop": _command(once)}, [step("done"), step("really done")])
    assert len(bodies) == 2 and "one more thing" in json.dumps(bodies[1]["messages"][-1])
    assert done.result["result"] == "really done"


async def test_result_hooks_get_the_output_and_the_session_end_is_told(tmp_path: Path):
    hooks = {"PostToolUse": _command("cat > post.json"), "SessionEnd": _command("cat > end.json")}
    _, program, _ = await _run(
        tmp_path, hooks, [step(_bash("echo hi")), step("ok")], "--allowedTools", "Bash"
    )
    told = json.loads((program.project / "post.json").read_text())
    assert (told["tool_name"], told["tool_response"]["stdout"]) == ("Bash", "hi")
    assert told["hook_event_name"] == "PostToolUse" and told["cwd"] == str(program.project)
    assert json.loads((program.project / "end.json").read_text())["hook_event_name"] == "SessionEnd"


@pytest.mark.parametrize(("condition", "ran"), [("Bash(touch *)", True), ("Bash(rm *)", False)])
async def test_condition_decides_whether_a_hook_runs(tmp_path: Path, condition: str, ran: bool):
    hook = {"type": "command", "command": "touch hooked", "if": condition}
    hooks = {"PreToolUse": [{"matcher": "Bash", "hooks": [hook]}]}
    _, program, _ = await _run(
        tmp_path, hooks, [step(_bash("touch x")), step("ok")], "--allowedTools", "Bash"
    )
    assert (program.project / "hooked").exists() is ran


async def test_failing_hook_is_told_and_decides_nothing(tmp_path: Path):
    hooks = {"PreToolUse": _command("echo broken >&2; exit 7")}
    done, program, _ = await _run(
        tmp_path, hooks, [step(_bash("touch x")), step("ok")], "--allowedTools", "Bash"
    )
    assert (program.project / "x").exists()
    assert any(
        "broken" in frame.get("content", "")
        for frame in done.frames
        if frame.get("subtype") == "informational"
    )


@pytest.mark.parametrize(("scope", "written"), [("shell", True), ("all", False)])
async def test_hooks_run_behind_the_sandbox_when_it_is_for_all(tmp_path: Path, scope: str, written: bool):
    outside = tmp_path / "outside.txt"
    hooks = {
        "UserPromptSubmit": _command(f"cat > /dev/null; echo inside > here.txt; echo x > {outside}; exit 0")
    }
    settings = json.dumps({"hooks": hooks, "sandbox": {"enabled": True, "scope": scope}})
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        done = await program.run("-p", "go", "--settings", settings)
    assert (done.code, done.out) == (0, "ok\n")
    assert (program.project / "here.txt").read_text() == "inside\n"
    assert outside.exists() is written

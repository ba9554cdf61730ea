import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.hooks.samples import sample
from bridle.config.sources import Layer
from bridle.config.validate import check
from bridle.hooks.table import from_layers
from bridle.types.hooks.events import EVENTS
from tests.fakes.hook_server import HookServer
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.tables import table


def _program(tmp_path: Path, user: Any = None, project: Any = None, **env: str) -> Program:
    """bridle with hooks in the user's settings and in those of a folder that nobody trusts."""
    program = Program(tmp_path, **env)
    for folder, values in ((program.home, user), (program.project, project)):
        (folder / ".claude").mkdir()
        if values is not None:
            (folder / ".claude" / "settings.json").write_text(json.dumps(values, indent=1))
    return program


def _trust(program: Program) -> None:
    state = {"projects": {str(program.project.resolve()): {"hasTrustDialogAccepted": True}}}
    (program.home / ".claude" / ".claude.json").write_text(json.dumps(state))


def _hooks(event: str, *hooks: dict[str, Any], matcher: str | None = None, **more: Any) -> dict[str, Any]:
    group = {"hooks": list(hooks)} if matcher is None else {"matcher": matcher, "hooks": list(hooks)}
    return {"hooks": {event: [group]}, **more}


def _command(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


async def test_list_shows_where_each_hook_is_written_and_whether_it_counts(tmp_path: Path):
    program = _program(
        tmp_path,
        user=_hooks("PreToolUse", _command("check.sh"), matcher="Bash|Edit"),
        project=_hooks("Stop", {"type": "http", "url": "https://hooks.example.com/stop"}),
    )
    done = await program.run("hooks", "list")
    user, project = program.home / ".claude/settings.json", program.project / ".claude/settings.json"
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines() == [
        "  1  PreToolUse on Bash|Edit",
        "     command: check.sh",
        f"     userSettings  {user}:7",
        "  2  Stop",
        "     http: https://hooks.example.com/stop",
        f"     projectSettings  {project}:6",
        "     not used: this folder is not trusted yet",
    ]
    _trust(program)
    assert "not used" not in (await program.run("hooks", "list")).out


async def test_list_as_json_tells_everything(tmp_path: Path):
    hook = _command("./x", args=["a"], timeout=3, **{"if": "Bash(rm *)"})
    program = _program(tmp_path, user=_hooks("PreToolUse", hook, disableAllHooks=True))
    (told,) = json.loads((await program.run("hooks", "list", "--json")).out)
    assert told == {
        "number": 1,
        "event": "PreToolUse",
        "matcher": None,
        "kind": "command",
        "runs": "./x a",
        "if": "Bash(rm *)",
        "timeout": 3,
        "source": "userSettings",
        "file": str(program.home / ".claude/settings.json"),
        "line": 6,
        "key": "hooks.PreToolUse[0].hooks[0]",
        "counts": False,
        "why_not": "disableAllHooks is set",
    }


async def test_list_can_be_narrowed_and_keeps_its_numbers(tmp_path: Path):
    values = {
        "hooks": {
            "Stop": [{"hooks": [_command("a")]}],
            "PreToolUse": [{"matcher": "Bash", "hooks": [_command("b")]}, {"hooks": [_command("c")]}],
        }
    }
    program = _program(tmp_path, user=values)

    async def numbers(*options: str) -> list[int]:
        done = await program.run("hooks", "list", "--json", *options)
        return [told["number"] for told in json.loads(done.out)]

    assert await numbers() == [1, 2, 3]
    assert await numbers("--event", "PreToolUse") == [2, 3]
    assert await numbers("--tool", "Edit") == [3]
    assert await numbers("--event=Stop", "--tool=Bash") == []


async def test_a_list_without_hooks_says_so(tmp_path: Path):
    assert (await _program(tmp_path).run("hooks", "list")).out == "no hooks\n"


async def test_a_stranger_cannot_steer_the_terminal_through_the_list(tmp_path: Path):
    program = _program(
        tmp_path, project=_hooks("Stop", _command("\x1b]0;owned\x07 \x1b[2Jrm"), matcher="\x1b")
    )
    for words in (("list",), ("lint",)):
        done = await program.run("hooks", *words)
        assert "\x1b" not in done.out and "\x07" not in done.out


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("list", "--event", "Nothing"), 1),
        (("list", "--verbose"), 1),
        (("list", "--event"), 1),
        (("test",), 1),
        (("test", "Nothing"), 1),
        (("test", "Stop", "--tool", "Bash"), 1),
        (("test", "Stop", "--input", "[1]"), 1),
        (("test", "Stop", "--hook", "7"), 1),
        (("frob",), 1),
    ],
)
async def test_words_that_are_off_are_one_line_of_help(tmp_path: Path, words: tuple[str, ...], code: int):
    done = await _program(tmp_path).run("hooks", *words)
    assert (
        (done.code, done.out) == (code, "") and done.err.startswith("error: ") and done.err.count("\n") == 1
    )


async def test_lint_is_quiet_about_hooks_that_work(tmp_path: Path):
    script = tmp_path / "check.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    program = _program(
        tmp_path,
        user={
            "hooks": {
                "PreToolUse": [
                    {"matcher": "Bash|Write", "hooks": [_command(str(script)), _command("X=1 cat | wc -l")]},
                    {"matcher": "mcp__.*__write", "hooks": [_command("$UNKNOWN/run --x")]},
                    {"matcher": "mcp__files__write", "hooks": [_command("[ -f x ] && echo {}")]},
                    {"matcher": "^Web", "hooks": [_command("cat", args=["-"]), _command("echo 'don''t'")]},
                ],
                "SessionStart": [{"matcher": "startup|resume", "hooks": [_command(f"sh {script}")]}],
                "SubagentStop": [{"matcher": "any-agent", "hooks": [_command('"$CLAUDE_PROJECT_DIR"/x')]}],
                "Stop": [{"hooks": [{"type": "http", "url": "https://h/", "headers": {"A": "$T"},
                                     "allowedEnvVars": ["T"]}]}],
            }
        },
    )  # fmt: skip
    (program.project / "x").write_text("#!/bin/sh\n")
    (program.project / "x").chmod(0o755)
    done = await program.run("hooks", "lint")
    assert (done.code, done.out) == (0, "9 hook(s), no problems\n")


@pytest.mark.parametrize(
    ("values", "key", "words"),
    [
        (_hooks("PreTolUse", _command("true")), "hooks.PreTolUse[0].hooks[0]", "did you mean PreToolUse?"),
        (_hooks("PreToolUse", _command("true"), matcher="(Bash"), "hooks.PreToolUse[0].matcher", "matches"),
        (_hooks("PreToolUse", _command("true"), matcher="bash"), "hooks.PreToolUse[0].hooks[0]", "Bash?"),
        (
            _hooks("PreToolUse", _command("true"), matcher="^Nix.*"),
            "hooks.PreToolUse[0].hooks[0]",
            "matches no",
        ),
        (
            _hooks("SessionStart", _command("true"), matcher="boot"),
            "hooks.SessionStart[0].hooks[0]",
            "'boot'",
        ),
        (_hooks("Setup", {"type": "prompt", "prompt": "x"}), "hooks.Setup[0].hooks[0]", "does not support"),
        (_hooks("Stop", _command("true", **{"if": "Bash"})), "hooks.Stop[0].hooks[0]", "`if`"),
        (_hooks("Stop", _command("no-such-program-1 -x")), "hooks.Stop[0].hooks[0]", "is not on the PATH"),
        (_hooks("Stop", _command("./missing.sh")), "hooks.Stop[0].hooks[0]", "does not exist"),
        (_hooks("Stop", _command("sh missing.sh")), "hooks.Stop[0].hooks[0]", "script missing.sh"),
        (_hooks("Stop", _command("./plain.txt")), "hooks.Stop[0].hooks[0]", "not executable"),
        (_hooks("Stop", _command("./plain.txt", args=[])), "hooks.Stop[0].hooks[0]", "not executable"),
        (
            _hooks("Stop", {"type": "http", "url": "https://b/"}, allowedHttpHookUrls=["https://a/*"]),
            "hooks.Stop[0].hooks[0]",
            "allowedHttpHookUrls",
        ),
        (_hooks("Stop", {"type": "http", "url": "b"}), "hooks.Stop[0].hooks[0]", "https://host/path"),
        (
            _hooks("Stop", {"type": "http", "url": "https://b/", "headers": {"A": "${T}"}}),
            "hooks.Stop[0].hooks[0]",
            "allowedEnvVars",
        ),
        (_hooks("Stop", {"type": "webhook"}), "hooks.Stop[0].hooks[0]", "expected"),
    ],
)
async def test_lint_names_file_key_and_fault(tmp_path: Path, values: Any, key: str, words: str):
    program = _program(tmp_path, user=values)
    (program.project / "plain.txt").write_text("x")
    done = await program.run("hooks", "lint")
    (line,) = done.out.splitlines()
    assert done.code == 1
    assert line.startswith(f"{program.home / '.claude/settings.json'}:") and f": {key}: " in line
    assert words in line


async def test_test_runs_the_matching_hooks_and_shows_what_they_say(tmp_path: Path):
    values = {
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [_command("echo no rm here >&2; exit 2")]},
                {"matcher": "Write", "hooks": [_command("touch $HOME/ran")]},
                {"hooks": [_command("""cat > $HOME/got; echo '{"systemMessage": "seen"}'""")]},
            ]
        }
    }
    program = _program(tmp_path, user=values)
    given = json.dumps({"tool_input": {"command": "rm -rf build"}})
    done = await program.run("hooks", "test", "PreToolUse", "--tool", "Bash", "--input", given)
    assert (done.code, done.err) == (0, "")
    sent = json.loads((program.home / "got").read_text())
    assert sent["tool_input"] == {"command": "rm -rf build"}
    assert (sent["hook_event_name"], sent["tool_name"]) == ("PreToolUse", "Bash")
    lines = done.out.splitlines()
    assert json.loads(lines[0].removeprefix("input: ")) == sent
    assert lines[1] == "  1  command: echo no rm here >&2; exit 2"
    assert ", exit code 2, " in lines[2] and lines[2].endswith(" s")
    assert lines[3] == "     stderr: no rm here"
    assert lines[4] == '     effect: {"decision":"deny","reason":"no rm here"}'
    assert lines[5].startswith("  3  command: cat") and lines[7] == '     stdout: {"systemMessage": "seen"}'
    assert lines[8] == '     effect: {"system_messages":["seen"]}'
    assert lines[9] == 'together: {"decision":"deny","reason":"no rm here","system_messages":["seen"]}'
    assert not (program.home / "ran").exists()


async def test_test_can_run_one_hook_and_fails_when_it_fails(tmp_path: Path):
    values = _hooks("Stop", _command("touch $HOME/first"), _command("echo oops >&2; exit 1"))
    program = _program(tmp_path, user=values)
    done = await program.run("hooks", "test", "Stop", "--hook", "2")
    assert done.code == 1 and not (program.home / "first").exists()
    assert "     effect: none" in done.out.splitlines() and "problem: " in done.out and "oops" in done.out
    assert (await program.run("hooks", "test", "Stop", "--hook", "1")).code == 0
    assert (program.home / "first").exists()


async def test_test_runs_nothing_of_a_folder_that_is_not_trusted(tmp_path: Path):
    program = _program(tmp_path, project=_hooks("Stop", _command("touch $HOME/ran")))
    done = await program.run("hooks", "test", "Stop")
    assert "not run: this folder is not trusted yet" in done.out and not (program.home / "ran").exists()
    _trust(program)
    await program.run("hooks", "test", "Stop")
    assert (program.home / "ran").exists()


async def test_test_says_when_a_matcher_does_not_fit(tmp_path: Path):
    program = _program(tmp_path, user=_hooks("PreToolUse", _command("true"), matcher="Write"))
    done = await program.run("hooks", "test", "PreToolUse")
    assert done.code == 1 and "1 with other matchers" in done.err
    one = await program.run("hooks", "test", "PreToolUse", "--hook", "1")
    assert "not run: its matcher 'Write' does not match Bash" in one.out


async def test_test_asks_over_http_and_asks_a_model(tmp_path: Path):
    async with (
        HookServer(b'{"decision": "block", "reason": "by http"}') as server,
        MessagesServer([step('{"ok": false, "reason": "by model"}')]) as models,
    ):
        http = {"type": "http", "url": server.url()}
        prompt = {"type": "prompt", "prompt": "Is it done? $ARGUMENTS"}
        env = {"ANTHROPIC_BASE_URL": models.url, "ANTHROPIC_API_KEY": "test-key"}
        program = _program(tmp_path, user=_hooks("Stop", http, prompt), **env)
        done = await program.run("hooks", "test", "Stop")
    assert done.code == 0
    assert 'together: {"block":"by http\\nby model"}' in done.out.splitlines()
    assert server.received[0].body["hook_event_name"] == "Stop"


@table("event", sorted(EVENTS))
def test_there_is_a_sample_of_every_event(event: str):
    assert sample(event, tool=None, given={}, cwd="/project").name == event


async def test_an_async_hook_is_waited_for_when_it_is_tried(tmp_path: Path):
    program = _program(tmp_path, user=_hooks("Stop", _command("echo done > $HOME/ran", **{"async": True})))
    done = await program.run("hooks", "test", "Stop")
    assert "in the background" in done.out and (program.home / "ran").read_text() == "done\n"


_DOCUMENTED = (Path(__file__).parents[3] / "docs" / "hooks.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"```json\n(.*?)```", _DOCUMENTED, re.DOTALL))
def test_hooks_in_the_documentation_can_be_used(text: str):
    values, faults = check(json.loads(text))
    table = from_layers((Layer("userSettings", "/settings.json", values, text),), trusted=True)
    assert faults == () and table.problems == () and len(table.entries) == 1


async def test_condition_of_a_hook_counts_when_it_is_listed_and_tried(tmp_path: Path):
    hooks = _hooks("PreToolUse", _command("echo pushed >&2; exit 2", **{"if": "Bash(git push *)"}))
    program = _program(tmp_path, user=hooks)
    call, other = '{"command": "git push --force"}', '{"command": "ls"}'
    listed = [await program.run("hooks", "list", "--tool", "Bash", "--input", each) for each in (call, other)]
    assert [done.out == "no hooks\n" for done in listed] == [False, True]
    tried = await program.run("hooks", "test", "PreToolUse", "--input", f'{{"tool_input": {other}}}')
    assert "not run: its condition Bash(git push *) does not match this call" in tried.out
    tried = await program.run("hooks", "test", "PreToolUse", "--input", f'{{"tool_input": {call}}}')
    assert "pushed" in tried.out and '"decision":"deny"' in tried.out


async def test_models_that_are_asked_for_a_trial_are_counted(tmp_path: Path):
    hooks = {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "prompt", "prompt": "Done?"}, {"type": "agent", "prompt": "Really?"}]}
            ],
            "SessionStart": [{"hooks": [_command("touch greeted")]}],
        }
    }
    read = {"type": "tool_use", "id": "t", "name": "Read", "input": {"file_path": "notes.txt"}}
    empty = {"ok": False, "reason": "notes are empty"}
    verdict = {"type": "tool_use", "id": "v", "name": "StructuredOutput", "input": empty}
    script = [step('{"ok": true}'), step(read), step(verdict)]
    async with MessagesServer(script) as server:
        program = _program(tmp_path, user=hooks, ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="test-key")
        (program.project / "notes.txt").write_text("nothing yet\n")
        done = await program.run("hooks", "test", "Stop")
        bodies = [request.body for request in server.requests]
    assert done.code == 0 and "notes are empty" in done.out
    assert "models: $0.00" in done.out
    assert "nothing yet" in json.dumps(bodies[2]["messages"])
    assert {tool["name"] for tool in bodies[1]["tools"]} <= {"Read", "Grep", "Glob", "StructuredOutput"}
    # Nothing but the trial happens: no other hook runs, and no conversation is left behind.
    assert not (program.project / "greeted").exists() and program.transcripts() == []

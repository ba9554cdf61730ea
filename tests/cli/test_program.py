import asyncio
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from bridle.cli.flags import MODE_NAMES, SUBCOMMANDS
from bridle.version import COMPATIBLE_WITH, __version__
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Done, Program
from tests.fakes.terminal import PtyProgram


@pytest.mark.parametrize("flags", [("--version",), ("-v",), ("-p", "--version")])
async def test_version_leads_with_the_release_that_hosts_compare(tmp_path: Path, flags: tuple[str, ...]):
    done = await Program(tmp_path).run(*flags)
    assert (done.code, done.out, done.err) == (0, f"{COMPATIBLE_WITH} (bridle {__version__})\n", "")


async def test_version_at_a_terminal_leads_with_the_name(tmp_path: Path):
    program = Program(tmp_path)
    for flags in (["--version"], ["-p", "--version"]):
        argv = [sys.executable, "-m", "bridle", *flags]
        async with PtyProgram(argv, env=program.env, cwd=program.project) as terminal:
            assert await terminal.ended() == 0
            assert terminal.output.decode().strip() == (
                f"bridle {__version__} (compatible with Claude Code {COMPATIBLE_WITH})"
            )


async def test_help_lists_every_command_and_mode(tmp_path: Path):
    done = await Program(tmp_path).run("--help")
    assert not [name for name in SUBCOMMANDS if f"\n  {name} " not in done.out]
    assert not [mode for mode in MODE_NAMES if mode != "manual" and mode not in done.out]


async def test_help_says_how_to_begin(tmp_path: Path):
    done = await Program(tmp_path).run("--help")
    assert (done.code, done.err) == (0, "")
    assert "bridle -p" in done.out and "--model offline" in done.out


@pytest.mark.parametrize("argv", [("--version",), ("--help",)])
def test_quick_answers_import_almost_nothing(argv: tuple[str, ...]):
    code = (
        "import sys; before = set(sys.modules); sys.argv = ['bridle', *sys.argv[1:]]\n"
        "from bridle.__main__ import main; main()\n"
        "print('\\n'.join(sorted(set(sys.modules) - before)), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, *argv], capture_output=True, text=True, check=True
    )
    loaded = done.stderr.split()
    assert not {"asyncio", "ssl", "json", "h11", "argparse", "subprocess", "msgspec"} & set(loaded)
    own = [name for name in loaded if name.startswith("bridle")]
    if argv == ("--version",):
        assert loaded == [
            "bridle", "bridle.__main__", "bridle.cli", "bridle.cli.say", "bridle.host", "bridle.host.stdio",
            "bridle.types", "bridle.types.visible", "bridle.version",
        ]  # fmt: skip
    else:
        assert len(own) <= 13


async def test_unknown_option_is_one_line_and_code_one(tmp_path: Path):
    done = await Program(tmp_path).run("-p", "hi", "--frobnicate")
    assert (done.code, done.out, done.err) == (1, "", "error: unknown option '--frobnicate'\n")


@pytest.mark.parametrize(
    ("argv", "complaint"),
    [
        (("-p", "hi", "--output-format", "stream-json"), "needs --verbose"),
        (("-p", "hi", "--input-format", "stream-json"), "needs --output-format stream-json"),
        (("-p", "hi", "--include-partial-messages"), "needs --output-format stream-json"),
        (("-p", "hi", "--settings", "{broken"), "--settings"),
        (("-p", "hi", "--settings", "/no/such/file.json"), "/no/such/file.json"),
        (("-p", "hi", "--setting-sources", "user,moon"), "moon"),
        (("-p", "hi", "--system-prompt-file", "/no/such/prompt"), "/no/such/prompt"),
        (("-p", "hi", "--system-prompt", "a", "--system-prompt-file", "b"), "can't be used together"),
        (("-p", "hi", "--allowedTools", "Bash("), "--allowedTools"),
        (("-p", "hi", "--max-turns", "none"), "whole number"),
        (
            ("-p", "hi", "--agents", "{}", "--managed-settings", '{"disableSideloadFlags": true}'),
            "disableSideloadFlags",
        ),
        (("ssh", "host"), "'bridle ssh' is not part of this version"),
        (("assistant",), "'bridle assistant' is not part of this version"),
        (("cc://host:1/x",), "cc:// are not part of this version"),
        (("cc+unix:///tmp/x",), "cc+unix:// are not part of this version"),
    ],
)
async def test_wrong_flags_are_one_line_and_code_one(tmp_path: Path, argv: tuple[str, ...], complaint: str):
    done = await Program(tmp_path, "http://127.0.0.1:9").run(*argv)
    assert (done.code, done.out) == (1, "")
    assert complaint in done.err and len(done.err.splitlines()) == 1


async def test_a_missing_working_folder_is_a_warning(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        done = await Program(tmp_path, server.url).run("-p", "hi", "--add-dir", "/no/such/folder")
    assert (done.code, done.out) == (0, "ok\n")
    assert done.err == "warning: --add-dir: no such folder: /no/such/folder\n"


async def test_unreachable_server_says_what_to_check(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9", CLAUDE_CODE_MAX_RETRIES="0")
    done = await program.run("-p", "hi")
    assert (done.code, done.err) == (1, "")
    assert "127.0.0.1:9" in done.out and "ANTHROPIC_BASE_URL" in done.out


async def test_broken_settings_are_told_and_the_rest_counts(tmp_path: Path):
    program = Program(tmp_path)
    (program.home / ".claude").mkdir()
    settings = program.home / ".claude" / "settings.json"
    settings.write_text(
        '{\n  "cleanupPeriodDays": "soon",\n  "env": {"GREETING": "hello"},\n  "future": 1\n}\n'
    )
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "echo $GREETING"}}
    async with MessagesServer([step(call), step("ok")]) as server:
        done = await program.run(
            "-p", "hi", "--allowedTools", "Bash", ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="k"
        )
        result = server.requests[1].body["messages"][-1]["content"][0]
    assert (done.code, done.out) == (0, "ok\n")
    assert done.err.startswith(f"warning: {settings}:2: cleanupPeriodDays:")
    assert result["content"] == "hello"


async def test_host_programs_get_an_empty_stderr(tmp_path: Path):
    program = Program(tmp_path, CLAUDE_CODE_ENTRYPOINT="sdk-py")
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(
        '{"permissions": {"allow": ["Read"], "deny": [7]}}'
    )
    async with MessagesServer([step("ok")]) as server:
        done = await program.run("-p", "hi", ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="k")
    assert (done.code, done.err) == (0, "")


async def test_allow_rules_of_an_untrusted_project_do_not_count(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / ".claude").mkdir()
    (program.project / ".claude" / "settings.json").write_text(
        '{"permissions": {"allow": ["Bash(touch:*)"]}}'
    )
    call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "touch x"}}
    async with MessagesServer([step(call), step("ok")] * 2) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}
        wary = await program.run("-p", "hi", **env)
        assert not (program.project / "x").exists()
        state = program.home / ".claude" / ".claude.json"
        state.write_text(json.dumps({"projects": {str(program.project): {"hasTrustDialogAccepted": True}}}))
        trusting = await program.run("-p", "hi", **env)
    assert "not trusted" in wary.err and trusting.err == ""
    assert (program.project / "x").exists()


async def test_prices_of_the_user_count(tmp_path: Path):
    answer = step(
        "ok", message={"usage": {"input_tokens": 1_000_000, "output_tokens": 0}, "model": "my-model"}
    )
    async with MessagesServer([answer]) as server:
        done = await Program(tmp_path, server.url).run(
            "-p", "hi", "--model", "my-model", "--output-format", "json",
            "--settings", '{"bridleModels": {"my-model": {"inputPrice": 7, "outputPrice": 9}}}',
        )  # fmt: skip
    assert json.loads(done.out)["total_cost_usd"] == pytest.approx(7.0, abs=0.001)


async def test_instructions_reach_the_model(tmp_path: Path):
    program = Program(tmp_path)
    (program.project / "CLAUDE.md").write_text("Always say please. @more.md\n")
    (program.project / "more.md").write_text("And thank you.\n")
    (program.project / "sub").mkdir()
    (program.project / "sub" / "CLAUDE.md").write_text("Only here.\n")
    (program.project / "sub" / "a.txt").write_text("text\n")
    call = {"type": "tool_use", "id": "t1", "name": "Read", "input": {"file_path": "sub/a.txt"}}
    async with MessagesServer([step(call), step("ok"), step("ok")]) as server:
        env = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"}
        await program.run("-p", "hi", **env)
        await program.run("-p", "--bare", "hi", **env)
        first, second, bare = (json.dumps(request.body["messages"]) for request in server.requests)
    assert "Always say please." in first and "And thank you." in first and "Only here." not in first
    assert "Only here." in second
    assert "please" not in bare


async def test_settings_that_change_count_from_the_next_decision(tmp_path: Path):
    program = Program(tmp_path)
    settings = program.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    touch = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "touch x"}}
    async with MessagesServer(
        [step(touch), step("denied"), step({**touch, "id": "t2"}), step("done")]
    ) as server:
        process = await program.start(
            "--output-format", "stream-json", "--verbose", "--input-format", "stream-json",
            env={"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "k"},
        )  # fmt: skip
        assert process.stdin is not None and process.stdout is not None
        prompt = b'{"type":"user","message":{"role":"user","content":"touch x"}}\n'
        process.stdin.write(prompt)
        await _until(process.stdout, b'"type":"result"')
        settings.write_text('{"permissions": {"allow": ["Bash(touch:*)"]}}')
        await _until(process.stdout, b"Settings have changed")
        process.stdin.write(prompt)
        await _until(process.stdout, b'"type":"result"')
        process.stdin.close()
        assert await process.wait() == 0
    assert (program.project / "x").exists()


def test_terminal_without_print_mode_is_told_what_to_use(tmp_path: Path):
    leader, follower = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "bridle", "confg"],
        stdin=follower,
        stdout=follower,
        stderr=subprocess.PIPE,
        cwd=tmp_path,
        check=False,
    )
    os.close(leader)
    os.close(follower)
    assert (done.returncode, done.stderr) == (
        1,
        b"error: unknown command 'confg': did you mean bridle config?\n",
    )


async def _until(stream: asyncio.StreamReader, wanted: bytes) -> None:
    while wanted not in (line := await stream.readline()):
        assert line, f"the stream ended before {wanted!r}"


@pytest.mark.parametrize("argv", [("--version",), ("--help",), ("config", "list")])
def test_full_disk_behind_standard_output_is_one_line(tmp_path: Path, argv: tuple[str, ...]):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "bridle", *argv],
            stdout=full,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            check=False,
        )
    assert (done.returncode, done.stderr) == (
        1,
        b"error: can't write the output: No space left on device\n",
    )


async def test_answer_that_cannot_be_written_is_an_error(tmp_path: Path):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        with open("/dev/full", "wb") as full:
            process = await program.start("-p", "hi", stdin=subprocess.DEVNULL, stdout=full.fileno())
            assert process.stderr is not None
            err = await process.stderr.read()
            assert await process.wait() == 1
    assert err == b"error: can't write the output: No space left on device\n"


async def test_bytes_that_are_not_utf8_do_no_harm(tmp_path: Path):
    async with MessagesServer([step("ok")] * 2) as server:
        program = Program(tmp_path, server.url)
        odd = program.project / os.fsdecode(b"odd\xff")
        odd.mkdir()
        first = await program.run(
            "-p", os.fsdecode(b"caf\xe9?"), "--append-system-prompt", os.fsdecode(b"\xff")
        )
        program.project = odd
        second = await program.run("-p", stdin=b"\xff\xfe\x00")
        sent = [json.dumps(request.body, ensure_ascii=False) for request in server.requests]
    assert (first, second) == (Done(0, "ok\n", ""), Done(0, "ok\n", ""))
    assert "caf�?" in sent[0]


async def test_git_state_and_environment_reach_the_model(tmp_path: Path):
    program = Program(tmp_path)
    for argv in (
        ("init", "-q", "-b", "trunk"),
        ("add", "."),
        ("commit", "-q", "-m", "begin here", "--allow-empty"),
    ):
        identity = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        subprocess.run(["git", *identity, *argv], cwd=program.project, check=True, env=program.env)
    (program.project / "new.txt").write_text("x")
    async with MessagesServer([step("ok")]) as server:
        await program.run("-p", "hi", ANTHROPIC_BASE_URL=server.url, ANTHROPIC_API_KEY="k")
        body = server.requests[0].body
    said = json.dumps(body["messages"])
    assert "trunk" in said and "begin here" in said and "new.txt" in said
    assert str(program.project) in body["system"][-1]["text"]
    assert next(row["gitBranch"] for row in program.rows() if "gitBranch" in row) == "trunk"


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
async def test_closed_standard_streams_do_no_harm(tmp_path: Path, closed: str):
    async with MessagesServer([step("ok")]) as server:
        program = Program(tmp_path, server.url)
        script = f'"{sys.executable}" -m bridle -p hi {closed}'
        process = await asyncio.create_subprocess_exec(
            "sh", "-c", script, cwd=program.project, env=program.env,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    assert out == (b"" if ">&-" in closed.replace("2>&-", "") else b"ok\n")
    kinds = [row["type"] for row in program.rows()]
    assert kinds[-3:] == ["assistant", "last-prompt", "cost-state"]


async def test_debug_log_tells_every_event_but_the_stream(tmp_path: Path):
    async with MessagesServer([step("ok"), step("ok")]) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "hi", "--debug-file", "log/run.txt")
        done = await program.run("-p", "hi", "--debug")
    log = (program.project / "log" / "run.txt").read_text()
    assert [line.split()[1] for line in log.splitlines()] == [
        "turn_started", "step_started", "assistant_said", "turn_finished", "finished",
    ]  # fmt: skip
    (own,) = (program.home / ".claude" / "debug").glob("*.txt")
    assert own.stat().st_mode & 0o777 == 0o600 and "turn_finished" in own.read_text()
    assert (done.code, done.err) == (0, "")

"""bridle as a user shares it: from the terminal, from a host program, from settings."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.tui.render.status import Status, status_line
from bridle.frontends.tui.style.text import text_of
from tests.fakes.host import FakeHost
from tests.fakes.jobs import background
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.remote import RemoteClient
from tests.frontends.tui.app.session import QUIET, Terminal, bridle

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)/#([A-Za-z0-9]{43})")
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made.txt"}}


def _client(text: str) -> RemoteClient:
    found = _ADDRESS.search(text)
    assert found is not None, text
    return RemoteClient(int(found[1]), found[2])


async def _share(terminal: Terminal, command: str = "/remote-control my desk") -> RemoteClient:
    await terminal.ready()
    await terminal.say(command)
    await terminal.until_text("Stop sharing with")
    return _client(terminal.emulator.text)


async def test_a_session_is_shared_steered_from_elsewhere_and_closed_again(tmp_path: Path):
    async with bridle(tmp_path, [step("Hello there.")], "--debug") as terminal:
        client = await _share(terminal)
        await terminal.until(lambda screen: "shared" in screen.text.splitlines()[-1])
        shared_session = await client.shared_session()
        async with client.follow(shared_session) as stream:
            begun = (await stream.line())["snapshot"]
            assert begun["session"]["name"] == "my desk"
            await terminal.until_text("Phone connected through remote control.")
            await terminal.until_text("shared, 1 connected")
            await client.act(shared_session, do="prompt", text="say hello")
            await terminal.until_text("From Phone, by remote control:")
            await terminal.until_text("Hello there.")
            said = await stream.frame("assistant")
            assert said["message"]["content"][0]["text"] == "Hello there."
            await client.act(shared_session, do="prompt", text="/rename attic")
            await stream.frame("system", subtype="session_title_changed")
            assert (await client.get("/api/sessions")).json["sessions"][0]["name"] == "attic"
            for wish in ("end", "archive"):
                assert (await client.act(shared_session, do=wish)).status == 403
            await terminal.say("/remote-control off")
            await terminal.until_text("Stopped sharing this session")
            while "over" not in (line := await stream.line()):
                pass
            assert line["over"] == "The session is no longer shared."
        with pytest.raises(OSError):
            await client.get("/api/sessions")
        await terminal.until(lambda screen: "shared" not in screen.text.splitlines()[-1])
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and client.token in _text(path)]
    assert kept == []


async def test_the_key_of_a_background_session_is_shown_on_request_and_is_in_no_file(tmp_path: Path):
    async with background(tmp_path, [step("Hello there.")]) as bridle:
        job = await bridle.start("--remote-control", "desk", "say hello")
        await eventually(lambda: f"run: bridle remote show {job}" in bridle.home.shown(job))
        shown = await bridle.run("remote", "show", job)
        assert shown.code == 0, shown.err
        client = _client(shown.out)
        await client.shared_session()
        kept = [path for path in tmp_path.rglob("*") if path.is_file() and client.token in _text(path)]
        assert kept == []
        assert client.token not in (await bridle.run("logs", job)).out
        await bridle.run("stop", job)
        over = await bridle.run("remote", "show", job)
        assert (over.code, over.out) == (1, "") and "has ended" in over.err
        quiet = await bridle.start("--exec", "read line")
        private = await bridle.run("remote", "show", quiet)
        assert private.code == 1 and "is not shared" in private.err


async def test_the_sign_stays_under_a_status_line_of_the_users_own(tmp_path: Path):
    settings = {"statusLine": {"type": "command", "command": "echo mine"}}
    async with bridle(tmp_path, (), "--rc", "desk", settings=settings) as terminal:
        await terminal.until_text("Shared as desk.")
        await terminal.until_text("mine")
        await terminal.until(lambda screen: "shared" in screen.text.splitlines()[-1])


def test_the_sign_is_given_up_last_where_the_window_is_narrow():
    status = Status(model="a-long-name-of-a-model", folder="folder", branch="main", shared="shared")
    assert "shared" in text_of(status_line(status, 30)) and "folder" not in text_of(status_line(status, 30))
    assert "shared" not in text_of(status_line(Status(model="m"), 80))


async def test_an_answer_from_elsewhere_closes_the_dialog_and_one_at_the_terminal_the_question(
    tmp_path: Path,
):
    script = [step(_CALL), step("One."), step({**_CALL, "id": "toolu_2"}), step("Two.")]
    async with bridle(tmp_path, script) as terminal:
        client = await _share(terminal)
        shared_session = await client.shared_session()
        async with client.follow(shared_session) as stream:
            await stream.line()
            await terminal.say("make it")
            asked = await stream.frame("control_request")
            assert asked["request"]["input"] == {"command": "touch made.txt"}
            await terminal.until_text("Run a command?")
            answer = await client.act(shared_session, do="answer", behavior="allow", **_named(asked))
            assert answer.json == {"counted": True}
            await terminal.until_text("Answered by Phone, by remote control.")
            await terminal.until_text("One.")
            assert "Run a command?" not in terminal.emulator.text
            assert (terminal.program.project / "made.txt").exists()

            await terminal.say("once more")
            again = await stream.frame("control_request")
            await terminal.until_text("Run a command?")
            await terminal.until_text("esc for no")
            terminal.type("\x1b")
            closed = await stream.frame("control_cancel_request")
            assert closed["request_id"] == again["request_id"]
            assert closed["decided"] == {"by": "the terminal", "how": "refused"}
            late = await client.act(shared_session, do="answer", behavior="allow", **_named(again))
            assert late.status == 409 and late.json["decided"]["by"] == "the terminal"


async def test_the_flag_shares_from_the_start_and_gives_the_name(tmp_path: Path):
    async with bridle(tmp_path, (), "--rc", "my desk") as terminal:
        await terminal.until_text("Shared as my desk.")
        client = _client(terminal.emulator.text)
        assert (await client.get("/api/sessions")).json["sessions"][0]["name"] == "my desk"


async def test_the_users_settings_share_from_the_start(tmp_path: Path):
    settings = {"remoteControlAtStartup": True}
    async with bridle(
        tmp_path, (), settings=settings, CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX="attic"
    ) as terminal:
        await terminal.until_text("Shared as attic-project.")


async def test_a_project_never_shares(tmp_path: Path):
    """S41."""
    folder = tmp_path / "project" / ".claude"
    folder.mkdir(parents=True)
    values = {"remoteControlAtStartup": True, "env": {"BRIDLE_REMOTE_LISTEN": "0.0.0.0:0"}}
    (folder / "settings.json").write_text(json.dumps(values), encoding="utf-8")
    async with bridle(tmp_path) as terminal:
        await terminal.ready()
        assert "Shared as" not in terminal.emulator.text
        await terminal.say("/rc")
        await terminal.until_text("http://127.0.0.1:")


@pytest.mark.parametrize("flags", [(), ("--remote-control",)])
async def test_sharing_that_is_turned_off_says_so_in_a_sentence(tmp_path: Path, flags: tuple[str, ...]):
    async with bridle(tmp_path, (), *flags, settings={"disableRemoteControl": True}) as terminal:
        if not flags:
            await terminal.ready()
            await terminal.say("/remote-control")
        await terminal.until_text("Sharing is disabled (disableRemoteControl).")
        assert _ADDRESS.search(terminal.emulator.text) is None


async def test_a_place_to_listen_that_is_none_is_told(tmp_path: Path):
    async with bridle(tmp_path, BRIDLE_REMOTE_LISTEN="everywhere") as terminal:
        await terminal.ready()
        await terminal.say("/remote-control")
        await terminal.until_text("BRIDLE_REMOTE_LISTEN must be host:port")


async def test_a_host_program_and_somebody_elsewhere_race_for_a_question(tmp_path: Path):
    script = [step(_CALL), step("One."), step({**_CALL, "id": "toolu_2"}), step("Two.")]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url, **QUIET)
        async with FakeHost(program, "--permission-prompt-tool", "stdio") as host:
            host.prompt("/remote-control desk")
            told = await host.until(lambda frame: "#" in str(frame.get("message", "")))
            await host.result()
            client = _client(json.dumps(told))
            shared_session = await client.shared_session()
            async with client.follow(shared_session) as stream:
                await stream.line()
                host.prompt("make it")
                asked = await host.asked()
                shown = await stream.frame("control_request")
                await client.act(
                    shared_session, do="answer", behavior="deny", message="use make", **_named(shown)
                )
                withdrawn = await host.until(lambda frame: frame["type"] == "control_cancel_request")
                assert withdrawn["request_id"] == asked["request_id"]
                host.answer(asked, {"behavior": "allow", "updatedInput": {}})
                refused = await host.until(lambda frame: "tool_result_meta" in frame)
                decision = refused["tool_result_meta"][0]["permission_decision"]
                assert decision == {"decision": "reject", "source": "user_reject"}
                assert "use make" in json.dumps(refused)
                await host.result()

                host.prompt("again")
                asked = await host.asked()
                await stream.frame("control_request")
                host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
                closed = await stream.frame("control_cancel_request")
                assert closed["decided"] == {"by": "the host program", "how": "allowed"}
                await host.result()
    assert not [row for row in program.rows() if client.token in json.dumps(row)]


async def test_print_mode_is_shared_where_it_is_asked_for_and_somebody_elsewhere_approves(tmp_path: Path):
    async with MessagesServer([step(_CALL), step("Done.")]) as server:
        program = Program(tmp_path, server.url, **QUIET)
        process = await program.start("-p", "make it", "--remote-control")
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdin.close()
        told = b"".join([await process.stderr.readline() for _ in range(3)]).decode()
        client = _client(told)
        shared_session = await client.shared_session()
        async with client.follow(shared_session) as stream:
            begun = (await stream.line())["snapshot"]
            asked = begun["questions"][0] if begun["questions"] else await stream.frame("control_request")
            await client.act(shared_session, do="answer", behavior="allow", **_named(asked))
            assert (await process.stdout.read()).decode() == "Done.\n"
        assert await process.wait() == 0
    assert (program.project / "made.txt").exists()


async def test_a_session_writes_to_one_that_is_shared_elsewhere(tmp_path: Path):
    message = {"to": "attic", "message": "the build is broken", "summary": "build"}
    call = {"type": "tool_use", "id": "toolu_1", "name": "SendMessage", "input": message}
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    async with bridle(far, [step("I will look.", when="the build is broken")]) as terminal:
        client = await _share(terminal)
        address = f"http://127.0.0.1:{client.port}/#{client.token}"
        async with MessagesServer([step(call), step("Told them.")]) as server:
            program = Program(near, server.url, **QUIET)
            assert (await program.run("remote", "add", "attic", address)).code == 0
            listed = await program.run("remote", "list")
            assert "remote:attic  reachable" in listed.out
            async with FakeHost(program, "--permission-prompt-tool", "stdio") as host:
                host.prompt("tell them")
                asked = await host.asked()
                assert asked["request"]["tool_name"] == "SendMessage"
                assert asked["request"]["input"]["to"] == "remote:attic"
                host.answer(asked, {"behavior": "allow", "updatedInput": asked["request"]["input"]})
                assert (await host.result())["result"] == "Told them."
        await terminal.until_text("Message from another session")
        await terminal.until_text("I will look.")
        heard = json.dumps(terminal.asked[-1]["messages"])
        assert "agent-message" in heard and "not from the user" in heard
    assert not [path for path in near.rglob("*") if path.is_file() and client.token in _text(path)]


async def test_hooks_learn_under_which_id_the_session_is_shared(tmp_path: Path):
    mark = tmp_path / "mark"
    command = f'echo "$CLAUDE_CODE_BRIDGE_SESSION_ID" > {mark}'
    hooks = {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": command}]}]}
    async with bridle(tmp_path, [step("Hi.")], settings={"hooks": hooks}) as terminal:
        client = await _share(terminal)
        await terminal.say("hello")
        await terminal.until_text("Hi.")
        await eventually(mark.exists)
        assert mark.read_text().strip() == await client.shared_session()


def _named(asked: Any) -> dict[str, Any]:
    return {"request_id": asked["request_id"], "digest": asked["digest"]}


def _text(path: Path) -> str:
    return path.read_bytes().decode(errors="replace")

"""`bridle remote-control`: sessions that somebody elsewhere starts, each in a process of its own."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.cli.remote.server_mode import ServerOptions, read_options
from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.parser import ParsedArguments, read
from bridle.frontends.remote.access import letter_token
from bridle.types.errors import UsageError
from bridle.types.ids import new_uuid
from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.processes import eventually, is_running
from tests.fakes.program import Program
from tests.fakes.remote import RemoteClient, Stream
from tests.fakes.repositories import repository
from tests.frontends.tui.app.session import QUIET

_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made.txt"}}


class Serving:
    def __init__(self, program: Program, process: asyncio.subprocess.Process, client: RemoteClient) -> None:
        self.program = program
        self.process = process
        self.client = client

    async def sessions(self) -> list[Any]:
        return (await self.client.get("/api/sessions")).json["sessions"]


@asynccontextmanager
async def serving(folder: Path, script: Script, *flags: str) -> AsyncGenerator[Serving]:
    async with MessagesServer(script) as server:
        program = Program(folder, server.url, **QUIET)
        program.env["BRIDLE_TRUST_FOLDER"] = str(program.project)
        process = await program.start("remote-control", *flags)
        assert process.stdout is not None
        try:
            async with asyncio.timeout(50):
                told = b"".join([await process.stdout.readline() for _ in range(3)]).decode()
            found = re.search(r"http://127\.0\.0\.1:(\d+)/#(\w{43})", told)
            assert found is not None, told
            yield Serving(program, process, RemoteClient(int(found[1]), found[2]))
        finally:
            if process.returncode is None:
                process.send_signal(signal.SIGINT)
            async with asyncio.timeout(50):
                await process.wait()


async def test_a_session_is_there_from_the_start_and_is_steered_to_its_end(tmp_path: Path):
    async with serving(tmp_path, [step(_CALL), step("Made.")], "--name", "attic") as made:
        (first,) = await made.sessions()
        assert first["name"] == "attic"
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            await made.client.act(first["id"], do="prompt", text="make it")
            asked = await stream.frame("control_request")
            assert asked["request"]["input"]["command"] == "touch made.txt"
            named = {"request_id": asked["request_id"], "digest": asked["digest"]}
            answer = await made.client.act(first["id"], do="answer", behavior="allow", **named)
            assert answer.json == {"counted": True}
            closed = await stream.frame("control_cancel_request")
            assert closed["decided"] == {"by": "Phone", "how": "allowed"}
            late = await made.client.act(first["id"], do="answer", behavior="deny", **named)
            assert late.status == 409 and late.json["decided"]["how"] == "allowed"
            assert (await stream.frame("result"))["result"] == "Made."
        assert (made.program.project / "made.txt").exists()
        kept = [line for line in _transcript(made.program) if line["type"] == "bridle-permission-answer"]
        assert [(line["behavior"], line["tool"], line["toolUseId"]) for line in kept] == [
            ("allow", "Bash", "toolu_1")
        ]
        phone = {"kind": "human", "source": "remote", "from": "Phone"}
        assert kept[0]["origin"] == phone
        (asked,) = [
            line for line in _transcript(made.program) if line.get("origin") == phone and "uuid" in line
        ]
        assert asked["message"]["content"] == "make it"
        snapshot = await _snapshot(made.client, first["id"])
        assert "make it" in json.dumps(snapshot["frames"]) and snapshot["state"]["busy"] is False


async def test_sessions_are_started_on_demand_up_to_the_capacity(tmp_path: Path):
    script = [step("One."), step("Two.")]
    async with serving(tmp_path, script, "--capacity", "2", "--no-create-session-in-dir") as made:
        assert await made.sessions() == []
        shared_sessions = [(await made.client.post("/api/sessions", {})).json["id"] for _ in range(2)]
        assert [each["id"] for each in await made.sessions()] == shared_sessions
        full = await made.client.post("/api/sessions", {})
        assert full.status == 503 and "2 sessions" in full.json["error"]
        for shared_session in shared_sessions:
            async with made.client.follow(shared_session) as stream:
                await stream.line()
                await made.client.act(shared_session, do="prompt", text="go")
                assert (await stream.frame("result"))["result"] in ("One.", "Two.")


async def test_requests_at_the_same_time_start_no_more_sessions_than_the_capacity(tmp_path: Path):
    async with serving(tmp_path, [], "--capacity", "2") as made:
        wishes = [made.client.post("/api/sessions", {"id": new_uuid()}) for _ in range(4)]
        statuses = [answer.status for answer in await asyncio.gather(*wishes)]
        assert sorted(statuses) == [200, 503, 503, 503]
        assert len(await made.sessions()) == 2 == len(_children(made.process.pid))


async def test_a_request_for_a_session_that_is_repeated_starts_one(tmp_path: Path):
    async with serving(tmp_path, [], "--no-create-session-in-dir") as made:
        wish = {"id": new_uuid()}
        together = await asyncio.gather(*(made.client.post("/api/sessions", wish) for _ in range(3)))
        late = await made.client.post("/api/sessions", wish)
        assert {answer.json["id"] for answer in (*together, late)} == {(await made.sessions())[0]["id"]}
        assert len(await made.sessions()) == 1
        for id in (7, "x", new_uuid().upper()):
            assert (await made.client.post("/api/sessions", {"id": id})).status == 400


async def test_only_one_session_is_served_where_that_is_wanted(tmp_path: Path):
    async with serving(tmp_path, [], "--spawn", "session") as made:
        assert (await made.client.get("/api/sessions")).json["opens"] is False
        assert (await made.client.post("/api/sessions", {})).status == 405


async def test_modes_and_commands_are_bounded_in_sessions_of_a_server_too(tmp_path: Path):
    """S5."""
    async with serving(tmp_path, []) as made:
        (first,) = await made.sessions()
        assert "bypassPermissions" not in first["modes"]
        refused = await made.client.act(first["id"], do="mode", mode="bypassPermissions")
        assert refused.status == 403
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            assert (await made.client.act(first["id"], do="mode", mode="plan")).status == 200
            assert (await stream.frame("system", subtype="remote_state"))["mode"] == "plan"
        for blank in (" ", "\t", "\u00a0", "\u2003", "\u200b ", "\n", "\u3000"):
            for name in (
                "/permissions",
                " /permissions",
                "\uff0fpermissions",
                "/Permissions",
                "/allowed-tools",
            ):
                text = f"{name}{blank}allow Bash user"
                command = await made.client.act(first["id"], do="prompt", text=text)
                assert command.status == 403 and "/permissions" in command.json["error"], repr(text)
        assert not (made.program.home / ".claude" / "settings.json").exists()


async def test_a_conversation_that_is_continued_is_on_the_page_from_the_start(tmp_path: Path):
    async with serving(tmp_path, [step("Hello there.")]) as made:
        (first,) = await made.sessions()
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            await made.client.act(first["id"], do="prompt", text="say hello")
            kept = (await stream.frame("result"))["session_id"]
    for flags in (("-c",), ("--session-id", kept)):
        async with serving(tmp_path, [], *flags) as made:
            (first,) = await made.sessions()
            frames = (await _snapshot(made.client, first["id"]))["frames"]
            assert [frame["type"] for frame in frames] == ["user", "assistant"]
            assert "say hello" in json.dumps(frames) and "Hello there." in json.dumps(frames)


@pytest.mark.parametrize("spawn", [(), ("--spawn", "session")])
@pytest.mark.parametrize("wanted", [("--session-id", new_uuid()), ("--session-id", "no such name"), ("-c",)])
async def test_a_conversation_that_does_not_exist_is_told_in_one_line(
    tmp_path: Path, wanted: tuple[str, ...], spawn: tuple[str, ...]
):
    program = Program(tmp_path, "http://127.0.0.1:9")
    done = await program.run("remote-control", *spawn, *wanted, BRIDLE_TRUST_FOLDER=str(program.project))
    assert (done.code, done.out) == (1, "")
    assert "onversation" in done.err and len(done.err.splitlines()) == 1


async def test_a_session_whose_process_dies_says_so_and_is_resumed_with_its_conversation(tmp_path: Path):
    async with serving(tmp_path, [step("One."), step("Two.")]) as made:
        (first,) = await made.sessions()
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            await made.client.act(first["id"], do="prompt", text="begin")
            await stream.frame("result")
            (child,) = _children(made.process.pid)
            os.kill(child, signal.SIGKILL)
            assert "has ended" in await _over(stream)
            with pytest.raises((asyncio.IncompleteReadError, ValueError)):
                await stream.line()
        (listed,) = await made.sessions()
        assert "has ended" in listed["ended"] and listed["people"] == 0 and listed["busy"] is False
        for wish in ({"do": "prompt", "text": "more"}, {"do": "interrupt"}, {"do": "end"}):
            refused = await made.client.act(first["id"], **wish)
            assert (refused.status, refused.json) == (410, {"error": "The session has ended."})
        resumed = await made.client.post("/api/sessions", {"id": new_uuid(), "resume": first["id"]})
        assert resumed.status == 200 and resumed.json["name"] == first["name"]
        assert [each["id"] for each in await made.sessions()] == [resumed.json["id"]]
        async with made.client.follow(resumed.json["id"]) as stream:
            assert "begin" in json.dumps((await stream.line())["snapshot"]["frames"])
            await made.client.act(resumed.json["id"], do="prompt", text="more")
            assert (await stream.frame("result"))["result"] == "Two."
        again = await made.client.post("/api/sessions", {"id": new_uuid(), "resume": first["id"]})
        assert again.status == 503 and "No conversation to resume" in again.json["error"]


async def test_sessions_are_ended_and_archived_from_elsewhere_which_makes_room(tmp_path: Path):
    async with serving(tmp_path, [], "--capacity", "1") as made:
        (first,) = await made.sessions()
        early = await made.client.act(first["id"], do="archive")
        assert early.status == 409 and "stop it first" in early.json["error"]
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            assert (await made.client.act(first["id"], do="end")).json == {"ended": True}
            assert await _over(stream) == "The session has ended"
        other = await made.client.post("/api/sessions", {"id": new_uuid()})
        assert other.status == 200
        assert (await made.client.act(first["id"], do="archive")).json == {"archived": True}
        assert [each["id"] for each in await made.sessions()] == [other.json["id"]]


async def test_the_list_says_which_session_asks_and_what_it_is_called_now(tmp_path: Path):
    async with serving(tmp_path, [step(_CALL)], "--name", "attic") as made:
        (first,) = await made.sessions()
        assert first["asks"] == [] and first["ended"] is None
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            await made.client.act(first["id"], do="prompt", text="/rename cellar")
            await stream.frame("system", subtype="session_title_changed")
            await made.client.act(first["id"], do="prompt", text="make it")
            await stream.frame("control_request")
            await made.client.act(first["id"], do="prompt", text="and then this")
        (listed,) = await made.sessions()
        assert (listed["name"], listed["asks"], listed["waiting"]) == ("cellar", ["Bash"], 1)
        async with made.client.follow(first["id"]) as stream:
            assert (await stream.line())["snapshot"]["session"]["name"] == "cellar"


async def test_the_terminal_of_a_server_says_what_happens(tmp_path: Path):
    async with serving(tmp_path, [step(_CALL)], "--name", "attic") as made:
        assert made.process.stdout is not None
        other = (await made.client.post("/api/sessions", {"id": new_uuid()})).json["id"]
        async with made.client.follow(other) as stream:
            await stream.line()
            await made.client.act(other, do="prompt", text="make it")
            await stream.frame("control_request")
            await made.client.act(other, do="end")
            await _over(stream)
        async with asyncio.timeout(50):
            lines = [(await made.process.stdout.readline()).decode()[7:-1] for _ in range(5)]
        assert lines == [
            "Phone started attic 2",
            "Phone is connected to attic 2",
            "attic 2 asks: Bash",
            "Phone ended attic 2",
            "attic 2 has ended",
        ]


async def test_sessions_of_a_server_work_in_trees_of_their_own_where_that_is_wanted(tmp_path: Path):
    repository(tmp_path / "project")
    async with serving(tmp_path, [step("Here.")], "--spawn", "worktree") as made:
        (first,) = await made.sessions()
        shared_session = (await made.client.post("/api/sessions", {})).json["id"]
        async with made.client.follow(shared_session) as stream:
            await stream.line()
            await made.client.act(shared_session, do="prompt", text="where are you?")
            begun = await stream.frame("system", subtype="init")
            await stream.frame("result")
        assert "worktrees" in begun["cwd"] and first["cwd"] == str(made.program.project)


async def test_a_message_reaches_a_session_of_a_server_once_and_not_as_the_users_words(tmp_path: Path):
    async with serving(tmp_path, [step("I will look.", when="the build is broken")]) as made:
        (first,) = await made.sessions()
        letter = {"id": new_uuid(), "text": "the build is broken", "name": "desk"}
        writer = RemoteClient(made.client.port, letter_token(made.client.token))
        async with made.client.follow(first["id"]) as stream:
            await stream.line()
            cards = made.program.home / ".claude" / "bridle" / "broker" / "sessions"
            await eventually(lambda: list(cards.glob("*.json")))
            answers = [(await writer.post("/api/letters", letter)).json for _ in range(2)]
            assert answers == [{"taken": True, "new": True}, {"taken": True, "new": False}]
            shown = await stream.frame("system", subtype="informational")
            assert shown["content"] == "Message from another session:\nthe build is broken"
            assert (await stream.frame("result"))["result"] == "I will look."
    (row,) = [row for row in made.program.rows() if "the build is broken" in json.dumps(row)]
    assert row["isMeta"] is True and "agent-message" in row["message"]["content"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_no_session_is_left_when_the_server_ends(tmp_path: Path, number: signal.Signals):
    async with serving(tmp_path, []) as made:
        children = _children(made.process.pid)
        assert len(children) == 1
        made.process.send_signal(number)
        async with asyncio.timeout(50):
            assert await made.process.wait() == 0
        assert not [pid for pid in children if is_running(pid)]


async def test_sessions_end_by_themselves_when_the_server_is_killed(tmp_path: Path):
    async with serving(tmp_path, []) as made:
        children = _children(made.process.pid)
        made.process.kill()
        await eventually(lambda: not [pid for pid in children if is_running(pid)])


async def test_a_folder_that_is_not_trusted_is_not_served(tmp_path: Path):
    done = await Program(tmp_path, "http://127.0.0.1:9").run("remote-control")
    assert done.code == 1 and "is not trusted yet" in done.err and done.out == ""


async def test_sharing_that_is_turned_off_holds_for_servers_too(tmp_path: Path):
    program = Program(tmp_path, "http://127.0.0.1:9")
    (program.home / ".claude").mkdir()
    (program.home / ".claude" / "settings.json").write_text('{"disableRemoteControl": true}')
    done = await program.run("rc", BRIDLE_TRUST_FOLDER=str(program.project))
    assert done.code == 1 and "disableRemoteControl" in done.err


@pytest.mark.parametrize(
    ("argv", "sentence"),
    [
        (["--spawn", "cloud"], "--spawn takes"),
        (["--capacity", "0"], "--capacity takes"),
        (["--capacity", "many"], "--capacity takes"),
        (["please"], "unexpected argument"),
        (["--sandbox", "--no-sandbox"], "can't be used together"),
        (["--port", "1"], "unknown option --port; see bridle remote-control --help"),
        (["--model", "x"], "unknown option --model; see bridle remote-control --help"),
    ],
)
def test_words_that_cannot_be_meant_are_told(argv: list[str], sentence: str):
    with pytest.raises(UsageError, match=sentence):
        _options(*argv)


def test_words_are_read():
    options = _options("-c", "--spawn=worktree", "--sandbox", "--capacity", "3", "--name", "a b")
    assert options.first == ("--continue",) and options.spawn == "worktree" and options.capacity == 3
    assert options.name == "a b" and options.flags == ("--settings", '{"sandbox":{"enabled":true}}')
    assert _options("--session-id", "s1").first == ("--resume", "s1")
    named = _options(CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX="attic")
    assert named.name == f"attic-{os.path.basename(os.getcwd())}" and named.capacity == 32


async def _snapshot(client: RemoteClient, shared_session: str) -> Any:
    async with client.follow(shared_session) as stream:
        return (await stream.line())["snapshot"]


async def _over(stream: Stream) -> str:
    while "over" not in (line := await stream.line()):
        pass
    return line["over"]


def _children(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(each) for each in path.read_text(encoding="ascii").split()]


def _transcript(program: Program) -> list[Any]:
    (path,) = (program.home / ".claude" / "projects").glob("*/*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def _options(*argv: str, **env: str) -> ServerOptions:
    _, given = read(ROOT, ["remote-control", *argv])
    assert isinstance(given, ParsedArguments)
    return read_options(given, env)

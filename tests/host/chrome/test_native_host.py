"""The host process as a browser starts it: real pipes, real frames, real sessions."""

import asyncio
import os
import random
import stat
import struct
from asyncio.subprocess import Process
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bridle.features.browser.connection import BrowserConnection, BrowserFault, find_browsers
from bridle.host.chrome.framing import Frames, frame, read_message, write_message
from bridle.host.chrome.native_host import ORIGIN
from bridle.host.chrome.paths import sockets
from tests.fakes.host import FakeHost
from tests.fakes.processes import eventually
from tests.fakes.program import Program

_HELLO = {"browser": "Chromium", "version": "156.0", "extension": "0.1.0", "profile": "p1"}
_TABS = {"event": "tabs", "tabs": [{"id": 1, "url": "http://a.example/", "title": "A", "session": "s1"}]}


class FakeExtension:
    """The browser's end of the pipes."""

    def __init__(self, process: Process, env: Mapping[str, str]) -> None:
        self.process = process
        self.env = env
        self._frames = Frames()
        self._read: list[dict[str, Any]] = []

    def say(self, message: Mapping[str, Any]) -> None:
        self.write(write_message(message))

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def next(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            while not self._read:
                data = await self.process.stdout.read(65536)
                assert data, "the host has ended"
                self._read += [read_message(payload) for payload in self._frames.feed(data)]
        return self._read.pop(0)

    async def connect(self) -> BrowserConnection:
        (path, *_) = sockets(self.env)
        return await BrowserConnection.open(path, lambda: None)


@asynccontextmanager
async def _host(folder: Path) -> AsyncGenerator[FakeExtension]:
    program = Program(folder)
    process = await program.start("--chrome-native-host", ORIGIN)
    try:
        host = FakeExtension(process, program.env)
        await eventually(lambda: sockets(program.env))
        yield host
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_requests_and_answers_pass_between_sessions_and_the_browser(tmp_path: Path):
    async with _host(tmp_path) as host:
        (path,) = sockets(host.env)
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        assert stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode) == 0o700
        host.say({"hello": _HELLO})
        host.say(_TABS)
        (known,) = await find_browsers(host.env)
        assert (known.label, known.profile, known.pid) == ("Chromium 156", "p1", host.process.pid)
        one, two = await host.connect(), await host.connect()
        first = asyncio.create_task(one.ask("s1", "text", {"tab": 1}))
        asked = await host.next()
        second = asyncio.create_task(two.ask("s2", "list", {}))
        also = await host.next()
        assert (asked["session"], asked["method"], asked["params"]) == ("s1", "text", {"tab": 1})
        host.say({"id": also["id"], "result": None})
        host.say({"id": asked["id"], "part": 0, "parts": 2, "text": '{"result": {"text": '})
        host.say({"id": asked["id"], "part": 1, "parts": 2, "text": '"hello"}}'})
        assert (await first, await second) == ({"text": "hello"}, {})
        refused = asyncio.create_task(one.ask("s1", "click", {}))
        asked = await host.next()
        host.say({"id": asked["id"], "error": {"code": "site", "message": "It is elsewhere."}})
        with pytest.raises(BrowserFault, match="elsewhere"):
            await refused
        host.say({"event": "tabs", "tabs": [{"id": 2}, {"id": "x"}, 5]})
        await eventually(lambda: [tab.id for tab in two.tabs] == [2])
        await one.close()
        assert await host.next() == {"event": "gone", "session": "s1"}
        assert host.process.stdin is not None
        host.process.stdin.close()
        await eventually(lambda: not two.is_open)
        assert await host.process.wait() == 0 and sockets(host.env) == ()
        with pytest.raises(BrowserFault, match="closed"):
            await two.ask("s2", "list", {})
        await two.close()


async def test_host_program_lists_browsers_and_chooses_one(tmp_path: Path):
    async with _host(tmp_path) as chrome:
        chrome.say({"hello": _HELLO})
        chrome.say(_TABS)
        row = {"device_id": "p1", "name": "Chromium 156", "extension_version": "0.1.0", "selected": False}
        async with FakeHost(Program(tmp_path), "--chrome") as host:
            assert (await host.request("get_chrome_browsers"))["response"] == {"browsers": [row]}
            dialog = (await host.request("get_chrome_dialog"))["response"]
            assert (dialog["allowed"], dialog["connected"], dialog["installed"]) == (True, True, False)
            assert (dialog["at_startup"], dialog["browsers"]) == (True, [row])
            chosen = await host.request("select_chrome_browser", device_id="p1")
            assert chosen["response"] == {"device_id": "p1", "name": "Chromium 156"}
            for wrong in ("", "nothing", 5, None):
                assert (await host.request("select_chrome_browser", device_id=wrong))["subtype"] == "error"
            assert (await host.request("set_chrome_browser_hints", hints={}))["subtype"] == "error"


async def test_a_session_that_sends_rubbish_loses_its_connection_and_no_other_does(tmp_path: Path):
    chance = random.Random(3)
    rubbish = [
        struct.pack("<I", 0), struct.pack("<I", 2**31), frame(b"[]"), frame(b"{}"), frame(b"\xff"),
        frame(b'{"id": "1", "session": "s"}'), frame(b'{"id": 1, "session": null}'),
        frame(b'{"a":' * 50_000), *(b"\xff" + chance.randbytes(40) + b"\xff" * 4 for _ in range(10)),
    ]  # fmt: skip
    async with _host(tmp_path) as host:
        host.say({"hello": _HELLO})
        host.say(_TABS)
        whole = await host.connect()
        (path,) = sockets(host.env)
        for data in rubbish:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(data)
            async with asyncio.timeout(60):
                while await reader.read(65536):
                    pass
            writer.close()
        task = asyncio.create_task(whole.ask("s1", "list", {}))
        asked = await host.next()
        assert asked["method"] == "list"
        for key in ("", "x", "99:1", "1:", ":1", f"{asked['id']}:1", "²:1", "1" * 30 + ":1"):
            host.say({"id": key, "result": {"wrong": True}})
        for message in ({"hello": 1}, {"event": "new"}, {"id": 5}, {"id": None}, {}):
            host.say(message)
        host.say({"id": asked["id"], "result": {"tabs": []}})
        assert await task == {"tabs": []}
        await whole.close()


async def test_a_browser_that_sends_rubbish_ends_its_host(tmp_path: Path):
    async with _host(tmp_path) as host:
        host.write(struct.pack("<I", 1024 * 1024 + 1))
        _, complained = await host.process.communicate()
        assert host.process.returncode == 1 and sockets(host.env) == ()
        assert complained == b"[bridle native host] invalid message length: 1048577\n"


async def test_another_extension_gets_no_host(tmp_path: Path):
    done = await Program(tmp_path).run("--chrome-native-host", "chrome-extension://aaaa/")
    assert (done.code, done.out) == (1, "") and "another extension" in done.err


async def test_a_socket_that_a_killed_host_left_is_removed(tmp_path: Path):
    async with _host(tmp_path) as host:
        host.process.kill()
        await host.process.wait()
        assert len(sockets(host.env)) == 1
        assert await find_browsers(host.env) == () and sockets(host.env) == ()

"""A hub in this process, spoken to over real sockets."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Literal

import uvicorn

from bridle.frontends.hub import identity
from bridle.frontends.hub.app import app_of, open_hub
from bridle.frontends.hub.hub import Hub, Options
from bridle.frontends.hub.identity import Role
from bridle.host.http.client import HttpClient, Limits, Request
from bridle.host.http.event_stream import EventDecoder
from bridle.types.ids import new_uuid


class Answer:
    def __init__(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.status = status
        self.body = body
        self.headers = headers

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """Asks a hub with one key."""

    def __init__(self, url: str, key: str = "") -> None:
        self.url = url
        self.key = key
        self._http = HttpClient({"NO_PROXY": "127.0.0.1"})

    def with_key(self, key: str) -> "Client":
        other = Client(self.url, key)
        other._http = self._http
        return other

    async def send(
        self, method: str, path: str, body: Any = None, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> Answer:
        own = (("authorization", f"Bearer {self.key}"),) if self.key else ()
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        request = Request(method, f"{self.url}{path}", (*own, *headers), data)
        async with self._http.send(request, Limits(idle=60)) as response:
            return Answer(response.status, await response.read(), response.headers)

    async def get(self, path: str) -> Any:
        answer = await self.send("GET", path)
        assert answer.status == 200, answer.body
        return answer.json

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self.send("POST", path, body)
        assert answer.status in (200, 204), answer.body
        return answer.json if answer.body else None

    async def act(self, session: str, do: str, **fields: Any) -> Answer:
        wish = {"id": new_uuid(), "do": do, **fields}
        return await self.send("POST", f"/api/sessions/{session}/act", wish)

    @asynccontextmanager
    async def stream(
        self, path: str, *, headers: tuple[tuple[str, str], ...] = ()
    ) -> AsyncGenerator["Stream"]:
        own = (("authorization", f"Bearer {self.key}"), *headers)
        async with self._http.send(Request("GET", f"{self.url}{path}", own), Limits(idle=60)) as response:
            yield Stream(response)

    async def close(self) -> None:
        await self._http.close()


class Stream:
    """Server-sent events as they come."""

    def __init__(self, response: Any) -> None:
        self.status = response.status
        self._chunks = aiter(response)
        self._decoder = EventDecoder(1_000_000)
        self._ready: list[Any] = []

    async def next(self) -> Any:
        """The data of the next event; None at the end."""
        async with asyncio.timeout(60):
            while not self._ready:
                chunk = await anext(self._chunks, None)
                if chunk is None:
                    return None
                self._ready += self._decoder.feed(bytes(chunk))
        return json.loads(self._ready.pop(0).data)

    async def until(self, found: Callable[[Any], Any]) -> Any:
        """The first event for which `found` is true."""
        while (event := await self.next()) is not None:
            if found(event):
                return event
        raise AssertionError("the stream ended")


class Scene:
    """A hub with a device and a machine."""

    def __init__(self, hub: Hub, client: Client) -> None:
        self.hub = hub
        self.nobody = client

    async def device(self, role: Role = "start", name: str = "phone") -> Client:
        code = await self.hub.write(identity.make_code, kind="device", role=role, name=name)
        return self.nobody.with_key((await self.nobody.post("/api/pair", {"code": code}))["key"])

    async def machine(self, name: str = "box") -> Client:
        code = await self.hub.write(identity.make_code, kind="machine", role="", name=name)
        return self.nobody.with_key((await self.nobody.post("/api/join", {"code": code}))["key"])

    async def environment(self, machine: Client, **more: Any) -> tuple[str, Client]:
        """Register one; returns its id and a client with its secret."""
        wanted = {"machine_name": "box", "directory": "/repo/p", "branch": "main", "max_sessions": 4, **more}
        made = await machine.post("/v1/environments/bridge", wanted)
        return made["environment_id"], self.nobody.with_key(made["environment_secret"])

    async def worker(self, machine: Client) -> tuple[str, Client, str]:
        """A session of a machine; returns its id, a client with its token, and its epoch."""
        made = await machine.post("/v1/code/sessions", {"title": "Desk", "bridge": {}})
        id = made["session"]["id"]
        bridge = await machine.post(f"/v1/code/sessions/{id}/bridge")
        return id, self.nobody.with_key(bridge["worker_jwt"]), bridge["worker_epoch"]


@asynccontextmanager
async def hub_at(folder: Path, **options: Any) -> AsyncGenerator[Scene]:
    """Serve in this process."""
    hub = await open_hub(Options(folder=str(folder), **options))
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app_of(hub), log_level="error", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve([listening]))
    client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        async with asyncio.timeout(60):
            while not server.started:
                await asyncio.sleep(0)
        yield Scene(hub, client)
    finally:
        await client.close()
        server.should_exit = True
        await serving


def said(text: str, kind: Literal["user", "assistant"] = "assistant") -> dict[str, Any]:
    """A message as an event."""
    content = [{"type": "text", "text": text}]
    return {"type": kind, "uuid": new_uuid(), "message": {"role": kind, "content": content}}


def asks(tool: str = "Bash", **input: Any) -> dict[str, Any]:
    """A question about a call."""
    request = {"subtype": "can_use_tool", "tool_name": tool, "input": input or {"command": "make"}}
    return {"type": "control_request", "request_id": new_uuid(), "request": request}

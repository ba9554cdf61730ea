"""A gateway in front of scripted services, spoken to over real sockets."""

import asyncio
import socket
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import uvicorn
import yaml

from bridle.frontends.gateway.app import Gateway
from bridle.frontends.gateway.config import GatewayConfig, load_gateway
from bridle.host.http.client import HttpClient, Limits, Request

USER_KEY = "bg-key-of-ada-0123456789"
SERVICE_KEY = "test-key"


class Answer:
    def __init__(self, status: int, body: bytes) -> None:
        self.status = status
        self.body = body


class Client:
    """Asks a gateway."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._http = HttpClient({"NO_PROXY": "127.0.0.1"})

    async def send(
        self, path: str, body: bytes | None = None, *, key: str = USER_KEY, method: str = "POST"
    ) -> Answer:
        headers = (("x-api-key", key),) if key else ()
        request = Request("GET" if body is None else method, f"{self.url}{path}", headers, body or b"")
        async with self._http.send(request, Limits(idle=20)) as response:
            return Answer(response.status, await response.read())

    async def close(self) -> None:
        await self._http.close()


@asynccontextmanager
async def gateway(config: GatewayConfig) -> AsyncGenerator[Client]:
    """Serve in this process."""
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(Gateway(config, {"NO_PROXY": "127.0.0.1"}).app(), log_level="error")
    )
    serving = asyncio.create_task(server.serve([listening]))
    client = Client(f"http://127.0.0.1:{listening.getsockname()[1]}")
    try:
        async with asyncio.timeout(60):
            while not server.started:
                await asyncio.sleep(0)
        yield client
    finally:
        await client.close()
        server.should_exit = True
        await serving


def config_of(folder: Path, anthropic: str, chat: str, **users: Mapping[str, Any]) -> GatewayConfig:
    """A gateway with one service of each dialect."""
    file = config_file(folder, anthropic, chat, **({"users": users} if users else {}))
    return load_gateway(str(file), {"SERVICE_KEY": SERVICE_KEY, "USER_KEY": USER_KEY})


def config_file(folder: Path, anthropic: str, chat: str, **more: Any) -> Path:
    file = folder / "gateway.yaml"
    values = {
        "usage": str(folder / "usage.sqlite"),
        "largestBody": 200_000,
        "upstreams": {
            "home": {"url": anthropic, "key": "${SERVICE_KEY}"},
            "other": {"url": f"{chat}/v1", "dialect": "chat", "key": "${SERVICE_KEY}"},
        },
        "models": {
            "claude-sonnet-4-5": {"upstream": "home"},
            "qwen": {"upstream": "other", "name": "qwen3", "inputPrice": 1.0, "outputPrice": 2.0},
        },
        "policy": {"permissions": {"deny": ["WebFetch"]}},
        "users": {"ada": {"key": "${USER_KEY}", "admin": True}},
        **more,
    }
    file.write_text(yaml.safe_dump(values), encoding="utf-8")
    return file

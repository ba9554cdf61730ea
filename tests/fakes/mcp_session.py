"""Servers of a session for tests: real connections to real programs, and a person with a script."""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bridle.config.mcp.entry import read_entry
from bridle.mcp.authorizer import Authorizer
from bridle.mcp.client_requests import ChannelMessage, RequestContext, Sampler
from bridle.mcp.results import FitImage
from bridle.mcp.servers import Servers, ServersContext
from bridle.mcp.timeouts import Timeouts
from bridle.mcp.transports.in_process import Exchange
from bridle.types.hooks.outcome import Hooks, NoHooks
from bridle.types.question import Answer, Question, Refused
from bridle.types.sandbox import Sandbox
from bridle.types.services.mcp import Server, ServerConfig, StdioServer
from tests.fakes.forked import official_python

FAKES = Path(__file__).parent

QUICK = Timeouts(connect=20.0, first_delay=0.01, longest_delay=0.02, refresh_pause=0.01, first_turn=20.0)
"""As in a session, with pauses that a test can wait for."""


class FakePerson:
    """Answers questions in turn and keeps them in `asked`; refuses when there are no answers left."""

    def __init__(self, *answers: Answer) -> None:
        self._answers = list(answers)
        self.asked: list[Question] = []

    async def __call__(self, question: Question) -> Answer:
        self.asked.append(question)
        return self._answers.pop(0) if self._answers else Refused(message="nobody", by_person=False)


def plain(*odd: str, **env: str) -> StdioServer:
    """The server in plain Python with these oddities; -I keeps its start short."""
    return StdioServer(command=sys.executable, args=("-I", str(FAKES / "mcp_plain.py"), *odd), env=env)


def everything() -> StdioServer:
    """The server on the official package."""
    return StdioServer(command=official_python(), args=(str(FAKES / "mcp_everything.py"), "stdio"))


@asynccontextmanager
async def connected(
    *servers: Server | ServerConfig,
    person: Callable[[Question], Any] | None = None,
    roots: tuple[str, ...] = ("/proj folder",),
    hooks: Hooks | None = None,
    sample: Sampler | None = None,
    timing: Timeouts = QUICK,
    env: Mapping[str, str] | None = None,
    exchange: Exchange | None = None,
    authorizer: Authorizer | None = None,
    fit_image: FitImage | None = None,
    sandbox: Sandbox | None = None,
    waits: bool = True,
    pushed: Callable[[ChannelMessage], None] | None = None,
    remember: Callable[[str, bool], None] | None = None,
) -> AsyncGenerator[Servers, None]:
    """Servers after their first attempt; a bare configuration is the server `s`, then `s2` and so on."""
    held = hooks or NoHooks()
    around = ServersContext(
        cwd=str(FAKES),
        env={**os.environ, **(env or {})},
        requests=RequestContext(
            roots=lambda: roots,
            ask=person or FakePerson(),
            hooks=lambda: held,
            sample=sample,
            pushed=pushed,
        ),
        remember=remember,
        read=lambda name, raw: Server(name=name, config=read_entry(name, raw, {}), scope="dynamic"),
        exchange=exchange,
        authorizer=lambda _: authorizer,
        fit_image=fit_image,
        sandbox=sandbox,
    )
    found = Servers(_named(servers), around, timing)
    try:
        if waits:
            await found.settle()
        yield found
    finally:
        await found.close()


def _named(servers: Iterable[Server | ServerConfig]) -> Iterable[Server]:
    for number, each in enumerate(servers, 1):
        if isinstance(each, Server):
            yield each
        else:
            yield Server(name="s" if number == 1 else f"s{number}", config=each, scope="user")

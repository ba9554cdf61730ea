"""`bridle mcp serve`: bridle's own tools for other programs, behind the same gate as in a session."""

import asyncio
import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.options import SessionOptions
from bridle.host.stdio import complain
from bridle.mcp.server import Ask, CallResult, ServedClient, ServerOptions, StandardStreams
from bridle.session.host import Host
from bridle.session.open import open_session
from bridle.session.parts.outside_calls import OutsideCalls
from bridle.session.prepare import set_up
from bridle.types.event import Event
from bridle.types.on_demand import CALL, SEARCH
from bridle.types.question import CHOICE_TOOL, Answer, PermissionQuestion, Permitted, Question, Refused

_HIDDEN = (CHOICE_TOOL, CALL, SEARCH)
_LONGEST_SHOWN = 500


def run_serve(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Serve until standard input ends.

    Raises:
        ConfigError: the settings cannot be used.
    """
    asyncio.run(_serve(env, verbose=given.on("verbose") or given.on("debug")))
    return 0


async def _serve(env: Mapping[str, str], *, verbose: bool) -> None:
    channel = _ClientChannel(verbose=verbose)
    options = SessionOptions(
        no_session_persistence=True, mcp_config=('{"mcpServers":{}}',), strict_mcp_config=True
    )
    setup = set_up(options, {**env, "ENABLE_TOOL_SEARCH": "false"})
    for problem in setup.problems:
        channel.warn(problem)
    host = Host(setup=setup, warn=channel.warn, tell=channel.warn)
    async with open_session(options, channel, host=host) as live:
        offered = _Offered(OutsideCalls(live.session, lambda: live.server.runtime), channel)
        offer = ServerOptions(tools=offered.definitions, call=offered.run)
        await ServedClient(StandardStreams(0, 1), offer).serve()


class _Offered:
    """Calls of the client, each with the client as the person to ask."""

    def __init__(self, calls: OutsideCalls, channel: "_ClientChannel") -> None:
        self._calls = calls
        self._channel = channel
        self._alone = asyncio.Lock()

    def definitions(self) -> list[Any]:
        return [each for each in self._calls.definitions() if each["name"] not in _HIDDEN]

    async def run(self, name: str, input: Mapping[str, Any], ask: Ask) -> CallResult:
        # What one call changes the next may depend on; a client that wants both at once waits.
        async with self._alone:
            self._channel.person = ask
            output = await self._calls.run(name, input)
        return CallResult(content=output.content, is_error=output.is_error)


class _ClientChannel:
    """Asks the person at the client, where the client can ask."""

    def __init__(self, *, verbose: bool) -> None:
        self.person: Ask | None = None
        """How to ask about the call that runs."""
        self._verbose = verbose

    def warn(self, text: str) -> None:
        complain(f"warning: {text}")

    def emit(self, event: Event) -> None:
        if self._verbose:
            complain(type(event).__name__)

    async def ask(self, question: Question) -> Answer:
        if not isinstance(question, PermissionQuestion) or self.person is None:
            return Refused(message="Not interactive: the client cannot ask the user.", by_person=False)
        shown = msgspec.json.encode(question.input).decode()[:_LONGEST_SHOWN]
        if await self.person(f"May bridle run {question.tool} in {os.getcwd()}? {shown}"):
            return Permitted()
        return Refused(
            message=f"{question.tool} needs approval ({question.reason}). Allow it with a rule in settings.",
            by_person=False,
        )

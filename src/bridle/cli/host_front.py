"""A host program on the other end of the standard streams, such as one of the Agent SDKs."""

import os
from typing import Any

from bridle.cli.frame_facts import facts_of
from bridle.cli.fronts import debug_logs
from bridle.cli.setup import Setup
from bridle.engine.runtime import Runtime
from bridle.engine.serve import Inbox, Server
from bridle.frontends.desk import Desk, Offer
from bridle.frontends.host import HostChannel
from bridle.host.streams import Output, read_lines
from bridle.protocol.control import ControlRequest, ControlResponse, Correspondence, Frame
from bridle.protocol.frames import Framer, StateReports, encode
from bridle.protocol.prompts import Variables, read_line
from bridle.providers import catalog
from bridle.sessions.session import Session
from bridle.types.turn import Outcome, Prompt

_STDIN = 0
_ALIASES = ("sonnet", "opus", "haiku", "fable")


class HostFront:
    """Reads lines from the host while turns run, and writes frames to it."""

    def __init__(self, setup: Setup, session: Session, output: Output) -> None:
        self._setup = setup
        self._session = session
        self._output = output
        self._correspondence = Correspondence(self._send)
        self._runtime: Runtime | None = None
        args = setup.args
        self._framer = Framer(
            facts_of(setup, session),
            partial=args.on("include-partial-messages"),
            replay=args.on("replay-user-messages"),
            states=_state_reports(setup),
        )
        self.channel = HostChannel(
            self._send,
            self._framer,
            self._correspondence,
            observers=debug_logs(setup, session),
            asks=args.text("permission-prompt-tool") == "stdio",
            cwd=lambda: setup.cwd if self._runtime is None else self._runtime.workspace.cwd,
        )

    @property
    def outcome(self) -> Outcome | None:
        return self.channel.outcome

    async def feed(self, inbox: Inbox, server: Server, runtime: Runtime) -> None:
        self._runtime = runtime
        desk = self._desk(inbox, server, runtime)
        async for line in read_lines(_STDIN):
            match read_line(line):
                case Prompt() as prompt:
                    inbox.put(prompt)
                case ControlRequest() as request:
                    await desk.take(request)
                case ControlResponse() as response:
                    self._correspondence.take(response)
                case Variables(values):
                    os.environ.update(values)
                    self._setup.env.update(values)
                case _:
                    pass  # A withdrawn request is answered already, and other lines ask for nothing.
        self._correspondence.close()
        inbox.close()

    def rest(self) -> None:
        self.channel.rest()

    async def finish(self) -> None:
        self.channel.finish()

    def _desk(self, inbox: Inbox, server: Server, runtime: Runtime) -> Desk:
        setup = self._setup
        return Desk(
            self._session,
            runtime,
            server,
            Offer(
                models=_models(setup),
                account={
                    "tokenSource": "none",
                    "apiKeySource": facts_of(setup, self._session).api_key_source,
                    "apiProvider": "firstParty",
                },
                output_style=setup.config.settings.output_style or "default",
                settings=setup.config.raw,
            ),
            resolve_model=lambda name: catalog.resolve(name, setup.env),
            send=self._send,
            status=self._framer.mode,
            end=inbox.close,
        )

    def _send(self, frame: Frame) -> None:
        self._output.write(encode(frame))


def _models(setup: Setup) -> list[dict[str, Any]]:
    named = [("default", setup.model), *((alias, catalog.resolve(alias, setup.env)) for alias in _ALIASES)]
    return [
        {"value": value, "displayName": value.capitalize(), "description": model, "resolvedModel": model}
        for value, model in named
    ]


def _state_reports(setup: Setup) -> StateReports | None:
    if setup.env.get("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS") == "1":
        return "everyone"
    return "host" if setup.env.get("CLAUDE_CODE_SDK_READS_SESSION_STATE") == "1" else None

"""A host program on the other end of the standard streams, such as one of the Agent SDKs."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from bridle.config.schema import SECONDS
from bridle.context.briefing import Keep, SessionBriefing
from bridle.engine.runtime import Briefing
from bridle.engine.server import Inbox, Server
from bridle.features.agents.summaries import AgentSummaries
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.frontends.print.output import debug_logs
from bridle.frontends.session_facts import facts_of, inventory_of, tells_agent_text
from bridle.frontends.stdio.channel import HostChannel
from bridle.host.jsonlines import read_lines
from bridle.host.stdio import complain
from bridle.protocol.control import ControlCancel, ControlExchange, ControlRequest, ControlResponse, Frame
from bridle.protocol.control_requests.catalog import CATALOG
from bridle.protocol.control_requests.dispatcher import (
    ControlDispatcher,
    ControlServices,
    InitializeReply,
    Prompting,
)
from bridle.protocol.control_requests.initialize import listed_commands
from bridle.protocol.frames import Framer, StateReports
from bridle.protocol.init_frame import Inventory
from bridle.protocol.input_lines import Line, Variables, read_line
from bridle.protocol.session_totals import SessionTotals
from bridle.providers import catalog
from bridle.session.host import Exchange
from bridle.session.settings import SessionSettings
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.question import Answer, Question
from bridle.types.saved_prompt import SavedPrompt, no_prompt
from bridle.types.turn import Outcome, Prompt
from bridle.types.variables import is_on, whole_number

_STDIN = 0
_LOOK_SECONDS = 0.9
_ALIASES = ("sonnet", "opus", "haiku", "fable")
_BEAT_SECONDS = 10.0
_SUMMARY_SECONDS = 30.0
_LAST_ANSWERS = 5.0
"""Seconds that requests may still take when the input has ended."""


class HostProgram:
    """Reads lines from the host while turns run, and writes frames to it."""

    def __init__(
        self, setup: Setup, session: Session, send: Callable[[Frame], None], *, read: bytes = b""
    ) -> None:
        self._setup = setup
        self._read = read
        """What the host has said before there was a session."""
        self._session = session
        self._send = send
        self._dispatcher: ControlDispatcher | None = None
        self._correspondence = ControlExchange(self._send)
        self._server: Server | None = None
        self._inbox: Inbox | None = None
        self._leaving: asyncio.TimerHandle | None = None
        """When the process ends for lack of work."""
        self._totals = SessionTotals()
        self.summaries = AgentSummaries(
            session,
            lambda: None if self._server is None else self._server.runtime,
            seconds=_seconds(setup.env, "BRIDLE_AGENT_SUMMARY_SECONDS", _SUMMARY_SECONDS),
        )
        """Tasks that the run starts and cancels."""
        options = setup.options
        self._framer = Framer(
            facts_of(setup, session),
            partial=options.include_partial_messages,
            replay=options.replay_user_messages,
            hooks=options.include_hook_events,
            states=_state_reports(setup),
            inventory=self._inventory,
            agent_text=lambda: tells_agent_text(
                setup, None if self._server is None else self._server.runtime
            ),
            waiting=lambda: 0 if self._server is None else self._server.owed,
        )
        self.channel = HostChannel(
            self._send,
            self._framer,
            self._correspondence,
            observers=(*debug_logs(setup, session), self._totals, self.summaries),
            asks=options.is_attended and options.permission_prompt_tool == "stdio",
            cwd=lambda: setup.cwd if self._server is None else self._server.runtime.workspace.cwd,
            expiry=_expiry(setup),
        )

    @property
    def outcome(self) -> Outcome | None:
        return self.channel.outcome

    @property
    def exchange(self) -> Exchange:
        return self.channel.exchange

    async def feed(self, inbox: Inbox, server: Server, settings: SessionSettings) -> None:
        self.attach(inbox, server, settings)
        following = asyncio.gather(self._follow_commands(server), self._beat(), self.summaries.run())
        try:
            async for line in read_lines(_STDIN, read=self._read):
                self.take(read_line(line))
            await self.leave()
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
        inbox.close()

    async def _beat(self) -> None:
        """Send keep-alive messages while the host waits for an answer or a call takes long."""
        seconds = _seconds(self._setup.env, "BRIDLE_KEEP_ALIVE_SECONDS", _BEAT_SECONDS)
        while True:
            await asyncio.sleep(seconds)
            if self._dispatcher is not None and self._dispatcher.busy:
                self._send({"type": "keep_alive"})
            for frame in self._framer.heartbeats(time.monotonic()):
                self._send(frame)

    async def _follow_commands(self, server: Server) -> None:
        """Notify the host when files of skills and commands are added, changed or removed."""
        skills = server.runtime.features.find(SESSION_SKILLS)
        if skills is None:
            return
        known = [each.listing() for each in skills.commands()]
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            await asyncio.to_thread(skills.catalog.reload)
            if (now := [each.listing() for each in skills.commands()]) != known:
                self._send(self._framer.commands(listed_commands(server.runtime.commands)))
            known = now

    def attach(self, inbox: Inbox, server: Server, settings: SessionSettings) -> None:
        """From now on lines of the host are about this session."""
        self._server, self._inbox = server, inbox
        self._dispatcher = self._make_desk(inbox, server, settings)

    def take(self, line: Line) -> None:
        """Do what one line of the host says."""
        assert self._dispatcher is not None and self._server is not None
        match line:
            case Prompt() as prompt:
                self._server.submit(prompt)
            case ControlRequest() as request:
                self._dispatcher.take(request)
            case ControlResponse() as response:
                self._correspondence.take(response)
            case ControlCancel(request_id):
                self._dispatcher.cancel(request_id)
            case Variables(values):
                os.environ.update(values)
                self._setup.env.update(values)
            case _:
                pass  # Other lines ask for nothing.

    async def leave(self) -> None:
        """The host will say nothing more."""
        self._correspondence.close()
        if self._dispatcher is not None:
            await self._dispatcher.finish(patience=_LAST_ANSWERS)

    def show(self, text: str) -> None:
        """Show the host a command's text; before the first turn it goes to standard error."""
        if self._server is not None and self._server.busy:
            self._send(self._framer.command_output(text))
        else:
            complain(text)

    def note_answer(self, question: Question, answer: Answer) -> None:
        self.channel.note_answer(question, answer)

    def work(self) -> None:
        self._stay()
        self.channel.work()

    def rest(self) -> None:
        self.channel.rest()
        delay = whole_number(self._setup.env, "CLAUDE_CODE_EXIT_AFTER_STOP_DELAY")
        if delay and self._inbox is not None:
            self._stay()
            self._leaving = asyncio.get_running_loop().call_later(delay / 1000, self._inbox.close)

    def _stay(self) -> None:
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None

    async def finish(self) -> None:
        self.channel.finish()

    def _make_desk(self, inbox: Inbox, server: Server, settings: SessionSettings) -> ControlDispatcher:
        setup = self._setup
        offer = InitializeReply(
            models=tuple(_models(setup)),
            account={
                "tokenSource": "ANTHROPIC_AUTH_TOKEN" if setup.env.get("ANTHROPIC_AUTH_TOKEN") else "none",
                "apiKeySource": facts_of(setup, self._session).api_key_source,
                "apiProvider": "firstParty",
            },
            output_style=setup.config.settings.output_style or "default",
        )
        services = ControlServices(
            send=self._send,
            framer=self._framer,
            ask_host=self.channel.call_back,
            pending=self._correspondence.pending,
            resolve_model=lambda name: catalog.resolve(
                name, setup.env, own=setup.config.raw.get("bridleModels")
            ),
            rebrief=lambda wishes: _rebrief(server.runtime.briefing, wishes),
            keep_prompt=lambda: _keeping(server.runtime.briefing, self._session),
            memory=lambda: _memory(server.runtime.briefing),
            settings=settings,
            totals=self._totals,
            end=inbox.close,
        )
        return ControlDispatcher(
            self._session, server, inbox, offer=offer, services=services, catalog=CATALOG
        )

    def _inventory(self) -> Inventory:
        return inventory_of(None if self._server is None else self._server.runtime)


def _rebrief(briefing: Briefing, wishes: Prompting) -> Briefing:
    return briefing.rephrased(**wishes) if isinstance(briefing, SessionBriefing) else briefing


def _keeping(briefing: Briefing, session: Session) -> Briefing:
    if not isinstance(briefing, SessionBriefing):
        return briefing

    def record(prompt: SavedPrompt | None) -> None:
        session.swap(kept_prompt=prompt)
        session.note(no_prompt(session.id) if prompt is None else prompt.to_note(session.id))

    return briefing.keeping(Keep(known=lambda: session.state.kept_prompt, record=record))


def _memory(briefing: Briefing) -> tuple[tuple[str, str, str], ...]:
    files = briefing.files if isinstance(briefing, SessionBriefing) else ()
    return tuple((file.path, file.kind, file.text) for file in files)


def _models(setup: Setup) -> list[dict[str, Any]]:
    named = [("default", setup.model), *((alias, catalog.resolve(alias, setup.env)) for alias in _ALIASES)]
    return [_model(value, model) for value, model in named]


def _model(value: str, name: str) -> dict[str, Any]:
    facts = catalog.find(name)
    shown: dict[str, Any] = {
        "value": value,
        "displayName": value.capitalize(),
        "description": name,
        "resolvedModel": name,
        "supportsEffort": bool(facts.efforts),
        "supportsAdaptiveThinking": facts.thinking in ("adaptive", "always"),
        "supportsThinkingOff": facts.thinking != "always",
    }
    if facts.efforts:
        shown["supportedEffortLevels"] = list(facts.efforts)
        shown["supportsAutoMode"] = True
    if facts.fast_factor > 1:
        shown["supportsFastMode"] = True
    return shown


def _seconds(env: Mapping[str, str], name: str, usual: float) -> float:
    try:
        return max(0.05, float(env.get(name) or usual))
    except ValueError:
        return usual


def _state_reports(setup: Setup) -> StateReports | None:
    if is_on(setup.env, "CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS"):
        return "everyone"
    return "host" if is_on(setup.env, "CLAUDE_CODE_SDK_READS_SESSION_STATE") else None


def _expiry(setup: Setup) -> float | None:
    """The seconds after which a dialog at the host is removed."""
    if (given := whole_number(setup.env, "CLAUDE_CODE_USER_DIALOG_TIMEOUT_MS")) is not None:
        return given / 1000
    return SECONDS.get(setup.config.settings.dialog_expiry or "5m")

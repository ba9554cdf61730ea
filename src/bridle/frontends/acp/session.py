"""One session that an editor has opened: its prompts, its choices, its end."""

import asyncio
from collections.abc import Mapping
from typing import Any

from bridle.features.context import FeatureContext
from bridle.features.skills.feature import SESSION_SKILLS
from bridle.frontends.acp.channel import EditorChannel
from bridle.frontends.acp.choices import Choices
from bridle.frontends.acp.content import Json, read_prompt
from bridle.frontends.acp.editor import EditorCapabilities, EditorFeature
from bridle.frontends.acp.history import replayed
from bridle.frontends.acp.peer import AUTH_REQUIRED, EditorPeer, RequestError
from bridle.host.jsonrpc import INTERNAL_ERROR
from bridle.session.host import Begun, Host
from bridle.session.open import LiveSession, begin_session, open_session
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError
from bridle.types.ids import new_uuid
from bridle.types.turn import Outcome
from bridle.types.workspace import Workspace

_LAST_WORDS = 5.0
_LOOK_SECONDS = 2.0
_CANCELLED = ("aborted_streaming", "aborted_tools")
_LIMITS = ("max_turns", "budget_exhausted")


class EditorSession:
    """Opened by `open`; everything of it runs in one task until `close`."""

    def __init__(self, peer: EditorPeer, abilities: EditorCapabilities, setup: Setup) -> None:
        self._peer = peer
        self._abilities = abilities
        self._setup = setup
        self._waiting: dict[str, asyncio.Future[bool]] = {}
        """By the ids of prompts: done with True when the turn is over, with False when it never began."""
        self._task: asyncio.Task[None] | None = None
        self._following: asyncio.Task[None] | None = None
        self._begun: Begun | None = None
        self._live: LiveSession | None = None
        self._channel: EditorChannel | None = None
        self.id = ""

    async def open(self) -> None:
        """Begin or continue the conversation.

        Raises:
            BridleError: there is no such conversation, or it cannot be opened.
        """
        host = Host(
            env=self._setup.env,
            setup=self._setup,
            features=(self._editor,),
            warn=self._warn,
            tell=self._warn,
            defers=False,
        )
        self._begun = begin_session(self._setup.options, host)
        self.id = self._begun.session.id
        self._channel = EditorChannel(
            self._peer,
            self._abilities,
            self.id,
            workspace=lambda: self.live.server.runtime.workspace,
            usage=self._usage,
            changed=self._tell_options,
            settled=self._settle,
        )
        ready: asyncio.Future[LiveSession] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(self._begun, ready))
        self._live = await ready
        self.choices = Choices(self._live)

    @property
    def live(self) -> LiveSession:
        assert self._live is not None, "the session is not open"
        return self._live

    @property
    def session(self) -> Session:
        assert self._begun is not None, "the session is not open"
        return self._begun.session

    def state(self) -> Json:
        """What can be chosen, for the answer to the request that opened it."""
        return {"modes": self.choices.modes(), "configOptions": self.choices.options()}

    def begin(self) -> None:
        """The editor knows the session: tell it which commands there are, now and whenever they change."""
        self._following = asyncio.create_task(self._follow_commands())

    def replay(self) -> None:
        """Tell the editor the conversation so far."""
        for update in replayed(self.session, self.live.server.runtime.workspace):
            self._peer.update(self.id, update)

    async def prompt(self, blocks: object) -> Json:
        """Run a prompt to its end.

        Raises:
            UsageError: it is not one.
            RequestError: the model could not answer.
        """
        uuid = new_uuid()
        prompt = read_prompt(blocks, uuid=uuid)
        if self._task is None or self._task.done():
            raise RequestError(INTERNAL_ERROR, "The session has ended: open it again with session/load.")
        assert self._channel is not None
        if not self.live.server.busy:
            self._channel.outcome = self._channel.fault = None
        done: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[uuid] = done
        self.live.server.submit(prompt)
        try:
            finished = await done
        except asyncio.CancelledError:
            self.cancel()
            raise
        finally:
            self._waiting.pop(uuid, None)
        outcome = self._channel.outcome
        if not finished or outcome is None:
            return {"stopReason": "cancelled"}
        return self._answer(outcome)

    def cancel(self) -> None:
        """Stop the turn that runs and forget the prompts that wait."""
        server = self.live.server
        server.withdraw()
        server.interrupt()
        server.runtime.features.interrupt()

    async def close(self) -> None:
        """End the session and all that it has started."""
        tasks = [task for task in (self._following, self._task) if task is not None]
        if self._live is not None:
            self._live.inbox.close()
            self._live.server.interrupt()
        if self._following is not None:
            self._following.cancel()
        if self._task is not None and not self._task.done():
            # A turn settles before everything behind it is closed.
            self._task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST_WORDS)

    async def _run(self, begun: Begun, ready: "asyncio.Future[LiveSession]") -> None:
        assert self._channel is not None
        try:
            async with open_session(begun, self._channel) as live:
                ready.set_result(live)
                following = asyncio.create_task(live.settings.run())
                try:
                    await live.serve()
                finally:
                    following.cancel()
                    await asyncio.gather(following, return_exceptions=True)
        except BridleError as error:
            if ready.done():
                raise
            ready.set_exception(error)
        finally:
            for each in self._waiting.values():
                if not each.done():
                    each.set_result(False)

    def _answer(self, outcome: Outcome) -> Json:
        assert self._channel is not None
        fault = self._channel.fault
        if outcome.is_error and fault is not None:
            code = AUTH_REQUIRED if fault.kind == "authentication_failed" else INTERNAL_ERROR
            words = outcome.text or "; ".join(outcome.errors) or "The model gave no answer."
            raise RequestError(code, words, {"kind": fault.kind, "status": fault.status})
        return {"stopReason": _stop_reason(outcome), "usage": _turn_usage(outcome)}

    def _editor(self, context: FeatureContext) -> EditorFeature:
        channel = self._channel
        assert channel is not None
        workspace: Workspace = context.workspace
        return EditorFeature(
            self._peer,
            self._abilities,
            workspace,
            session_id=lambda: self.id,
            shows=channel.show_terminal,
        )

    def _settle(self, uuid: str, finished: bool) -> None:
        waiting = self._waiting.get(uuid)
        if waiting is not None and not waiting.done():
            waiting.set_result(finished)

    def _usage(self) -> Json | None:
        """How full the window is, and what the conversation has cost."""
        if self._live is None or (measured := self._live.session.state.measured) is None:
            return None
        facts = self._live.server.runtime.facts(self._live.session.state.model)
        cost = {"amount": self._live.session.total_cost_usd, "currency": "USD"}
        return {"used": measured.tokens, "size": facts.context_window, "cost": cost}

    def _tell_options(self) -> None:
        if self._live is not None:
            update = {"sessionUpdate": "config_option_update", "configOptions": self.choices.options()}
            self._peer.update(self.id, update)

    def _warn(self, text: str) -> None:
        if self._channel is not None:
            self._channel.notice(text, "warning")

    async def _follow_commands(self) -> None:
        skills = self.live.server.runtime.features.find(SESSION_SKILLS)
        known: list[Json] | None = None
        while True:
            if (now := self.choices.commands()) != known:
                self._peer.update(
                    self.id, {"sessionUpdate": "available_commands_update", "availableCommands": now}
                )
            known = now
            await asyncio.sleep(_LOOK_SECONDS)
            if skills is not None:
                await asyncio.to_thread(skills.catalog.reload)


def _stop_reason(outcome: Outcome) -> str:
    if outcome.reason in _CANCELLED:
        return "cancelled"
    if outcome.reason in _LIMITS:
        return "max_turn_requests"
    match outcome.stop_reason:
        case "refusal":
            return "refusal"
        case "max_tokens":
            return "max_tokens"
        case _:
            return "end_turn"


def _turn_usage(outcome: Outcome) -> Mapping[str, Any]:
    usage = outcome.usage
    return {
        "totalTokens": usage.context + usage.output,
        "inputTokens": usage.input,
        "outputTokens": usage.output,
        "cachedReadTokens": usage.cache_read,
        "cachedWriteTokens": usage.cache_write_5m + usage.cache_write_1h,
    }

"""Moves the conversation of a terminal to the background, and copies it there."""

import os
from collections.abc import Mapping, Sequence

import msgspec

from bridle.cli.background.holder_connection import HolderConnection
from bridle.cli.background.job_start import lasting_flags, session_facts, start_job
from bridle.cli.background.launch_settings import launch_settings_from, refusal
from bridle.features.background.handover import Handover
from bridle.frontends.tui.app import App
from bridle.frontends.tui.chat.chat import Chat
from bridle.host.jobs import protocol, records
from bridle.host.jobs.paths import jobs_dir
from bridle.host.paths import config_home
from bridle.session.setup import Setup
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.errors import BridleError
from bridle.types.permission import Effect, Rule
from bridle.types.workspace import Workspace

_TAKING_OVER_SECONDS = 15.0
_LONGEST = 80


class SessionJobs:
    """Implements `types.services.tasks.BackgroundSessions` for a session at a terminal."""

    def __init__(
        self,
        app: App,
        setup: Setup,
        session: Session,
        *,
        holder: HolderConnection | None,
        workspace: Workspace,
    ) -> None:
        self._app = app
        self._setup = setup
        self._session = session
        self._holder = holder
        self._workspace = workspace
        self.chat: Chat | None = None
        self._next_job: records.Facts | None = None
        """The job to start once this program has closed the conversation."""
        self._moving: Handover | None = None

    @property
    def is_inside(self) -> bool:
        return self._holder is not None

    @property
    def refusal(self) -> str | None:
        return refusal(self._setup.config, self._setup.env)

    def detach(self) -> None:
        if self._holder is not None:
            self._holder.detach()

    def stop(self) -> None:
        if self._holder is not None:
            self._holder.stop()

    def move(self, prompt: str) -> None:
        """End the program; the job continues the conversation once it is closed here."""
        session, chat = self._session, self.chat
        sandbox = self._setup.config.settings.sandbox
        # Sandboxed commands need this program.
        sandboxed = sandbox is not None and sandbox.enabled is True
        moving = self._moving = Handover(self._workspace, self._setup.env, sandboxed=sandboxed)
        queued = () if chat is None else chat.queued
        words = moving.first_prompt(prompt, queued, is_busy=chat is not None and chat.is_busy)
        facts = session_facts(session.id, flags=self._flags(), prompt=words, begins=not session.entries)
        self._next_job = {**facts, "prompt": _about(session) or words}
        if moving.handed:
            self._next_job["shells"] = msgspec.to_builtins(moving.handed)
        self._app.end(0)

    def begin(self, session_id: str, prompt: str) -> str:
        facts = session_facts(session_id, flags=self._flags(), prompt=prompt)
        return self._start({**facts, "prompt": prompt or _about(self._session)})["id"]

    def hand_over(self) -> str:
        """Start what was moved; what to say about it, nothing when nothing was."""
        if self._next_job is None or (moving := self._moving) is None:
            return ""
        is_taken, lost = False, list[str]()
        try:
            facts = self._start(self._next_job)
            is_taken = moving.hands_over and _are_taken_over(facts, self._setup.env)
        except BridleError as error:
            return f"error: {error}\nResume with: bridle --resume {self._session.id}\n"
        finally:
            lost = moving.finish(taken=is_taken)
        job = facts["id"]
        rows = "".join(f"  stopped: {each}\n" for each in lost)
        return f"Moved to the background as {job}. Return to it with: bridle attach {job}\n{rows}"

    def _start(self, facts: records.Facts) -> records.Facts:
        setup = self._setup
        given = launch_settings_from(setup.config, setup.env, base=os.environ)
        # In this mode a person has agreed to it already, here.
        agreed = self._session.state.mode == "bypassPermissions"
        return start_job({**facts, "cwd": setup.cwd, "agreed": agreed}, setup.env, given)

    def _flags(self) -> list[str]:
        state = self._session.state
        flags = lasting_flags(self._setup.options, without=("model", "permission-mode"))
        return [*flags, *_granted(state.rules), f"--model={state.model}", f"--permission-mode={state.mode}"]


def _are_taken_over(facts: records.Facts, env: Mapping[str, str]) -> bool:
    """Wait until the session over there has the commands that run on; False when it never does."""
    folder = os.path.join(jobs_dir(config_home(env)), facts["id"])
    try:
        with protocol.connect(facts["socket"], seconds=_TAKING_OVER_SECONDS) as connection:
            connection.sendall(protocol.frame(protocol.WATCH))
            while "shells" in (now := records.read(folder) or {}):
                if records.is_ended(now) or not connection.recv(4096):
                    return False
    except OSError:
        return False
    return not records.is_ended(now)


def _granted(rules: Sequence[Rule]) -> list[str]:
    """What was allowed and denied in this session alone, as flags."""
    names = {Effect.ALLOW: "--allowed-tools", Effect.DENY: "--disallowed-tools"}
    return [
        f"{names[rule.effect]}={rule}" for rule in rules if rule.source == "session" and rule.effect in names
    ]


def _about(session: Session) -> str:
    """What the conversation began with."""
    for entry in session.entries:
        if entry["type"] == "user" and not entry.get("isMeta"):
            return text_of(entry["message"]["content"])[:_LONGEST]
    return ""

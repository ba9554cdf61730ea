"""Remote control as a feature: when a session is shared, under which name, and what is said about it."""

import os.path
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bridle.engine.feature import Feature
from bridle.features.context import CommandCaller, FeatureContext
from bridle.types.command import Command, CommandResult, Says
from bridle.types.errors import UsageError
from bridle.types.event import Noticed
from bridle.types.services.remote import REMOTE
from bridle.types.services.service import Service
from bridle.types.variables import is_off, is_on

if TYPE_CHECKING:
    from bridle.config.load import Config
    from bridle.config.options import SessionOptions
    from bridle.config.schema import Settings
    from bridle.engine.assignment import Assignment
    from bridle.types.services.remote import RemoteListener

_PREFIX = "CLAUDE_REMOTE_CONTROL_SESSION_NAME_PREFIX"
_JOIN = "BRIDLE_JOIN_HUB"
_ENDINGS = ("off", "stop", "end")
_LONGEST_NAME = 80
_LONGEST_PREFIX = 40
_MOST_NAMES = 50


def joins_hub(options: "SessionOptions", settings: "Settings", env: Mapping[str, str]) -> bool:
    """Whether a session is shown at the hub from the start."""
    if settings.disable_remote_control or is_off(env, _JOIN):
        return False
    return options.join_hub or is_on(env, _JOIN) or settings.bridle_join_hub is True


class RemoteFeature(Feature):
    """Implements `RemoteControl`; the server is that of the program around the session."""

    name = "remote"

    def __init__(self, context: FeatureContext) -> None:
        self._context = context
        self._settings = context.settings
        self._listener = context.listener
        self._name = ""
        self._seen: set[str] = set()

    def part(self, key: Service[Any]) -> Any:
        return self if key is REMOTE else None

    def commands(self) -> Sequence[Command]:
        return (
            Command(
                name="remote-control",
                description="Share this session with a browser",
                run=self._run,
                argument_hint="[name|off]",
                aliases=("rc",),
                complete=lambda typed: ("off",) if "off".startswith(typed.lower()) else (),
                at_once=True,
                yields=True,
            ),
            Command(
                name="hub",
                description="Show this session at the hub of this machine",
                run=self._run_hub,
                argument_hint="[off]",
                complete=lambda typed: ("off",) if "off".startswith(typed.lower()) else (),
                at_once=True,
            ),
        )

    async def begin(self) -> None:
        """Share from the start, if the command line or the settings of the user say so."""
        asked, listener = self._context.options.remote_control, self._listener
        if listener is not None and joins_hub(self._context.options, self._settings, self._context.env):
            listener.join(self._shown_name, waits=self._context.options.join_hub)
        if listener is None or (asked is None and not self._settings.remote_control_at_startup):
            return
        try:
            await self.share(asked if isinstance(asked, str) else "")
        except UsageError as error:
            if asked is not None:
                listener.show(str(error))
            return
        listener.show(self.describe())

    def reconfigure(self, before: "Config", now: "Config") -> None:
        self._settings = now.settings

    def for_agent(self, work: "Assignment") -> Feature:
        """Messages of agents say where answers reach the session."""
        return self

    async def close(self) -> None:
        await self.stop()
        if self._listener is not None:
            await self._listener.leave()

    async def share(self, name: str) -> None:
        """Share the session, or give what is shared another name.

        Raises:
            UsageError: it may not be, or cannot.
        """
        if self._settings.disable_remote_control:
            raise UsageError("Sharing is disabled (disableRemoteControl).")
        listener = self._needed()
        if listener.address is not None:
            self._name = name[:_LONGEST_NAME] or self._name
            return
        self._name = name[:_LONGEST_NAME] or self._usual_name()
        await listener.open(lambda: self._name, self._note_people)
        listener.changed()

    async def stop(self) -> bool:
        """Stop sharing; False when nothing was shared."""
        if self._listener is None or self._listener.address is None:
            return False
        await self._listener.close()
        self._listener.changed()
        return True

    @property
    def reply(self) -> tuple[str, str] | None:
        address = None if self._listener is None else self._listener.address
        return None if address is None else (address, self._name)

    @property
    def address_with_key(self) -> str:
        shared = self._listener is not None and self._listener.address is not None
        return self._listener.address_with_key if shared and self._listener is not None else ""

    @property
    def sign(self) -> str:
        if self._listener is None:
            return ""
        parts = ["at the hub"] if self._listener.hub == "joined" else []
        if self._listener.address is not None:
            people = len(self._listener.people)
            parts.append(f"shared, {people} connected" if people else "shared")
        return " · ".join(parts)

    def describe(self) -> str:
        """The address with the key, and who is connected."""
        listener = self._listener
        if listener is None or listener.address is None:
            return "This session is not shared. Share it with /remote-control."
        there = ", ".join(dict.fromkeys(listener.people))
        return (
            f"Shared as {self._name}. Anyone with this address can see and control the session:\n"
            f"{listener.address_with_key}\n"
            f"{f'Connected: {there}.' if there else 'No one is connected.'} "
            "Stop sharing with /remote-control off."
        )

    async def _run(self, arguments: str, caller: CommandCaller) -> CommandResult:
        """Share the session (`[name]`), show where and with whom (again, without a name), or stop (`off`)."""
        listener = self._needed()
        if arguments.strip().lower() in _ENDINGS:
            ended = await self.stop()
            return Says("Stopped sharing this session." if ended else "This session is not shared.")
        await self.share(" ".join(arguments.split()))
        caller.begin()
        # The address is a key: what a command says is kept with the conversation, and this must not be.
        listener.show(self.describe())
        return Says()

    async def _run_hub(self, arguments: str, caller: CommandCaller) -> CommandResult:
        """Show the session at the hub, or stop (`off`)."""
        del caller
        listener = self._needed()
        if arguments.strip().lower() in _ENDINGS:
            was, _ = listener.hub, await listener.leave()
            listener.changed()
            return Says("Left the hub." if was else "This session is not shown at a hub.")
        if self._settings.disable_remote_control:
            raise UsageError("Sharing is disabled (disableRemoteControl).")
        listener.join(self._shown_name, waits=True)
        listener.changed()
        return Says(
            "This session is shown at the hub."
            if listener.hub == "joined"
            else "The session joins the hub as soon as the agent of this machine runs: bridle hub agent"
        )

    def _shown_name(self) -> str:
        return self._name or self._usual_name()

    def _needed(self) -> "RemoteListener":
        if self._listener is None:
            raise UsageError(
                "This session cannot be shared: start bridle at a terminal or with --remote-control."
            )
        return self._listener

    def _usual_name(self) -> str:
        context = self._context
        prefix = context.options.remote_control_session_name_prefix or context.env.get(_PREFIX)
        folder = os.path.basename(context.project.rstrip("/")) or "session"
        return f"{(prefix or os.uname().nodename)[:_LONGEST_PREFIX]}-{folder}"[:_LONGEST_NAME]

    def _note_people(self, who: str | None) -> None:
        """Announce each client once: connections break and come back."""
        if who is not None and who not in self._seen and len(self._seen) < _MOST_NAMES:
            self._seen.add(who)
            notice = Noticed(f"{who} connected through remote control.", "notice")
            self._context.runtime().channel.emit(notice)
        if self._listener is not None:
            self._listener.changed()

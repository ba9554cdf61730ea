"""Receives messages of sessions on other machines, each once even if it is sent twice."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from bridle.config.remote_sessions import Remotes
from bridle.features.agents.mailbox import MOST_CHARS, MailboxFull, as_prompt, main_mailbox, recorded
from bridle.features.teams.received import TOO_MANY, MessageRate, announcement
from bridle.host.lock import Locked
from bridle.transcripts.session import Session
from bridle.types.errors import BridleError
from bridle.types.event import Noticed
from bridle.types.services.messages import AgentMessage
from bridle.types.turn import Prompt

_ID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_PLAIN = re.compile(r"[^\w .,()'@-]")


class MessageRefused(BridleError):
    """A message was refused; `full` when it can be sent again later."""

    def __init__(self, message: str, *, full: bool = False) -> None:
        super().__init__(message)
        self.full = full


class ReceivedMessage(Struct, frozen=True, kw_only=True):
    """A message as it came over the wire."""

    id: str
    text: str
    summary: str = ""
    sent: float = 0.0
    name: str = ""
    """What the session that wrote it calls itself."""
    reply: str = ""
    """Where that session can be reached, if it can."""


class Inbound:
    """Receives messages from other machines."""

    def __init__(
        self,
        session: Session,
        *,
        storage: Callable[[], str],
        inbound: Callable[[], str],
        deliver: Callable[[Prompt], None],
        emit: Callable[[Noticed], None] = lambda _: None,
        env: Mapping[str, str],
    ) -> None:
        self._emit = emit
        self._rate = MessageRate()
        self._session = session
        self._storage = storage
        self._inbound = inbound
        self._deliver = deliver
        self._env = env

    def take(self, values: Mapping[str, Any]) -> bool:
        """Take a message in; False when it was there already.

        Raises:
            MessageRefused: why it was not.
        """
        letter, inbound = read_letter(values, self._env), self._inbound()
        if inbound == "refuse":
            raise MessageRefused("it accepts no messages (crossSessionInbound is refuse)")
        if not self._keep(letter):
            return False
        self._emit(announcement(letter))
        self._deliver(msgspec.structs.replace(as_prompt(letter), query=inbound != "hold"))
        return True

    def _keep(self, letter: AgentMessage) -> bool:
        """Keep it on disk until the conversation has it."""
        box = main_mailbox(self._storage())
        waiting = box.waiting()
        known = recorded(self._session, [*waiting, letter])
        if letter.id in known or any(each.id == letter.id for each in waiting):
            return False
        box.remove(known)
        if self._rate.is_exceeded():
            raise MessageRefused(TOO_MANY, full=True)
        try:
            box.put(letter)
        except MailboxFull as fault:
            raise MessageRefused(str(fault), full=True) from fault
        except (OSError, Locked) as fault:
            raise MessageRefused(f"it could not save the message ({fault})", full=True) from fault
        self._rate.count()
        return True


def read_letter(values: Mapping[str, Any], env: Mapping[str, str]) -> AgentMessage:
    """A message as it came over the wire, with a sender that it cannot choose.

    Raises:
        MessageRefused: it is none.
    """
    try:
        came = msgspec.convert(values, ReceivedMessage)
    except msgspec.ValidationError as error:
        raise MessageRefused("not a message") from error
    if _ID.fullmatch(came.id) is None or not came.text.strip():
        raise MessageRefused("not a message")
    if len(came.text) > MOST_CHARS:
        raise MessageRefused(f"the message has more than {MOST_CHARS:,} characters")
    summary = " ".join(came.summary.split())[:200]
    return AgentMessage(
        id=came.id, sender=_sender(came, env), text=came.text, summary=summary, sent=came.sent
    )


def _sender(came: ReceivedMessage, env: Mapping[str, str]) -> str:
    """Who wrote it: an address that answers reach, where we know one, else a description that is none."""
    known = Remotes(env).named_at(came.reply) if came.reply else None
    if known is not None:
        return f"remote:{known}"
    name = " ".join(_PLAIN.sub("", came.name).split())[:60]
    return f"another session ({name})" if name else "another session"

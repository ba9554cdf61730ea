"""A mailbox on disk: messages to an agent wait there until they are in its conversation."""

import asyncio
import os
import re
import time
from collections.abc import Iterable

import msgspec

from bridle.host.files import make_folders, write_atomic
from bridle.host.lock import FileLock
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.errors import BridleError
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.services.messages import AgentMessage
from bridle.types.turn import Prompt

MAIN = "main"
"""The name of the main thread."""
MOST_LETTERS = 100
MOST_CHARS = 50_000
_LARGEST = 1_000_000


class MailboxFull(BridleError):
    """Too many messages are unread."""


class Mailbox:
    """One folder, one file for each letter; several processes may use it."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def put(self, letter: AgentMessage) -> None:
        """Keep a letter, which is on disk when this returns.

        Raises:
            MailboxFull: too many wait already.
            OSError: it cannot be saved.
            Locked: another process keeps the mailbox for too long.
        """
        make_folders(self.folder, private=True)
        with FileLock(os.path.join(self.folder, ".lock")):
            names = self._names()
            if len(names) >= MOST_LETTERS:
                raise MailboxFull(f"it has {MOST_LETTERS} unread messages")
            number = 1 + (int(names[-1][:9]) if names else 0)
            path = os.path.join(self.folder, f"{number:09d}.json")
            write_atomic(path, msgspec.json.encode(letter), mode=0o600)

    def waiting(self) -> list[AgentMessage]:
        """The letters in the order in which they came. Unreadable files are ignored."""
        found = (self._read(name) for name in self._names())
        return [letter for letter in found if letter is not None]

    def remove(self, ids: Iterable[str]) -> None:
        """Remove letters; harmless when they are gone."""
        gone = set(ids)
        for name in self._names() if gone else ():
            letter = self._read(name)
            if letter is not None and letter.id in gone:
                try:
                    os.unlink(os.path.join(self.folder, name))
                except FileNotFoundError:
                    pass  # Another process took it out.

    def _names(self) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.folder) if re.fullmatch(r"\d{9}\.json", name))
        except FileNotFoundError:
            return []

    def _read(self, name: str) -> AgentMessage | None:
        try:
            with open(os.path.join(self.folder, name), "rb") as file:
                return msgspec.json.decode(file.read(_LARGEST), type=AgentMessage)
        except (OSError, msgspec.DecodeError):
            return None


class Mail:
    """The mail of one conversation: a letter joins the turn, and is deleted when the conversation has it."""

    def __init__(self, box: Mailbox, session: Session) -> None:
        self._box = box
        self._session = session
        self._waiting: list[Prompt] = []
        self._came = asyncio.Event()

    def open(self) -> None:
        """Deliver the letters that an earlier process has left."""
        letters = self._box.waiting()
        known = recorded(self._session, letters)
        self._box.remove(known)
        self._waiting = [as_prompt(letter) for letter in letters if letter.id not in known]

    def put(self, letter: AgentMessage) -> None:
        """Deliver a letter.

        Raises:
            MailboxFull: too many wait already.
            OSError: it cannot be saved.
            Locked: another process keeps the mailbox for too long.
        """
        self._box.put(letter)
        self._waiting.append(as_prompt(letter))
        self._came.set()

    def tell(self, text: str, *, sender: str) -> None:
        """Deliver a notice of the program. It is kept in memory only and is lost with the process."""
        letter = AgentMessage(id=new_uuid(), sender=sender, text=text, sent=time.time())
        self._waiting.append(as_prompt(letter))
        self._came.set()

    def __len__(self) -> int:
        return len(self._waiting)

    def peek(self) -> Prompt | None:
        return self._waiting[0] if self._waiting else None

    def take(self, prompt: Prompt) -> None:
        self._waiting.remove(prompt)

    async def stirred(self) -> None:
        """Return as soon as anything waits."""
        while not self._waiting:
            self._came.clear()
            await self._came.wait()

    def pop(self) -> Prompt | None:
        """The next letter as a prompt of its own."""
        return self._waiting.pop(0) if self._waiting else None

    async def settle(self) -> None:
        """Remove the letters that the conversation has on disk."""
        letters = self._box.waiting()
        if letters:
            await self._session.sync()
            self._box.remove(recorded(self._session, letters))


def as_prompt(letter: AgentMessage) -> Prompt:
    """A letter as the model that gets it reads it."""
    about = f' summary="{_quoted(letter.summary)}"' if letter.summary else ""
    head = f'<agent-message from="{_quoted(letter.sender)}" id="{letter.id}"{about}>'
    # The words of another must not end the frame that says whose they are.
    said = letter.text.replace("</agent-message", "<\\/agent-message")
    note = "This comes from another agent, not from the user."
    text = f"{head}\n{said}\n</agent-message>\n{note}"
    origin = Origin(source="letter", who=letter.sender)
    return Prompt(content=text, origin=origin, meta=True, verbatim=True)


def _quoted(text: str) -> str:
    """Text that is safe in an attribute."""
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")


def recorded(session: Session, letters: Iterable[AgentMessage]) -> set[str]:
    """The letters that are in a conversation already."""
    wanted = {letter.id for letter in letters}
    found: set[str] = set()
    for entry in reversed(session.entries) if wanted else ():
        if entry["type"] == "user" and entry.get("isMeta"):
            text = text_of(entry["message"]["content"])
            found |= {each for each in wanted - found if f' id="{each}"' in text}
            if found == wanted:
                break
    return found


def main_mailbox(storage: str) -> Mailbox:
    """The mailbox of the main thread."""
    return Mailbox(os.path.join(storage, "mail", MAIN))


def agent_mailbox(storage: str, agent_id: str) -> Mailbox:
    """The mailbox of an agent."""
    return Mailbox(os.path.join(storage, "mail", os.path.basename(agent_id)))

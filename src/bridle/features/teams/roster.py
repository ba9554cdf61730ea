"""What is kept on disk of the members of a team that have processes of their own."""

import os
from collections.abc import Mapping

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes, write_atomic
from bridle.host.owners import is_alive
from bridle.types.usage import ModelSpend

_LARGEST = 1_000_000


class Card(Struct, frozen=True, kw_only=True):
    """A member with a process of its own, as a later process of its leader must know it."""

    agent_id: str
    name: str
    team: str
    pid: int
    birth: str
    session_id: str
    agent_type: str
    description: str
    prompt: str
    call_id: str
    model: str
    worktree: str | None = None
    counted: Mapping[str, ModelSpend] = {}
    """What the leader's session has been charged with so far."""


class Roster:
    """One file for each member that runs."""

    def __init__(self, storage: str) -> None:
        self._folder = os.path.join(storage, "team")

    def write(self, card: Card) -> None:
        """Put a member down.

        Raises:
            OSError: it cannot be saved.
        """
        write_atomic(self._path(card.agent_id), msgspec.json.encode(card), mode=0o600)

    def remove(self, agent_id: str) -> None:
        try:
            os.unlink(self._path(agent_id))
        except FileNotFoundError:
            pass  # It was never put down, or another process was quicker.

    def living(self) -> list[Card]:
        """The members whose processes run; the cards of others are removed."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        found: list[Card] = []
        for name in names:
            try:
                data = read_bytes(os.path.join(self._folder, name), _LARGEST)
                card = msgspec.json.decode(data, type=Card)
            except (OSError, msgspec.DecodeError):
                continue  # A file that cannot be read costs only itself.
            if is_alive(card.pid, card.birth):
                found.append(card)
            else:
                self.remove(card.agent_id)
        return found

    def _path(self, agent_id: str) -> str:
        return os.path.join(self._folder, f"{os.path.basename(agent_id)}.json")

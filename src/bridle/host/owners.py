"""Who holds something that only one can have, and whether they still live."""

import os

from msgspec import Struct

from bridle.host.liveness import birth, is_alive

__all__ = ["Owner", "birth", "is_alive", "this_process"]


class Owner(Struct, frozen=True, kw_only=True):
    """One thread of a session: its main one, or an agent."""

    pid: int
    birth: str
    """When the process began: numbers of processes are used again."""
    session: str
    agent: str | None = None
    run: str = ""
    """Tells an agent from itself before it was woken again."""
    label: str = ""
    """What a model or a person would call it."""

    @property
    def key(self) -> str:
        """Tells it from every other that lives."""
        return "-".join((str(self.pid), self.birth, self.session, self.agent or "main", self.run))

    @property
    def is_alive(self) -> bool:
        """Whether its process still runs."""
        return is_alive(self.pid, self.birth)


def this_process(session: str, *, agent: str | None = None, run: str = "", label: str = "") -> Owner:
    """A thread of a session in this process."""
    pid = os.getpid()
    return Owner(pid=pid, birth=birth(pid), session=session, agent=agent, run=run, label=label)

"""Who holds something that only one can have, and whether they still live."""

import os

from msgspec import Struct


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


def is_alive(pid: int, born: str) -> bool:
    """Whether the process that had this number when it was born then still runs; in doubt it does."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # Somebody else's process has the number, or ours changed its user: the birth tells.
    now = birth(pid)
    return not born or not now or now == born


def birth(pid: int) -> str:
    """When a process began, in whatever form the system has; empty where it cannot be told."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    # A corpse that nobody has collected yet holds nothing any more.
    return "dead" if fields[:1] == ["Z"] else fields[19] if len(fields) > 19 else ""

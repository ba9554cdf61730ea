"""Whether a process still lives, found out with the standard library alone."""

import os


def is_alive(pid: int, born: str) -> bool:
    """Whether the process that had this number when it was born then still runs; in doubt it does."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # Another user's process has the number, or ours changed its user: the birth tells.
    now = birth(pid)
    return not born or not now or now == born


def birth(pid: int) -> str:
    """When a process began, in whatever form the system has; empty where it is unknown."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return ""
    # A zombie that was not collected yet holds nothing any more.
    return "dead" if fields[:1] == ["Z"] else fields[19] if len(fields) > 19 else ""

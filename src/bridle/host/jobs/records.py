"""The record of a job, by one writer at a time.

Its holder writes while it lives, and has the folder locked for as long. The process that starts a job writes
before that; when a holder has died, the process that finds out locks the folder and writes how it ended.
"""

import fcntl
import os
import time
from typing import Any

from bridle.host.jobs.paths import jobs_dir

Facts = dict[str, Any]
"""The content of a state file; keys that are not known are kept."""

JOB = "BRIDLE_JOB"
"""The variable that tells a session the folder of its job; `cli/terminal/interactive.py` takes it."""
_STATE = "state.json"
_LOCK = "holder.lock"
_STARTING_SECONDS = 15.0
_LARGEST = 1 << 20


def now_ms() -> int:
    return int(time.time() * 1000)


def folders(home: str) -> list[str]:
    """The folders of all jobs of bridle."""
    try:
        names = sorted(os.listdir(jobs_dir(home)))
    except FileNotFoundError:
        return []
    found = (os.path.join(jobs_dir(home), name) for name in names)
    return [path for path in found if os.path.exists(os.path.join(path, _LOCK))]


def read(folder: str) -> Facts | None:
    """What is known of a job; None when it is none, or another user's."""
    import json

    try:
        with open(os.path.join(folder, _STATE), "rb") as file:
            facts = json.loads(file.read(_LARGEST))
    except (OSError, ValueError):
        return None
    return facts if isinstance(facts, dict) and isinstance(facts.get("id"), str) else None


def write(folder: str, facts: Facts) -> None:
    """Put down what is known: a reader sees the old state or the new one.

    Raises:
        OSError: the folder is gone or cannot be written.
    """
    import json

    replace_file(os.path.join(folder, _STATE), json.dumps(facts, ensure_ascii=False).encode())


def replace_file(path: str, data: bytes) -> None:
    """Make a file of the user's own hold this, in one step.

    Raises:
        OSError: nothing was changed and nothing is left behind.
    """
    # Holders run without the packages that `host/files.py` needs.
    new = f"{path}.{os.getpid()}.tmp"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(new, path)
    except BaseException:
        os.unlink(new)
        raise


def create(folder: str, facts: Facts) -> None:
    """Begin a job that has no holder yet.

    Raises:
        OSError: there is one of this name, or it cannot be written.
    """
    os.makedirs(os.path.dirname(folder), mode=0o700, exist_ok=True)
    os.mkdir(folder, 0o700)
    os.mkdir(os.path.join(folder, "tmp"), 0o700)
    write(folder, facts)
    # The last thing: from here on others see the job.
    os.close(os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))


def hold(folder: str) -> int | None:
    """Lock a job for as long as the descriptor stays open; None when another process has it.

    Raises:
        OSError: there is no such job.
    """
    descriptor = os.open(os.path.join(folder, _LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_ended(facts: Facts) -> bool:
    return "endedAt" in facts


def is_starting(facts: Facts) -> bool:
    """Whether its holder may be about to come."""
    return facts.get("starting") is True and now_ms() - facts.get("startedAt", 0) < _STARTING_SECONDS * 1000


def settle(folder: str) -> Facts | None:
    """What is known of a job; one whose holder has died is put down as failed first."""
    facts = read(folder)
    if facts is None or is_ended(facts) or is_starting(facts):
        return facts
    try:
        descriptor = hold(folder)
    except OSError:
        return None
    if descriptor is None:
        return facts
    try:
        # It may have ended in an orderly way since it was read.
        facts = read(folder)
        if facts is not None and not is_ended(facts) and not is_starting(facts):
            write(
                folder,
                facts := ended(facts, state="failed", why="the process that holds its terminal was killed"),
            )
            _remove_socket(facts)
        return facts
    finally:
        os.close(descriptor)


def _remove_socket(facts: Facts) -> None:
    """No process listens there any more."""
    try:
        os.unlink(facts["socket"])
    except (KeyError, OSError):
        pass  # It was never made, or is gone already.


def ended(facts: Facts, *, state: str, why: str = "", code: int | None = None) -> Facts:
    """The facts of a job that is over."""
    kept = {key: value for key, value in facts.items() if key not in ("waitingFor", "starting", "status")}
    return {
        **kept,
        "state": state,
        "endedAt": now_ms(),
        **({"why": why} if why else {}),
        **({} if code is None else {"exitCode": code}),
    }


def conversations(home: str) -> frozenset[str]:
    """The conversations that belong to background sessions."""
    found = (read(folder) for folder in folders(home))
    return frozenset(str(facts["sessionId"]) for facts in found if facts is not None and "sessionId" in facts)

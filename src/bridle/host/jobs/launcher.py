"""Starts what holds a job, and the supervisor, as programs that outlive the process that starts them."""

import os
import socket
import sys
import time
from collections.abc import Mapping, Sequence

from bridle.host.jobs import records
from bridle.host.jobs.paths import jobs_dir, socket_file
from bridle.types.errors import BridleError

_RUN = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from bridle.host.jobs.{} import main; "
    "sys.exit(main(sys.argv[1:]))"
)
_CODE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

_LEAVING_SECONDS = 5.0
"""How long what held a job may take to go after it has written how the job ended."""


class JobError(BridleError):
    """Something about a job cannot be done."""


def new_id(home: str) -> str:
    """A name that no job has."""
    while os.path.exists(os.path.join(jobs_dir(home), made := os.urandom(4).hex())):
        pass
    return made


def start(
    home: str, facts: records.Facts, *, env: Mapping[str, str], wrapper: Sequence[str] = ()
) -> records.Facts:
    """Begin a job, or begin it again, and make sure that a supervisor watches it; returns its facts.

    Raises:
        JobError: it cannot be started.
    """
    job = facts.get("id") or new_id(home)
    folder = os.path.join(jobs_dir(home), job)
    whole = {
        **facts,
        "id": job,
        "state": "working",
        "startedAt": records.now_ms(),
        "socket": socket_file(home, job),
        "starting": True,
    }
    try:
        if os.path.exists(folder):
            _begin_again(folder, whole)
        else:
            records.create(folder, whole)
        problem = _run("holder", folder, env=env, wrapper=wrapper)
    except OSError as error:
        raise JobError(f"Can't start the job: {error.strerror} ({error.filename or folder}).") from error
    wake_supervisor(home, env=env, wrapper=wrapper)
    if problem is not None:
        raise JobError(f"Can't start the job: {problem}.")
    return records.read(folder) or whole


def wake_supervisor(home: str, *, env: Mapping[str, str], wrapper: Sequence[str] = ()) -> None:
    """Let the supervisor look at the jobs; one is started where there is none.

    Raises:
        JobError: it cannot be started.
    """
    if wake_if_there(home):
        return
    try:
        problem = _run("supervisor", home, env=env, wrapper=wrapper)
    except OSError as error:
        raise JobError(f"Can't start the supervisor: {error.strerror}.") from error
    if problem is not None:
        raise JobError(f"Can't start the supervisor: {problem}.")


def wake_if_there(home: str) -> bool:
    """Let the supervisor look at the jobs; False when there is none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as caller:
        caller.setblocking(False)
        try:
            caller.sendto(b".", socket_file(home, "supervisor"))
        except BlockingIOError:
            pass  # So many called already that it looks anyway.
        except OSError:
            return False
    return True


def _begin_again(folder: str, facts: records.Facts) -> None:
    deadline = time.monotonic() + _LEAVING_SECONDS
    while (lock := records.hold(folder)) is None:
        before = records.read(folder)
        if before is None or not records.is_ended(before) or time.monotonic() > deadline:
            raise JobError(f"Job {facts['id']} is already running: attach to it, or stop it first.")
        time.sleep(0.01)  # What held it has written how it ended, and is about to go.
    try:
        gone = ("endedAt", "exitCode", "why", "waitingFor", "pid", "birth", "holder", "holderBirth")
        records.write(folder, {key: value for key, value in facts.items() if key not in gone})
    finally:
        os.close(lock)


def _run(module: str, argument: str, *, env: Mapping[str, str], wrapper: Sequence[str]) -> str | None:
    """Run one of our small programs until it has gone into the background; what it complains of."""
    argv = [*wrapper, sys.executable, "-I", "-S", "-c", _RUN.format(module), _CODE, argument]
    reads, writes = os.pipe()
    try:
        child = os.posix_spawn(
            argv[0],
            argv,
            dict(env),
            file_actions=(
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_DUP2, writes, 2),
            ),
            setpgroup=0,
        )
    except OSError:
        os.close(reads)
        raise
    finally:
        os.close(writes)
    said = b""
    while data := os.read(reads, 4096):
        said += data
    os.close(reads)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    lines = said.decode("utf-8", "replace").strip().splitlines()
    return None if code == 0 else lines[-1][:300] if lines else f"it ended with code {code}"

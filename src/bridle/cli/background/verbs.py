"""`bridle stop`, `respawn`, `rm` and `daemon`."""

import os
import signal
import time
from collections.abc import Mapping
from contextlib import suppress

from bridle.cli.background.job_lookup import all_jobs, find_job, is_live, title_of
from bridle.cli.background.job_start import session_facts
from bridle.cli.background.launch_settings import LaunchSettings, launch_settings
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.host.jobs import launcher, protocol, records
from bridle.host.jobs.launcher import JobError
from bridle.host.jobs.supervisor import running
from bridle.host.liveness import is_alive
from bridle.host.paths import config_home
from bridle.types.errors import CommandLineError
from bridle.types.text import counted

_STOP_SECONDS = 15.0
_PATIENCE = 2.0
"""Seconds for the supervisor to end."""


def run_stop(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Stop a session.

    Raises:
        UsageError: background sessions are turned off.
        JobError: there is no such session, or it does not end.
    """
    launch_settings(env)
    _, facts = find_job(given.one("id"), env)
    return tell(f"{facts['id']} {stop(facts)}.")


def run_respawn(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Start a session that has ended again, or all of them.

    Raises:
        UsageError: background sessions are turned off.
        JobError: there is no such session, or it cannot be started.
    """
    allowed, wanted = launch_settings(env), given.text("id")
    if given.on("all") == (wanted is not None):
        raise CommandLineError("give a session <id> or --all; see bridle respawn --help")
    chosen = [find_job(wanted, env)] if wanted is not None else _ended(env)
    if not chosen:
        return say("All background sessions are running.\n")
    for _, facts in chosen:
        respawn(facts, env, allowed)
        tell(f"Restarted {facts['id']}.")
    return 0


def run_rm(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Forget a session.

    Raises:
        UsageError: background sessions are turned off.
        JobError: there is no such session, or it runs.
    """
    launch_settings(env)
    return tell(forget(*find_job(given.one("id"), env), env))


def show_supervisor(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Say whether the supervisor runs; the exit code is 1 if not."""
    del given
    launch_settings(env)
    return _status(env)


def stop_supervisor(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Stop the supervisor.

    Raises:
        JobError: sessions run, and --any was not given.
    """
    launch_settings(env)
    return _stop_supervisor(env, any_=given.on("any"), keep=given.on("keep-workers"))


def stop(facts: records.Facts) -> str:
    """End a job, gently at first; returns what to say about it.

    Raises:
        JobError: it does not end.
    """
    if not is_live(facts):
        return f"had ended already ({facts['state']})"
    try:
        connection = protocol.connect(facts["socket"], seconds=_STOP_SECONDS)
        with connection:
            connection.sendall(protocol.frame(protocol.STOP))
            frames = protocol.Frames()
            while data := connection.recv(64 * 1024):
                if any(kind == protocol.OVER for kind, _ in frames.feed(data)):
                    break
    except TimeoutError as error:
        raise JobError(f"can't stop {facts['id']}: process {facts.get('pid')} is still running") from error
    except OSError as error:
        raise JobError(
            f"can't reach {facts['id']} ({error.strerror}). List sessions with: bridle agents"
        ) from error
    return "is stopped"


def respawn(facts: records.Facts, env: Mapping[str, str], given: LaunchSettings) -> None:
    """Restart an ended job: a conversation is resumed, a command runs again.

    Raises:
        JobError: it runs, or cannot be started.
    """
    if is_live(facts):
        raise JobError(f"{facts['id']} is still running. Stop it with: bridle stop {facts['id']}")
    if not os.path.isdir(facts["cwd"]):
        raise JobError(f"can't restart {facts['id']}: its folder {facts['cwd']} no longer exists")
    again = dict(facts)
    if facts.get("kind") == "session":
        from bridle.transcripts.store import lookup

        session_id = facts["sessionId"]
        begins = lookup(session_id, facts["cwd"], env) is None
        prompt = str(facts.get("prompt", "")) if begins else ""
        again |= session_facts(session_id, flags=facts.get("flags", ()), prompt=prompt, begins=begins)
        again["argv"] = [*given.wrapper, *again["argv"]]
    launcher.start(config_home(env), again, env=given.env, wrapper=given.wrapper)


def _ended(env: Mapping[str, str]) -> list[tuple[str, records.Facts]]:
    return [job for job in all_jobs(env) if not is_live(job[1])]


def forget(folder: str, facts: records.Facts, env: Mapping[str, str]) -> str:
    """Remove what is kept about a job that has ended, and nothing that it has made; says so.

    Raises:
        JobError: it runs.
    """
    import shutil

    if is_live(facts):
        raise JobError(f"{facts['id']} is still running. Stop it with: bridle stop {facts['id']}")
    shutil.rmtree(folder)
    launcher.wake_if_there(config_home(env))
    stays = f" Resume with: bridle --resume {facts['sessionId']}" if "sessionId" in facts else ""
    return f"Removed {facts['id']} from the list; its conversation and worktrees are kept.{stays}"


def _status(env: Mapping[str, str]) -> int:
    found = running(config_home(env))
    live = [facts for _, facts in all_jobs(env) if is_live(facts)]
    if found is None:
        say(f"The supervisor is not running ({counted(len(live), 'background session')}).\n")
        return 1
    rows = [f"  {facts['id']}  {facts['state']:8} {title_of(facts)}\n" for facts in live]
    return say(
        f"The supervisor is running as process {found[0]} ({counted(len(live), 'background session')}).\n"
        + "".join(rows)
    )


def _stop_supervisor(env: Mapping[str, str], *, any_: bool, keep: bool) -> int:
    live = [facts for _, facts in all_jobs(env) if is_live(facts)]
    if live and not any_:
        raise JobError(
            f"{counted(len(live), 'background session')} still running: pass --any to stop them, "
            "or --any --keep-workers to keep them"
        )
    if not keep:
        for facts in live:
            tell(f"{facts['id']} {stop(facts)}.")
    if (found := running(config_home(env))) is None:
        return say("The supervisor is not running.\n")
    _end(*found)
    return say("Stopped the supervisor.\n")


def _end(pid: int, born: str) -> None:
    """End the supervisor, the hard way if it does not listen: it has nothing to finish."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + _PATIENCE
        while is_alive(pid, born) and time.monotonic() < deadline:
            time.sleep(0.01)  # It is no child of ours, so its end can only be looked for.

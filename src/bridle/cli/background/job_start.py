"""`bridle --bg`: starts a session or a command in the background."""

import os
import sys
from collections.abc import Collection, Mapping, Sequence

from bridle.cli.args import Args
from bridle.cli.background.launch_settings import LaunchSettings, launch_settings
from bridle.cli.options import flags_of, session_options
from bridle.cli.say import say
from bridle.config.options import SessionOptions
from bridle.host.jobs import launcher, records
from bridle.host.paths import config_home
from bridle.types.errors import UsageError
from bridle.types.ids import new_uuid

_PLACE = ("continue", "resume", "session-id", "fork-session", "name")
"""Flags that say what is started, and not how."""
_ONCE = ("resume-session-at", "resume-drops-turn", "worktree", "init", "maintenance")
"""Flags of the first start only: a resumed conversation has them already."""


def run_in_background(args: Args, env: Mapping[str, str]) -> int:
    """Start what the flags ask for, say how to look at it, and return at once.

    Raises:
        UsageError: the flags contradict each other.
        SessionError: there is no such conversation.
        JobError: it cannot be started.
    """
    options = session_options(args)
    if options.print_mode or options.output_format is not None or options.input_format is not None:
        raise UsageError(
            "--bg starts an interactive session without a terminal: it cannot be used with --print"
        )
    given = launch_settings(env, flag=options.settings, sources=options.setting_sources)
    command = args.text("exec")
    facts = _command(command, env) if command is not None else _session(options, env)
    if options.name is not None:
        facts["name"] = options.name[:200]
    return say(_started(start_job(facts, env, given)))


def start_job(facts: records.Facts, env: Mapping[str, str], given: LaunchSettings) -> records.Facts:
    """Start a job of this folder at the size that the terminal has.

    Raises:
        JobError: it cannot be started.
    """
    rows, columns = _window()
    argv = [*given.wrapper, *facts["argv"]]
    whole = {"cwd": os.getcwd(), "rows": rows, "columns": columns, **facts, "argv": argv}
    return launcher.start(config_home(env), whole, env=given.env, wrapper=given.wrapper)


def session_facts(
    session_id: str, *, flags: Sequence[str], prompt: str = "", begins: bool = False
) -> records.Facts:
    """A job that starts or resumes a conversation."""
    which = ["--session-id", session_id] if begins else ["--resume", session_id]
    words = ["--", prompt] if prompt else []
    return {
        "kind": "session",
        "argv": [*program(), *flags, *which, *words],
        "flags": list(flags),
        "sessionId": session_id,
        **({"prompt": prompt} if prompt else {}),
    }


def program() -> list[str]:
    """This program, regardless of files in the working folder."""
    return [sys.executable, "-P", "-m", "bridle"]


def lasting_flags(options: SessionOptions, *, without: Collection[str] = ()) -> list[str]:
    """The flags that also apply when the conversation is resumed."""
    return flags_of(options, without=(*_PLACE, *_ONCE, *without))


def _session(options: SessionOptions, env: Mapping[str, str]) -> records.Facts:
    prompt, cwd = options.prompt.strip(), os.getcwd()
    flags = flags_of(options, without=_PLACE)
    if options.resume is True:
        raise UsageError("--bg with --resume needs the id of a conversation: --resume <id>")
    wanted = options.resumed_id
    if not options.continues:
        facts = session_facts(options.session_id or new_uuid(), flags=flags, prompt=prompt, begins=True)
    else:
        from bridle.transcripts import resume

        from_path = (
            resume.find(wanted, cwd, env)
            if wanted is not None
            else resume.newest(cwd, env, interactive=True, without=records.conversations(config_home(env)))
        )
        if from_path is None:
            raise UsageError("no conversation in this folder to continue")
        found = os.path.basename(from_path).removesuffix(".jsonl")
        facts = session_facts(found, flags=flags, prompt=prompt)
        if options.fork_session:
            fresh = options.session_id or new_uuid()
            at = facts["argv"].index("--resume") + 2
            facts["argv"][at:at] = ["--fork-session", "--session-id", fresh]
            facts["sessionId"] = fresh
    if options.name is not None:
        at = len(program())
        facts["argv"][at:at] = [f"--name={options.name}"]
    return {**facts, "flags": lasting_flags(options)}


def _command(command: str, env: Mapping[str, str]) -> records.Facts:
    if not command.strip():
        raise UsageError("--exec needs a command: --bg --exec 'make test'")
    shell = env.get("SHELL") or "/bin/sh"
    return {"kind": "shell", "argv": [shell, "-c", command], "prompt": command}


def _window() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return 40, 120
    return size.lines or 40, size.columns or 120


def _started(facts: records.Facts) -> str:
    job = facts["id"]
    return (
        f"Started {job} in the background.\n"
        f"  bridle attach {job}   open it in this terminal\n"
        f"  bridle logs {job}     print its output\n"
        f"  bridle stop {job}     stop it\n"
    )

"""Runs the session of an attempt with another bridle program, so that two versions can be compared."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.frontends.fleet.records import Assignment, FailureKind
from bridle.frontends.fleet.session_run import SessionEnd, session_options
from bridle.frontends.fleet.workspace import AttemptError
from bridle.host.process import run
from bridle.host.reaper import Reaper
from bridle.types.text import one_line

_MOST_OUTPUT = 64 * 1024 * 1024
_KINDS: Mapping[str, FailureKind] = {"error_max_turns": "turns", "error_max_budget_usd": "budget"}


async def run_program(work: Assignment, folder: str, env: Mapping[str, str]) -> SessionEnd:
    """Run `bridle -p` of another installation in a work folder.

    Raises:
        AttemptError: there is no such program, or what it prints is no result.
    """
    task = work.task
    if not os.path.isabs(task.program) or not os.access(task.program, os.X_OK):
        raise AttemptError("setup", f"{task.program} is not a program: name the bridle of an installation")
    options = session_options(work)
    argv = [
        task.program,
        "-p",
        "--output-format",
        "json",
        "--permission-mode",
        options.permission_mode or "default",
    ]
    flags = {
        "--model": options.model,
        "--max-budget-usd": f"{options.max_budget_usd:g}" if options.max_budget_usd else None,
        "--max-turns": str(options.max_turns) if options.max_turns else None,
        "--append-system-prompt": options.append_system_prompt,
        "--settings": options.settings,
    }
    argv += [word for flag, value in flags.items() if value for word in (flag, value)]
    argv += ["--", task.prompt]
    reaper = Reaper()
    try:
        done = await run(
            argv, cwd=folder, env=env, timeout=task.timeout or work.options.timeout, limit=_MOST_OUTPUT,
            reaper=reaper,
        )  # fmt: skip
    except OSError as error:
        raise AttemptError("setup", f"can't run {task.program}: {error.strerror}") from error
    finally:
        reaper.close()
    return _end(done.stdout, done.stderr, done.code)


def _end(stdout: bytes, stderr: bytes, code: int) -> SessionEnd:
    try:
        frame: Any = msgspec.json.decode(stdout)
    except msgspec.DecodeError as error:
        said = one_line(stderr.decode(errors="replace"), 300) or f"exit code {code}"
        raise AttemptError("session", f"the program gave no result: {said}") from error
    if not isinstance(frame, dict) or frame.get("type") != "result":
        raise AttemptError("session", "the program gave no result")
    usage: dict[str, Any] = frame.get("usage") or {}
    is_error = bool(frame.get("is_error")) or frame.get("subtype") != "success"
    message = "; ".join(frame.get("errors") or ()) or str(frame.get("result") or frame.get("subtype"))
    return SessionEnd(
        kind=_KINDS.get(str(frame.get("subtype")), "session") if is_error else "",
        message=one_line(message, 500) if is_error else "",
        answer=str(frame.get("result") or ""),
        output=frame.get("structured_output"),
        cost=float(frame.get("total_cost_usd") or 0),
        tokens=sum(int(usage.get(f"{name}_tokens") or 0) for name in ("input", "output", "cache_read_input")),
        steps=int(frame.get("num_turns") or 0),
        session=str(frame.get("session_id") or ""),
    )

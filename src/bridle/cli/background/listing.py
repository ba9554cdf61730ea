"""`bridle agents`: every session of this user that runs, and with --all those that have ended."""

import os
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.background.job_lookup import title_of
from bridle.cli.background.launch_settings import launch_settings
from bridle.cli.background.session_entries import age, public_entries, sessions
from bridle.cli.options import session_options
from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.cli.subcommands.sessions import PASSED_ON
from bridle.types.visible import visible_line

_PASSED_ON = tuple(name.lstrip("-") for name in PASSED_ON)


def run_agents(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """List sessions: on a screen where there is one, as a table or as JSON elsewhere.

    Raises:
        UsageError: background sessions are turned off.
    """
    place, shows_all = given.text("cwd"), given.on("all")
    folder = None if place is None else os.path.realpath(place)
    allowed = launch_settings(env, flag=given.text("settings"))
    if given.on("json"):
        entries = public_entries(sessions(env, cwd=folder, ended=shows_all))
        return say(f"{msgspec.json.format(msgspec.json.encode(entries), indent=2).decode()}\n")
    if os.isatty(0) and os.isatty(1):
        from bridle.cli.background.session_list import run_session_list

        return run_session_list(
            session_options(given.only(*_PASSED_ON)), env, allowed, cwd=folder, ended=shows_all
        )
    return say(_table(sessions(env, cwd=folder, ended=True), shows_all=shows_all))


def _table(entries: list[dict[str, Any]], *, shows_all: bool) -> str:
    live = [entry for entry in entries if "pid" in entry]
    shown = entries if shows_all else live
    rows = [_row(entry) for entry in shown]
    hidden = len(entries) - len(shown)
    if hidden:
        rows.append(f"{hidden} ended: bridle agents --all shows them.")
    nothing = 'No sessions are running. Start one in the background with: bridle --bg "prompt"'
    return "".join(f"{visible_line(row)}\n" for row in rows or [nothing])


def _row(entry: dict[str, Any]) -> str:
    state = str(entry.get("state") or entry.get("status") or "")
    waits = f" (waiting for {entry['waitingFor']})" if entry.get("waitingFor") else ""
    title = title_of({**entry, "cwd": ""})
    name = f"  {title}" if title else ""
    job = str(entry.get("id") or "terminal")
    return f"{job:8}  {state:8} {age(entry):>4}  {entry['cwd']}{name}{waits}"

"""`bridle agents`: every session of this user that runs, and with --all those that have ended."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bridle.cli.args import Args, parse
from bridle.cli.background.entries import age, sessions, told
from bridle.cli.background.finding import title_of
from bridle.cli.background.permission import means
from bridle.cli.options import session_options
from bridle.cli.say import say
from bridle.types.errors import UsageError
from bridle.types.visible import visible_line

_PASSED_ON = (
    "permission-mode", "model", "effort", "agent", "settings", "add-dir", "plugin-dir", "mcp-config",
    "dangerously-skip-permissions",
)  # fmt: skip


def run_agents(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """List sessions: on a screen where there is one, as a table or as JSON elsewhere.

    Raises:
        UsageError: the words are off, or background sessions are turned off.
    """
    words, folder, args = _read(argv)
    given = means(env, flag=args.text("settings"))
    shows_all = "--all" in words
    if "--json" in words:
        entries = told(sessions(env, cwd=folder, ended=shows_all))
        return say(f"{msgspec.json.format(msgspec.json.encode(entries), indent=2).decode()}\n")
    if os.isatty(0) and os.isatty(1):
        from bridle.cli.background.board import run_board

        return run_board(session_options(args), env, given, cwd=folder, ended=shows_all)
    return say(_table(sessions(env, cwd=folder, ended=True), shows_all=shows_all))


def _read(argv: Sequence[str]) -> tuple[set[str], str | None, Args]:
    words: set[str] = set()
    folder: str | None = None
    rest: list[str] = []
    left = list(argv)
    while left:
        word = left.pop(0)
        if word in ("--json", "--all"):
            words.add(word)
        elif word == "--cwd" or word.startswith("--cwd="):
            _, equals, value = word.partition("=")
            if not equals and not left:
                raise UsageError("option '--cwd' needs a value: --cwd <folder>")
            folder = os.path.realpath(value if equals else left.pop(0))
        else:
            rest.append(word)
    args = parse(rest)
    unknown = [key for key in args.values if key not in _PASSED_ON]
    if unknown or args.words:
        odd = f"--{unknown[0]}" if unknown else args.words[0]
        raise UsageError(f"cannot understand 'bridle agents {odd}'; see bridle --help")
    return words, folder, args


def _table(entries: list[dict[str, Any]], *, shows_all: bool) -> str:
    live = [entry for entry in entries if "pid" in entry]
    shown = entries if shows_all else live
    rows = [_row(entry) for entry in shown]
    hidden = len(entries) - len(shown)
    if hidden:
        rows.append(f"{hidden} ended: bridle agents --all shows them.")
    nothing = 'No session runs. bridle --bg "prompt" starts one in the background.'
    return "".join(f"{visible_line(row)}\n" for row in rows or [nothing])


def _row(entry: dict[str, Any]) -> str:
    state = str(entry.get("state") or entry.get("status") or "")
    waits = f" (waits for {entry['waitingFor']})" if entry.get("waitingFor") else ""
    title = title_of({**entry, "cwd": ""})
    name = f"  {title}" if title else ""
    job = str(entry.get("id") or "terminal")
    return f"{job:8}  {state:8} {age(entry):>4}  {entry['cwd']}{name}{waits}"

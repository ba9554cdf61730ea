"""`--worktree --tmux`: the session begins in its work tree inside a tmux session of that name."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct

from bridle.cli.args import Args
from bridle.features.teams.launch import OF_THE_PANE
from bridle.host.files import read_bytes, write_atomic
from bridle.host.panes.selection import is_iterm
from bridle.host.paths import bridle_dir
from bridle.host.programs import find_program
from bridle.types.errors import UsageError
from bridle.types.ids import new_uuid

_LARGEST = 16 * 1024 * 1024
_STALE = 60.0


class Start(Struct, frozen=True):
    """What was asked for, on its way into tmux: its server has an environment of its own."""

    argv: tuple[str, ...]
    env: dict[str, str]


def run_in_tmux(args: Args, env: Mapping[str, str]) -> int:
    """Show the tmux session of a work tree; an existing one is reused.

    Raises:
        UsageError: that cannot be done.
    """
    tmux = _program(args, env)
    name = args.text("worktree") or f"tree-{new_uuid()[:8]}"
    session = f"bridle-{re.sub('[^A-Za-z0-9_-]', '-', name).strip('-')[:60]}"
    inside = bool(env.get("TMUX"))
    if _run(tmux, "has-session", "-t", f"={session}").returncode != 0:
        path = _hand_over(_inside(args, name), env)
        program = (sys.executable, "-P", "-m", "bridle", "--handed-over", path)
        made = _run(tmux, "new-session", "-d", "-s", session, "-c", os.getcwd(), *program)
        if made.returncode != 0:
            os.unlink(path)
            said = made.stderr.decode(errors="replace").strip()
            raise UsageError(f"--tmux: tmux could not start a session ({said[:200]})")
    if inside:
        return _run(tmux, "switch-client", "-t", f"={session}").returncode
    control = ("-CC",) if is_iterm(env) and args.text("tmux") != "classic" else ()
    os.execv(tmux, [tmux, *control, "attach-session", "-t", f"={session}"])


def take_over(argv: Sequence[str]) -> tuple[str, ...]:
    """The command line that was handed over, with the environment that belongs to it.

    Raises:
        UsageError: nothing was.
    """
    try:
        (path,) = argv
        data = read_bytes(path, _LARGEST)
        os.unlink(path)
        start = msgspec.json.decode(data, type=Start)
    except (OSError, ValueError) as error:
        raise UsageError("--handed-over is internal: only --tmux uses it") from error
    own = {name: os.environ[name] for name in OF_THE_PANE if name in os.environ}
    os.environ.clear()
    os.environ.update({**start.env, **own})
    return start.argv


def _program(args: Args, env: Mapping[str, str]) -> str:
    if not args.has("worktree"):
        raise UsageError("--tmux shows a work tree: add --worktree")
    if (found := find_program("tmux", env, writable=(os.getcwd(),))) is None:
        raise UsageError("--tmux: tmux is not installed")
    return found


def _hand_over(argv: tuple[str, ...], env: Mapping[str, str]) -> str:
    """Keep the start in a file that only this user can read, and that goes when it is read."""
    folder = os.path.join(bridle_dir(env), "starts")
    _sweep(folder)
    path = os.path.join(folder, f"{new_uuid()}.json")
    write_atomic(path, msgspec.json.encode(Start(argv, dict(env))), mode=0o600)
    return path


def _sweep(folder: str) -> None:
    """Remove what was handed over to sessions that never began."""
    for entry in os.scandir(folder) if os.path.isdir(folder) else ():
        try:
            if time.time() - entry.stat().st_mtime > _STALE:
                os.unlink(entry.path)
        except FileNotFoundError:
            continue  # It was taken over in this moment.


def _inside(args: Args, name: str) -> tuple[str, ...]:
    """The command line of the session inside: the same, with the name of its work tree."""
    words: list[str] = [f"--worktree={name}"]
    for key, value in args.values.items():
        match value:
            case _ if key in ("tmux", "worktree"):
                pass
            case True:
                words.append(f"--{key}")
            case str():
                words.append(f"--{key}={value}")
            case list():
                words += (f"--{key}={each}" for each in value)
            case _:
                pass
    return (*words, "--", *args.words)


def _run(*words: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False)

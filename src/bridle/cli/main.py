"""From the command line to an exit code."""

import os
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bridle.cli.args import Args, parse
from bridle.cli.say import say
from bridle.types.errors import BridleError, UsageError

if TYPE_CHECKING:
    from bridle.frontends.tui.first_frame import FirstFrame

SUBCOMMANDS = (
    "auth", "auto-mode", "config", "debug", "doctor", "hooks", "local", "mcp", "merge", "models", "packages",
    "plugin", "plugins", "policy",
    "rc", "record", "remote", "remote-control", "replay", "usage",
)  # fmt: skip
_BACKGROUND = ("agents", "attach", "daemon", "kill", "logs", "respawn", "rm", "stop")
_LATER = (
    "gateway", "import", "install", "project", "self-hosted-runner",
    "setup-token", "ultrareview", "update",
)  # fmt: skip


def run(argv: Sequence[str], frame: "FirstFrame | None" = None) -> int:
    """Run the program; every fault that a person can mend is one line on standard error.

    `frame` is a prompt that is on the screen already.
    """
    env = os.environ
    _occupy_standard_streams()
    try:
        return _dispatch(argv, env, frame)
    except BridleError as error:
        _complain(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # The top of the program: what nobody foresaw is a defect, and still one line.
        if env.get("BRIDLE_DEBUG"):
            raise
        _complain(f"error: bridle has a defect: {_innermost(error)} (set BRIDLE_DEBUG=1 to see where)")
        return 1


def _dispatch(argv: Sequence[str], env: Mapping[str, str], frame: "FirstFrame | None") -> int:
    if argv and argv[0] == "auto-mode":
        from bridle.cli.auto_mode import run_auto_mode

        return run_auto_mode(argv[1:], env)
    if argv and argv[0] == "usage":
        from bridle.cli.usage import run_usage

        return run_usage(argv[1:], env)
    if argv and argv[0] == "doctor":
        from bridle.cli.doctor import run_doctor

        return run_doctor(argv[1:], env)
    if argv and argv[0] == "hooks":
        from bridle.cli.hooks import run_hooks

        return run_hooks(argv[1:], env)
    if argv and argv[0] == "trust":
        from bridle.cli.trust import run_trust

        return run_trust(argv[1:], env)
    if argv and argv[0] == "policy":
        from bridle.cli.policy import run_policy

        return run_policy(argv[1:], env)
    if argv and argv[0] == "debug":
        from bridle.cli.debug import run_debug

        return run_debug(argv[1:], env)
    if argv and argv[0] == "mcp":
        from bridle.cli.mcp import run_mcp

        return run_mcp(argv[1:], env)
    if argv and argv[0] == "merge":
        from bridle.cli.merge import run_merge

        return run_merge(argv[1:], env)
    if argv and argv[0] in ("plugin", "plugins"):
        from bridle.cli.plugin import run_plugin

        return run_plugin(argv[1:], env)
    if argv and argv[0] == "packages":
        from bridle.cli.packages import run_packages

        return run_packages(argv[1:], env)
    if argv and argv[0] == "models":
        from bridle.cli.models import run_models

        return run_models(argv[1:], env)
    if argv and argv[0] == "auth":
        from bridle.cli.auth import run_auth

        return run_auth(argv[1:], env)
    if argv and argv[0] == "local":
        from bridle.cli.local import run_local

        return run_local(argv[1:], env)
    if argv and argv[0] in ("rc", "remote", "remote-control"):
        from bridle.cli.remotes import run_elsewhere

        return run_elsewhere(argv, env)
    if argv and argv[0] in ("record", "replay"):
        from bridle.cli.record import run_record

        return run_record(argv, env)
    if argv and argv[0] in ("--mcp-cli", "--teammate", "--handed-over"):
        return _run_started(argv, env)
    if argv and argv[0] in SUBCOMMANDS:
        from bridle.cli.config import run_config

        return run_config(argv[1:], env)
    if argv and argv[0] in _BACKGROUND:
        return _look_after_jobs(argv, env)
    if argv and argv[0] in _LATER:
        raise UsageError(f"'bridle {argv[0]}' is not part of this version of bridle")
    args = parse(argv)
    if args.on("help"):
        from bridle.cli.help import text

        return say(text())
    if args.on("version"):
        from bridle.version import COMPATIBLE_WITH, __version__

        return say(f"{COMPATIBLE_WITH} (bridle {__version__})\n")
    if args.on("background") or args.has("exec"):
        return _start_in_background(args, env)
    if not is_headless(args):
        return _talk(args, env, frame)
    from bridle.cli.bytecode import compile_once
    from bridle.cli.print_mode import run_print

    code = run_print(args, env)
    compile_once()
    return code


def _look_after_jobs(argv: Sequence[str], env: Mapping[str, str]) -> int:
    if argv[0] == "agents":
        from bridle.cli.background.listing import run_agents

        return run_agents(argv[1:], env)
    from bridle.cli.background.verbs import run_verb

    return run_verb(argv[0], argv[1:], env)


def _start_in_background(args: Args, env: Mapping[str, str]) -> int:
    if not args.on("background"):
        raise UsageError("--exec runs a command in the background: add --bg")
    from bridle.cli.background.launching import run_in_background

    return run_in_background(args, env)


def _run_started(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """What sessions start by themselves."""
    match argv[0]:
        case "--teammate":
            from bridle.cli.teammate import run_teammate

            return run_teammate(argv[1:], env)
        case "--handed-over":
            from bridle.cli.tmux_session import take_over

            return _dispatch(take_over(argv[1:]), env, None)
        case _:
            from bridle.cli.mcp_automation import run_automation

            return run_automation(argv[1:], env)


def _occupy_standard_streams() -> None:
    """A standard stream that is closed is a number that the next file gets, and then holds our output."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def is_headless(args: Args) -> bool:
    """Print mode is asked for by name, by streaming formats, or by a pipe on either side."""
    asked = args.on("print") or args.on("init-only") or args.text("output-format") == "stream-json"
    return asked or not (os.isatty(0) and os.isatty(1))


def _talk(args: Args, env: Mapping[str, str], frame: "FirstFrame | None") -> int:
    if args.has("tmux"):
        from bridle.cli.tmux_session import run_in_tmux

        return run_in_tmux(args, env)
    if len(args.words) == 1 and "BRIDLE_JOB" not in env:
        _check_spelling(args.words[0])
    from bridle.cli.interactive import run_interactive

    return run_interactive(args, env, frame)


def _check_spelling(word: str) -> None:
    from difflib import get_close_matches

    if close := get_close_matches(word, (*SUBCOMMANDS, *_BACKGROUND, *_LATER), n=1, cutoff=0.7):
        raise UsageError(f"there is no command '{word}': did you mean 'bridle {close[0]}'?")


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")


def _innermost(error: BaseException) -> str:
    """The fault inside the groups that concurrent work wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"

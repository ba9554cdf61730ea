"""From the command line to an exit code."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NoReturn

from bridle.cli.args import Args, parse
from bridle.cli.flags import ALIASES, SUBCOMMANDS
from bridle.cli.say import say
from bridle.host.stdio import complain, guard_terminals
from bridle.types.errors import BridleError, UsageError

if TYPE_CHECKING:
    from bridle.frontends.tui.first_frame import FirstFrame

_INTERNAL = (
    "--chrome-native-host", "--complete", "--fleet-worker", "--mcp-cli", "--record-sound", "--teammate",
    "--transcribe",
)  # fmt: skip
"""Subcommands that sessions and browsers start, or that are experiments."""
_LATER = ("assistant", "open", "self-hosted-runner", "server", "ssh")
"""Commands that other programs of this surface have."""
_MOST_WORDS_OF_A_COMMAND = 3


def run(argv: Sequence[str], frame: "FirstFrame | None" = None) -> int:
    """Run the program; every error that a person can fix is one line on standard error.

    `frame` is a prompt that is on the screen already.
    """
    env = os.environ
    _occupy_standard_streams()
    guard_terminals()
    try:
        return _dispatch(argv, env, frame)
    except BridleError as error:
        complain(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    except Exception as error:
        # The top of the program: an unexpected exception is a defect, and still one line.
        # Quick answers need no more than this file.
        from bridle.types.variables import is_on

        if is_on(env, "BRIDLE_DEBUG"):
            raise
        complain(
            f"error: internal error: {_innermost(error)}. Set BRIDLE_DEBUG=1 for a traceback, and "
            "please report it."
        )
        return 1


def _dispatch(argv: Sequence[str], env: Mapping[str, str], frame: "FirstFrame | None") -> int:
    verb = argv[0] if argv else ""
    if verb in SUBCOMMANDS or verb in ALIASES or verb in _INTERNAL:
        from bridle.cli.subcommands.parser import run_subcommand

        return run_subcommand(argv, env)
    if verb == "--handed-over":
        from bridle.cli.terminal.tmux import take_over

        return _dispatch(take_over(argv[1:]), env, None)
    if verb == "--ripgrep":
        _become_ripgrep(argv[1:], env)
    if verb == "--dump-system-prompt":
        from bridle.cli.verbs.prompt_cost import print_system_prompt

        return print_system_prompt(argv[1:], env)
    if verb in _LATER:
        raise UsageError(f"'bridle {verb}' is not part of this version of bridle")
    if verb.lower().startswith("claude-cli:"):
        from bridle.cli.terminal.links import open_link

        return open_link(verb, env)
    if verb.startswith(("cc://", "cc+unix://")):
        raise UsageError(
            f"addresses such as {verb.partition('//')[0]}// are not part of this version of bridle"
        )
    args = parse(argv)
    if args.on("help"):
        from bridle.cli.help import text

        return say(text())
    if args.on("version"):
        from bridle.version import version_line

        return say(version_line(for_people=os.isatty(1)))
    if args.on("background") or args.has("exec"):
        return _start_in_background(args, env)
    if args.words and not args.on("print") and "BRIDLE_JOB" not in env:
        _check_spelling(args.words)
    if not is_headless(args):
        return _talk(args, env, frame)
    from bridle.cli.bytecode import renew_image
    from bridle.cli.headless.print_mode import run_print
    from bridle.cli.options import session_options

    code = run_print(session_options(args), env)
    renew_image()
    return code


def _start_in_background(args: Args, env: Mapping[str, str]) -> int:
    if not args.on("background"):
        raise UsageError("--exec runs a command in the background: add --bg")
    from bridle.cli.background.job_start import run_in_background

    return run_in_background(args, env)


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
        from bridle.cli.terminal.tmux import run_in_tmux

        return run_in_tmux(args, env)
    from bridle.cli.terminal.interactive import run_interactive

    return run_interactive(args, env, frame)


def _check_spelling(words: Sequence[str]) -> None:
    """A mistyped command is no prompt, in a pipe as little as at a terminal."""
    word = words[0]
    if " " in word or len(words) > _MOST_WORDS_OF_A_COMMAND:
        return
    from bridle.types.nearest import did_you_mean

    if hint := did_you_mean(word, (*SUBCOMMANDS, *ALIASES), prefix="bridle "):
        raise UsageError(f"unknown command {word!r}{hint}")


def _become_ripgrep(words: Sequence[str], env: Mapping[str, str]) -> NoReturn:
    """Run the program that searches files, with these words and in place of this one."""
    from bridle.host.ripgrep import search_command, search_environment

    command = search_command(env, writable=(os.getcwd(),))
    os.execve(command[0], [*command, *words], search_environment(env))


def _innermost(error: BaseException) -> str:
    """The fault inside the groups that concurrent work wraps it in."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"

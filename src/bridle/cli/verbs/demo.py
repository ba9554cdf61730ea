"""`bridle demo`: watch the offline model fix a small project, without a key and without a network."""

import difflib
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.cli.args import Args
from bridle.cli.main import is_headless
from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.options import SessionOptions
from bridle.host.paths import config_home
from bridle.types.errors import UsageError

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_SAMPLE = os.path.join("examples", "broken-calculator")
_PROMPT = "fix the failing test"
_TESTS = "Bash(python3 -B -m unittest:*)"
_TAKEN_OVER = ("theme", "axScreenReader", "prefersReducedMotion", "editorMode", "syntaxHighlightingDisabled")
"""Settings of the user that a demo looks and feels with."""
_ABOUT = (
    "This is a copy of a small project with a failing test. The model is a built-in planner, not a language"
    " model: it needs no key and no network, and only fixes small bugs."
)
_FIRST = f'Press enter to send "{_PROMPT}". bridle asks before it changes a file or runs a command.'


def run_demo(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Open a copy of the sample project in the terminal, or print the steps where there is none.

    Raises:
        UsageError: the sample project is not installed.
    """
    sample = _sample()
    program = _own_name()
    look = _user_look(env)
    with tempfile.TemporaryDirectory(prefix="bridle-demo-") as work:
        project = os.path.join(work, "broken-calculator")
        shutil.copytree(sample, project, ignore=shutil.ignore_patterns("__pycache__", "README.md"))
        _enter(work, project, look)
        printed = given.on("print") or is_headless(Args({}, ()))
        try:
            code = _print_steps() if printed else _open_terminal()
        finally:
            os.chdir(os.path.dirname(work))
        say(_farewell(_changes(sample, project), program, printed=printed))
    return code


def _open_terminal() -> int:
    from bridle.cli.start import Start
    from bridle.cli.terminal.session import run_in_terminal
    from bridle.frontends.tui.first_frame import paint_first_frame

    start = Start(paint_first_frame())
    options = SessionOptions(model="offline", draft=_PROMPT, no_session_persistence=True, interactive=True)
    try:
        return run_in_terminal(options, os.environ, start)
    finally:
        start.give_up()


def _print_steps() -> int:
    from bridle.cli.headless.print_mode import run_print

    say(
        f"{_ABOUT}\n\n"
        f"$ bridle -p --verbose --model offline --permission-mode acceptEdits"
        f' --allowedTools "{_TESTS}" "{_PROMPT}"\n\n'
    )
    options = SessionOptions(
        prompt=_PROMPT,
        print_mode=True,
        verbose=True,
        model="offline",
        permission_mode="acceptEdits",
        allowed_tools=(_TESTS,),
        no_session_persistence=True,
    )
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)  # What is piped to the demo is no part of the prompt.
    return run_print(options, os.environ)


def _enter(work: str, project: str, look: Mapping[str, Any]) -> None:
    """Work in the copy, with a home of its own: nothing of the user's is read or changed."""
    home = os.path.join(work, "home")
    os.makedirs(home)
    settings = {**look, "companyAnnouncements": [_ABOUT, _FIRST]}
    with open(os.path.join(home, "settings.json"), "wb") as file:
        file.write(msgspec.json.encode(settings))
    # The Python that runs bridle comes first: it can run the tests.
    path = f"{os.path.dirname(sys.executable)}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    os.environ.update(CLAUDE_CONFIG_DIR=home, BRIDLE_TRUST_FOLDER=project, PATH=path)
    os.chdir(project)


def _sample() -> str:
    """The sample project: in the package, or beside its sources in a checkout."""
    for place in (_PACKAGE, os.path.dirname(os.path.dirname(_PACKAGE))):
        if os.path.isdir(found := os.path.join(place, _SAMPLE)):
            return found
    raise UsageError("the sample project is missing from this installation; reinstall bridle")


def _user_look(env: Mapping[str, str]) -> dict[str, Any]:
    try:
        with open(os.path.join(config_home(env), "settings.json"), "rb") as file:
            settings = msgspec.json.decode(file.read(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError):
        return {}  # A demo also runs where the settings are broken.
    return {name: settings[name] for name in _TAKEN_OVER if name in settings}


def _own_name() -> str:
    """How this program is started from any folder."""
    started = os.path.abspath(sys.argv[0])
    if os.path.dirname(started) in os.environ.get("PATH", "").split(os.pathsep):
        return os.path.basename(started)
    return f"{sys.executable} -m bridle" if started.endswith("__main__.py") else started


def _farewell(changes: str, program: str, *, printed: bool) -> str:
    shown = f"\nWhat changed:\n\n{changes}" if changes else "\nNo changes made.\n"
    again = f"\nIn a terminal, `{program} demo` opens the session.\n" if printed else ""
    return (
        f"{shown}{again}\nThe copy was deleted. To work on your own code:\n\n"
        f"    cd your-project\n    {program}\n\n"
        "The first start asks for an API key of any vendor, finds local models, or works offline.\n"
    )


def _changes(sample: str, project: str) -> str:
    lines: list[str] = []
    for name in sorted(os.listdir(sample)):
        new = os.path.join(project, name)
        if not name.endswith(".py") or not os.path.isfile(new):
            continue
        with (
            open(os.path.join(sample, name), encoding="utf-8") as before,
            open(new, encoding="utf-8") as after,
        ):
            lines += difflib.unified_diff(
                before.readlines(), after.readlines(), f"before/{name}", f"after/{name}", n=2
            )
    return "".join(lines)

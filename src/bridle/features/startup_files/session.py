"""What start-up files define in one session, and how it counts for the gate and for commands."""

import os
import os.path
from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from bridle.features.context import FeatureContext
from bridle.host.paths import config_home
from bridle.host.programs import PROGRAMS
from bridle.host.shell import find_bash
from bridle.host.startup.files import Shell
from bridle.host.startup.snapshot import Snapshot, Source, take, write_script
from bridle.permissions.shell.read_only import KNOWN
from bridle.permissions.shell.reading import read_command
from bridle.permissions.shell.shells_comparison import ZSH_WORDS, unlike_bash
from bridle.permissions.system_programs import BUILTINS
from bridle.permissions.word_lists import listed
from bridle.types.services.startup import Startup
from bridle.types.shell import Reading

_KEYWORDS = listed("if then else elif fi case esac for select while until do done in function time coproc")
_ZSH_PLACES = (
    "/bin/zsh",
    "/usr/bin/zsh",
    "/usr/local/bin/zsh",
    "/opt/homebrew/bin/zsh",
    "/opt/local/bin/zsh",
)


class Known(Struct, frozen=True, kw_only=True):
    """What the session knows of the start-up files; the same from the first command to the last."""

    startup: Startup
    front: tuple[str, ...] = ()
    back: tuple[str, ...] = ()

    def environment(self, env: Mapping[str, str]) -> Mapping[str, str]:
        """An environment with the folders of programs that start-up files add."""
        path = env.get("PATH", "")
        there = path.split(os.pathsep)
        front = [folder for folder in self.front if folder not in there]
        back = [folder for folder in self.back if folder not in there]
        if not front and not back:
            return env
        return {**env, "PATH": os.pathsep.join([*front, *([path] if path else []), *back])}

    def read_command(self, command: str, *, cwd: str, home: str) -> Reading:
        """Read a command with the names of start-up files, and for the shell that will run it."""
        reading = read_command(command, cwd=cwd, home=home, startup=self.startup)
        if self.startup.shell != "zsh" or all(part.harmless for part in reading.parts):
            return reading  # What only reads runs in bash, which is what it was judged for.
        why = unlike_bash(command, reading)
        if why is None:
            return reading
        parts = tuple(
            part if part.harmless else replace(part, unclear=part.unclear or why) for part in reading.parts
        )
        return replace(reading, parts=parts)


async def read_startup_files(context: FeatureContext) -> Known | None:
    """Read them, or find what an earlier session has read; None where there is nothing to know."""
    env, home = context.inherited, context.env.get("HOME") or os.path.expanduser("~")
    runner = _chosen_zsh(context.env)
    shell = "zsh" if runner is not None else _login_shell(env)
    program = runner or (_zsh() if shell == "zsh" else find_bash(context.env))
    nothing = Known(startup=Startup(shell="zsh", program=runner)) if runner is not None else None
    if program is None or not os.path.isdir(home):
        return nothing
    outside = _outside(context, home)
    source = Source(
        shell=shell,
        program=program,
        home=home,
        folder=_zsh_folder(env, home, outside),
        env=env,
        storage=os.path.join(config_home(context.env), "shell-snapshots"),
        outside=outside,
    )
    found = await take(source)
    if found is None:
        return nothing
    if found.failure:
        context.warn(
            f"Your start-up files for {shell} were not read: {found.failure}. "
            "Commands run without your aliases and functions."
        )
        return nothing
    return _known(found, source, runner, context)


def _known(found: Snapshot, source: Source, runner: str | None, context: FeatureContext) -> Known | None:
    known = Known(
        startup=Startup(shell="zsh" if runner else "bash", program=runner, options=found.options),
        front=found.front,
        back=found.back,
    )
    path = known.environment(context.env).get("PATH", "")
    aliases = {name: text for name, text in found.aliases.items() if _is_new(name, path)}
    # A function of zsh means something else in bash.
    own = found.functions if found.shell == known.startup.shell else {}
    functions = {name: text for name, text in own.items() if _is_new(name, path)}
    if not aliases and not functions:
        return known
    try:
        script = write_script(source.storage, known.startup.shell, aliases, functions)
    except OSError as error:
        context.warn(
            f"Your aliases and functions cannot be used: {source.storage}: {error.strerror or error}."
        )
        return known
    bodies = {name: text[text.find("{") :] for name, text in functions.items()}
    startup = replace(known.startup, aliases=aliases, functions=bodies, script=script)
    return replace(known, startup=startup)


def _is_new(name: str, path: str) -> bool:
    """Whether nothing else has this name: what the gate knows and names of programs keep their meaning."""
    if name in BUILTINS or name in _KEYWORDS or name in KNOWN or name in ZSH_WORDS:
        return False
    return not any(os.access(os.path.join(folder, name), os.X_OK) for folder in path.split(os.pathsep))


def _chosen_zsh(env: Mapping[str, str]) -> str | None:
    """The zsh that the user wants commands to run in."""
    chosen = env.get("CLAUDE_CODE_SHELL", "")
    return chosen if os.path.basename(chosen) == "zsh" and PROGRAMS.is_safe(chosen) else None


def _login_shell(env: Mapping[str, str]) -> Shell:
    return "zsh" if os.path.basename(env.get("SHELL", "")) == "zsh" and _zsh() else "bash"


def _zsh() -> str | None:
    return next((path for path in _ZSH_PLACES if PROGRAMS.is_safe(path)), None)


def _zsh_folder(env: Mapping[str, str], home: str, outside: tuple[str, ...]) -> str:
    named = env.get("ZDOTDIR", "")
    inside = any(f"{os.path.realpath(named)}/".startswith(f"{each}/") for each in outside)
    return named if os.path.isabs(named) and os.path.isdir(named) and not inside else home


def _outside(context: FeatureContext, home: str) -> tuple[str, ...]:
    """The folders of the session, which have no say in what the user's own files are."""
    roots = {os.path.realpath(root) for root in (context.project, *context.workspace.roots)}
    own = os.path.realpath(home)
    # In a trusted home the start-up files are the user's as everywhere else; the gate protects them.
    return tuple(root for root in roots if not (context.trusted and own == root))

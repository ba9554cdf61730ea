"""Lets the user write the prompt in an editor of their own."""

import asyncio
import os
import shlex
import subprocess
from collections.abc import Mapping
from contextlib import AbstractContextManager

from bridle.host.programs import find_program
from bridle.types.errors import BridleError

_FALLBACKS = ("nano", "vim", "vi")
_LARGEST = 4 << 20
_MOST_LINES = 50
_ABOVE = "# ─── The last answer, for reference: it is not sent ───"
_BELOW = "# ─── Write your prompt below this line ───────────────"
_WAITING = {"code": "--wait", "cursor": "--wait", "windsurf": "--wait", "zed": "--wait", "subl": "--wait"}
"""Graphical editors return at once without their wait option."""


async def edit_outside(
    text: str, *, env: Mapping[str, str], lent: AbstractContextManager[None], suffix: str = ".md"
) -> str:
    """The text as the user left it in `$VISUAL` or `$EDITOR`; `lent` gives the terminal away meanwhile.

    Raises:
        BridleError: there is no editor, it failed, or what it wrote cannot be read.
    """
    command = editor_command(env)
    import tempfile  # It brings much along, and few starts need it.

    with tempfile.TemporaryDirectory(prefix="bridle-prompt-") as folder:
        path = os.path.join(folder, f"prompt{suffix}")
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        with lent:
            code = await asyncio.to_thread(_run, [*command, path], env)
        if code != 0:
            raise BridleError(f"{command[0]} exited with {code}; the prompt is unchanged.")
        return _read(path, command[0])


def with_answer(text: str, answer: str) -> str:
    """The prompt below what the model said last, in lines that `without_answer` takes away."""
    lines = answer.strip().splitlines()
    if not lines:
        return text
    cut = ["# … (earlier lines omitted)"] if len(lines) > _MOST_LINES else []
    said = [f"# {line}".rstrip() for line in lines[-_MOST_LINES:]]
    return "\n".join([_ABOVE, *cut, *said, _BELOW, "", text])


def without_answer(text: str) -> str:
    """What was written below the answer; everything where the mark is gone."""
    _, mark, own = text.rpartition(_BELOW)
    return own.removeprefix("\n").removeprefix("\n") if mark else text


def editor_command(env: Mapping[str, str]) -> list[str]:
    """What to start.

    Raises:
        BridleError: nothing is set and nothing usual is installed.
    """
    for name in ("VISUAL", "EDITOR"):
        if chosen := env.get(name, "").strip():
            try:
                command = shlex.split(chosen)
            except ValueError as error:
                raise BridleError(f"${name} cannot be understood ({error}); set it to a command.") from error
            command[0] = _located(command[0], env)
            wait = _WAITING.get(os.path.basename(command[0]))
            return [*command, wait] if wait and wait not in command else command
    for name in _FALLBACKS:
        if (found := find_program(name, env)) is not None:
            return [found]
    raise BridleError("No editor found; set $VISUAL or $EDITOR.")


def _located(program: str, env: Mapping[str, str]) -> str:
    """The editor by its whole path; a name alone is never looked for in a project.

    Raises:
        BridleError: there is none.
    """
    if os.sep in program:
        return program
    if (found := find_program(program, env)) is None:
        raise BridleError(
            f"{program} cannot be started (not found outside the project); set $EDITOR to another."
        )
    return found


def _run(command: list[str], env: Mapping[str, str]) -> int:
    try:
        return subprocess.run(command, env=dict(env), check=False).returncode
    except OSError as error:
        raise BridleError(
            f"{command[0]} cannot be started ({error.strerror}); set $EDITOR to another."
        ) from error


def _read(path: str, editor: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read(_LARGEST)
    except OSError as error:
        raise BridleError(f"What {editor} wrote cannot be read ({error.strerror}).") from error
    # Editors end a file with a line break that the user did not type.
    return text.removesuffix("\n")

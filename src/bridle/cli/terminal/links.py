"""Links such as claude-cli://open?q=…: a prompt that is typed for the user and never sent for them."""

import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from urllib.parse import parse_qs, urlsplit

from msgspec import Struct

from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.load import load
from bridle.config.options import SessionOptions
from bridle.host.files import make_folders, write_atomic
from bridle.host.paths import display_path
from bridle.host.programs import PROGRAMS, find_program
from bridle.types.errors import UsageError
from bridle.types.visible import visible

SCHEME = "claude-cli"
NOTE = "This prompt comes from a link. Read it before you send it."
_LONGEST = 5_000
_LONGEST_LINK = 40_000
_NAME = "bridle-links"
_HANDLED = f"x-scheme-handler/{SCHEME}"


class Link(Struct, frozen=True):
    """What a link asks for."""

    prompt: str
    folder: str = ""


def read_link(text: str) -> Link:
    """What a link asks for.

    Raises:
        UsageError: it is not a link of this kind, or hides something.
    """
    if len(text) > _LONGEST_LINK:
        raise UsageError(f"the link is longer than {_LONGEST_LINK:,} characters")
    try:
        parts = urlsplit(text)
        fields = parse_qs(parts.query, max_num_fields=10, errors="strict")
    except ValueError as error:
        raise UsageError("the link cannot be read") from error
    if parts.scheme != SCHEME or parts.netloc != "open" or parts.path.strip("/"):
        raise UsageError(f"not a link that bridle opens: use {SCHEME}://open?q=…")
    prompt = fields.get("q", [""])[0].strip()
    folder = fields.get("cwd", [""])[0]
    if len(prompt) > _LONGEST:
        raise UsageError(f"the prompt of the link is longer than {_LONGEST:,} characters")
    if visible(prompt) != prompt or visible(folder) != folder:
        raise UsageError("the link has characters that cannot be seen")
    if prompt.startswith(("!", "/", "#")):
        raise UsageError("a link can fill in a prompt, not a command")
    if folder and not (os.path.isabs(folder) and os.path.isdir(folder)):
        raise UsageError(f"the folder of the link is not here: {folder}")
    return Link(prompt, folder)


def open_link(text: str, env: Mapping[str, str]) -> int:
    """Start a session at this terminal with the prompt of a link typed in; the exit code.

    Raises:
        UsageError: the link cannot be opened, or this is no terminal.
        BridleError: the session could not be begun.
    """
    link = read_link(text)
    if not (os.isatty(0) and os.isatty(1)):
        raise UsageError("links open at a terminal: run bridle links install to have one opened for them")
    os.chdir(link.folder or env.get("HOME") or os.path.expanduser("~"))
    from bridle.cli.start import Start
    from bridle.cli.terminal.session import run_in_terminal
    from bridle.frontends.tui.first_frame import paint_first_frame

    start = Start(paint_first_frame())
    options = SessionOptions(draft=link.prompt, draft_note=NOTE, interactive=True)
    try:
        return run_in_terminal(options, env, start)
    finally:
        start.give_up()


def install(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Have the desktop open links with bridle.

    Raises:
        UsageError: settings forbid it, or it cannot be done here.
        ConfigError: the settings cannot be used.
    """
    del given
    config = load(cwd=os.getcwd(), env=env, flag=None, setting_sources=None)
    if config.settings.disable_deep_link_registration == "disable":
        raise UsageError("settings forbid links (disableDeepLinkRegistration)")
    try:
        path = install_on_mac(env) if sys.platform == "darwin" else install_on_linux(env)
    except OSError as error:
        raise UsageError(f"cannot write {error.filename}: {error.strerror}") from error
    return tell(f"Wrote {display_path(path, env)}", f"Links that begin with {SCHEME}://open open bridle now.")


def uninstall(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Take it back.

    Raises:
        UsageError: it cannot be removed.
    """
    del given
    path = _app(env) if sys.platform == "darwin" else _entry(env)
    if not os.path.exists(path):
        return say("bridle does not open links here.\n")
    try:
        shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
    except OSError as error:
        raise UsageError(f"cannot remove {path}: {error.strerror}") from error
    return say(f"Removed {display_path(path, env)}.\n")


def install_on_linux(env: Mapping[str, str]) -> str:
    path = _entry(env)
    lines = (
        "[Desktop Entry]",
        "Type=Application",
        "Name=bridle",
        "Comment=Opens links to bridle in a terminal",
        f"Exec={' '.join(map(_quoted, _program()))} %u",
        "Terminal=true",
        "NoDisplay=true",
        f"MimeType={_HANDLED};",
    )
    make_folders(os.path.dirname(path), private=False)
    write_atomic(path, ("\n".join(lines) + "\n").encode(), mode=0o644)
    if (tool := find_program("xdg-mime", env)) is None:
        raise UsageError(
            f"wrote {path}, but xdg-mime is missing: install xdg-utils and run "
            f"xdg-mime default {os.path.basename(path)} {_HANDLED}"
        )
    _run(env, tool, "default", os.path.basename(path), _HANDLED)
    return path


def install_on_mac(env: Mapping[str, str]) -> str:
    """An application of AppleScript, because only applications are asked to open links."""
    path = _app(env)
    words = " & space & ".join(f"quoted form of {_apple(word)}" for word in _program())
    script = (
        "on open location link\n"
        f'  tell application "Terminal" to do script ({words} & space & quoted form of link)\n'
        '  tell application "Terminal" to activate\n'
        "end open location\n"
    )
    make_folders(os.path.dirname(path), private=False)
    if (tool := find_program("osacompile", env)) is None:
        raise UsageError("osacompile is missing; it is a part of macOS")
    _run(env, tool, "-o", path, "-e", script)
    about = os.path.join(path, "Contents", "Info.plist")
    with open(about, "rb") as file:
        values = plistlib.load(file)
    values["CFBundleIdentifier"] = "dev.bridle.links"
    values["CFBundleURLTypes"] = [{"CFBundleURLName": "bridle", "CFBundleURLSchemes": [SCHEME]}]
    write_atomic(about, plistlib.dumps(values), mode=0o644)
    return path


def _program() -> tuple[str, ...]:
    return sys.executable, "-P", "-m", "bridle"


def _run(env: Mapping[str, str], *words: str) -> None:
    try:
        done = subprocess.run(
            words,
            capture_output=True,
            check=False,
            timeout=60,
            stdin=subprocess.DEVNULL,
            cwd="/",
            env=PROGRAMS.environment(env),
        )
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{words[0]} does not end") from error
    if done.returncode != 0:
        why = done.stderr.decode(errors="replace").strip()[:300] or f"exit code {done.returncode}"
        raise UsageError(f"{words[0]} failed: {visible(why)}")


def _entry(env: Mapping[str, str]) -> str:
    home = env.get("HOME") or os.path.expanduser("~")
    data = env.get("XDG_DATA_HOME", "")
    base = data if os.path.isabs(data) else os.path.join(home, ".local", "share")
    return os.path.join(base, "applications", f"{_NAME}.desktop")


def _app(env: Mapping[str, str]) -> str:
    return os.path.join(env.get("HOME") or os.path.expanduser("~"), "Applications", "Bridle Links.app")


def _quoted(word: str) -> str:
    """A word of an Exec line, as the Desktop Entry Specification writes it."""
    inner = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word).replace("\\", "\\\\")
    return f'"{inner}"'.replace("%", "%%")


def _apple(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

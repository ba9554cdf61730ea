"""Commands about the terminal: colors, layout, keys."""

import os.path
from collections.abc import Mapping

from bridle.commands.catalog import CATALOG
from bridle.commands.context import CommandContext
from bridle.commands.settings import save
from bridle.config.problems import Problem
from bridle.extensions.themes import CUSTOM, ThemeFile, read_theme
from bridle.host.paths import config_home, display_path
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_KINDS = ("", "-daltonized", "-high-contrast", "-ansi")
_THEMES = ("auto", *(f"{shade}{kind}" for kind in _KINDS for shade in ("dark", "light")))
_MOST_LINES = 20
_TERMINALS = {
    "vscode": (
        "VS Code: open *Preferences: Open Keyboard Shortcuts (JSON)* and add",
        '    { "key": "shift+enter", "command": "workbench.action.terminal.sendSequence",',
        '      "args": { "text": "\\u001b\\r" }, "when": "terminalFocus" }',
    ),
    "Apple_Terminal": (
        "Terminal.app: turn on Settings > Profiles > Keyboard > Use Option as Meta key.",
        "Then option+enter inserts a newline.",
    ),
    "iTerm.app": (
        "iTerm2: turn on Settings > Profiles > Keys > General > Report modifiers using CSI u.",
        "For notifications, allow them in Settings > Profiles > Terminal.",
    ),
    "tmux": (
        "tmux: add to ~/.tmux.conf, then run tmux source-file ~/.tmux.conf",
        "    set -s extended-keys on",
        "    set -as terminal-features '*:extkeys'",
        "    set -g allow-passthrough on",
        "extended-keys enables shift+enter, allow-passthrough enables notifications.",
    ),
    "screen": ("GNU screen does not support shift+enter: use ctrl+j.",),
    "JetBrains-JediTerm": ("JetBrains terminals do not report shift+enter: use ctrl+j or \\ and enter.",),
}
_NO_SETUP = (
    "shift+enter works without setup in terminals with the kitty keyboard protocol: kitty, Ghostty,",
    "WezTerm, foot, Alacritty and others. In tmux, turn on extended-keys: set -s extended-keys on",
)
_EVERYWHERE = "ctrl+j inserts a newline in every terminal."


async def color(arguments: str, context: CommandContext) -> CommandResult:
    """Mark the session, so that one of several windows is found at a glance."""
    known = next(listing.choices for listing in CATALOG if listing.name == "color")
    wanted = arguments.strip().lower()
    if not wanted:
        return Says(f"Colors: {', '.join(known)}.")
    if wanted not in known:
        raise UsageError(f"Unknown color {wanted}. Use one of {', '.join(known)}.")
    session = context.session
    session.note({"type": "agent-color", "agentColor": wanted, "sessionId": session.id})
    return Says(f"Set the session color to {wanted}.")


async def focus(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    current = context.settings.config().settings.view_mode
    await save("viewMode", None if current == "focus" else "focus", context)
    return Shows(view="focus", text=f"Focus view is {'off' if current == 'focus' else 'on'}.")


async def keybindings(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    path = os.path.join(config_home(context.env), "keybindings.json")
    state = "" if os.path.isfile(path) else ", created when you open it with /keybindings at a terminal"
    return Shows(
        view="keybindings",
        arguments=path,
        text=f"Keys: {display_path(path, context.env)}{state}. bridle docs keybindings lists every action.",
    )


async def scroll_speed(arguments: str, context: CommandContext) -> CommandResult:
    if not arguments.isdecimal() or not 1 <= int(arguments) <= _MOST_LINES:
        raise UsageError(f"Use /scroll-speed <lines>, from 1 to {_MOST_LINES}.")
    await save("env.CLAUDE_CODE_SCROLL_SPEED", arguments, context)
    return Says(f"Set the scroll speed to {arguments} lines.")


async def terminal_setup(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    return Says("\n".join((*_TERMINALS.get(_terminal(context.env), _NO_SETUP), _EVERYWHERE)))


async def share(arguments: str, context: CommandContext) -> CommandResult:
    """Open this session to a browser, of a phone or of this machine.

    Raises:
        UsageError: remote control is off.
    """
    command = context.commands.find("remote-control")
    if command is None:
        raise UsageError("Remote control is off (disableRemoteControl), so no browser can join this session.")
    return await command.run(arguments, context)


def _terminal(env: Mapping[str, str]) -> str:
    if env.get("TMUX"):
        return "tmux"
    if env.get("STY"):
        return "screen"
    return env.get("TERM_PROGRAM") or env.get("TERMINAL_EMULATOR", "")


async def theme(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip()
    if not wanted:
        current = context.settings.config().settings.theme or "auto"
        return Shows(view="theme", text=f"The theme is {current}. Themes: {', '.join(complete(context))}.")
    if wanted not in complete(context):
        raise UsageError(f"Unknown theme {wanted}. Use one of {', '.join(complete(context))}.")
    if wanted.startswith(CUSTOM):
        name = wanted.removeprefix(CUSTOM)
        file = os.path.join(config_home(context.env), "themes", f"{name}.json")
        if isinstance(problem := read_theme(ThemeFile(name=name, path=file)), Problem):
            raise UsageError(str(problem))
    await save("theme", None if wanted == "auto" else wanted, context)
    return Shows(view="theme", arguments=wanted, text=f"Set the theme to {wanted}.")


async def layout(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip()
    if wanted not in ("default", "fullscreen"):
        current = context.settings.config().settings.tui or "default"
        return Says(f"The layout is {current}. Use /tui default or /tui fullscreen.")
    await save("tui", wanted, context)
    return Shows(view="tui", arguments=wanted, text=f"Set the layout to {wanted}.")


def complete(context: CommandContext) -> tuple[str, ...]:
    """Themes that can be chosen: the built-in ones and those of the user's files."""
    folder = os.path.join(config_home(context.env), "themes")
    try:
        own = sorted(name.removesuffix(".json") for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        own = []
    return (*_THEMES, *(f"{CUSTOM}{name}" for name in own))

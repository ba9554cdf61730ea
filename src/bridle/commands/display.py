"""Commands about the terminal: colors, layout, keys."""

import os.path

from bridle.commands.catalog import CATALOG
from bridle.commands.context import CommandContext
from bridle.commands.settings import save
from bridle.config.problems import Problem
from bridle.extensions.themes import CUSTOM, ThemeFile, read_theme
from bridle.host.paths import config_home
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import UsageError

_THEMES = ("auto", "dark", "light", "dark-daltonized", "light-daltonized", "dark-ansi", "light-ansi")
_MOST_LINES = 20
_TERMINALS = {
    "vscode": "In the keyboard shortcuts bind shift+enter to workbench.action.terminal.sendSequence with "
    'the text "\\u001b\\r".',
    "Apple_Terminal": "In Settings, Profiles, Keyboard make Option the Meta key; option+enter breaks lines.",
    "iTerm.app": "In Settings, Profiles, Keys choose the kitty protocol, or bind shift+enter to \\n.",
    "tmux": "In tmux.conf: set -s extended-keys on; set -as terminal-features '*:extkeys'; "
    "set -g allow-passthrough on.",
}


async def color(arguments: str, context: CommandContext) -> CommandResult:
    """Mark the session, so that one of several windows is found at a glance."""
    known = next(listing.choices for listing in CATALOG if listing.name == "color")
    wanted = arguments.strip().lower()
    if not wanted:
        return Says(f"Colors: {', '.join(known)}.")
    if wanted not in known:
        raise UsageError(f"There is no color {wanted}: use one of {', '.join(known)}.")
    session = context.session
    session.note({"type": "agent-color", "agentColor": wanted, "sessionId": session.id})
    return Says(f"The color of this session is {wanted}.")


async def focus(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    current = context.settings.config().settings.view_mode
    await save("viewMode", None if current == "focus" else "focus", context)
    return Shows(view="focus", text=f"The focus view is {'off' if current == 'focus' else 'on'}.")


async def keybindings(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    path = os.path.join(config_home(context.env), "keybindings.json")
    state = "is there" if os.path.isfile(path) else "is not there yet"
    return Shows(
        view="keybindings", text=f"Your keys belong in {path}, which {state}; see docs/keybindings.md."
    )


async def scroll_speed(arguments: str, context: CommandContext) -> CommandResult:
    if not arguments.isdecimal() or not 1 <= int(arguments) <= _MOST_LINES:
        raise UsageError(f"Use /scroll-speed with a number of lines from 1 to {_MOST_LINES}.")
    await save("env.CLAUDE_CODE_SCROLL_SPEED", arguments, context)
    return Says(f"The wheel scrolls {arguments} lines.")


async def terminal_setup(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    program = "tmux" if context.env.get("TMUX") else context.env.get("TERM_PROGRAM", "")
    usual = "Ctrl+J breaks a line in every terminal."
    advice = _TERMINALS.get(
        program, "Terminals with the kitty keyboard protocol need no set-up for shift+enter."
    )
    return Says(f"{advice} {usual}")


async def theme(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip()
    if not wanted:
        current = context.settings.config().settings.theme or "auto"
        return Shows(view="theme", text=f"The theme is {current}. Themes: {', '.join(complete(context))}.")
    if wanted not in complete(context):
        raise UsageError(f"There is no theme {wanted}: use one of {', '.join(complete(context))}.")
    if wanted.startswith(CUSTOM):
        name = wanted.removeprefix(CUSTOM)
        file = os.path.join(config_home(context.env), "themes", f"{name}.json")
        if isinstance(problem := read_theme(ThemeFile(name=name, path=file)), Problem):
            raise UsageError(str(problem))
    await save("theme", None if wanted == "auto" else wanted, context)
    return Shows(view="theme", arguments=wanted, text=f"The theme is {wanted}.")


async def layout(arguments: str, context: CommandContext) -> CommandResult:
    wanted = arguments.strip()
    if wanted not in ("default", "fullscreen"):
        current = context.settings.config().settings.tui or "default"
        return Says(f"The layout is {current}. Use /tui default or /tui fullscreen.")
    await save("tui", wanted, context)
    return Shows(view="tui", arguments=wanted, text=f"The layout is {wanted}.")


def complete(context: CommandContext) -> tuple[str, ...]:
    """Themes that can be chosen: the built-in ones and those of the user's files."""
    folder = os.path.join(config_home(context.env), "themes")
    try:
        own = sorted(name.removesuffix(".json") for name in os.listdir(folder) if name.endswith(".json"))
    except OSError:
        own = []
    return (*_THEMES, *(f"{CUSTOM}{name}" for name in own))

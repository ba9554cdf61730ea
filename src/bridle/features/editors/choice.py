"""Chooses the editor that a session connects to."""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from bridle.host.editors import Editor
from bridle.types.errors import UsageError
from bridle.types.variables import is_off, is_on

Choose = Callable[[Sequence[Editor]], Editor | None]
"""Picks one of the editors that run; None while the right one is not there."""

_TERMINALS: Mapping[str, tuple[str, ...]] = {
    "vscode": ("visual studio code", "vs code", "vscode"),
    "cursor": ("cursor",),
    "windsurf": ("windsurf",),
    "zed": ("zed",),
    "kiro": ("kiro",),
    "antigravity": ("antigravity",),
}
"""What TERM_PROGRAM says in the terminals of editors, and what these call themselves."""
_INSIDE: Mapping[str, tuple[str, ...]] = {
    "NVIM": ("neovim", "nvim"),
    "INSIDE_EMACS": ("emacs",),
    "ZED_TERM": ("zed",),
    "VSCODE_GIT_IPC_HANDLE": _TERMINALS["vscode"],
}
"""Variables that the terminals of editors have."""


def wanted_by(env: Mapping[str, str], *, flag: bool, always: bool) -> Choose | None:
    """The editor to connect to at the start; None for none.

    The terminal of an editor names it by its port, or at least tells that it belongs to one. A flag and a
    setting (`always`) do the same from any terminal, and CLAUDE_CODE_AUTO_CONNECT_IDE forces or forbids it.
    """
    if is_off(env, "CLAUDE_CODE_AUTO_CONNECT_IDE") and not flag:
        return None
    port = env.get("CLAUDE_CODE_SSE_PORT", "").strip()
    if port.isdecimal():
        return lambda editors: next((each for each in editors if each.port == int(port)), None)
    forced = is_on(env, "CLAUDE_CODE_AUTO_CONNECT_IDE")
    names = _names_of_editor(env)
    if not (flag or always or forced) and names is None:
        return None
    return lambda editors: only_one(editors) or _only_named(editors, names or ())


def only_one(editors: Sequence[Editor]) -> Editor | None:
    """The editor that has the folder open, where there is exactly one."""
    fitting = [each for each in editors if each.fits]
    return fitting[0] if len(fitting) == 1 else None


def like(editor: Editor) -> Choose:
    """Chooses the same editor, also after it was restarted and listens on another port."""

    def choose(editors: Sequence[Editor]) -> Editor | None:
        if (same := next((each for each in editors if each.port == editor.port), None)) is not None:
            return same
        alike = [each for each in editors if (each.name, each.folders) == (editor.name, editor.folders)]
        return alike[0] if len(alike) == 1 else None

    return choose


def named(text: str, editors: Sequence[Editor]) -> Editor:
    """The editor with this name, start of a name, or port.

    Raises:
        UsageError: none is meant, or more than one.
    """
    meant = text.strip().lower()
    found = [each for each in editors if meant == str(each.port)]
    found = found or [each for each in editors if meant == each.name.lower()]
    found = found or [each for each in editors if each.name.lower().startswith(meant)]
    fitting = [each for each in found if each.fits] or found
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        ports = ", ".join(str(each.port) for each in fitting)
        raise UsageError(f"Several editors are called {text}. Choose one by its port: {ports}.")
    raise UsageError(f"No editor called {text} is running. /ide lists the running editors.")


ConnectionState = Literal["off", "waiting", "connecting", "connected"]
"""The state of the connection to an editor: `waiting` for the right one to appear."""


def _only_named(editors: Sequence[Editor], names: Sequence[str]) -> Editor | None:
    """The one of several with the folder open whose terminal this is."""
    found = [each for each in editors if each.fits and any(name in each.name.lower() for name in names)]
    return found[0] if len(found) == 1 else None


def _names_of_editor(env: Mapping[str, str]) -> tuple[str, ...] | None:
    """How the editor may be called whose terminal this is; None where it is that of none."""
    # An editor may run in the terminal of another: what it sets itself says more.
    inside = next((names for variable, names in _INSIDE.items() if env.get(variable)), None)
    if inside is not None:
        return inside
    if (known := _TERMINALS.get(_word(env, "TERM_PROGRAM"))) is not None:
        return known
    is_other = env.get("TERMINAL_EMULATOR", "").startswith("JetBrains")
    return () if is_other or is_on(env, "ENABLE_IDE_INTEGRATION") else None


def _word(env: Mapping[str, str], name: str) -> str:
    return env.get(name, "").strip().lower()

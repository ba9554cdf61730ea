"""Which panes teammates get, if any."""

from collections.abc import Mapping
from typing import Literal

from bridle.host.panes.iterm import ItermPanes
from bridle.host.panes.pane import PaneFault, Panes
from bridle.host.panes.tmux import TmuxPanes
from bridle.host.programs import find_program

TeammateMode = Literal["in-process", "auto", "tmux", "iterm2"]


async def choose_panes(mode: TeammateMode, env: Mapping[str, str], *, name: str) -> Panes | None:
    """Panes as `mode` wants them, None for none; `name` is that of the team.

    Raises:
        PaneFault: they are wanted by name and cannot be had.
    """
    match mode:
        case "in-process":
            return None
        case "auto":
            return await _whatever_we_are_in(env, name)
        case "tmux":
            return await _tmux(env, name)
        case "iterm2":
            if not is_iterm(env):
                raise PaneFault("this terminal is not iTerm2")
            if not has_program("it2", env):
                raise PaneFault("iTerm2's program it2 is not installed")
            return ItermPanes(env)


def is_iterm(env: Mapping[str, str]) -> bool:
    """Whether we run in a window of iTerm2."""
    return env.get("TERM_PROGRAM") == "iTerm.app" or env.get("LC_TERMINAL") == "iTerm2"


def has_program(name: str, env: Mapping[str, str]) -> bool:
    """Whether a program can be started by its name."""
    return find_program(name, env) is not None


async def _whatever_we_are_in(env: Mapping[str, str], name: str) -> Panes | None:
    if env.get("TMUX"):
        try:
            return await _tmux(env, name)
        except PaneFault:
            return None
    return ItermPanes(env) if is_iterm(env) and has_program("it2", env) else None


async def _tmux(env: Mapping[str, str], name: str) -> Panes:
    panes = TmuxPanes(env, name=name)
    await panes.check()
    return panes

"""What remote clients may ask of a session."""

import re

from bridle.commands.invocation import read_invocation
from bridle.frontends.remote.errors import RequestRefused
from bridle.types.command import Commands, may_call
from bridle.types.permission import Mode
from bridle.types.turn import Prompt

MODES: tuple[Mode, ...] = ("default", "acceptEdits", "plan", "dontAsk")
"""Permission modes that remote clients may choose in any session."""

EFFORT_LEVELS = ("low", "medium", "high", "xhigh", "max")
"""Efforts that they may choose."""

_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:\[\]-]{0,99}")


def check_model(model: str | None) -> None:
    """Refuse models with a vendor: it would decide which service gets the conversation.

    Raises:
        RequestRefused: the name has one, or is none.
    """
    if model is not None and _MODEL.fullmatch(model) is None:
        raise RequestRefused(403, "A model of another vendor can only be chosen where the session runs.")


def check_commands(prompt: Prompt, commands: Commands) -> None:
    """Refuse commands that are for the place where the session runs; it would not run them either.

    Raises:
        RequestRefused: the prompt calls one of those.
    """
    called = read_invocation(prompt, commands)
    for command in () if called is None else called.commands:
        if not may_call(command, prompt.origin):
            raise RequestRefused(403, f"/{command.name} can be used only where the session runs.")

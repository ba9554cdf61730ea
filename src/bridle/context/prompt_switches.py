"""The environment variables that switch parts of the prompt on and off."""

from collections.abc import Mapping

from msgspec import Struct

from bridle.types.variables import is_on


class Switches(Struct, frozen=True, kw_only=True):
    """Each as if the variable stood alone; flags and settings are weighed by the caller."""

    instructions: bool
    """Whether instruction files are read at all."""
    git: bool
    """Whether the prompt speaks of git and the first message shows its status."""
    extra_directories: bool
    """Whether instruction files of additional working directories are read."""
    minimal_prompt: bool


def read_switches(env: Mapping[str, str]) -> Switches:
    """What the variables ask for."""
    return Switches(
        instructions=not is_on(env, "CLAUDE_CODE_DISABLE_CLAUDE_MDS"),
        git=not is_on(env, "CLAUDE_CODE_DISABLE_GIT_INSTRUCTIONS"),
        extra_directories=is_on(env, "CLAUDE_CODE_ADDITIONAL_DIRECTORIES_CLAUDE_MD"),
        minimal_prompt=is_on(env, "CLAUDE_CODE_SIMPLE_SYSTEM_PROMPT"),
    )

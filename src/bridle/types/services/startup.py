"""What the user's start-up files define for shell commands."""

import re
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from bridle.types.services.service import Service

_WORD = re.compile(r"[^\s;|&()<>\"'`$\\{}]+")


class Startup(Struct, frozen=True, kw_only=True):
    """Names that commands can use besides programs, and how a shell learns them."""

    shell: Literal["bash", "zsh"] = "bash"
    """The shell that commands run in which are not known to read only."""
    program: str | None = None
    """Its file, where it is not the usual bash."""
    aliases: Mapping[str, str] = {}
    functions: Mapping[str, str] = {}
    """Each with its body, braces included."""
    options: tuple[str, ...] = ()
    """Of `set -o`, those that change no meaning of a command."""
    script: str = ""
    """The file that defines the names; empty where there are none."""

    def is_used_by(self, command: str) -> bool:
        """Whether a command has a word that is one of the names."""
        words = _WORD.findall(command) if self.script else ()
        return any(word in self.aliases or word in self.functions for word in words)


STARTUP: Service[Startup] = Service("start-up files", missing="This session reads no start-up files.")

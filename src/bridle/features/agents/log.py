"""The log file of an agent, for users and models."""

import os

from bridle.host.files import make_folders
from bridle.types.block import text_of
from bridle.types.event import AssistantReplied, Event, ToolStarted

_SHOWN = 200
_TELLING = ("command", "file_path", "pattern", "url", "query", "description", "path")


class AgentLog:
    """Plain lines: what the agent says, and a line for each call; made with the first of them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._file: int | None = None
        self._broken = False

    def take(self, event: Event) -> None:
        match event:
            case AssistantReplied() if text := text_of(event.message["content"]).strip():
                self.write(f"{text}\n")
            case ToolStarted():
                shown = next((event.input[name] for name in _TELLING if name in event.input), "")
                self.write(f"[{event.tool}: {' '.join(str(shown).split())[:_SHOWN]}]\n")
            case _:
                pass

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def write(self, text: str) -> None:
        """Add text as it is."""
        if self._broken:
            return
        try:
            if self._file is None:
                make_folders(os.path.dirname(self.path), private=True)
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
                self._file = os.open(self.path, flags, 0o600)
            os.write(self._file, text.encode(errors="replace"))
        except OSError:
            # The report comes all the same, and the transcript has everything.
            self._broken = True

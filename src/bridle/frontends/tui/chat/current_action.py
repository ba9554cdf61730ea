"""What happens right now, in a word or two: for the row that says that a turn runs."""

import os.path
import re
from collections.abc import Mapping
from typing import Any

_WORDS: Mapping[str, str] = {
    "Read": "Reading",
    "NotebookRead": "Reading",
    "Grep": "Searching",
    "Glob": "Searching",
    "LS": "Searching",
    "Edit": "Editing",
    "MultiEdit": "Editing",
    "NotebookEdit": "Editing",
    "Write": "Writing",
    "WebFetch": "Fetching a page",
    "WebSearch": "Searching the web",
    "Agent": "Waiting for an agent",
    "Task": "Waiting for an agent",
    "Workflow": "Running a workflow",
    "TaskOutput": "Waiting for output",
    "BashOutput": "Waiting for output",
    "Sleep": "Waiting",
    "Advisor": "Asking for advice",
    "LSP": "Asking the language server",
    "ExitPlanMode": "Planning",
}
_SHELLS = ("Bash", "PowerShell", "Monitor")
_RUNNERS = "npm|pnpm|yarn|bun|cargo|go|make|mvn|gradle|dotnet|mix|rake|docker"
_COMMANDS = (
    (r"\b(pytest|tox|nox|jest|vitest|rspec|phpunit|unittest|ctest)\b", "Running tests"),
    (rf"\b({_RUNNERS}) (run )?(test|check)", "Running tests"),
    (r"\b(pip|uv|npm|pnpm|yarn|apt|apt-get|brew|poetry|bundle) (install|add|sync)", "Installing"),
    (rf"\b({_RUNNERS}) (run )?build|\bmake$", "Building"),
    (r"\b(ruff|eslint|mypy|basedpyright|pyright|flake8|clippy|prettier|tsc)\b", "Checking the code"),
    (r"\bgit (clone|fetch|pull)\b", "Fetching"),
    (r"\bgit push\b", "Pushing"),
    (r"\bgit commit\b", "Committing"),
)
_OPENERS = r"(?:(?:if|while|until|then|do|!)\s+|[{(]\s*|for\s[^;\n]*[;\n]\s*do\s+)*"
"""What stands before the first program of a command: the beginnings of loops and groups."""
_PROGRAM = r"(?:\w+=\S+\s+)*(?:sudo\s+|time\s+|exec\s+|cd\s+\S+\s*&&\s*)*([\w./+-]+)"
_LONGEST = 24


def word_for(tool: str, input: Mapping[str, Any]) -> str:
    """What a call of this tool does, such as `Reading` or `Running tests`."""
    if tool in _SHELLS and isinstance(command := input.get("command"), str):
        return _word_for_command(command)
    if tool.startswith("mcp__"):
        return f"Asking {tool.split('__')[1].removeprefix('plugin_')[:_LONGEST]}"
    return _WORDS.get(tool, "Working")


def _word_for_command(command: str) -> str:
    for pattern, word in _COMMANDS:
        if re.search(pattern, command[:500]):
            return word
    text = command.strip()[:500]
    opened = re.match(_OPENERS, text)
    found = re.match(_PROGRAM, text[opened.end() :] if opened else text)
    name = os.path.basename(found[1]) if found else ""
    return f"Running {name[:_LONGEST]}" if name else "Running a command"


class CurrentAction:
    """Follows a turn: the newest call that runs, else what of the answer arrives."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self.answer = ""
        """What the model does when nothing runs: it writes or thinks."""

    @property
    def word(self) -> str:
        """What happens; empty while nothing is known."""
        return next(reversed(self._calls.values()), self.answer)

    def clear(self) -> None:
        """A turn begins or ends."""
        self._calls, self.answer = {}, ""

    def began(self, call_id: str, tool: str, input: Mapping[str, Any]) -> None:
        """A call runs."""
        self._calls[call_id] = word_for(tool, input)

    def ended(self, call_id: str) -> None:
        """A call is over."""
        self._calls.pop(call_id, None)

"""Files as the planner gets at them: through the tools that the session offers."""

import re
from collections.abc import Generator, Sequence

from bridle.providers.offline.conversation import Conversation, known_text, numbered_text
from bridle.providers.offline.procedure import Call, Plan, Result, Stopped, shorten, use, use_one

Finding = Generator[Plan, tuple[Result, ...], list[str]]


def find_files(conversation: Conversation, pattern: str, *, text: str = "") -> Finding:
    """Paths that match a glob, through Glob or, where that is not offered, the shell.

    Raises:
        Stopped: neither tool is there, or the call was not allowed.
    """
    if "Glob" in conversation.tools or "Bash" not in conversation.tools:
        call = Call("Glob", {"pattern": pattern})
    else:
        call = Call("Bash", {"command": _find_command(pattern), "description": "Find files"})
    result = yield from use_one(call, tools=conversation.tools, text=text)
    if result.is_error:
        raise Stopped(f"Looking for {pattern} failed: {shorten(result.text)}")
    return listed_paths(result.text)


def listed_paths(result: str) -> list[str]:
    """The paths in a listing, without notices."""
    lines = (line.strip().removeprefix("./") for line in result.splitlines())
    return [
        line for line in lines if line and not line.startswith(("(", "<", "No files found", "Found ", "["))
    ]


def read_texts(
    conversation: Conversation, paths: Sequence[str], *, text: str = ""
) -> Generator[Plan, tuple[Result, ...], dict[str, str]]:
    """The texts of files by path, also of those that Read only calls unchanged since they were last shown.

    Raises:
        Stopped: a file cannot be read.
    """
    calls = tuple(Call("Read", {"file_path": path}) for path in paths)
    results = yield from use(calls, tools=conversation.tools, text=text)
    texts: dict[str, str] = {}
    for path, result in zip(paths, results, strict=True):
        if result.is_error:
            raise Stopped(f"Reading {path} failed: {shorten(result.text)}")
        texts[path] = numbered_text(result.text) or known_text(conversation, path) or ""
    return texts


def quoted(word: str) -> str:
    """The word as a shell takes it literally."""
    return word if re.fullmatch(r"[\w./~-]+", word) else "'" + word.replace("'", "'\\''") + "'"


def _find_command(pattern: str) -> str:
    folder, _, name = pattern.rpartition("/")
    folder = folder.removesuffix("**").rstrip("/") or "."
    return f"find {quoted(folder)} -type f -name {quoted(name)} -not -path '*/.*'"

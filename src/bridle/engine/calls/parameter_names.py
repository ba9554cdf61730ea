"""Parameters that models call by the names they have in other harnesses."""

from collections.abc import Collection, Mapping
from typing import Any

from bridle.types.errors import ToolError

_FILE = ("file_path", "notebook_path", "filePath")
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "path": _FILE,
    "file": _FILE,
    "filename": _FILE,
    "absolute_path": _FILE,
    "target_file": _FILE,
    "notebook": ("notebook_path",),
    "old_str": ("old_string",),
    "old_text": ("old_string",),
    "old": ("old_string",),
    "search": ("old_string", "pattern", "query"),
    "find": ("old_string", "pattern"),
    "new_str": ("new_string",),
    "new_text": ("new_string",),
    "new": ("new_string",),
    "replace": ("new_string",),
    "replacement": ("new_string",),
    "cmd": ("command",),
    "script": ("command",),
    "shell_command": ("command",),
    "bash_command": ("command",),
    "text": ("content", "new_source", "message"),
    "file_text": ("content",),
    "contents": ("content",),
    "content": ("new_source", "message"),
    "body": ("content", "message"),
    "source": ("new_source",),
    "query": ("pattern", "question"),
    "regex": ("pattern",),
    "regexp": ("pattern",),
    "search_pattern": ("pattern",),
    "glob_pattern": ("pattern", "glob"),
    "pattern": ("query",),
    "q": ("query",),
    "search_term": ("query", "pattern"),
    "directory": ("path",),
    "dir": ("path",),
    "dir_path": ("path",),
    "folder": ("path",),
    "file_path": ("path", "notebook_path"),
    "include": ("glob",),
    "file_pattern": ("glob",),
    "max_results": ("head_limit",),
    "case_insensitive": ("-i",),
    "ignore_case": ("-i",),
    "background": ("run_in_background",),
    "is_background": ("run_in_background",),
    "timeout_ms": ("timeout",),
    "timeout": ("timeout_ms",),
    "start_line": ("offset",),
    "max_lines": ("limit",),
    "uri": ("url",),
    "link": ("url",),
    "question": ("prompt",),
    "task": ("prompt",),
    "instructions": ("prompt",),
    "agent": ("subagent_type",),
    "agent_type": ("subagent_type",),
    "skill_name": ("skill",),
    "name": ("skill",),
    "arguments": ("args",),
    "recipient": ("to",),
    "id": ("task_id", "taskId"),
    "items": ("todos",),
    "duration": ("seconds",),
}
"""From a name to the parameters that it may stand for, the likeliest first."""
_SPELLED_EXACTLY = "dangerously"
"""What such a parameter does must be asked for by its own name."""


def with_own_names(
    given: Mapping[str, Any], names: Collection[str], required: Collection[str], *, tool: str
) -> Mapping[str, Any]:
    """The input with the names that the tool has; a name that stands for nothing here stays.

    Only a parameter that is not given can be meant by another name.

    Raises:
        ToolError: two names stand for one parameter and say different things.
    """
    if all(name in names for name in given):
        return given
    named: dict[str, Any] = {name: value for name, value in given.items() if name in names}
    for name, value in given.items():
        if name in names:
            continue
        meant = _meant(name, names, required, given)
        if meant in named and named[meant] != value:
            raise ToolError(
                f"InputValidationError: invalid input for {tool}: `{name}` and `{meant}` are the same "
                f"parameter but differ. Give only `{meant}`."
            )
        named[meant] = value
    # The order in which they were written, so that what people are shown reads as it was meant.
    order = [_meant(name, names, required, given) if name not in names else name for name in given]
    return {name: named[name] for name in dict.fromkeys(order)}


def _meant(name: str, names: Collection[str], required: Collection[str], given: Mapping[str, Any]) -> str:
    """The parameter that a name stands for, or the name itself."""
    if name.lower().startswith(_SPELLED_EXACTLY):
        return name
    alike = [each for each in names if _bare(each) == _bare(name)]
    known = _OTHER_NAMES.get(name) or _OTHER_NAMES.get(_snake(name), ())
    candidates = [each for each in (*alike, *known) if each in names]
    # What must be given and is not is meant before anything that may be left out.
    wanted = [each for each in candidates if each in required and each not in given]
    return next(iter((*wanted, *candidates)), name)


def _bare(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")

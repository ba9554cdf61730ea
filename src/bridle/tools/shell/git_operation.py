"""What a command did to a repository or a pull request, for hosts that show it."""

import re
from collections.abc import Iterator
from typing import Any

_RUNS = r"(?:^|[;&|(\n])[ \t]*(?:\w+=\S*[ \t]+)*"
_GIT = re.compile(
    rf"{_RUNS}git(?:[ \t]+(?:-C[ \t]+\S+|--no-pager))*[ \t]+"
    r"(commit|cherry-pick|push|merge|rebase)\b([^;&|\n]*)"
)
_GH = re.compile(rf"{_RUNS}gh[ \t]+pr[ \t]+(create|edit|merge|comment|close|ready)\b([^;&|\n]*)")
_COMMITTED = re.compile(r"^\[[^\]\n]*? ([0-9a-f]{7,40})\] ", re.MULTILINE)
_PUSHED = re.compile(r"^ [ *+=-] ?.*? -> (?:refs/heads/)?(\S+)", re.MULTILINE)
_MERGED = re.compile(r"^(?:Fast-forward|Merge made by)", re.MULTILINE)
_REBASED = re.compile(r"Successfully rebased")
_PULL_REQUEST = re.compile(r"https://[\w.-]+/[\w./-]+/pull/(\d+)")
_OPERAND = re.compile(r"(?<!\S)(?!-)[\"']?([\w./@^~#-]+)[\"']?")
_DONE = {
    "create": "created", "edit": "edited", "merge": "merged", "comment": "commented", "close": "closed",
    "ready": "ready",
}  # fmt: skip


def git_operation(command: str, output: str) -> dict[str, Any] | None:
    """What a command that succeeded says that it did; None for most."""
    if "git" not in command and "gh" not in command:
        return None
    return dict(_found(command, output)) or None


def _found(command: str, output: str) -> Iterator[tuple[str, Any]]:
    for verb, rest in _GIT.findall(command):
        match verb:
            case "commit" | "cherry-pick":
                kind = (
                    "cherry-picked" if verb != "commit" else "amended" if "--amend" in rest else "committed"
                )
                if shas := _COMMITTED.findall(output):
                    yield "commit", {"sha": shas[-1], "kind": kind}
            case "push":
                if branches := _PUSHED.findall(output):
                    yield "push", {"branch": branches[-1]}
            case "merge" | "rebase":
                done = _MERGED if verb == "merge" else _REBASED
                if (ref := _OPERAND.search(rest)) and done.search(output):
                    yield "branch", {"ref": ref[1], "action": "merged" if verb == "merge" else "rebased"}
            case _:
                continue
    for verb, rest in _GH.findall(command):
        named = _PULL_REQUEST.search(output) or _PULL_REQUEST.search(rest)
        number = (
            named[1] if named else next((each for each in _OPERAND.findall(rest) if each.isdecimal()), "")
        )
        if number:
            url = {"url": named[0]} if named else {}
            yield "pr", {"number": int(number), **url, "action": _DONE[verb]}

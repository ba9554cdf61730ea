"""Calls before the gate, in a few words each."""

import os
import os.path
from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, ReadCommand, SessionPosition, prepare, read_command
from bridle.permissions.rules import parse
from bridle.permissions.shell.bulk_decisions import runs_unasked
from bridle.types.permission import Access, Case, Decision, Effect, Mode, ResolvedPath, Rule, RuleSource

CWD = "/srv/project"
HOME = os.path.expanduser("~")
_READERS = ("Read", "Grep", "Glob")


def rules(
    *,
    allow: tuple[str, ...] = (),
    ask: tuple[str, ...] = (),
    deny: tuple[str, ...] = (),
    source: RuleSource = "session",
) -> tuple[Rule, ...]:
    return tuple(
        parse(text, effect, source)
        for effect, texts in ((Effect.ALLOW, allow), (Effect.ASK, ask), (Effect.DENY, deny))
        for text in texts
    )


def standing(
    *,
    cwd: str = CWD,
    start: str | None = None,
    roots: tuple[str, ...] = (),
    home: str = HOME,
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    reader: ReadCommand = read_command,
) -> SessionPosition:
    return SessionPosition(
        rules=weighed,
        mode=mode,
        cwd=cwd,
        start=start or cwd,
        roots=roots,
        home=home,
        config_home=f"{home}/.claude",
        env=dict(os.environ),
        read_command=reader,
    )


def bash_case(
    command: str,
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    *,
    input: Mapping[str, Any] | None = None,
    **where: Any,
) -> Case:
    asked = CallRequest(tool="Bash", input={"command": command, **(input or {})}, subject=command)
    return prepare(asked, standing(weighed=weighed, mode=mode, **where))


def bash(command: str, weighed: tuple[Rule, ...] = (), mode: Mode = "default", **more: Any) -> Decision:
    return decide(bash_case(command, weighed, mode, **more))


def file_call(
    tool: str,
    *spellings: str,
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    roots: tuple[str, ...] = (),
    cwd: str = CWD,
    hook: Decision | None = None,
) -> Decision:
    """A call for a file; further spellings are what it is a link to."""
    path = spellings[0]
    access = Access(reads=(path,)) if tool in _READERS else Access(writes=(path,))
    asked = CallRequest(
        tool=tool,
        input={"file_path": path},
        subject=path,
        read_only=tool in _READERS,
        access=access,
        hook=hook,
    )
    case = prepare(asked, standing(cwd=cwd, start=CWD, roots=roots, weighed=weighed, mode=mode))
    if len(spellings) > 1:
        place = ResolvedPath(os.path.normpath(path), spellings[1:])
        case = msgspec.structs.replace(case, places={**case.places, path: place})
    return decide(case)


def other(
    tool: str,
    *,
    subject: str = "",
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    read_only: bool = False,
    input: Mapping[str, Any] | None = None,
) -> Decision:
    asked = CallRequest(tool=tool, input=input or {}, subject=subject, read_only=read_only)
    return decide(prepare(asked, standing(weighed=weighed, mode=mode)))


def reads_only(command: str, *, cwd: str) -> bool:
    """Whether the gate lets a command run unasked in the default mode, with no rule that allows it."""
    return runs_unasked(
        command, SessionPosition(cwd=cwd, start=cwd, home=HOME, config_home=f"{HOME}/.claude")
    )

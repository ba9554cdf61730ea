"""Calls before the gate, in a few words each."""

import os.path
from collections.abc import Mapping
from typing import Any

from bridle.permissions.policy import decide
from bridle.permissions.rules import parse
from bridle.types.permission import Access, Case, Decision, Effect, Mode, Rule, RuleSource

CWD = "/srv/project"
HOME = os.path.expanduser("~")


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


def bash(command: str, weighed: tuple[Rule, ...] = (), mode: Mode = "default") -> Decision:
    return decide(
        Case(
            tool="Bash",
            input={"command": command},
            subject=command,
            read_only=False,
            rules=weighed,
            mode=mode,
            cwd=CWD,
            roots=(CWD,),
        )
    )


def file_call(
    tool: str,
    *paths: str,
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    roots: tuple[str, ...] = (CWD,),
    cwd: str = CWD,
    hook: Decision | None = None,
) -> Decision:
    reads = tool in ("Read", "Grep", "Glob", "Bash")
    return decide(
        Case(
            tool=tool,
            input={"file_path": paths[0]},
            subject=paths[0],
            read_only=reads,
            access=Access(reads=paths) if reads else Access(writes=paths),
            rules=weighed,
            mode=mode,
            cwd=cwd,
            roots=roots,
            hook=hook,
        )
    )


def other(
    tool: str,
    *,
    subject: str = "",
    weighed: tuple[Rule, ...] = (),
    mode: Mode = "default",
    read_only: bool = False,
    input: Mapping[str, Any] | None = None,
) -> Decision:
    return decide(
        Case(
            tool=tool,
            input=input or {},
            subject=subject,
            read_only=read_only,
            rules=weighed,
            mode=mode,
            cwd=CWD,
            roots=(CWD,),
        )
    )

"""Whether the condition of a hook, a permission rule, matches a call."""

import os
from collections.abc import Mapping
from typing import Any

from bridle.engine.runtime import Runtime
from bridle.host.paths import config_home
from bridle.permissions.matching import find_rule
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.permissions.rules import parse
from bridle.types.permission import Access, Effect
from bridle.types.workspace import Workspace


def covers(rule: str, tool: str, input: Mapping[str, Any], runtime: Runtime) -> bool:
    """Whether the condition holds for a call; one that cannot be read keeps no hook back."""
    return covers_in(rule, tool, input, workspace=runtime.workspace, env=runtime.env)


def covers_in(
    rule: str, tool: str, input: Mapping[str, Any], *, workspace: Workspace, env: Mapping[str, str]
) -> bool:
    """Whether a condition matches a call, without a session."""
    try:
        wanted = parse(rule, Effect.ASK)
    except ValueError:
        return True
    path = input.get("file_path") or input.get("notebook_path") or input.get("path")
    asked = CallRequest(
        tool=tool,
        input=input,
        subject=str(input.get("command") or input.get("url") or path or ""),
        access=Access(reads=(workspace.resolve(path),)) if isinstance(path, str) else Access(),
    )
    standing = SessionPosition(
        rules=(wanted,),
        cwd=workspace.cwd,
        start=workspace.start,
        roots=workspace.roots,
        home=env.get("HOME") or os.path.expanduser("~"),
        config_home=config_home(env),
    )
    return find_rule(prepare(asked, standing), Effect.ASK) is not None

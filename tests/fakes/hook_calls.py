"""Calls of hooks as the runner makes them."""

from typing import Any

import msgspec

from bridle.hooks.handler import AnyHook, HookCall, Origin
from bridle.types.hooks.calls import PostToolUse, PreToolUse
from bridle.types.hooks.events import HookEvent, Stop

BASH = PreToolUse(tool="Bash", input={"command": "ls"}, call_id="toolu_1")
WRITTEN = PostToolUse(
    tool="Write", input={"file_path": "/a"}, call_id="toolu_2", response={"ok": True}, duration_ms=3
)
STOPPED = Stop(active=False, last_message="Done.")


def call_of(hook: AnyHook, event: HookEvent = BASH, **more: Any) -> HookCall:
    name = type(event).__name__
    payload = {"session_id": "s1", "cwd": "/project", **msgspec.to_builtins(event), **more}
    return HookCall(
        id="hook-1",
        name=name,
        hook=hook,
        origin=Origin(source="userSettings", file="/settings.json", key=f"hooks.{name}[0].hooks[0]"),
        event=event,
        payload=payload,
        data=msgspec.json.encode(payload),
        timeout=5,
    )

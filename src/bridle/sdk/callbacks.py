"""The functions of the program that a session calls."""

import asyncio
import warnings
from collections.abc import Awaitable, Callable
from typing import Any

from bridle.sdk.hook_types import HookCallback, plain_output
from bridle.sdk.options import Options
from bridle.sdk.permissions import (
    CanUseTool,
    CanUseToolShadowedWarning,
    PermissionResultAllow,
    PermissionResultDeny,
    PermissionUpdate,
    ToolPermissionContext,
)

Request = dict[str, Any]
Answered = tuple[dict[str, Any], str | None]
"""An answer and None, or nothing and what went wrong."""


class Callbacks:
    """Who answers what the session asks."""

    def __init__(self, options: Options) -> None:
        self.registered: dict[str, list[dict[str, Any]]] = {}
        """The hooks as a host registers them, by event."""
        self._hooks: dict[str, HookCallback] = {}
        self._can_use_tool = options.can_use_tool
        for event, matchers in (options.hooks or {}).items():
            self.registered[event] = [self._register(matcher) for matcher in matchers]
        _warn_if_shadowed(options)

    async def answer(self, request: Request) -> Answered:
        """Call the function; an exception becomes an error answer to the session."""
        known: dict[str, Callable[[Request], Awaitable[dict[str, Any]]]] = {
            "can_use_tool": self._permit,
            "hook_callback": self._hook,
        }
        handler = known.get(request["subtype"])
        if handler is None:
            return {}, f"Unsupported control request subtype: {request['subtype']}"
        try:
            return await handler(request), None
        except Exception as error:
            # The boundary to the program's own code: what breaks there is a refusal, not the end.
            return {}, str(error) or type(error).__name__

    def _register(self, matcher: Any) -> dict[str, Any]:
        ids: list[str] = []
        for function in matcher.hooks:
            ids.append(f"hook_{len(self._hooks)}")
            self._hooks[ids[-1]] = function
        entry: dict[str, Any] = {"matcher": matcher.matcher, "hookCallbackIds": ids}
        if matcher.timeout is not None:
            entry["timeout"] = matcher.timeout
        if matcher.on_failure is not None:
            entry["onFailure"] = matcher.on_failure
        return entry

    async def _permit(self, request: Request) -> dict[str, Any]:
        ask: CanUseTool | None = self._can_use_tool
        if ask is None:
            raise TypeError("can_use_tool is not set")
        context = ToolPermissionContext(
            suggestions=[
                PermissionUpdate.from_dict(each) for each in request.get("permission_suggestions") or ()
            ],
            tool_use_id=request.get("tool_use_id"),
            agent_id=request.get("agent_id"),
            blocked_path=request.get("blocked_path"),
            decision_reason=request.get("decision_reason"),
            title=request.get("title"),
            display_name=request.get("display_name"),
            description=request.get("description"),
        )
        answered: Any = await ask(request["tool_name"], request["input"], context)
        match answered:
            case PermissionResultAllow(updated_input=changed, updated_permissions=updates):
                answer: dict[str, Any] = {"behavior": "allow", "updatedInput": request["input"]}
                if changed is not None:
                    answer["updatedInput"] = changed
                if updates is not None:
                    answer["updatedPermissions"] = [update.to_dict() for update in updates]
                return answer
            case PermissionResultDeny(message=message, interrupt=interrupt):
                return {"behavior": "deny", "message": message, "interrupt": interrupt}
            case other:
                raise TypeError(
                    "can_use_tool must return PermissionResultAllow or PermissionResultDeny, "
                    f"not {type(other).__name__}"
                )

    async def _hook(self, request: Request) -> dict[str, Any]:
        function = self._hooks[request["callback_id"]]
        return plain_output(await function(request["input"], request.get("tool_use_id"), {"signal": None}))


def _warn_if_shadowed(options: Options) -> None:
    """Tell programmers when their function will not be asked."""
    if options.can_use_tool is None:
        return
    if options.permission_mode == "bypassPermissions":
        what = "any call: permission_mode is bypassPermissions"
    else:
        whole = [tool for rule in options.allowed_tools if (tool := _whole(rule)) is not None]
        what = f"{', '.join(dict.fromkeys(whole))}: allowed_tools allows all calls of it" if whole else ""
    if what:
        warnings.warn(
            f"can_use_tool is not called for {what}. A PreToolUse hook sees every call.",
            CanUseToolShadowedWarning,
            stacklevel=2,
        )


def _whole(rule: str) -> str | None:
    """The tool that a rule allows outright."""
    name, bracket, rest = rule.strip().partition("(")
    return name if name and (not bracket or rest in (")", "*)")) else None


async def try_to(work: Awaitable[None], *, seconds: float) -> Exception | None:
    """Let code of the program do something within a time; what went wrong, if anything did."""
    try:
        async with asyncio.timeout(seconds):
            await work
    except Exception as error:
        # The boundary to the program's own code: its exceptions become error answers.
        return error
    return None

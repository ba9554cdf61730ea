"""How a program is asked about calls, and how it answers."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
PermissionUpdateDestination = Literal["userSettings", "projectSettings", "localSettings", "session"]
PermissionBehavior = Literal["allow", "deny", "ask"]
_UpdateType = Literal[
    "addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"
]


class PermissionRuleValue(Struct):
    tool_name: str
    rule_content: str | None = None


class PermissionUpdate(Struct):
    """A change of rules, mode or folders that goes with an approval."""

    type: _UpdateType
    rules: list[PermissionRuleValue] | None = None
    behavior: PermissionBehavior | None = None
    mode: PermissionMode | None = None
    directories: list[str] | None = None
    destination: PermissionUpdateDestination | None = None

    def to_dict(self) -> dict[str, Any]:
        """The update as the session reads it."""
        rules = None
        if self.rules is not None:
            rules = [{"toolName": rule.tool_name, "ruleContent": rule.rule_content} for rule in self.rules]
        fields: dict[str, Any] = {"type": self.type, "destination": self.destination}
        match self.type:
            case "setMode":
                fields["mode"] = self.mode
            case "addDirectories" | "removeDirectories":
                fields["directories"] = self.directories
            case _:
                fields |= {"rules": rules, "behavior": self.behavior}
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "PermissionUpdate":
        """The update that the session suggests."""
        rules = data.get("rules")
        return cls(
            type=data["type"],
            rules=None
            if rules is None
            else [PermissionRuleValue(rule["toolName"], rule.get("ruleContent")) for rule in rules],
            behavior=data.get("behavior"),
            mode=data.get("mode"),
            directories=data.get("directories"),
            destination=data.get("destination"),
        )


class ToolPermissionContext(Struct):
    """What is known about a call besides its tool and input."""

    signal: Any | None = None
    suggestions: list[PermissionUpdate] = []
    """Updates that would keep the same question from being asked again."""
    tool_use_id: str | None = None
    agent_id: str | None = None
    blocked_path: str | None = None
    decision_reason: str | None = None
    title: str | None = None
    display_name: str | None = None
    description: str | None = None


class PermissionResultAllow(Struct):
    behavior: Literal["allow"] = "allow"
    updated_input: dict[str, Any] | None = None
    updated_permissions: list[PermissionUpdate] | None = None


class PermissionResultDeny(Struct):
    behavior: Literal["deny"] = "deny"
    message: str = ""
    interrupt: bool = False


PermissionResult = PermissionResultAllow | PermissionResultDeny

CanUseTool = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]


class CanUseToolShadowedWarning(UserWarning):
    """`can_use_tool` is set, and some calls are approved before anybody asks it."""

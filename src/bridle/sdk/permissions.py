"""How a program is asked about calls, and how it answers."""

from collections.abc import Awaitable, Callable
from typing import Any, Literal

from msgspec import Struct

PermissionMode = Literal["default", "acceptEdits", "plan", "bypassPermissions", "dontAsk", "auto"]
"""What happens to calls that no rule decides."""
PermissionUpdateDestination = Literal["userSettings", "projectSettings", "localSettings", "session"]
"""Where a change of permissions is kept."""
PermissionBehavior = Literal["allow", "deny", "ask"]
"""What a rule does with a call that it matches."""
_UpdateType = Literal[
    "addRules", "replaceRules", "removeRules", "setMode", "addDirectories", "removeDirectories"
]


class PermissionRuleValue(Struct):
    """A permission rule in parts."""

    tool_name: str
    """The tool, such as `Bash`."""
    rule_content: str | None = None
    """What stands in parentheses, such as `git push:*`; None covers every call."""


class PermissionUpdate(Struct):
    """A change of rules, mode or folders that goes with an approval."""

    type: _UpdateType
    """What changes."""
    rules: list[PermissionRuleValue] | None = None
    """The rules to add, replace or remove."""
    behavior: PermissionBehavior | None = None
    """What the rules do."""
    mode: PermissionMode | None = None
    """The new mode, for `setMode`."""
    directories: list[str] | None = None
    """The folders to add or remove."""
    destination: PermissionUpdateDestination | None = None
    """Where the change is kept: in this session, or in a settings file."""

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
    """Reserved; always None."""
    suggestions: list[PermissionUpdate] = []
    """Updates that would keep the same question from being asked again."""
    tool_use_id: str | None = None
    """The id of the call."""
    agent_id: str | None = None
    """The agent that makes the call; None for the main conversation."""
    blocked_path: str | None = None
    """The path that caused the question, if one did."""
    decision_reason: str | None = None
    """Why the gate asks."""
    title: str | None = None
    """A short question for a person."""
    display_name: str | None = None
    """The name of the tool for a person."""
    description: str | None = None
    """What the call does, as the model describes it."""


class PermissionResultAllow(Struct):
    """Run the call."""

    behavior: Literal["allow"] = "allow"
    updated_input: dict[str, Any] | None = None
    """The input to run the call with; None keeps it as it is."""
    updated_permissions: list[PermissionUpdate] | None = None
    """Changes that go with the approval, such as `context.suggestions`."""


class PermissionResultDeny(Struct):
    """Do not run the call."""

    behavior: Literal["deny"] = "deny"
    message: str = ""
    """The reason, for the model."""
    interrupt: bool = False
    """Whether the turn ends as well."""


PermissionResult = PermissionResultAllow | PermissionResultDeny
"""What `CanUseTool` returns."""

CanUseTool = Callable[[str, dict[str, Any], ToolPermissionContext], Awaitable[PermissionResult]]
"""Takes the name of a tool, its input and a context; returns whether the call may run."""


class CanUseToolShadowedWarning(UserWarning):
    """`can_use_tool` is set, but rules or the mode approve some calls before it is asked."""

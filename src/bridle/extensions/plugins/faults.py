"""What is wrong with a plugin: named, and the plugin or its part left out."""

from typing import Any, Literal

from msgspec import Struct

FaultKind = Literal[
    "path-not-found",
    "manifest-parse-error",
    "manifest-validation-error",
    "plugin-not-found",
    "marketplace-not-found",
    "marketplace-load-failed",
    "blocked-by-policy",
    "component-load-failed",
    "hook-load-failed",
    "mcp-config-invalid",
    "lsp-config-invalid",
    "dependency-unsatisfied",
    "name-conflict",
    "content-changed",
    "option-missing",
]


class PluginFault(Struct, frozen=True, kw_only=True):
    plugin: str
    type: FaultKind
    message: str
    path: str = ""
    line: int | None = None

    def __str__(self) -> str:
        line = f":{self.line}" if self.line is not None else ""
        place = f" ({self.path}{line})" if self.path else ""
        return f"plugin {self.plugin}: {self.message}{place}"

    def frame(self) -> dict[str, Any]:
        """The fault as hosts get it."""
        frame: dict[str, Any] = {"plugin": self.plugin, "type": self.type, "message": self.message}
        return {**frame, "path": self.path} if self.path else frame

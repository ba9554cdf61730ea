"""Hypothetical calls: what the gate would decide about if a model made them."""

import os.path
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NoReturn

import msgspec

from bridle.engine.calls.parsing import canonical
from bridle.permissions.preparation import CallRequest
from bridle.tools.catalog import CATALOG
from bridle.tools.definitions import find_tool
from bridle.types.errors import ToolError, UsageError
from bridle.types.permission import Access
from bridle.types.services.tasks import Task
from bridle.types.tool import Tool
from bridle.types.workspace import Workspace

_AT_HOME = frozenset(listing.traits.about for listing in CATALOG) - {"", "command"}
"""Parameters that may name something below the home folder."""
_ANYTHING = "x"


class _NoTasks:
    """A hypothetical call has no background tasks."""

    def find(self, task_id: str) -> Task | None:
        return None

    def all(self) -> tuple[Task, ...]:
        return ()

    def begin(self, task: Task, stop: Callable[[], Awaitable[None]]) -> None:
        _refuse()

    def change(self, task: Task) -> None:
        _refuse()

    def read(self, task_id: str, limit: int) -> str:
        return ""

    def tell(self, task_id: str) -> None:
        _refuse()

    def is_told(self, task_id: str) -> bool:
        return False

    async def wait(self, task_id: str, timeout: float) -> Task:
        _refuse()

    async def stop(self, task_id: str) -> Task:
        _refuse()


def imagine(name: str, input: Mapping[str, Any], *, cwd: str, home: str) -> CallRequest:
    """What a call of this tool would ask for; fields that do not matter here may be left out.

    Raises:
        UsageError: the input cannot be that of the tool.
        ToolError: the tool would not take it, whatever the gate says.
    """
    tool = _find(name)
    if tool is None:
        subject = next((value for value in input.values() if isinstance(value, str)), "")
        return CallRequest(tool=name, input=input, subject="" if name.startswith("mcp__") else subject)
    read = _read(tool, {key: _at_home(value, key, home) for key, value in input.items()})
    if tool.traits.kind == "fetch":
        from bridle.tools.web.addresses import read_url

        read_url(str(input["url"]))
    try:
        access = tool.access(read, Workspace(cwd, tasks=_NoTasks()))
    except ValueError as error:
        raise UsageError(f"invalid input for {tool.name}: {error}") from error
    return CallRequest(
        tool=tool.name,
        input=canonical(input, read),
        subject=tool.subject(read),
        read_only=tool.read_only(read),
        access=Access() if tool.traits.kind == "command" else access,
    )


def _find(name: str) -> Tool | None:
    listing = next((each for each in CATALOG if name in (each.name, *each.aliases)), None)
    return None if listing is None else find_tool(listing)


def _read(tool: Tool, input: Mapping[str, Any]) -> msgspec.Struct:
    primary = tool.traits.about
    required = [field.name for field in msgspec.structs.fields(tool.input) if field.required]
    if primary in required and not isinstance(input.get(primary), str):
        raise UsageError(f"the input of {tool.name} needs the string {primary}")
    filled = {**{name: _ANYTHING for name in required if name not in input}, **input}
    try:
        return msgspec.convert(filled, tool.input, strict=False)
    except msgspec.ValidationError as error:
        raise UsageError(f"invalid input for {tool.name}: {error}") from error


def _at_home(value: Any, key: str, home: str) -> Any:
    """`~` is the home that was named, which may not be that of this process."""
    if key in _AT_HOME and isinstance(value, str):
        if value == "~":
            return home
        if value.startswith("~/"):
            return os.path.join(home, value[2:])
    return value


def _refuse() -> NoReturn:
    raise ToolError("A hypothetical call has no background tasks.")

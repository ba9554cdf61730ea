"""The base of all hook events, and data that they share."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from msgspec import Struct

Trigger = Literal["manual", "auto"]


ElicitationMode = Literal["form", "url"]


ConfigSource = Literal["user_settings", "project_settings", "local_settings", "policy_settings", "skills"]


class Moment(Struct, frozen=True, omit_defaults=True, tag_field="hook_event_name", tag=True):
    """What every event has; its fields are those of the hook's input, and optional ones are left out."""

    matched_on: ClassVar[str | None] = None
    """The attribute that matchers look at; None where every hook of the event is called."""

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def subject(self) -> str | None:
        """The text that matchers are held against."""
        return None if self.matched_on is None else str(getattr(self, self.matched_on))


class BatchCall(TypedDict):
    tool_name: str
    tool_input: Mapping[str, Any]
    tool_use_id: str
    tool_response: NotRequired[Any]


class BackgroundTask(TypedDict):
    id: str
    type: str
    status: str
    description: str
    command: NotRequired[str]
    agent_type: NotRequired[str]
    server: NotRequired[str]
    tool: NotRequired[str]
    name: NotRequired[str]


class SessionCron(TypedDict):
    id: str
    schedule: str
    recurring: bool
    prompt: str

"""What the engine may ask whoever is on the other end, and what they may answer."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.types.permission import PartDecision, ReasonType


class PermissionQuestion(Struct, frozen=True, kw_only=True, tag="permission"):
    """May this call run?"""

    call_id: str
    tool: str
    input: Mapping[str, Any]
    reason: str
    reason_type: ReasonType = "other"
    suggestions: tuple[Mapping[str, Any], ...] = ()
    """Updates that would keep the same question from being asked again."""
    blocked_path: str | None = None
    parts: tuple[PartDecision, ...] = ()
    """What is thought of each simple command, when the call is a shell command."""


class ChoiceQuestion(Struct, frozen=True, kw_only=True, tag="choice"):
    """Which of these do you want? One or more multiple-choice questions at once."""

    call_id: str
    questions: tuple[Mapping[str, Any], ...]


class NetworkQuestion(Struct, frozen=True, kw_only=True, tag="network"):
    """May sandboxed commands reach this host? Answered with Permitted or Refused."""

    host: str
    port: int


Question = PermissionQuestion | ChoiceQuestion | NetworkQuestion


class Permitted(Struct, frozen=True, kw_only=True, tag="permitted"):
    input: Mapping[str, Any] | None = None
    """The input to run instead of the one that was shown; decided again by the gate."""
    updates: tuple[Mapping[str, Any], ...] = ()


class Refused(Struct, frozen=True, kw_only=True, tag="refused"):
    message: str
    interrupt: bool = False
    by_person: bool = True
    """False when nobody could be asked."""


class Chosen(Struct, frozen=True, kw_only=True, tag="chosen"):
    answers: Mapping[str, str]


Answer = Permitted | Refused | Chosen

"""What the engine may ask the other end of its channel, and what that may answer."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.types.origin import Origin
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
    lasting: tuple[Mapping[str, Any], ...] = ()
    """Rules alone that would do so in later sessions as well; none where rules are not enough."""
    blocked_path: str | None = None
    parts: tuple[PartDecision, ...] = ()
    """What is thought of each simple command, when the call is a shell command."""
    agent_id: str | None = None
    """The agent that wants to make the call; None for the main thread."""
    asker: str | None = None
    """The teammate that wants to make the call, by the name that people know."""
    server: Mapping[str, str] | None = None
    """The MCP server that the tool belongs to: `name` and `source`."""
    elsewhere: str = ""
    """Where the same question is shown as well, such as an editor, and may be answered."""


CHOICE_TOOL = "AskUserQuestion"
"""The tool whose calls are choice questions, as hosts know it."""


class ChoiceQuestion(Struct, frozen=True, kw_only=True, tag="choice"):
    """Which of these do you want? One or more multiple-choice questions at once."""

    call_id: str
    questions: tuple[Mapping[str, Any], ...]


class NetworkQuestion(Struct, frozen=True, kw_only=True, tag="network"):
    """May sandboxed commands reach this host? Answered with Permitted or Refused.

    Permitted without updates holds for the command that asked, with one of the suggestions for longer.
    """

    host: str
    port: int
    asker: str | None = None
    """The teammate whose command asks."""

    @property
    def suggestions(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The update that lets commands reach the host in this session, and the one that does so for good."""
        rules = [{"toolName": "WebFetch", "ruleContent": f"domain:{self.host}"}]
        update = {"type": "addRules", "rules": rules, "behavior": "allow"}
        return {**update, "destination": "session"}, {**update, "destination": "localSettings"}


class ElicitationQuestion(Struct, frozen=True, kw_only=True, tag="elicitation"):
    """An MCP server wants to know something, or a page to be opened. Answered with Supplied or Refused."""

    server: str
    message: str
    """What the server says; nothing of it is ours."""
    mode: Literal["form", "url"] = "form"
    url: str | None = None
    """To be shown in full, and opened only when the person agrees."""
    schema: Mapping[str, Any] | None = None
    """The fields of the form: a flat JSON Schema object."""
    elicitation_id: str | None = None


Question = PermissionQuestion | ChoiceQuestion | NetworkQuestion | ElicitationQuestion


class Permitted(Struct, frozen=True, kw_only=True, tag="permitted"):
    input: Mapping[str, Any] | None = None
    """The input to run instead of the one that was shown; decided again by the gate."""
    updates: tuple[Mapping[str, Any], ...] = ()
    edited: bool = False
    """The person changed the input in the question: the model reads what ran."""
    by_hook: bool = False
    """A hook answered in a person's place."""
    origin: Origin | None = None
    """Who gave the answer; None where that is not known."""


class Refused(Struct, frozen=True, kw_only=True, tag="refused"):
    message: str
    interrupt: bool = False
    by_person: bool = True
    """False when no one could be asked."""
    stands: bool = False
    """Do not ask about this call again before the next prompt of the user."""
    origin: Origin | None = None
    """Who gave the answer; None where that is not known."""


class Chosen(Struct, frozen=True, kw_only=True, tag="chosen"):
    answers: Mapping[str, str]


class Supplied(Struct, frozen=True, kw_only=True, tag="supplied"):
    """What a person did with the question of an MCP server."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, Any] | None = None

    @classmethod
    def from_wire(cls, answer: Mapping[str, Any]) -> "Supplied":
        """What a host or an editor answered; anything unknown is no answer."""
        content = answer.get("content")
        match answer.get("action"):
            case "accept":
                return cls(action="accept", content=content if isinstance(content, dict) else None)
            case "decline":
                return cls(action="decline")
            case _:
                return cls(action="cancel")


Answer = Permitted | Refused | Chosen | Supplied

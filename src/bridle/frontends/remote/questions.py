"""Questions as remote clients see them, and their answers."""

from collections.abc import Mapping
from typing import Any

from bridle.frontends.remote.errors import RequestRefused
from bridle.mcp.forms import fields_of, problems_with
from bridle.types.question import (
    CHOICE_TOOL,
    Answer,
    ChoiceQuestion,
    Chosen,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
    Supplied,
)

Frame = dict[str, Any]

_LONGEST_WORDS = 20_000
_NETWORK = "SandboxNetworkAccess"


def shown(question: Question) -> Frame:
    """What a remote user must see to decide; the input is complete and exactly as it will run."""
    match question:
        case PermissionQuestion():
            frame: Frame = {
                "subtype": "can_use_tool",
                "tool_name": question.tool,
                "input": dict(question.input),
                "tool_use_id": question.call_id,
                "decision_reason": question.reason,
                "permission_suggestions": list(_harmless(question.suggestions)),
            }
            beside = {
                "agent_id": question.agent_id,
                "asked_by": question.asker,
                "blocked_path": question.blocked_path,
            }
            return {**frame, **{key: value for key, value in beside.items() if value is not None}}
        case ChoiceQuestion():
            return {
                "subtype": "can_use_tool",
                "tool_name": CHOICE_TOOL,
                "input": {"questions": list(question.questions)},
                "tool_use_id": question.call_id,
            }
        case NetworkQuestion():
            return {
                "subtype": "can_use_tool",
                "tool_name": _NETWORK,
                "input": {"host": question.host, "port": question.port},
                "permission_suggestions": list(question.suggestions),
            }
        case ElicitationQuestion():
            return {
                "subtype": "elicitation",
                "mcp_server_name": question.server,
                "message": question.message,
                "mode": question.mode,
                "url": question.url,
                "requested_schema": question.schema,
            }


def read_answer(question: Question, said: Mapping[str, Any]) -> Answer:
    """Reads the answer of a remote client.

    It approves the input that was shown and may take one of the suggestions; it can bring neither another
    input nor rules of its own.

    Raises:
        RequestRefused: it is no answer to this question.
    """
    match question:
        case PermissionQuestion() | NetworkQuestion():
            return _permission(question, said)
        case ChoiceQuestion():
            return _choice(question, said)
        case ElicitationQuestion():
            return _form(question, said)


def _permission(question: PermissionQuestion | NetworkQuestion, said: Mapping[str, Any]) -> Answer:
    if said.get("behavior") == "deny":
        return Refused(message=_words(said) or "The user declined.")
    if said.get("behavior") != "allow":
        raise RequestRefused(400, "The answer must be allow or deny.")
    offered = (
        _harmless(question.suggestions) if isinstance(question, PermissionQuestion) else question.suggestions
    )
    match said.get("suggestion"):
        case None:
            return Permitted()
        case int() as index if 0 <= index < len(offered) and index is not True and index is not False:
            return Permitted(updates=(offered[index],))
        case _:
            raise RequestRefused(400, "The answer names an unknown suggestion.")


def _choice(question: ChoiceQuestion, said: Mapping[str, Any]) -> Answer:
    if said.get("behavior") == "deny":
        return Refused(message=_words(said) or "The user declined to answer.")
    answers = said.get("answers")
    asked = [str(each.get("question")) for each in question.questions]
    if not isinstance(answers, dict) or sorted(answers) != sorted(asked):
        raise RequestRefused(400, "Every question needs an answer.")
    return Chosen(answers={str(key): str(value)[:_LONGEST_WORDS] for key, value in answers.items()})


def _form(question: ElicitationQuestion, said: Mapping[str, Any]) -> Answer:
    match said.get("action"):
        case "accept":
            content = said.get("content")
            given: dict[str, Any] = content if isinstance(content, dict) else {}
            fields = fields_of(question.schema) if question.mode == "form" else ()
            if problems := problems_with(fields, given):
                name, problem = next(iter(problems.items()))
                raise RequestRefused(400, f"{name}: {problem}")
            return Supplied(action="accept", content=given if question.mode == "form" else None)
        case "decline":
            return Supplied(action="decline")
        case "cancel":
            return Supplied(action="cancel")
        case _:
            raise RequestRefused(400, "The answer must be accept, decline or cancel.")


def _harmless(suggestions: tuple[Mapping[str, Any], ...]) -> tuple[Mapping[str, Any], ...]:
    """Remote clients cannot turn questions off."""
    return tuple(each for each in suggestions if each.get("mode") != "bypassPermissions")


def _words(said: Mapping[str, Any]) -> str:
    message = said.get("message")
    return message.strip()[:_LONGEST_WORDS] if isinstance(message, str) else ""

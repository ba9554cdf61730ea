"""Questions of the gate, of tools and of MCP servers, as an editor asks them."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from bridle.frontends.acp.calls import kind_of, proposed, title_of
from bridle.frontends.acp.content import Json, text_content
from bridle.frontends.acp.peer import EditorError, EditorPeer
from bridle.tools.catalog import traits_of
from bridle.types.origin import Origin
from bridle.types.question import (
    Answer,
    ChoiceQuestion,
    Chosen,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Refused,
    Supplied,
)
from bridle.types.tool import CHANGES_FILES
from bridle.types.workspace import Workspace

_HOST = Origin(source="host")
_REFUSED = "The user rejected this call in the editor. Do not retry it; ask what they want instead."
_CANCELLED = "The user cancelled the question in the editor."
_OTHER = "Something else (type it as your next message)"
_LONGEST_WORDS = 200
_MODES = {"acceptEdits": "Yes, and accept edits", "default": "Yes, and approve edits one by one"}

_Option = tuple[Json, Permitted | None]
"""What is shown, and what it means; None refuses."""


class Questioner(Struct, frozen=True, kw_only=True):
    """Asks the user of an editor about one session."""

    peer: EditorPeer
    session_id: str
    workspace: Workspace
    elicits: frozenset[str]
    """Which forms of questions the editor can show: `form`, `url`."""

    async def permission(self, question: PermissionQuestion) -> Answer:
        """May this call run?"""
        is_plan = traits_of(question.tool).kind == "plan"
        options = _plan_options(question) if is_plan else _options(question)
        return await self._choose(await self._described(question), options)

    async def network(self, question: NetworkQuestion) -> Answer:
        """May a confined command reach this host?"""
        once, lasting = question.suggestions
        options: list[_Option] = [
            (_option("allow", "Allow once", "allow_once"), Permitted(origin=_HOST)),
            (
                _option("session", f"Allow {question.host} for this session", "allow_always"),
                Permitted(updates=(once,), origin=_HOST),
            ),
            (
                _option("always", f"Always allow {question.host}", "allow_always"),
                Permitted(updates=(lasting,), origin=_HOST),
            ),
            (_option("reject", "Reject", "reject_once"), None),
        ]
        call = {
            "toolCallId": f"network-{question.host}-{question.port}",
            "title": f"Let a sandboxed command connect to {question.host}:{question.port}",
            "kind": "fetch",
            "status": "pending",
        }
        return await self._choose(call, options)

    async def choice(self, question: ChoiceQuestion) -> Answer:
        """Which of these? As a form where the editor has forms, else one question after the other."""
        if "form" in self.elicits:
            return await self._choice_form(question)
        answers: dict[str, str] = {}
        for number, each in enumerate(question.questions):
            labels = [str(option.get("label")) for option in each.get("options") or ()]
            options: list[_Option] = [
                (_option(str(at), label, "allow_once"), Permitted()) for at, label in enumerate(labels)
            ]
            options.append((_option("other", _OTHER, "reject_once"), None))
            words = str(each.get("question") or "")
            call = {"toolCallId": f"{question.call_id}-{number}", "title": words, "kind": "other"}
            chosen = await self._pick({**call, "status": "pending"}, options)
            if chosen is None or not chosen.isdecimal():
                return Refused(message="The user wants to answer in their own words. Wait for them.")
            answers[words] = labels[int(chosen)]
        return Chosen(answers=answers)

    async def elicitation(self, question: ElicitationQuestion) -> Answer:
        """What an MCP server wants to know."""
        if question.mode not in self.elicits:
            return Refused(message="The editor does not support questions from servers.", by_person=False)
        asked: Json = {
            "sessionId": self.session_id,
            "mode": question.mode,
            "message": f"{question.server}: {question.message}",
        }
        if question.mode == "url":
            asked |= {"url": question.url, "elicitationId": question.elicitation_id or question.url}
        else:
            asked["requestedSchema"] = dict(question.schema or {"type": "object", "properties": {}})
        return await self._elicit(asked)

    async def _choice_form(self, question: ChoiceQuestion) -> Answer:
        properties: Json = {}
        for number, each in enumerate(question.questions):
            labels = [str(option.get("label")) for option in each.get("options") or ()]
            field: Json = {"title": str(each.get("header") or ""), "description": str(each.get("question"))}
            if each.get("multiSelect"):
                field |= {"type": "array", "items": {"type": "string", "enum": labels}}
            else:
                field |= {"type": "string", "enum": labels}
            properties[f"answer{number}"] = field
        schema = {"type": "object", "properties": properties, "required": list(properties)}
        words = "\n".join(str(each.get("question") or "") for each in question.questions)
        answer = await self._elicit(
            {
                "sessionId": self.session_id,
                "toolCallId": question.call_id,
                "mode": "form",
                "message": words,
                "requestedSchema": schema,
            }
        )
        if not isinstance(answer, Supplied) or answer.action != "accept" or answer.content is None:
            return Refused(message="The user did not answer the questions.")
        given = answer.content
        return Chosen(
            answers={
                str(each.get("question")): _joined(given.get(f"answer{number}"))
                for number, each in enumerate(question.questions)
            }
        )

    async def _elicit(self, asked: Json) -> Answer:
        try:
            answer = await self.peer.request("elicitation/create", asked, seconds=None)
        except EditorError as error:
            return Refused(message=str(error), by_person=False)
        return Supplied.from_wire(answer)

    async def _described(self, question: PermissionQuestion) -> Json:
        """The call, with all of the change that it would make."""
        call: Json = {
            "toolCallId": question.call_id,
            "title": title_of(question.tool, question.input, self.workspace),
            "name": question.tool,
            "kind": kind_of(question.tool),
            "status": "pending",
            "rawInput": dict(question.input),
        }
        content: list[Json] = []
        if traits_of(question.tool).kind in CHANGES_FILES:
            diff = await asyncio.to_thread(proposed, question.tool, question.input, self.workspace)
            content += [] if diff is None else [diff]
        words = question.input.get("plan") if traits_of(question.tool).kind == "plan" else question.reason
        if isinstance(words, str) and words.strip():
            content.append({"type": "content", "content": text_content(words)})
        return {**call, "content": content} if content else call

    async def _choose(self, call: Json, options: Sequence[_Option]) -> Answer:
        chosen = await self._pick(call, options)
        if chosen is None:
            return Refused(message=_CANCELLED, interrupt=True, origin=_HOST)
        meant = next((answer for shown, answer in options if shown["optionId"] == chosen), None)
        return meant or Refused(message=_REFUSED, origin=_HOST)

    async def _pick(self, call: Json, options: Sequence[_Option]) -> str | None:
        """The id of what the user chose; None where the question was cancelled."""
        asked = {"sessionId": self.session_id, "toolCall": call, "options": [each[0] for each in options]}
        try:
            answer = await self.peer.request("session/request_permission", asked, seconds=None)
        except EditorError:
            return None
        match answer.get("outcome"):
            case {"outcome": "selected", "optionId": str() as chosen}:
                return chosen
            case _:
                return None


def _options(question: PermissionQuestion) -> list[_Option]:
    options: list[_Option] = [(_option("allow", "Allow", "allow_once"), Permitted(origin=_HOST))]
    held = tuple({**each, "destination": "session"} for each in question.suggestions)
    if held:
        words = f"Allow {_words(held)} for this session"
        options.append((_option("session", words, "allow_always"), Permitted(updates=held, origin=_HOST)))
    if question.lasting:
        words = f"Always allow {_words(question.lasting)}"
        lasting = Permitted(updates=question.lasting, origin=_HOST)
        options.append((_option("always", words, "allow_always"), lasting))
    options.append((_option("reject", "Reject", "reject_once"), None))
    return options


def _plan_options(question: PermissionQuestion) -> list[_Option]:
    """The modes in which a plan can be carried out."""
    options: list[_Option] = []
    for update in question.suggestions:
        mode = str(update.get("mode"))
        kind = "allow_once" if mode == "default" else "allow_always"
        words = _MODES.get(mode, f"Yes, in {mode} mode")
        options.append((_option(mode, words, kind), Permitted(updates=(update,), origin=_HOST)))
    if not options:
        options.append((_option("allow", "Yes", "allow_once"), Permitted(origin=_HOST)))
    options.append((_option("reject", "No, keep planning", "reject_once"), None))
    return options


def _option(id: str, name: str, kind: str) -> Json:
    return {"optionId": id, "name": name, "kind": kind}


def _words(updates: Sequence[Mapping[str, Any]]) -> str:
    """What updates allow, as people say it."""
    words: list[str] = []
    for update in updates:
        match update:
            case {"type": "addRules", "rules": [*rules]}:
                words += (
                    f"{rule['toolName']}({rule['ruleContent']})"
                    if rule.get("ruleContent")
                    else rule["toolName"]
                    for rule in rules
                )
            case {"type": "addDirectories", "directories": [*folders]}:
                words.append(f"working in {', '.join(map(str, folders))}")
            case {"type": "setMode", "mode": "acceptEdits"}:
                words.append("all edits")
            case {"type": "setMode", "mode": mode}:
                words.append(f"{mode} mode")
            case _:
                pass  # Nothing else is suggested.
    return ", ".join(words)[:_LONGEST_WORDS] or "this"


def _joined(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")

"""Answers what servers ask of their client: folders, questions to the person, and models."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from bridle.host.jsonrpc import INVALID_PARAMS
from bridle.mcp.peer import Answerer
from bridle.mcp.server_skills import EXTENSION
from bridle.types.errors import McpError
from bridle.types.hooks.environment import Elicitation, ElicitationResult
from bridle.types.hooks.outcome import HookOutcome, Hooks, NoHooks
from bridle.types.question import (
    Answer,
    ElicitationQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
    Supplied,
)

Sampler = Callable[[str, Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
"""Asks a model for a server: its name and the parameters of its request give the result."""

_LONGEST_MESSAGE = 10_000
_REFUSED = -1
_COMPLETION_WAIT = 600.0


class RequestContext(Struct, frozen=True, kw_only=True):
    """Whom an attendant turns to."""

    roots: Callable[[], tuple[str, ...]]
    ask: Callable[[Question], Awaitable[Answer]]
    hooks: Callable[[], Hooks] = NoHooks
    """Looked up when needed: hooks are made after the servers."""
    sample: Sampler | None = None
    pushed: "Callable[[ChannelMessage], None] | None" = None
    """Takes messages that servers send on their own, as far as the user lets them."""
    settled: Callable[[str, str, str], object] | None = None
    """Takes the answer of a channel to a question about permission: server, question, `allow` or `deny`."""
    notified: Callable[[str, Mapping[str, Any]], None] | None = None
    """Takes notifications that are no part of the protocol: their method and parameters."""


class ChannelMessage(Struct, frozen=True, kw_only=True):
    """A message that came over a channel: untrusted text, and nothing that the user said."""

    server: str
    content: str
    meta: Mapping[str, Any] = {}


class ClientRequests:
    """Speaks to one server in the person's name; nothing leaves without their consent."""

    def __init__(self, server: str, context: RequestContext) -> None:
        self._server = server
        self._context = context
        self._pending: dict[str, asyncio.Event] = {}
        """Pages that the person has agreed to open, by the server's name for each."""

    def capabilities(self) -> dict[str, Any]:
        """The client capabilities that the server gets."""
        able: dict[str, Any] = {
            "roots": {"listChanged": True},
            "elicitation": {"form": {}, "url": {}},
            "extensions": {EXTENSION: {}},
        }
        return able if self._context.sample is None else {**able, "sampling": {}}

    def answers(self) -> Mapping[str, Answerer]:
        answers: dict[str, Answerer] = {"roots/list": self._list_roots, "elicitation/create": self.elicit}
        if self._context.sample is not None:
            answers["sampling/createMessage"] = self._sample
        return answers

    def complete(self, elicitation_id: Any) -> None:
        """The server says that what was begun on a page is done."""
        if isinstance(elicitation_id, str) and (event := self._pending.get(elicitation_id)) is not None:
            event.set()

    def push(self, params: Mapping[str, Any]) -> None:
        """The server has a message for the session."""
        content, meta = params.get("content"), params.get("meta")
        if self._context.pushed is not None and isinstance(content, str) and content.strip():
            extra: Mapping[str, Any] = meta if isinstance(meta, dict) else {}
            self._context.pushed(
                ChannelMessage(server=self._server, content=content[:_LONGEST_MESSAGE], meta=extra)
            )

    def settle(self, params: Mapping[str, Any]) -> None:
        """The server has someone's answer to a question about permission."""
        match params:
            case {"request_id": str() as name, "behavior": str() as behavior} if self._context.settled:
                self._context.settled(self._server, name, behavior)
            case _:
                pass  # No one asked.

    def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """The server tells something that is no part of the protocol."""
        if self._context.notified is not None:
            self._context.notified(method, params)

    async def elicit(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """Ask the person: hooks first, who may answer in their place and change what they answer.

        Raises:
            McpError: the server's question cannot be shown.
        """
        question = self._question(params)
        supplied = await self._hook_answer(question) or await self._ask(question)
        supplied = await self._review(question, supplied)
        answer: dict[str, Any] = {"action": supplied.action}
        if supplied.action == "accept" and question.mode == "form":
            answer["content"] = {**_defaults(question.schema), **(supplied.content or {})}
        return answer

    async def visit(self, pages: list[Any]) -> bool:
        """Have the person open pages that a call depends on, and wait until the server says they are done.

        Raises:
            McpError: a page cannot be shown.
        """
        for page in pages:
            params = page if isinstance(page, dict) else {}
            name = str(params.get("elicitationId"))
            event = self._pending[name] = asyncio.Event()
            try:
                if (await self.elicit({**params, "mode": "url"}))["action"] != "accept":
                    return False
                # A server need not tell; then trying again is how to find out.
                async with asyncio.timeout(_COMPLETION_WAIT):
                    await event.wait()
            except TimeoutError:
                continue
            finally:
                del self._pending[name]
        return True

    def _question(self, params: Mapping[str, Any]) -> ElicitationQuestion:
        mode: Literal["form", "url"] = "url" if params.get("mode") == "url" else "form"
        message, url, schema = params.get("message"), params.get("url"), params.get("requestedSchema")
        if not isinstance(message, str):
            raise McpError("elicitation/create needs a message", code=INVALID_PARAMS)
        if mode == "url" and not (isinstance(url, str) and url.startswith(("https://", "http://"))):
            raise McpError("elicitation/create needs an http or https url", code=INVALID_PARAMS)
        if mode == "form" and not isinstance(schema, dict):
            raise McpError("elicitation/create needs a requestedSchema", code=INVALID_PARAMS)
        name = params.get("elicitationId")
        return ElicitationQuestion(
            server=self._server,
            message=message[:_LONGEST_MESSAGE],
            mode=mode,
            url=url if mode == "url" and isinstance(url, str) else None,
            schema=schema if mode == "form" and isinstance(schema, dict) else None,
            elicitation_id=name if isinstance(name, str) else None,
        )

    async def _hook_answer(self, question: ElicitationQuestion) -> Supplied | None:
        hooks = self._context.hooks()
        if not hooks.listens_to("Elicitation"):
            return None
        said = await hooks.fire(
            Elicitation(
                server=question.server,
                message=question.message,
                mode=question.mode,
                url=question.url,
                elicitation_id=question.elicitation_id,
                requested_schema=question.schema,
            )
        )
        return _said_by_hooks(said)

    async def _ask(self, question: ElicitationQuestion) -> Supplied:
        answer = await self._context.ask(question)
        if isinstance(answer, Supplied):
            return answer
        is_no = isinstance(answer, Refused) and answer.by_person
        return Supplied(action="decline" if is_no else "cancel")

    async def _review(self, question: ElicitationQuestion, supplied: Supplied) -> Supplied:
        hooks = self._context.hooks()
        if not hooks.listens_to("ElicitationResult"):
            return supplied
        said = await hooks.fire(
            ElicitationResult(
                server=question.server,
                action=supplied.action,
                content=supplied.content,
                mode=question.mode,
                elicitation_id=question.elicitation_id,
            )
        )
        return _said_by_hooks(said) or supplied

    async def _list_roots(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        del params
        from urllib.parse import quote

        return {
            "roots": [
                {"uri": f"file://{quote(path)}", "name": path.rpartition("/")[2] or path}
                for path in self._context.roots()
            ]
        }

    async def _sample(self, params: Mapping[str, Any]) -> Mapping[str, Any]:
        sample = self._context.sample
        answer = await self._context.ask(
            PermissionQuestion(
                call_id="",
                tool=f"mcp__{self._server}__sampling",
                input=params,
                reason=f"the server {self._server} wants to use your model",
            )
        )
        if sample is None or not isinstance(answer, Permitted):
            raise McpError("The user denied this server the use of a model.", code=_REFUSED)
        return await sample(self._server, params)


def _said_by_hooks(said: HookOutcome) -> Supplied | None:
    """The answer that hooks give in the person's place; None when they leave it to them."""
    if said.elicited is not None:
        return Supplied(action=said.elicited.action, content=said.elicited.content)
    return Supplied(action="decline") if said.block is not None else None


def _defaults(schema: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a form says where the person left a field alone."""
    properties = (schema or {}).get("properties")
    if not isinstance(properties, dict):
        return {}
    return {
        name: field["default"]
        for name, field in properties.items()
        if isinstance(field, dict) and "default" in field
    }

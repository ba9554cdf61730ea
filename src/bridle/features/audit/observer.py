"""Turns what a session reports, asks and requests into records; contents become digests."""

import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import asdict

from bridle.engine.runtime import ModelFacts
from bridle.engine.side_calls import charged_to
from bridle.features.audit.chain import Chain
from bridle.host.secrets import SECRETS
from bridle.types.block import SentMessage
from bridle.types.channel import Channel
from bridle.types.errors import ProviderError
from bridle.types.event import (
    CallChanged,
    CompactionFinished,
    Event,
    FromAgent,
    ModeChanged,
    ModelSwitched,
    PermissionDenied,
    TaskEnded,
    TaskStarted,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from bridle.types.hooks.outcome import HookRun
from bridle.types.model import Completed, ModelEvent, ModelRequest, Provider
from bridle.types.permission import Rule
from bridle.types.question import (
    Answer,
    ElicitationQuestion,
    NetworkQuestion,
    PermissionQuestion,
    Permitted,
    Question,
    Refused,
)
from bridle.types.usage import Usage

_LONGEST = 200
_FORM = "audit"


class Observer:
    """Writes the records of one session, also of its agents."""

    def __init__(self, chain: Chain, facts: Callable[[str], ModelFacts]) -> None:
        self.chain = chain
        self.facts = facts
        self._prefix: tuple[Any, Any, str] = ((), (), "")

    def note(self, kind: str, data: Mapping[str, Any]) -> None:
        self.chain.append(kind, {key: value for key, value in data.items() if value not in (None, "")})

    def digest(self, value: object) -> str:
        return self.chain.key.digest_of(value)

    def rule(self, rule: Rule) -> dict[str, Any]:
        """A rule by its place; what it says may hold more than a name, so it is a digest."""
        content = None if rule.content is None else self.digest(rule.content)
        place = None if rule.file is None else shown(rule.file)
        about = {"tool": shown(rule.tool), "content": content, "source": rule.source, "file": place}
        return {key: value for key, value in {**about, "line": rule.line}.items() if value is not None}

    def take(self, event: Event) -> None:
        if isinstance(event, FromAgent):
            about = {"agent": event.agent_id, "agent_type": shown(event.agent_type)}
            self._take(event.event, about)
        else:
            self._take(event, {})

    def _take(self, event: Event, about: Mapping[str, str]) -> None:
        match event:
            case TurnStarted():
                data = {"prompt": self.digest(event.prompt), "model": shown(event.model), "mode": event.mode}
                self.note("turn", {**about, **data, "entry": event.uuid})
            case TurnFinished():
                outcome = event.outcome
                self.note("turn_end", {**about, "reason": outcome.reason, "error": outcome.is_error})
            case ToolStarted():
                self.note("call", {**about, **self._call(event.call_id, event.tool, event.input)})
            case CallChanged():
                self.note("call_changed", {**about, **self._call(event.call_id, event.tool, event.input)})
            case ToolFinished():
                self.note("result", {**about, **self._result(event)})
            case PermissionDenied():
                data = {"call": event.call_id, "tool": shown(event.tool), "by": event.reason_type}
                self.note("denied", {**about, **data})
            case HookRun():
                data = {"name": shown(event.name), "event": event.event, "outcome": event.outcome}
                output = self.digest([event.stdout, event.stderr])
                self.note("hook", {**about, **data, "exit": event.exit_code, "output": output})
            case ModeChanged():
                self.note("mode", {**about, "mode": event.mode})
            case ModelSwitched():
                data = {"from": shown(event.original), "to": shown(event.fallback)}
                self.note("model_switched", {**about, **data})
            case TaskStarted() | TaskEnded():
                task = event.task
                data = {"task": task.id, "what": task.kind, "call": task.call_id, "status": task.status}
                kind = "task" if isinstance(event, TaskStarted) else "task_end"
                self.note(kind, {**about, **data, "agent_type": shown(task.agent_type or "")})
            case CompactionFinished():
                data = {"trigger": event.trigger, "failed": event.error is not None}
                self.note("compaction", {**about, **data})
            case _:
                pass  # Neither an effect nor a decision.

    def _call(self, call_id: str, tool: str, input: Mapping[str, Any]) -> dict[str, Any]:
        about: dict[str, Any] = {"call": call_id, "tool": shown(tool), "input": self.digest(dict(input))}
        if tool.startswith("mcp__"):
            about["server"] = shown(tool.split("__")[1])
        address = input.get("url")
        if isinstance(address, str) and (host := host_of(address)):
            about["host"] = shown(host)
        return about

    def _result(self, event: ToolFinished) -> dict[str, Any]:
        result = event.result
        return {
            "call": result["tool_use_id"],
            "tool": shown(event.tool),
            "result": self.digest(result.get("content") or ""),
            "error": bool(result.get("is_error")),
            "entry": event.uuid,
        }

    def answered(self, question: Question, answer: Answer | None) -> None:
        """What became of a question, and who decided it."""
        match question:
            case PermissionQuestion():
                about = {"call": question.call_id, "tool": shown(question.tool), "agent": question.agent_id}
                self.note("answer", {**about, **_answer(answer)})
            case NetworkQuestion():
                about = {"host": shown(question.host), "port": question.port}
                self.note("network", {**about, **_answer(answer)})
            case ElicitationQuestion():
                given = getattr(answer, "action", None)
                self.note("elicitation", {"server": shown(question.server), "answer": given})
            case _:
                pass  # A choice is a call with a result.

    def request(self, request: ModelRequest) -> dict[str, Any]:
        """A model call before it goes out: the prefix and each settled message are digested once."""
        system, tools, digest = self._prefix
        if system is not request.system or tools is not request.tools:
            digest = self.digest([list(request.system), list(request.tools)])
            self._prefix = (request.system, request.tools, digest)
        history = request.history
        settled = history.encoded(_FORM, self._message)
        last = self._message(history.messages[-1], None) if history.messages else b""
        messages = self.chain.key.digest(b"".join((*settled, last)))
        return {"model": shown(request.model), "prefix": digest, "messages": messages, "count": len(history)}

    def _message(self, message: SentMessage, origin: str | None) -> bytes:
        del origin
        return self.digest(message).encode()


class AuditChannel:
    """Passes everything on; what happens is recorded first."""

    def __init__(self, channel: Channel, observer: Observer) -> None:
        self._channel = channel
        self._observer = observer

    def emit(self, event: Event) -> None:
        self._observer.take(event)
        self._channel.emit(event)

    async def ask(self, question: Question) -> Answer:
        answer: Answer | None = None
        try:
            answer = given = await self._channel.ask(question)
        finally:
            self._observer.answered(question, answer)
        return given


class AuditProvider:
    """Passes requests and answers on; each call is two records."""

    def __init__(self, inner: Provider, observer: Observer, source: str = "main") -> None:
        self._inner = inner
        self._observer = observer
        self._source = source

    def charged_to(self, agent: str | None, source: str | None = None) -> "AuditProvider":
        """A provider for the calls of an agent or for one source."""
        inner = charged_to(self._inner, agent, source)
        return AuditProvider(inner, self._observer, source or agent or self._source)

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The answer of the wrapped provider.

        Raises:
            ProviderError: the provider fails.
        """
        observer, began = self._observer, time.monotonic()
        observer.note("model", {**observer.request(request), "for": shown(self._source)})
        ended: dict[str, Any] = {"model": shown(request.model), "outcome": "cut off"}
        try:
            stream: Any = self._inner.stream(request)
            async with aclosing(stream) as events:
                async for event in events:
                    if isinstance(event, Completed):
                        ended = self._completed(event)
                    yield event
        except ProviderError as error:
            ended |= {"outcome": "failed", "error": error.kind, "status": error.status}
            raise
        finally:
            observer.note("answered", {**ended, "ms": round((time.monotonic() - began) * 1000)})

    async def close(self) -> None:
        await self._inner.close()

    def _completed(self, event: Completed) -> dict[str, Any]:
        message = event.message
        usage, model = Usage.from_api(message["usage"]), message["model"]
        facts = self._observer.facts(model)
        return {
            "model": shown(model),
            "outcome": "completed",
            "content": self._observer.digest(message["content"]),
            "usage": {name: count for name, count in asdict(usage).items() if count},
            "usd": round(facts.cost(usage), 8) if facts.is_priced else None,
            "request": shown(event.request_id or ""),
        }


def shown(text: str) -> str:
    """A name as records have it: without secrets, and short."""
    return SECRETS.hide(text)[:_LONGEST]


def host_of(address: str) -> str:
    """The host of an address, nothing else of it."""
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def _answer(answer: Answer | None) -> dict[str, Any]:
    match answer:
        case Permitted():
            by = "hook" if answer.by_hook else _origin(answer)
            return {"allowed": True, "by": by, "rules": len(answer.updates), "edited": answer.edited}
        case Refused():
            return {"allowed": False, "by": _origin(answer) if answer.by_person else "no one"}
        case _:
            return {"allowed": False, "by": "interrupt"}


def _origin(answer: Permitted | Refused) -> str:
    origin = answer.origin
    if origin is None:
        return "person"
    return shown(f"{origin.source}:{origin.who}" if origin.who else str(origin.source))

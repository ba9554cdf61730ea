"""The channel to a host program: events go out as frames, questions as control requests."""

import asyncio
import os.path
from collections.abc import Callable, Mapping
from typing import Any

from bridle.frontends.print.channel import NO_APPROVER, Presenter
from bridle.protocol.control import ControlExchange, HostClosed, HostRefused
from bridle.protocol.frames import Frame, Framer
from bridle.protocol.input_lines import read_origin
from bridle.tools.catalog import traits_of
from bridle.types.event import Event, TurnFinished
from bridle.types.ids import new_uuid
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
from bridle.types.turn import Outcome

_PATHS = ("file_path", "notebook_path")
_NETWORK = "SandboxNetworkAccess"
"""The name under which hosts are asked whether a confined command may reach a machine."""


class HostChannel:
    """Speaks the control protocol; the host decides what the gate asks."""

    def __init__(
        self,
        send: Callable[[Frame], None],
        framer: Framer,
        correspondence: ControlExchange,
        *,
        asks: bool,
        cwd: Callable[[], str],
        observers: tuple[Presenter, ...] = (),
        expiry: float | None = None,
    ) -> None:
        """`expiry` are the seconds after which a form or page that the host shows is removed."""
        self._expiry = expiry
        self._send = send
        self._framer = framer
        self._correspondence = correspondence
        self._asks = asks
        """Whether the host has said that it answers questions."""
        self._cwd = cwd
        self._observers = observers
        self.outcome: Outcome | None = None

    def emit(self, event: Event) -> None:
        for frame in self._framer.frames(event):
            self._send(frame)
        for observer in self._observers:
            observer.take(event)
        if isinstance(event, TurnFinished):
            self.outcome = event.outcome

    def work(self) -> None:
        """A turn begins."""
        self._change_state("running")

    def rest(self) -> None:
        """No further turn is owed."""
        self._change_state("idle")

    def finish(self) -> None:
        """The run is over."""
        for observer in self._observers:
            observer.finish(self.outcome)

    async def ask(self, question: Question) -> Answer:
        if not self._asks:
            return Refused(message=NO_APPROVER, by_person=False)
        match question:
            case PermissionQuestion():
                answer = read_permission(await self._can_use_tool(question))
                self.note_answer(question, answer)
                return answer
            case ChoiceQuestion():
                return read_choice(await self._choose(question))
            case NetworkQuestion():
                return read_permission(await self._reach(question))
            case ElicitationQuestion():
                return await self._elicit(question)

    def note_answer(self, question: Question, answer: Answer) -> None:
        """A question was answered, by the host or by a remote client."""
        if isinstance(question, PermissionQuestion):
            accepted = isinstance(answer, Permitted)
            source = "user_temporary" if accepted else "user_reject"
            self._framer.decide(question.call_id, accepted=accepted, source=source)

    async def _elicit(self, question: ElicitationQuestion) -> Answer:
        given = {"url": question.url, "requested_schema": question.schema}
        try:
            async with asyncio.timeout(self._expiry):
                answer = await self._correspondence.ask(
                    "elicitation",
                    mcp_server_name=question.server,
                    message=question.message,
                    mode=question.mode,
                    **{key: value for key, value in given.items() if value is not None},
                )
        except TimeoutError:
            return Supplied(action="cancel")
        except (HostRefused, HostClosed) as error:
            return Refused(message=str(error), by_person=False)
        return Supplied.from_wire(answer)

    async def exchange(self, server: str, message: Mapping[str, Any]) -> Any:
        """Put a message to an MCP server inside the host program; returns its answer.

        Raises:
            BridleError: the host refused, or is gone.
        """
        answer = await self._correspondence.ask("mcp_message", server_name=server, message=message)
        return answer.get("mcp_response")

    async def call_back(
        self, callback_id: str, input: dict[str, Any], *, tool_use_id: str, timeout: float
    ) -> Mapping[str, Any]:
        """Run a hook of the host; the caller sets the timeout.

        Raises:
            BridleError: the hook failed, or the host is gone.
        """
        del timeout
        return await self._correspondence.ask(
            "hook_callback", callback_id=callback_id, input=input, tool_use_id=tool_use_id
        )

    async def _can_use_tool(self, question: PermissionQuestion) -> Mapping[str, Any]:
        return await self._request(
            tool_name=question.tool,
            input=self._absolute(question.input),
            tool_use_id=question.call_id,
            permission_suggestions=list(question.suggestions),
            display_name=question.tool,
            description=str(question.input.get("description") or ""),
            decision_reason=question.reason,
            decision_reason_type=question.reason_type,
            **({"blocked_path": question.blocked_path} if question.blocked_path else {}),
            **({"agent_id": question.agent_id} if question.agent_id else {}),
            **({"mcp_server": dict(question.server)} if question.server else {}),
            **({"requires_user_interaction": True} if traits_of(question.tool).is_question else {}),
        )

    async def _reach(self, question: NetworkQuestion) -> Mapping[str, Any]:
        return await self._request(
            tool_name=_NETWORK,
            input={"host": question.host},
            tool_use_id=new_uuid(),
            permission_suggestions=list(question.suggestions),
            display_name=_NETWORK,
            description=f"A sandboxed command wants to reach {question.host}:{question.port}",
        )

    async def _choose(self, question: ChoiceQuestion) -> Mapping[str, Any]:
        return await self._request(
            tool_name=CHOICE_TOOL,
            input={"questions": list(question.questions)},
            tool_use_id=question.call_id,
            permission_suggestions=[],
            display_name=CHOICE_TOOL,
            description="",
            requires_user_interaction=True,
        )

    async def _request(self, **fields: Any) -> Mapping[str, Any]:
        self._change_state("requires_action")
        try:
            return await self._correspondence.ask("can_use_tool", **fields)
        except (HostRefused, HostClosed) as error:
            return {"behavior": "deny", "message": str(error)}
        finally:
            self._change_state("running")

    def _absolute(self, input: Mapping[str, Any]) -> dict[str, Any]:
        """Hosts look at paths without knowing where the session stands."""
        shown = dict(input)
        for name in _PATHS:
            if isinstance(path := shown.get(name), str):
                shown[name] = os.path.normpath(os.path.join(self._cwd(), os.path.expanduser(path)))
        return shown

    def _change_state(self, state: str) -> None:
        for frame in self._framer.state(state):
            self._send(frame)


def read_permission(answer: Mapping[str, Any]) -> Answer:
    """What a host says to a call."""
    origin = read_origin(answer.get("origin"))
    match answer:
        case {"behavior": "allow"}:
            changed, updates = answer.get("updatedInput"), answer.get("updatedPermissions")
            return Permitted(
                input=changed if isinstance(changed, dict) else None,
                updates=tuple(updates) if isinstance(updates, list) else (),
                origin=origin,
            )
        case {"behavior": "deny"}:
            message = answer.get("message")
            return Refused(
                message=message if isinstance(message, str) and message else "The host refused this call.",
                interrupt=answer.get("interrupt") is True,
                origin=origin,
            )
        case _:
            return Refused(message="The host gave an answer that is neither allow nor deny.")


def read_choice(answer: Mapping[str, Any]) -> Answer:
    """What a host chose."""
    match answer:
        case {"behavior": "allow", "updatedInput": {"answers": dict() as answers}}:
            return Chosen(answers={str(question): str(label) for question, label in answers.items()})
        case {"behavior": "deny", "message": str() as message}:
            return Refused(message=message)
        case _:
            return Refused(message="The questions were not answered.")

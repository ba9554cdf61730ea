"""Model calls on the side: counted, budgeted, never part of the conversation."""

from collections.abc import Sequence

from bridle.engine.limits import is_overspent
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn, record_spend
from bridle.transcripts.session import Session
from bridle.types.block import AssistantMessage, text_block
from bridle.types.errors import ProviderError, ToolError
from bridle.types.history import History, SentMessage
from bridle.types.model import (
    Completed,
    FallbackStarted,
    ModelRequest,
    Noted,
    Provider,
    Restarted,
    Started,
    Thinking,
)
from bridle.types.tool import Consultation
from bridle.types.usage import Usage


async def consult(turn: Turn, question: Consultation) -> AssistantMessage:
    """Ask a model one thing and return its whole answer.

    Raises:
        ToolError: the model could not be asked.
    """
    model = turn.runtime.asking.small_model if question.role == "small" else turn.model
    return await consult_beside(turn.session, turn.runtime, question, model=model)


async def consult_beside(
    session: Session,
    runtime: Runtime,
    question: Consultation,
    *,
    model: str,
    before: Sequence[SentMessage] = (),
) -> AssistantMessage:
    """Ask a model a question where no turn may be running; the role of the question does not count.

    `before` is what was said until then in a conversation that is not that of the session.

    Raises:
        ToolError: the model could not be asked.
    """
    if (objection := is_overspent(session, runtime)) is not None:
        raise ToolError(objection)
    request = ModelRequest(
        model=model,
        system=(text_block(question.system),) if question.system else (),
        history=History.of(*before, {"role": "user", "content": question.prompt}),
        tools=question.tools,
        max_tokens=question.max_tokens,
        thinking=Thinking("disabled"),
        user_id=runtime.asking.user_id,
        session_id=session.id,
        cache=False,
    )
    try:
        answer = await whole_answer(session, runtime, request, purpose=question.purpose)
    except ProviderError as error:
        raise ToolError(f"A side request to a model failed: {error}") from error
    if answer is None:
        raise ToolError("A side request to a model got no answer; try again.")
    return answer


async def whole_answer(
    session: Session,
    runtime: Runtime,
    request: ModelRequest,
    *,
    purpose: str,
    provider: Provider | None = None,
) -> AssistantMessage | None:
    """The answer to a request on the side, None when the stream ends without one.

    What it cost is added to the session and noted in its transcript under `purpose`, also for an answer that
    was cut or starts over.

    Raises:
        ProviderError: the model could not answer.
    """
    begun: AssistantMessage | None = None
    request_id: str | None = None
    try:
        charged = provider or charged_to(runtime.provider, None, source=purpose)
        async for event in charged.stream(request):
            match event:
                case Started():
                    begun, request_id = event.message, event.request_id
                case Noted(message=message) if message is not None:
                    begun = message
                case Completed():
                    begun = event.message
                    return begun
                case Restarted() | FallbackStarted():
                    _count(session, runtime, begun, request_id, purpose)
                    begun = None
                case _:
                    pass
    finally:
        _count(session, runtime, begun, request_id, purpose)
    return None


def _count(
    session: Session, runtime: Runtime, message: AssistantMessage | None, request_id: str | None, purpose: str
) -> None:
    if message is None:
        return
    usd = record_spend(session, runtime, message["model"], Usage.from_api(message["usage"]))
    named: AssistantMessage = {**message, "id": session.free_id(message["id"] or "side")}
    session.note_call(named, purpose=purpose, request_id=request_id, usd=usd)


def charged_to(provider: Provider, agent: str | None, source: str | None = None) -> Provider:
    """The provider for the calls of another agent, or for one source, where calls are counted."""
    charged = getattr(provider, "charged_to", None)
    return provider if charged is None else charged(agent, source)

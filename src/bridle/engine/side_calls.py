"""Model calls on the side: counted, budgeted, never part of the conversation."""

from collections.abc import Sequence

from bridle.engine.limits import is_overspent
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn, record_spend
from bridle.transcripts.session import Session
from bridle.types.block import AssistantMessage, text_block
from bridle.types.errors import ProviderError, ToolError
from bridle.types.history import History, SentMessage
from bridle.types.model import Completed, ModelRequest, Provider, Thinking
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
        async for event in runtime.provider.stream(request):
            if isinstance(event, Completed):
                usage = Usage.from_api(event.message["usage"])
                record_spend(session, runtime, event.message["model"], usage)
                return event.message
    except ProviderError as error:
        raise ToolError(f"A side request to a model failed: {error}") from error
    raise ToolError("A side request to a model got no answer; try again.")


def charged_to(provider: Provider, agent: str, source: str | None = None) -> Provider:
    """The provider for the calls of an agent, or for one source, where calls are counted."""
    charged = getattr(provider, "charged_to", None)
    return provider if charged is None else charged(agent, source)

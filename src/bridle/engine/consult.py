"""The door for model calls on the side: counted, budgeted, never part of the conversation."""

from bridle.engine.guards import money_limit
from bridle.engine.turn import Turn
from bridle.types.block import AssistantMessage, text_block
from bridle.types.errors import ProviderError, ToolError
from bridle.types.history import History
from bridle.types.model import Completed, ModelRequest, Thinking
from bridle.types.tool import Consultation
from bridle.types.usage import Usage


async def consult(turn: Turn, question: Consultation) -> AssistantMessage:
    """Ask a model one thing and return its whole answer.

    Raises:
        ToolError: the model could not be asked.
    """
    if (objection := money_limit(turn)) is not None:
        raise ToolError(" ".join(objection.errors))
    asking = turn.runtime.asking
    request = ModelRequest(
        model=asking.small_model if question.role == "small" else turn.model,
        system=(text_block(question.system),) if question.system else (),
        history=History.of({"role": "user", "content": question.prompt}),
        tools=question.tools,
        max_tokens=question.max_tokens,
        thinking=Thinking("disabled"),
        user_id=asking.user_id,
        session_id=turn.session.id,
        cache=False,
    )
    try:
        async for event in turn.runtime.provider.stream(request):
            if isinstance(event, Completed):
                turn.spend(event.message["model"], Usage.from_api(event.message["usage"]), main=False)
                return event.message
    except ProviderError as error:
        raise ToolError(f"A model had to be asked on the side and could not answer: {error}") from error
    raise ToolError("A model had to be asked on the side and gave no answer; try again.")

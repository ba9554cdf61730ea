"""Questions about the conversation that do not become part of it."""

from collections.abc import Sequence

from bridle.commands.context import CommandContext
from bridle.engine.limits import money_limit
from bridle.engine.request import request_for
from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import whole_answer
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.block import SentMessage, text_of
from bridle.types.errors import ToolError
from bridle.types.history import History
from bridle.types.origin import Origin
from bridle.types.turn import Prompt

_MOST_TOKENS = 4_096
_NOTE = "\n\n(This is a side question. Answer from what you know and call no tools.)"


async def ask_aside(question: str, context: CommandContext, *, most: int = _MOST_TOKENS) -> str:
    """Ask the main model with the whole conversation before it; neither question nor answer is kept.

    Raises:
        ToolError: the budget is used up, or the model gave no answer.
        ProviderError: the model could not answer.
    """
    return await ask_about(context.session, context.runtime, question, origin=context.origin, most=most)


async def ask_about(
    session: Session,
    runtime: Runtime,
    question: str,
    *,
    origin: Origin,
    most: int = _MOST_TOKENS,
    earlier: Sequence[tuple[str, str]] = (),
) -> str:
    """Ask the main model about a conversation, for callers that have no command.

    `earlier` are side questions that were asked before this one, with their answers.

    Raises:
        ToolError: the budget is used up, or the model gave no answer.
        ProviderError: the model could not answer.
    """
    turn = Turn(session, Prompt(content=question, origin=origin), runtime)
    if (objection := money_limit(turn)) is not None:
        raise ToolError(" ".join(objection.errors))
    history = _settled(session)
    for before, said in earlier:
        history = history.extended({"role": "user", "content": before})
        history = history.extended({"role": "assistant", "content": said or "(no answer)"})
    asked: SentMessage = {"role": "user", "content": question + _NOTE}
    request = request_for(turn, history.extended(asked), max_tokens=max(most, _MOST_TOKENS))
    answer = await whole_answer(session, runtime, request, purpose="side question")
    if answer is None:
        raise ToolError("The model returned no answer. Try again.")
    return text_of(answer["content"]).strip() or "The model returned no text."


def _settled(session: Session) -> History:
    """The conversation without an answer whose calls are still open, which no service would accept."""
    history = session.history
    if not session.open_calls():
        return history
    last = next(i for i in range(len(history) - 1, -1, -1) if history.messages[i]["role"] == "assistant")
    return History.of(*history.messages[:last])

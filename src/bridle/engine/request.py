"""What a request carries, and what it weighs."""

import msgspec

from bridle.context.text_units import text_units
from bridle.context.tokens import measure, units_of
from bridle.engine.turn import Turn
from bridle.types.block import AssistantMessage, SentMessage
from bridle.types.event import Noticed
from bridle.types.history import History
from bridle.types.model import ModelRequest
from bridle.types.usage import Usage

_LEAST_REPORTED = 5_000
"""The loss of a cached prefix with fewer tokens is not reported."""


def next_request(turn: Turn) -> ModelRequest:
    """The request of the next step; when it loses the cached prefix, the user sees why."""
    request = request_for(turn, turn.session.history)
    if (part := turn.runtime.watch.look(request)) is not None and request.cache:
        measured = turn.session.state.measured
        if measured is not None and measured.tokens >= _LEAST_REPORTED:
            text = f"About {measured.tokens:,} cached tokens must be read again: {part}."
            turn.runtime.channel.emit(Noticed(text, "info"))
    return request


def request_for(turn: Turn, history: History, *, max_tokens: int | None = None) -> ModelRequest:
    """The conversation with everything that stands before it, the same bytes at every step."""
    runtime, asking = turn.runtime, turn.runtime.asking
    facts = runtime.facts(turn.model)
    effort = turn.prompt.effort or asking.effort
    return ModelRequest(
        model=turn.model,
        system=runtime.briefing.system(turn.model),
        history=history,
        tools=runtime.toolbox.definitions(),
        max_tokens=max_tokens or turn.max_tokens or asking.max_tokens or facts.max_tokens,
        thinking=facts.thinking and (turn.session.state.thinking or facts.thinking),
        effort=effort if effort in facts.efforts else None,
        task_budget=asking.task_budget,
        betas=asking.betas,
        user_id=asking.user_id,
        session_id=turn.session.id,
        cache=asking.cache,
        extra=asking.extra,
    )


def fixed_units(turn: Turn) -> int:
    """The weight of what stands before the conversation; weighed once a turn."""
    if turn.fixed_units is None:
        system = turn.runtime.briefing.system(turn.model)
        tools = turn.runtime.toolbox.definitions()
        listing = msgspec.json.encode(tools).decode()
        turn.fixed_units = sum(text_units(block["text"]) for block in system) + text_units(listing)
    return turn.fixed_units


def note_size(turn: Turn, message: AssistantMessage, *, asked: int) -> None:
    """Learn from what the service has counted how large the conversation is."""
    usage = Usage.from_api(message["usage"])
    if usage.context:
        answer: SentMessage = {"role": "assistant", "content": [*message["content"]]}
        turn.session.swap(measured=measure(usage, answer, fixed=fixed_units(turn), asked=asked))


def asked_units(turn: Turn) -> int:
    """The weight of the conversation as it is sent now."""
    return units_of(turn.session.history)

"""Compacts a long conversation in a pause, while the service still remembers it and a summary is cheap."""

from bridle.context.tokens import tokens_now
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.request import fixed_units
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.origin import PROGRAM
from bridle.types.turn import Outcome, Prompt


async def compact_while_warm(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Make room when more than half of it is used.

    Raises:
        ValueError: the conversation could not be compacted.
    """
    del outcome
    turn = Turn(session, Prompt(content="", origin=PROGRAM, meta=True), runtime)
    tokens = tokens_now(session.history, session.state.measured, fixed=fixed_units(turn))
    if not runtime.habits.allowed or tokens < runtime.window(turn.model).compact_at // 2:
        return
    try:
        await compact(turn, trigger="auto", in_turn=False)
    except CompactionFailed as failure:
        raise ValueError(str(failure)) from failure

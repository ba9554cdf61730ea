"""The end of a turn whose answer must have a shape."""

import msgspec
from msgspec import UNSET

from bridle.engine.structured import MOST_ATTEMPTS
from bridle.engine.turn import Ending, Turn


def shaped_ending(turn: Turn) -> Ending | None:
    """How the turn ends, when its answer was given or was wrong too often."""
    shape = turn.runtime.shape
    if shape is None:
        return None
    if shape.accepted is not UNSET:
        text = msgspec.json.encode(shape.accepted).decode()
        return Ending("completed", text=text, structured=shape.accepted)
    if shape.refused >= MOST_ATTEMPTS:
        return Ending.failed(
            "structured_output_retry_exhausted",
            "error_max_structured_output_retries",
            f"The model gave no answer that fits the JSON schema in {shape.refused} attempts.",
        )
    return None

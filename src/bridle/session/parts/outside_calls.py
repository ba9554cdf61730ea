"""Calls that no model of the session makes: other programs do, through the same gate."""

from collections.abc import Callable, Mapping
from typing import Any

from bridle.engine.calls.call import Call, DeferredCall, failure
from bridle.engine.calls.dispatch import dispatch
from bridle.engine.calls.results import normalize
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.block import text_block
from bridle.types.ids import new_uuid
from bridle.types.model import ToolDefinition
from bridle.types.origin import PROGRAM
from bridle.types.tool import ToolOutput
from bridle.types.turn import Prompt


class OutsideCalls:
    """Takes calls through every phase of a call; nothing of them is part of the conversation."""

    def __init__(self, session: Session, runtime: Callable[[], Runtime]) -> None:
        self._session = session
        self._runtime = runtime

    def definitions(self) -> tuple[ToolDefinition, ...]:
        return self._runtime().toolbox.definitions()

    async def run(self, name: str, input: Mapping[str, Any]) -> ToolOutput:
        """What a call came to; whatever goes wrong is its result."""
        turn = Turn(self._session, Prompt(content="", origin=PROGRAM), self._runtime())
        call = Call(id=f"toolu_{new_uuid().replace('-', '')[:24]}", name=name, input=input)
        settled = await dispatch(call, turn, is_alone=_yes)
        if isinstance(settled, DeferredCall):
            return failure("A hook deferred this call, and no later run can resume it here.")
        content = normalize(settled.output.content)
        blocks = [text_block(content)] if isinstance(content, str) else content
        more = [text_block(text) for text in settled.context]
        return ToolOutput(
            content=[*blocks, *more], data=settled.output.data, is_error=settled.output.is_error
        )


async def _yes() -> bool:
    return True

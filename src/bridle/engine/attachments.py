"""Adds attachments to a prompt: those of features, and what it mentions."""

from bridle.engine.turn import Turn
from bridle.types.block import text_of
from bridle.types.turn import Prompt


async def attach_to_prompt(turn: Turn, prompt: Prompt) -> Prompt:
    """A prompt with what it mentions beside it; what reads files is imported with the first mention."""
    runtime = turn.runtime
    prompt = await runtime.features.attach(turn, prompt)
    text = text_of(prompt.content)
    if prompt.verbatim or "@" not in text:
        return prompt
    from bridle.engine.mentions import attach

    return await attach(turn, prompt)

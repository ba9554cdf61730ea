"""Everything that this package brings, in one place."""

import random
from collections.abc import AsyncIterator, Mapping
from typing import Annotated, Any

from msgspec import Meta, Struct

from bridle.providers.scripted import ScriptedProvider, says
from bridle.types.command import Command, CommandResult, Says
from bridle.types.model import ModelEvent, ModelRequest
from bridle.types.package import Contribution, PackageHook
from bridle.types.tool import ToolContext, ToolOutput, tool


class RollInput(Struct, forbid_unknown_fields=True):
    count: Annotated[int, Meta(ge=1, le=100, description="How many dice to roll.")] = 1


@tool("RollDice", RollInput, read_only=True)
async def roll_dice(input: RollInput, ctx: ToolContext) -> ToolOutput:
    """Roll dice with six sides and return what they show."""
    del ctx
    rolled = [random.randint(1, 6) for _ in range(input.count)]
    return ToolOutput(content=", ".join(map(str, rolled)), data={"rolled": rolled})


async def roll(arguments: str, context: Any) -> CommandResult:
    del context
    count = int(arguments) if arguments.isdecimal() else 1
    return Says(f"You rolled {', '.join(str(random.randint(1, 6)) for _ in range(min(count, 100)))}.")


def before_prompt(input: dict[str, Any]) -> dict[str, Any] | None:
    """Tell the model about the dice when a prompt mentions them."""
    if "dice" not in input.get("prompt", ""):
        return None
    said = "The dice are fair and have six sides."
    return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": said}}


class FairProvider:
    """Answers every request with a number."""

    def __init__(self, env: Mapping[str, str]) -> None:
        del env

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        async for event in ScriptedProvider([says(f"I rolled a {random.randint(1, 6)}.")]).stream(request):
            yield event

    async def close(self) -> None:
        """Nothing to close."""


def contribution() -> Contribution:
    """What the entry point names."""
    return Contribution(
        tools=(roll_dice,),
        commands=(Command(name="roll", description="Roll some dice", run=roll, argument_hint="[count]"),),
        hooks=(PackageHook(event="UserPromptSubmit", function=before_prompt),),
        providers={"dice": FairProvider},
    )

"""A feature from outside bridle: one tool, one command, one reminder, one setting."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.types.command import Command, CommandResult, Says
from bridle.types.package import Contribution, FeatureSetting
from bridle.types.tool import Tool, ToolContext, ToolOutput, tool


class GreetInput(Struct, frozen=True, forbid_unknown_fields=True):
    name: str


class Greeter(Feature):
    name = "greeter"

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self.word = str(settings["word"])
        self._reminded: set[tuple[str, str | None]] = set()
        self._tools = (self._tool(),)

    def tools(self) -> tuple[Tool, ...]:
        return self._tools

    def commands(self) -> tuple[Command, ...]:
        return (Command(name="greet", description="Greet someone", run=self._greet),)

    def reminder(self, session: Any) -> str | None:
        thread = (session.id, session.agent_id)
        if thread in self._reminded:
            return None
        self._reminded.add(thread)
        return f"Greet people with {self.word}."

    def for_agent(self, work: Any) -> Feature:
        return self

    async def _greet(self, arguments: str, context: Any) -> CommandResult:
        del context
        return Says(f"{self.word}, {arguments}!")

    def _tool(self) -> Tool:
        @tool("Greet", GreetInput, read_only=True)
        async def greet(input: GreetInput, ctx: ToolContext) -> ToolOutput:
            """Greet someone by name."""
            text = f"{self.word}, {input.name}!"
            return ToolOutput(content=text, data={"text": text})

        return greet


def open_greeter(context: FeatureContext) -> Feature:
    return Greeter(context.own_settings["greeter"])


contribution = Contribution(
    features=(open_greeter,),
    settings=(
        FeatureSetting(
            feature="greeter", name="word", type=str, meaning="The word to greet with", default="Hello"
        ),
    ),
)

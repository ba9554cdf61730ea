"""What the model of one session is told besides the conversation."""

from collections.abc import Sequence

import msgspec

from bridle.context.instructions import load, nested_for
from bridle.context.prompt import PromptInputs, build_system
from bridle.context.reminders import nested_reminder, opening_reminders
from bridle.context.scope import InstructionFile, Instructions, Scope
from bridle.host.git import GitSnapshot
from bridle.types.block import TextBlock


class SessionBriefing:
    """The system prompt never changes by a byte; a folder's instructions are given once, on entering it."""

    def __init__(self, inputs: PromptInputs, *, scope: Scope | None, git: GitSnapshot | None) -> None:
        self._inputs = inputs
        self._scope = scope
        self._git = git
        self._prompts: dict[str, tuple[TextBlock, ...]] = {}
        self._loaded: Instructions | None = None
        self._seen: frozenset[str] = frozenset()

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read of the instruction files."""
        return self._instructions().problems

    def system(self, model: str) -> tuple[TextBlock, ...]:
        if model not in self._prompts:
            environment = msgspec.structs.replace(self._inputs.environment, model=model)
            self._prompts[model] = build_system(
                msgspec.structs.replace(self._inputs, environment=environment)
            )
        return self._prompts[model]

    def opening(self) -> list[TextBlock]:
        inputs = self._inputs
        return [
            *opening_reminders(
                files=self._instructions().files,
                git=self._git,
                environment=inputs.environment if inputs.facts_in_message else None,
            )
        ]

    def beside(self, paths: Sequence[str]) -> str | None:
        if self._scope is None:
            return None
        loaded = self._instructions()
        found: list[InstructionFile] = []
        for path in paths:
            nested = nested_for(path, self._scope, waiting=loaded.waiting, already=self._seen)
            self._seen = nested.seen
            found += nested.files
        block = nested_reminder(tuple(found))
        return None if block is None else block["text"]

    def _instructions(self) -> Instructions:
        if self._loaded is None:
            self._loaded = load(self._scope) if self._scope is not None else Instructions()
            self._seen = self._loaded.seen
        return self._loaded

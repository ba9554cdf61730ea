"""What the model of one session reads besides the conversation."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.context.instruction_scope import InstructionFile, Instructions, Reason, Scope
from bridle.context.instructions import load, nested_for
from bridle.context.prompt import PromptInputs, build_system
from bridle.context.reminders import nested_reminder, opening_reminders, reminder
from bridle.host.git.repository import GitSnapshot
from bridle.types.block import TextBlock
from bridle.types.saved_prompt import SavedPrompt

LoadReason = Reason | Literal["compact"]


class Keep(Struct, frozen=True, kw_only=True):
    """Where a system prompt is kept."""

    known: Callable[[], SavedPrompt | None]
    record: Callable[[SavedPrompt | None], None]
    """Replaces the kept prompt; None drops it."""


class SessionBriefing:
    """The system prompt never changes by a byte; a folder's instructions are given once, on entering it."""

    def __init__(
        self,
        inputs: PromptInputs,
        *,
        scope: Scope | None,
        git: GitSnapshot | None,
        on_load: Callable[[InstructionFile, LoadReason], None] | None = None,
        listings: Sequence[Callable[[], str | None]] = (),
        is_small: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._inputs = inputs
        self._is_small = is_small
        """Whether a model's context window is so small that it gets only the necessary parts."""
        self._listings = listings
        """What there is to choose from when a conversation begins, such as agents; None for nothing."""
        self._on_load = on_load
        """Called with every instruction file that is put into the context."""
        self._reason: LoadReason | None = None
        self._scope = scope
        self._git = git
        self._prompts: dict[str, tuple[TextBlock, ...]] = {}
        self._keep: Keep | None = None
        self._loaded: Instructions | None = None
        self._seen: frozenset[str] = frozenset()

    @property
    def files(self) -> tuple[InstructionFile, ...]:
        """The instruction files that the conversation begins with."""
        return self._instructions().files

    def rephrased(self, **changes: Any) -> "SessionBriefing":
        """A copy with a different system prompt: changed fields of `PromptInputs`."""
        other = SessionBriefing(
            msgspec.structs.replace(self._inputs, **changes),
            scope=self._scope,
            git=self._git,
            on_load=self._on_load,
            listings=self._listings,
            is_small=self._is_small,
        )
        other._loaded, other._seen, other._keep = self._loaded, self._seen, self._keep
        return other

    def keeping(self, keep: Keep) -> "SessionBriefing":
        """A copy whose system prompt never changes after it was sent."""
        other = self.rephrased()
        other._keep = keep
        return other

    def for_agent(
        self,
        prompt: str,
        *,
        cwd: str,
        model: str,
        instructions: bool,
        listings: Sequence[Callable[[], str | None]] = (),
    ) -> "SessionBriefing":
        """A copy for an agent of the session, with its own system prompt and model."""
        other = SessionBriefing(
            msgspec.structs.replace(
                self._inputs,
                environment=msgspec.structs.replace(self._inputs.environment, cwd=cwd, model=model),
                custom=prompt,
                append="",
            ),
            scope=self._scope if instructions else None,
            git=self._git if instructions else None,
            on_load=self._on_load,
            listings=listings,
            is_small=self._is_small,
        )
        if instructions:
            other._loaded, other._seen = self._loaded, self._seen
        return other

    @property
    def problems(self) -> tuple[str, ...]:
        """What could not be read of the instruction files."""
        return self._instructions().problems

    def system(self, model: str) -> tuple[TextBlock, ...]:
        if self._keep is None:
            return self._written(model)
        kept = self._keep.known()
        if kept is None or kept.model != model:
            kept = SavedPrompt(model, tuple(block["text"] for block in self._written(model)))
            self._keep.record(kept)
        return kept.blocks

    def _written(self, model: str) -> tuple[TextBlock, ...]:
        if model not in self._prompts:
            environment = msgspec.structs.replace(self._inputs.environment, model=model)
            minimal = self._inputs.minimal or self._is_small(model)
            self._prompts[model] = build_system(
                msgspec.structs.replace(self._inputs, environment=environment, minimal=minimal)
            )
        return self._prompts[model]

    def opening(self) -> list[TextBlock]:
        inputs = self._inputs
        return [
            *opening_reminders(
                files=self._instructions().files,
                git=self._git,
                environment=inputs.environment if inputs.facts_in_message else None,
                sections=inputs.sections,
            ),
            *(reminder(text) for listing in self._listings if (text := listing())),
        ]

    def anew(self) -> list[TextBlock]:
        """The reminders once more, read again, for a conversation that has lost its beginning."""
        self._loaded, self._reason = None, "compact"
        if self._keep is not None:
            self._keep.record(None)
        return self.opening()

    def beside(self, paths: Sequence[str]) -> str | None:
        if self._scope is None:
            return None
        loaded = self._instructions()
        found: list[InstructionFile] = []
        for path in paths:
            nested = nested_for(path, self._scope, waiting=loaded.waiting, already=self._seen)
            self._seen = nested.seen
            found += nested.files
        self._tell(found)
        block = nested_reminder(tuple(found), self._inputs.sections)
        return None if block is None else block["text"]

    def _instructions(self) -> Instructions:
        if self._loaded is None:
            self._loaded = load(self._scope) if self._scope is not None else Instructions()
            self._seen = self._loaded.seen
            self._tell(self._loaded.files)
        return self._loaded

    def _tell(self, files: Sequence[InstructionFile]) -> None:
        if self._on_load is not None:
            for file in files:
                self._on_load(file, self._reason or file.reason)
            self._reason = None

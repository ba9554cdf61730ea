"""Memory as a feature; what reads and writes it is imported with the first use."""

import os.path
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.context.memory_folder import INDEX, is_enabled, memory_folder
from bridle.engine.feature import Feature, Notes, SideTask
from bridle.features.context import FeatureContext
from bridle.types.services.service import Service
from bridle.types.services.session import MEMORY

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.runtime import Runtime
    from bridle.engine.turn import Turn
    from bridle.features.memory.extraction import Extraction
    from bridle.features.memory.notes import SessionNotes
    from bridle.permissions.preparation import SessionPosition
    from bridle.transcripts.session import Session
    from bridle.types.turn import Outcome


class MemoryFeature(Feature):
    name = "memory"

    def __init__(
        self, folder: str | None = None, *, keeps_notes: bool = False, storage: str | None = None
    ) -> None:
        self._folder = folder
        """Where it is kept; None where nothing is to be remembered."""
        self._storage = storage
        """The folder of the session, where notes of others in the project are given to it."""
        self._past: tuple[str, ...] = ()
        """The folders of notes that the model knows of."""
        self._keeps_notes = keeps_notes
        self._notes: SessionNotes | None = None
        self._extraction: Extraction | None = None

    def part(self, key: Service[Any]) -> Any:
        return self._folder if key is MEMORY else None

    def listing(self, tools: Collection[str]) -> str | None:
        """What earlier sessions have left."""
        return "\n\n".join(filter(None, (self._remembered(), self._noted()))) or None

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        """The model may write into the folder, and read the notes that it knows of."""
        if self._past:
            standing = msgspec.structs.replace(standing, readable=(*standing.readable, *self._past))
        if self._folder is None:
            return standing
        return msgspec.structs.replace(standing, memory=os.path.abspath(self._folder))

    def notes(self, turn: "Turn") -> Notes | None:
        if not self._keeps_notes:
            return None
        return self.session_notes().standing(turn.session, turn.runtime.records.storage)

    def side_tasks(self) -> Mapping[str, SideTask]:
        tasks: dict[str, SideTask] = {} if self._folder is None else {"memory": self._extract}
        if self._keeps_notes:
            tasks["notes"] = self._take_notes
        return tasks | {"documents": _update_documents}

    def for_agent(self, work: "Assignment") -> None:
        return None

    def session_notes(self) -> "SessionNotes":
        if self._notes is None:
            from bridle.features.memory.notes import SessionNotes

            self._notes = SessionNotes()
        return self._notes

    def _remembered(self) -> str | None:
        folder = self._folder
        if folder is None or not os.path.exists(os.path.join(folder, INDEX)):
            return None
        from bridle.context.memory import load_memory, memory_text

        return memory_text(folder, load_memory(folder))

    def _noted(self) -> str | None:
        storage = self._storage
        if storage is None or not os.path.exists(
            os.path.join(os.path.dirname(storage), "session-notes.json")
        ):
            return None
        from bridle.features.memory.past_notes import past_notes

        text, self._past = past_notes(os.path.dirname(storage), own=storage)
        return text

    async def _extract(self, session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
        if self._extraction is None:
            from bridle.features.memory.extraction import Extraction

            assert self._folder is not None
            self._extraction = Extraction(self._folder)
        await self._extraction(session, runtime, outcome)

    async def _take_notes(self, session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
        await self.session_notes().update(session, runtime, outcome)


def open_memory(context: FeatureContext) -> MemoryFeature:
    """With a folder unless settings turn memory off, and with notes at a terminal."""
    settings, env = context.config.settings, context.env
    bare = context.closed or context.leader is not None
    folder = None
    if not bare and is_enabled(env, settings.auto_memory_enabled):
        chosen = _chosen_by_user(context, "autoMemoryDirectory")
        folder = memory_folder(context.project, env, chosen=chosen)
    keeps_notes = context.works_aside and context.interactive
    storage = context.storage if keeps_notes and folder is not None else None
    return MemoryFeature(folder, keeps_notes=keeps_notes, storage=storage)


def _chosen_by_user(context: FeatureContext, key: str) -> str | None:
    """What anyone but the project says: files there may be written without asking."""
    given = {layer.source: layer.values.get(key) for layer in context.config.layers}
    found = (given.get(source) for source in ("policySettings", "flagSettings", "userSettings"))
    return next((value for value in found if isinstance(value, str) and value), None)


async def _update_documents(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.memory.documents import update_documents

    await update_documents(session, runtime, outcome)

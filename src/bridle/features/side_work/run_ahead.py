"""Runs a suggested prompt ahead, so that its answers are there when the user accepts it.

The work happens in a copy of the conversation and of the working folder: reads see the disk, edits stay in
memory. Kept are the answers of the model alone. When the user sends the suggestion, the turn runs like any
other, with its permissions, hooks and checkpoints, and a request that was made ahead word for word is
answered from memory. Whatever has changed meanwhile makes another request, which goes to the model.
"""

import asyncio
import hashlib
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.feature import Feature
from bridle.engine.runtime import Runtime
from bridle.engine.side_agent import SideAgent, copied_workspace, run_side_agent
from bridle.engine.side_calls import charged_to
from bridle.transcripts.session import Session
from bridle.types.block import SentMessage
from bridle.types.errors import BridleError, ProviderError
from bridle.types.ids import new_uuid
from bridle.types.model import (
    Completed,
    FallbackStarted,
    ModelEvent,
    ModelRequest,
    Noted,
    Provider,
    Restarted,
    Started,
)
from bridle.types.permission import Allow, Case, Decision, Deny
from bridle.types.tool import LOOKS_AT_FILES
from bridle.types.turn import Prompt
from bridle.types.usage import Usage

if TYPE_CHECKING:
    from bridle.engine.turn import Turn
    from bridle.types.workspace import Workspace

PURPOSE = "speculation"
MOST_STEPS = 8
MOST_OUTPUT_TOKENS = 16_000
_MOST_MISSES = 2
"""After so many suggestions that were accepted for nothing, what is ahead of the user is not what they do."""
_PLAIN_START = "/!#&"


class RunAhead:
    """The answers to one prompt that the user has not sent yet; at most one runs at a time."""

    def __init__(self) -> None:
        self._prompt = ""
        self._task: asyncio.Task[None] | None = None
        self._answers: dict[bytes, asyncio.Future[list[ModelEvent]]] = {}
        self._accepted = False
        self._served = self._misses = 0

    @property
    def is_running(self) -> bool:
        return self._task is not None and not self._task.done()

    def begin(self, prompt: str, session: Session, runtime: Runtime) -> None:
        """Start with a suggestion; whatever was there for another one is dropped."""
        self.drop()
        if prompt[:1] in _PLAIN_START or "@" in prompt or self._misses >= _MOST_MISSES:
            return  # Commands and mentions mean more than their text.
        self._prompt = prompt
        self._task = asyncio.create_task(self._run(prompt, session, runtime))

    def meet(self, prompt: Prompt) -> None:
        """A turn begins: keep what fits its prompt, and drop everything otherwise."""
        if not self._prompt:
            return
        if _words(prompt) != self._prompt:
            self.drop()
        else:
            self._accepted = True

    def finish_turn(self) -> None:
        """The turn is over, and nothing that was made ahead is of use any more."""
        if self._served:
            self._misses = 0
        elif self._accepted and self._answers:
            self._misses += 1
        self.drop()

    def drop(self) -> None:
        """Discard the answers and end the work that makes them."""
        if self._task is not None:
            self._task.cancel()
        for each in self._answers.values():
            each.cancel()
        self._task, self._prompt = None, ""
        self._answers = {}
        self._accepted, self._served = False, 0

    async def close(self) -> None:
        task = self._task
        self.drop()
        if task is not None:
            await asyncio.gather(task, return_exceptions=True)

    async def settle(self) -> None:
        """Wait until nothing runs ahead."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def find(self, request: ModelRequest) -> list[ModelEvent] | None:
        """The answer to a request that was made ahead; one that still runs is waited for."""
        if not self._accepted or (known := self._answers.pop(_key(request), None)) is None:
            return None
        try:
            events = await asyncio.shield(known)
        except asyncio.CancelledError:
            if known.cancelled():
                return None
            raise
        self._served += 1
        return _free(events)

    async def _run(self, prompt: str, session: Session, runtime: Runtime) -> None:
        workspace = copied_workspace(runtime.workspace)
        workspace.is_draft = True
        folder = await asyncio.to_thread(tempfile.mkdtemp, prefix="bridle-ahead-")
        inner = charged_to(runtime.provider, None, source=PURPOSE)
        work = SideAgent(
            purpose=PURPOSE,
            prompt=prompt,
            guard=_Bounds(workspace),
            workspace=workspace,
            storage=folder,
            most_steps=MOST_STEPS,
            provider=_Recorder(inner, self, self._answers),
        )
        try:
            await run_side_agent(session, runtime, work)
        except (BridleError, OSError, ValueError):
            pass  # The user has not asked for it, and the turn will say what is wrong.
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def is_accepted(self) -> bool:
        """The user has sent the prompt, so the turn itself makes every further request."""
        return self._accepted


class _Recorder:
    """Keeps each whole answer under its request, and makes no more requests than are allowed ahead."""

    def __init__(
        self, inner: Provider, ahead: RunAhead, answers: dict[bytes, asyncio.Future[list[ModelEvent]]]
    ) -> None:
        self._inner, self._ahead, self._answers = inner, ahead, answers
        self._tokens = 0

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        if self._ahead.is_accepted or self._tokens >= MOST_OUTPUT_TOKENS:
            raise ProviderError("Nothing more is made ahead.", kind="invalid_request")
        future: asyncio.Future[list[ModelEvent]] = asyncio.get_running_loop().create_future()
        self._answers[_key(request)] = future
        events: list[ModelEvent] = []
        try:
            async for event in self._inner.stream(request):
                match event:
                    case Restarted():
                        events.clear()
                    case FallbackStarted():
                        future.cancel()  # The turn may find the first model working again.
                    case Completed():
                        events.append(event)
                        self._tokens += Usage.from_api(event.message["usage"]).output
                        if not future.cancelled():
                            future.set_result(events)
                    case _:
                        events.append(event)
                yield event
        finally:
            if not future.done():
                future.cancel()

    async def close(self) -> None:
        """Nothing to do: the session closes the provider within."""


class _Bounds(Feature):
    """Ends the work ahead at the first call that does more than read, or edit the draft, unasked."""

    name = "bounds"

    def __init__(self, workspace: "Workspace") -> None:
        self._workspace = workspace

    async def review(self, turn: "Turn", case: Case, decision: Decision) -> Decision:
        if isinstance(decision, Allow) and self._may_run(turn, case):
            return decision
        turn.stopped_by = "The rest waits for the user."
        return Deny("not before the user sends the prompt")

    def _may_run(self, turn: "Turn", case: Case) -> bool:
        tool = turn.runtime.toolbox.find(case.tool)
        if tool is None or tool.server is not None or tool.needs_person:
            return False
        drafts = self._workspace.unsaved
        if any(
            path in drafts and not os.path.exists(path) for path in case.access.reads + case.access.writes
        ):
            return False  # A file that exists in the draft only cannot be read from the disk.
        match tool.traits.kind:
            case "edit" | "write":
                return bool(case.access.writes)
            case "read":
                return case.read_only
            case kind if kind in LOOKS_AT_FILES or kind == "command":
                # Searches and commands see the disk, where the edits of the draft are missing.
                return case.read_only and not drafts and not case.input.get("run_in_background")
            case _:
                return False


def _key(request: ModelRequest) -> bytes:
    """What the answer depends on, in few bytes."""
    content: Any = (
        request.model,
        request.system,
        [_plain(message) for message in request.history.messages],
        request.tools,
        request.thinking,
        request.effort,
    )
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).digest()


def _plain(message: SentMessage) -> tuple[str, Any]:
    """A message in one form, however its text was given."""
    content = message["content"]
    if isinstance(content, str):
        return message["role"], [{"type": "text", "text": content}]
    return message["role"], content


def _words(prompt: Prompt) -> str:
    content = prompt.content
    if isinstance(content, str):
        return content.strip()
    texts = [block["text"] if block["type"] == "text" else "" for block in content]
    return texts[0].strip() if len(texts) == 1 else ""


def _free(events: list[ModelEvent]) -> list[ModelEvent]:
    """The events under an id of their own and without usage: what they cost is counted already."""
    identity = f"msg_{new_uuid().replace('-', '')}"

    def changed(message: Any) -> Any:
        return {**message, "id": identity, "usage": Usage().to_api()}

    return [
        msgspec.structs.replace(event, message=changed(event.message))
        if isinstance(event, Started | Completed) or (isinstance(event, Noted) and event.message is not None)
        else event
        for event in events
    ]

"""A session of the real engine with hooks: functions that note what they are told, or hooks of settings."""

import os
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bridle.engine.hooks.session_hooks import Basis, SessionHooks
from bridle.engine.loop import run_turn
from bridle.engine.runtime import Runtime
from bridle.hooks.handler import FunctionHook
from bridle.transcripts.session import Session
from bridle.types.event import Noticed
from bridle.types.model import Provider
from bridle.types.origin import TYPED
from bridle.types.tool import Tool
from bridle.types.turn import Outcome, Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session, requests
from tests.fakes.hook_scripts import layer

Reply = Mapping[str, Any] | Callable[[dict[str, Any]], Any] | None


class Hooked:
    """A session whose hooks note every input in `told`."""

    def __init__(self, session: Session, runtime: Runtime, channel: FakeChannel) -> None:
        self.session = session
        self.runtime = runtime
        self.channel = channel
        self.told: list[dict[str, Any]] = []
        self.woken: list[Prompt] = []

    @property
    def hooks(self) -> SessionHooks:
        assert isinstance(self.runtime.hooks, SessionHooks)
        return self.runtime.hooks

    def listen(self, event: str, reply: Reply = None, *, matcher: str | None = None) -> None:
        """Let a function hear an event; it answers with an object, or with what a function makes of it."""

        def hear(input: dict[str, Any]) -> Any:
            self.told.append(input)
            return reply(input) if callable(reply) else reply

        self.hooks.add_function(event, FunctionHook(function=hear), matcher=matcher)

    def inputs(self, event: str) -> list[dict[str, Any]]:
        return [input for input in self.told if input["hook_event_name"] == event]

    async def prompt(self, text: str = "go", **more: Any) -> Outcome:
        return await run_turn(self.session, Prompt(content=text, origin=TYPED, **more), self.runtime)

    def said_to_model(self, request: int = -1) -> str:
        """Everything in one request, as text."""
        return msgspec.json.encode(requests(self.runtime)[request].messages).decode()

    @property
    def notices(self) -> list[str]:
        """What was told, but for how long a hook took: on a busy machine any of them may take long."""
        return [text for text in self.all_notices if " hook took " not in text]

    @property
    def all_notices(self) -> list[str]:
        return [event.text for event in self.channel.of(Noticed)]


@asynccontextmanager
async def hooked(
    folder: Path,
    script: Sequence[Any] | Provider,
    *tools: Tool,
    channel: FakeChannel | None = None,
    settings: Mapping[str, Any] | None = None,
    session: Session | None = None,
    env: Mapping[str, str] | None = None,
    change: Callable[[Runtime], Runtime] = lambda runtime: runtime,
    **basis: Any,
) -> AsyncGenerator[Hooked]:
    """A session in `folder` that allows every call; its hooks end with it."""
    channel = channel or FakeChannel()
    session = session or make_session()
    variables = {**os.environ, "HOME": str(folder / "home"), **(env or {})}
    runtime = change(
        msgspec.structs.replace(make_runtime(folder, script, *tools, channel=channel), env=variables)
    )
    made = Hooked(session, runtime, channel)
    whole = Basis(
        layers=[layer(settings or {})],
        transcript_path=str(folder / "transcript.jsonl"),
        export=variables.__setitem__,
        wake=made.woken.append,
        **basis,
    )
    hooks = SessionHooks(session, runtime, whole)
    made.runtime = msgspec.structs.replace(runtime, hooks=hooks)
    try:
        yield made
    finally:
        await hooks.close()


def output(event: str, **fields: Any) -> dict[str, Any]:
    """The part of an answer that belongs to one event."""
    return {"hookSpecificOutput": {"hookEventName": event, **fields}}

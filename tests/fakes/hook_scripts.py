"""Hooks for tests: settings that name them, and a session that runs them for real."""

import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from bridle.config.sources import Layer, Source
from bridle.hooks.command import CommandHooks
from bridle.hooks.handler import AnyHook, Handler, HookCall, Kind, Origin, Reply
from bridle.hooks.output import cut_into
from bridle.hooks.payload import HookContext, encode, payload
from bridle.hooks.runner import HookRunner, RunnerContext
from bridle.hooks.table import Listeners, Table, from_layers
from bridle.host.reaper import Reaper
from bridle.types.hooks.calls import PreToolUse
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import HookRun, HookStarted

ENV = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}
CONTEXT = HookContext(session_id="s1", transcript_path="/t/s1.jsonl", cwd="/proj", permission_mode="default")
BASH = PreToolUse(tool="Bash", input={"command": "ls"}, call_id="c1")


def layer(hooks: Any, source: Source = "userSettings", path: str = "/settings.json", **values: Any) -> Layer:
    """A settings file that was read and found good."""
    said = {"hooks": hooks, **values}
    return Layer(source, path, said, msgspec.json.format(msgspec.json.encode(said)).decode())


def table(event: str, *commands: str | dict[str, Any], matcher: str | None = None) -> Table:
    """The user's hooks for one event: shell commands, or hooks as settings write them."""
    hooks = [{"type": "command", "command": each} if isinstance(each, str) else each for each in commands]
    return from_layers([layer({event: [{"matcher": matcher, "hooks": hooks}]})], trusted=True)


def call(
    hook: AnyHook, event: HookEvent = BASH, origin: Origin | None = None, timeout: float = 5
) -> HookCall:
    """One run of a hook, as the runner would order it."""
    input = payload(CONTEXT, event)
    return HookCall(
        id="h1",
        name=event.name if event.subject is None else f"{event.name}:{event.subject}",
        hook=hook,
        origin=origin or Origin(source="userSettings"),
        event=event,
        payload=input,
        data=encode(input),
        timeout=timeout,
    )


def python(body: str) -> dict[str, Any]:
    """A hook that is a Python program; `input` in it is the event."""
    program = f"import json, os, sys, time\ninput = json.load(sys.stdin)\n{body}"
    return {"type": "command", "command": sys.executable, "args": ["-S", "-c", program]}


class HookSession:
    """A runner with real processes, and what it reported."""

    def __init__(self, folder: Path, table: Table, commands: CommandHooks, **around: Any) -> None:
        self.emitted: list[HookStarted | HookRun] = []
        self.commands = commands
        handlers: dict[Kind, Handler] = {"command": commands.run, **around.pop("handlers", {})}
        parts: dict[str, Any] = {
            "handlers": handlers,
            "context": lambda: CONTEXT,
            "cut": cut_into(str(folder / "long")),
            "emit": self.emitted.append,
            **around,
        }
        self.runner = HookRunner(Listeners(table), RunnerContext(**parts))

    @property
    def fire(self):
        return self.runner.fire


@asynccontextmanager
async def hook_session(
    folder: Path, table: Table, env: Mapping[str, str] = ENV, **around: Any
) -> AsyncGenerator[HookSession]:
    """A session in `folder` whose hooks end with it."""
    reaper = Reaper()
    storage = str(folder / "storage")
    commands = CommandHooks(project_dir=str(folder), storage=storage, env=lambda: env, reaper=reaper)
    try:
        yield HookSession(folder, table, commands, **around)
    finally:
        await commands.close()
        reaper.close()


def answering(reply: Reply) -> Handler:
    """A handler that always says the same."""

    async def handler(call: HookCall) -> Reply:
        del call
        return reply

    return handler

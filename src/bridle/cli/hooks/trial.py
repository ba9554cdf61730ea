"""`bridle hooks test`: runs hooks on a sample and shows what each of them says."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from typing import Any

import msgspec

from bridle.cli.hooks.folder_hooks import FolderHooks, describe, read_object, short
from bridle.cli.hooks.model import TrialModels
from bridle.cli.hooks.samples import sample
from bridle.cli.say import say, tell
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.config.hook_schema import CommandHook
from bridle.hooks.callback import run_function
from bridle.hooks.command import CommandHooks
from bridle.hooks.fold import fold
from bridle.hooks.handler import Handler, Kind
from bridle.hooks.http import http_handler
from bridle.hooks.mcp_tool import mcp_tool_handler
from bridle.hooks.model_hooks import agent_handler, prompt_handler
from bridle.hooks.output import LONGEST_TEXT
from bridle.hooks.payload import HookContext, payload
from bridle.hooks.runner import HookRunner, RunnerContext
from bridle.hooks.table import Entry, Listeners, Table, choose
from bridle.host.paths import project_dir
from bridle.host.reaper import Reaper
from bridle.types.errors import UsageError
from bridle.types.hooks.calls import ToolEvent
from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import NOTHING_SAID, HookOutcome
from bridle.types.ids import new_uuid

_LONGEST_SHOWN = 2_000
_NOT_EFFECTS = ("runs", "problems", "decision")


def run_trial(folder: FolderHooks, given: ParsedArguments) -> int:
    """Run the hooks of an event that count; the exit code is 1 when one of them fails.

    Raises:
        UsageError: the event, its fields or the number of the hook are off.
    """
    event = sample(
        given.one("event"),
        tool=given.text("tool"),
        given=read_object(given.text("input"), "--input") or {},
        cwd=folder.cwd,
    )
    entries = _chosen(folder, event, given.text("hook"))
    with tempfile.TemporaryDirectory(prefix="bridle-hooks-") as storage:
        return asyncio.run(_try_all(folder, entries, event, storage))


async def _try_all(folder: FolderHooks, entries: list[Entry], event: HookEvent, storage: str) -> int:
    session_id = new_uuid()
    context = HookContext(
        session_id=session_id,
        transcript_path=os.path.join(project_dir(folder.cwd, folder.env), f"{session_id}.jsonl"),
        cwd=folder.cwd,
        permission_mode="default",
    )
    tell(f"input: {_json(payload(context, event))}")
    reaper = Reaper()
    commands = CommandHooks(project_dir=folder.cwd, storage=storage, env=lambda: folder.env, reaper=reaper)
    models = TrialModels(folder.env)
    try:
        around = RunnerContext(
            handlers=_handlers(folder, commands, models),
            context=lambda: context,
            cut=lambda text: text[:LONGEST_TEXT],
        )
        said = [await _try(folder, entry, event, around) for entry in entries]
    finally:
        await models.close()
        await commands.close()
        await asyncio.to_thread(reaper.close)
    if len(said) > 1:
        tell(f"together: {_effect(fold(said))}")
    if models.usd is not None:
        say(f"models: ${models.usd:.4f}\n")
    return 1 if any(outcome.problems for outcome in said) else 0


async def _try(folder: FolderHooks, entry: Entry, event: HookEvent, around: RunnerContext) -> HookOutcome:
    number = folder.table.entries.index(entry) + 1
    tell(f"{number:>3}  {entry.kind}: {short(describe(entry.hook))}")
    if (objection := _objection(folder, entry, event)) is not None:
        tell(f"     not run: {objection}")
        return NOTHING_SAID
    if isinstance(entry.hook, CommandHook) and (entry.hook.run_async or entry.hook.async_rewake):
        say("async: in a session it runs in the background and can't decide anything\n")
    alone = Table(entries=(entry,), policy=folder.table.policy)
    outcome = await HookRunner(Listeners(alone), around).fire(event)
    tell(*(f"     {line}" for line in _lines(outcome)))
    return outcome


def _chosen(folder: FolderHooks, event: HookEvent, number: str | None) -> list[Entry]:
    listening = [entry for entry in folder.table.entries if entry.event == event.name]
    if number is not None:
        index = int(number) - 1 if number.isdecimal() else -1
        if not 0 <= index < len(folder.table.entries):
            raise UsageError(f"no hook {number}; see bridle hooks list")
        if (entry := folder.table.entries[index]) not in listening:
            raise UsageError(f"hook {number} is for {entry.event}, not {event.name}")
        return [entry]
    chosen = choose(listening, event.subject, None)
    if not chosen:
        subject = "" if event.subject is None else f" for {event.subject}"
        hint = f": {len(listening)} with other matchers" if listening else ""
        raise UsageError(f"no hook for {event.name}{subject}{hint}; see bridle hooks list")
    return chosen


def _objection(folder: FolderHooks, entry: Entry, event: HookEvent) -> str | None:
    if (objection := folder.table.policy.objection(entry)) is not None:
        return objection
    if not entry.matcher.matches(event.subject):
        return f"its matcher {entry.matcher_text!r} does not match {event.subject}"
    rule = entry.hook.condition
    if rule is not None and isinstance(event, ToolEvent) and not folder.holds(rule, event.tool, event.input):
        return f"its condition {rule} does not match this call"
    return None


def _handlers(folder: FolderHooks, commands: CommandHooks, models: TrialModels) -> dict[Kind, Handler]:
    return {
        "command": commands.run,
        "http": http_handler(env=folder.env, limits=lambda: folder.limits),
        "prompt": prompt_handler(models.ask),
        "agent": agent_handler(models.inspect),
        "mcp_tool": mcp_tool_handler(None),
        "function": run_function,
    }


def _lines(outcome: HookOutcome) -> Iterator[str]:
    for run in outcome.runs:
        code = "" if run.exit_code is None else f", exit code {run.exit_code}"
        yield f"{run.outcome}{code}, {run.seconds:.3f} s"
        yield from _printed(run.stdout, run.stderr)
    yield f"effect: {_effect(outcome)}"
    yield from (f"problem: {problem}" for problem in outcome.problems)


def _printed(stdout: str, stderr: str) -> Iterator[str]:
    for name, text in (("stdout", stdout), ("stderr", stderr)):
        if text.strip():
            yield f"{name}: {text.strip()[:_LONGEST_SHOWN]}".replace("\n", "\n       ")


def _effect(outcome: HookOutcome) -> str:
    """What an outcome changes, as JSON."""
    changes: dict[str, Any] = {
        field.name: value
        for field in msgspec.structs.fields(HookOutcome)
        if field.name not in _NOT_EFFECTS
        and (value := getattr(outcome, field.name)) != getattr(NOTHING_SAID, field.name)
    }
    if outcome.decision is not None:
        decided = type(outcome.decision).__name__.lower()
        changes = {"decision": decided, "reason": outcome.decision.reason, **changes}
    return _json(changes) if changes else "none"


def _json(value: Any) -> str:
    text = msgspec.json.encode(value).decode()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}… ({len(text)} characters)"

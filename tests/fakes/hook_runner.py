"""A runner with a few hooks and handlers, and no session around it."""

from collections.abc import Mapping

from bridle.hooks.handler import AnyHook, Background, Handler, Kind, Origin
from bridle.hooks.matching import read_matcher
from bridle.hooks.payload import HookContext
from bridle.hooks.runner import HookRunner, RunnerContext
from bridle.hooks.table import Entry, Listeners, Table


def runner_of(
    event: str, *hooks: AnyHook, handlers: Mapping[Kind, Handler], background: Background | None = None
) -> HookRunner:
    """Runs these hooks on every event of that name."""
    entries = tuple(
        Entry(event=event, matcher=read_matcher(None, event), hook=hook, origin=Origin(source="userSettings"))
        for hook in hooks
    )
    context = HookContext(session_id="s1", transcript_path="/t.jsonl", cwd="/")
    around = RunnerContext(
        handlers=handlers, context=lambda: context, cut=lambda text: text[:10_000], background=background
    )
    return HookRunner(Listeners(Table(entries=entries)), around)

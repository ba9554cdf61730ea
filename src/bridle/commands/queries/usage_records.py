"""Every model call recorded on this machine: in transcripts, or in the ledger where there is none."""

import os
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Any

from msgspec import Struct

from bridle.features.budgets.ledger import Ledger, ledger_path
from bridle.host.paths import project_dir, projects_dir
from bridle.providers import catalog
from bridle.transcripts.cost import Work
from bridle.transcripts.transcript import agent_facts
from bridle.transcripts.usage.model_calls import ModelCall, PromptRow, WorkRow, recorded, recorded_in
from bridle.types.services.session import ADVISOR
from bridle.types.usage import Usage

MAIN = "main"
_MOST_FILES = 5_000


class CallRecord(Struct, frozen=True, kw_only=True):
    """One model call with its price and its place."""

    day: date
    """On the user's calendar."""
    at: datetime
    model: str
    usage: Usage
    usd: float
    is_priced: bool = True
    session_id: str
    agent: str = MAIN
    source: str
    project: str
    on_side: bool = False


class PromptRecord(Struct, frozen=True):
    """A prompt of the user."""

    at: datetime
    session_id: str
    text: str

    @property
    def day(self) -> date:
        return self.at.date()


class WorkRecord(Struct, frozen=True):
    """Time and changed lines of a turn, agents included."""

    at: datetime
    project: str
    work: Work

    @property
    def day(self) -> date:
        return self.at.date()


class UsageRecords(Struct, frozen=True):
    """In the order of time."""

    calls: tuple[CallRecord, ...] = ()
    prompts: tuple[PromptRecord, ...] = ()
    work: tuple[WorkRecord, ...] = ()


def usage_records(
    env: Mapping[str, str],
    *,
    since: float | None = None,
    directory: str | None = None,
    own_models: Mapping[str, Any] | None = None,
) -> UsageRecords:
    """Everything since a moment, of one folder's conversations or of all; it reads files, so use a thread."""
    folder = projects_dir(env) if directory is None else project_dir(directory, env)
    price = _Prices(own_models)
    calls: list[CallRecord] = []
    prompts: list[PromptRecord] = []
    work: list[WorkRecord] = []
    for path in _transcripts(folder, since=since):
        found, agent = recorded_in(path), _agent(path)
        calls += [spent for call in found.calls if (spent := price.spent(call, agent)) is not None]
        prompts += [asked for row in found.prompts if (asked := _asked(row)) is not None]
        if not os.path.basename(path).startswith("agent-"):
            # What agents do is in the sums of the conversation that they work for.
            work += [done for row in found.work if (done := _done(row)) is not None]
    if directory is None:
        calls += _without_transcript(env, {call.session_id for call in calls})
    begin = None if since is None else datetime.fromtimestamp(since).astimezone()
    return UsageRecords(
        tuple(sorted((each for each in calls if begin is None or each.at >= begin), key=lambda c: c.at)),
        tuple(sorted((each for each in prompts if begin is None or each.at >= begin), key=lambda p: p.at)),
        tuple(sorted((each for each in work if begin is None or each.at >= begin), key=lambda w: w.at)),
    )


def usage_of_session(path: str, own_models: Mapping[str, Any] | None = None) -> UsageRecords:
    """What a conversation and its agents have used, by the path of its transcript."""
    price = _Prices(own_models)
    found = recorded_in(path)
    calls = [spent for call in found.calls if (spent := price.spent(call, None)) is not None]
    for own in _transcripts(os.path.join(path.removesuffix(".jsonl"), "subagents"), since=None):
        agent = _agent(own)
        calls += [spent for call in recorded_in(own).calls if (spent := price.spent(call, agent)) is not None]
    prompts = [asked for row in found.prompts if (asked := _asked(row)) is not None]
    return UsageRecords(tuple(sorted(calls, key=lambda call: call.at)), tuple(prompts))


def usage_of_rows(
    rows: Iterable[Mapping[str, Any]], own_models: Mapping[str, Any] | None = None
) -> UsageRecords:
    """What a conversation has used that is only in memory."""
    price = _Prices(own_models)
    found = recorded(dict(row) for row in rows)
    calls = [spent for call in found.calls if (spent := price.spent(call, None)) is not None]
    prompts = [asked for row in found.prompts if (asked := _asked(row)) is not None]
    return UsageRecords(tuple(calls), tuple(prompts))


class _Prices:
    """Today's list, for calls that were recorded without what they cost."""

    def __init__(self, own_models: Mapping[str, Any] | None) -> None:
        self._own_models = own_models
        self._models: dict[str, catalog.Model] = {}

    def spent(self, call: ModelCall, agent: str | None) -> CallRecord | None:
        if (at := _moment(call.at)) is None:
            return None
        model = self._models.get(call.model)
        if model is None:
            model = self._models[call.model] = catalog.find(call.model, self._own_models)
        advised = call.on_side and call.source == ADVISOR
        return CallRecord(
            day=at.date(),
            at=at,
            model=call.model,
            usage=call.usage,
            usd=catalog.cost(model, call.usage) if call.usd is None else call.usd,
            is_priced=model.priced or call.usd is not None,
            session_id=call.session_id,
            agent=ADVISOR if advised else agent or call.agent or MAIN,
            source=call.source,
            project=call.cwd,
            on_side=call.on_side,
        )


def _asked(row: PromptRow) -> PromptRecord | None:
    at = _moment(row.at)
    return None if at is None else PromptRecord(at, row.session_id, row.text)


def _done(row: WorkRow) -> WorkRecord | None:
    at = _moment(row.at)
    return None if at is None else WorkRecord(at, row.cwd, row.work)


def _without_transcript(env: Mapping[str, str], known: set[str]) -> list[CallRecord]:
    """What the ledger has of sessions that were not kept, or are deleted by now."""
    path = ledger_path(env)
    if not os.path.exists(path):
        return []
    return [
        CallRecord(
            day=at.date(),
            at=at,
            model=row.model,
            usage=Usage(input=row.tokens - row.output, output=row.output),
            usd=row.usd,
            session_id=row.run,
            agent=row.agent,
            source=row.source,
            project=row.project,
        )
        for row in Ledger(path).rows()
        if row.run not in known and (at := datetime.fromtimestamp(row.at).astimezone())
    ]


def _transcripts(folder: str, *, since: float | None) -> list[str]:
    """Transcripts below a folder that were written to since then, those of agents included."""
    found: list[tuple[float, str]] = []
    for parent, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != "tool-results"]
        for name in names:
            if not name.endswith(".jsonl"):
                continue
            path = os.path.join(parent, name)
            try:
                changed = os.stat(path).st_mtime
            except OSError:
                continue  # It was removed in the meantime.
            if since is None or changed >= since:
                found.append((changed, path))
    return [path for _, path in sorted(found, reverse=True)[:_MOST_FILES]]


def _agent(path: str) -> str | None:
    """The kind of agent whose transcript this is."""
    if not os.path.basename(path).startswith("agent-"):
        return None
    kind = (agent_facts(path) or {}).get("agentType")
    return kind if isinstance(kind, str) and kind else None


def _moment(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError):
        return None

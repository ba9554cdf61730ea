"""Work between turns as a feature; each kind of work is imported when it is due."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from bridle.engine.feature import Feature, SideTask
from bridle.features.context import FeatureContext
from bridle.types.variables import is_off, is_on

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.runtime import Runtime
    from bridle.engine.turn import Turn
    from bridle.features.side_work.queue import SideQueue
    from bridle.features.side_work.run_ahead import RunAhead
    from bridle.transcripts.session import Session
    from bridle.types.model import Provider
    from bridle.types.turn import Outcome

_AWAY_SECONDS = 300.0
_IDLE_SECONDS = 240.0
"""Shortly before the service forgets the conversation, while a summary is still cheap."""
_SUGGESTION = "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION"


class SideWorkFeature(Feature):
    """Runs its own tasks and those of other features after each turn."""

    name = "side_work"

    def __init__(
        self,
        tasks: Mapping[str, SideTask],
        *,
        idle: Mapping[str, tuple[float, SideTask]] | None = None,
        alone: bool = False,
        runs_ahead: bool = False,
    ) -> None:
        self._tasks = tasks
        self._idle = idle or {}
        self._alone = alone
        """Nothing of other features is run."""
        self._queue: SideQueue | None = None
        self._runs_ahead = runs_ahead
        """A prompt is worked on as soon as it is suggested."""
        self.ahead: RunAhead | None = None
        """What was made ahead, once there was a suggestion."""

    def provider(self, provider: "Provider") -> "Provider":
        if not self._runs_ahead:
            return provider
        from bridle.features.side_work.ahead_provider import AheadProvider

        return AheadProvider(provider, lambda: self.ahead)

    def work(self) -> None:
        if self._queue is not None:
            self._queue.begin_turn()

    def does(self, task: str) -> bool:
        """Whether a kind of work follows turns."""
        return task in self._tasks

    def begin_turn(self, turn: "Turn") -> None:
        self.work()
        if self.ahead is not None:
            self.ahead.meet(turn.prompt)

    def follow(self) -> None:
        if self.ahead is not None:
            self.ahead.drop()

    def after_turn(self, turn: "Turn", outcome: "Outcome") -> None:
        if self.ahead is not None:
            self.ahead.finish_turn()
        if outcome.is_error:
            return
        self.queue(turn.runtime).after_turn(turn.session, turn.runtime, outcome)

    def for_agent(self, work: "Assignment") -> None:
        return None

    async def finish(self) -> None:
        """Wait until nothing is left to do."""
        if self._queue is not None:
            await self._queue.settle()
        if self.ahead is not None:
            await self.ahead.settle()

    async def close(self) -> None:
        if self._queue is not None:
            await self._queue.close()
        if self.ahead is not None:
            await self.ahead.close()

    async def suggest(self, session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
        """Suggest a prompt, and begin with it where that is wanted."""
        from bridle.features.side_work.suggestions import suggestion_for

        del outcome
        words = await suggestion_for(session, runtime)
        if words is None or not self._runs_ahead:
            return
        if self.ahead is None:
            from bridle.features.side_work.run_ahead import RunAhead

            self.ahead = RunAhead()
        self.ahead.begin(words, session, runtime)

    def queue(self, runtime: "Runtime") -> "SideQueue":
        if self._queue is None:
            from bridle.features.side_work.queue import SideQueue

            tasks = dict(self._tasks)
            if self._runs_ahead:
                tasks["suggestion"] = self.suggest
            for each in () if self._alone else runtime.features.at("side_tasks"):
                tasks.update(each.side_tasks())
            self._queue = SideQueue(tasks, idle=dict(self._idle))
        return self._queue


def open_side_work(context: FeatureContext) -> SideWorkFeature | None:
    """Nothing in print mode, and for hosts only what they ask for."""
    if not context.works_aside:
        return None
    settings, env = context.config.settings, context.env
    if not context.interactive:
        return _for_hosts(context)
    suggests = settings.prompt_suggestion_enabled is not False and not is_off(env, _SUGGESTION)
    tasks: dict[str, SideTask] = {"suggestion": _suggest} if suggests else {}
    if not is_on(env, "CLAUDE_CODE_DISABLE_TERMINAL_TITLE") and not is_off(env, "BRIDLE_TITLES"):
        tasks["title"] = _title
    idle: dict[str, tuple[float, SideTask]] = {}
    if settings.away_summary_enabled is not False and not is_off(env, "CLAUDE_CODE_ENABLE_AWAY_SUMMARY"):
        idle["recap"] = _seconds(env, "BRIDLE_AWAY_SECONDS", _AWAY_SECONDS), _recap
    if settings.bridle_idle_compaction:
        idle["compaction"] = _seconds(env, "BRIDLE_IDLE_SECONDS", _IDLE_SECONDS), _compact
    runs_ahead = suggests and settings.bridle_speculation is True and context.trusted
    return SideWorkFeature(tasks, idle=idle, runs_ahead=runs_ahead)


def _for_hosts(context: FeatureContext) -> SideWorkFeature | None:
    settings, env = context.config.settings, context.env
    refused = settings.prompt_suggestion_enabled is False and not env.get(_SUGGESTION)
    if not context.options.is_hosted or refused or is_off(env, _SUGGESTION):
        return None
    suggestion = _suggest if context.options.prompt_suggestions else _suggest_when_asked
    return SideWorkFeature({"suggestion": suggestion}, alone=True)


async def _suggest(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.side_work.suggestions import suggest_prompt

    await suggest_prompt(session, runtime, outcome)


async def _suggest_when_asked(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.side_work.suggestions import suggest_when_asked

    await suggest_when_asked(session, runtime, outcome)


async def _title(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.side_work.titles import title_session

    await title_session(session, runtime, outcome)


async def _recap(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.side_work.suggestions import recap_for_return

    await recap_for_return(session, runtime, outcome)


async def _compact(session: "Session", runtime: "Runtime", outcome: "Outcome") -> None:
    from bridle.features.side_work.idle_compaction import compact_while_warm

    await compact_while_warm(session, runtime, outcome)


def _seconds(env: Mapping[str, str], name: str, usual: float) -> float:
    """How long a pause is, for users who want another than the usual one."""
    text = env.get(name, "").strip()
    return float(text) if text.replace(".", "", 1).isdecimal() else usual

"""The scheduled prompts of one session: sent only between turns, each at most once at a time."""

import asyncio
import os
from collections.abc import Callable, Sequence
from datetime import datetime, tzinfo
from zlib import crc32

from msgspec import Struct

from bridle.features.schedules.clock import SystemClock
from bridle.features.schedules.file import ScheduleFile
from bridle.features.schedules.times import Times, describe, parse
from bridle.types.errors import ToolError
from bridle.types.origin import Origin
from bridle.types.services.schedules import Clock, Scheduled, Wakeup
from bridle.types.text import printable
from bridle.types.turn import Prompt

MOST = 50
_MOST_PROMPT = 10_000
_EXPIRY = 7 * 86400.0
_LONGEST_WAIT = 30.0
"""The longest wait between two checks, because clocks are set, machines sleep and files change."""
_TOLD = 80
_MOST_NAMED = 10


class ScheduleContext(Struct, frozen=True, kw_only=True):
    """What schedules need from the session."""

    wake: Callable[[Prompt], None]
    """Gives the session a prompt."""
    tell: Callable[[str], None]
    """Says something to the user."""
    file: ScheduleFile | None = None
    """The file of durable prompts; None where they are not allowed."""
    lasting: bool = True
    """The session continues after its answer."""
    keep: Callable[[Sequence[Scheduled]], None] = lambda _: None
    """Saves the scheduled prompts of this conversation."""
    clock: Clock = SystemClock()
    zone: tzinfo | None = None
    """None for that of the machine."""


class SessionSchedules:
    """See `types.schedule.Schedules`; started with the first scheduled prompt."""

    def __init__(self, context: ScheduleContext) -> None:
        self._context = context
        self._jobs: dict[str, _Job] = {}
        self._wakeup: Wakeup | None = None
        self._idle = True
        self._changed = asyncio.Event()
        self._stamp: tuple[int, int] | None = None
        self._reported = ""
        self._kept: list[Scheduled] = []
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Start to run prompts; those of the file too, if no other process does."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        self._changed.set()

    async def create(self, cron: str, prompt: str, *, recurring: bool, durable: bool) -> Scheduled:
        """Schedule a prompt with a cron expression.

        Raises:
            ToolError: it cannot be read, never comes, or there are too many.
        """
        self._check(prompt, durable=durable)
        cron = " ".join(cron.split())
        now = self._context.clock.now()
        wanted = Scheduled(
            id=os.urandom(4).hex(),
            cron=cron,
            prompt=prompt,
            recurring=recurring,
            durable=durable,
            created=now,
            words=describe(cron),
        )
        job = self._job(wanted, now)
        if durable and self._context.file is not None:
            await self._keep(self._context.file, wanted)
        else:
            self._jobs[wanted.id] = job
            self._keep_own()
        self.begin()
        return wanted

    def restore(self, before: Sequence[Scheduled]) -> None:
        """Schedule again the prompts that the conversation had when it closed.

        Recurring prompts expire. A one-time prompt whose time passed while the session was closed is dropped.
        """
        now = self._context.clock.now()
        for what in before[:MOST]:
            try:
                job = self._following(what, now)
            except ValueError:
                continue  # The line was changed by hand.
            expired = what.recurring and now >= what.created + _EXPIRY
            if job is not None and not (job.missed or expired or what.durable):
                self._jobs[what.id] = job
        self._kept = list(before)
        self._keep_own()
        if own := self._own():
            one = len(own) == 1
            self._context.tell(
                f"{len(own)} scheduled prompt{' is' if one else 's are'} active again: CronList."
            )
            self.begin()

    def forget(self) -> None:
        """Stop the prompts of the conversation. They stay saved for later."""
        self._wakeup, self._kept = None, []
        for what in self._own():
            del self._jobs[what.id]
        self._changed.set()

    async def delete(self, id: str) -> Scheduled:
        """Delete a scheduled prompt.

        Raises:
            ToolError: there is none of that id, or the file cannot be written.
        """
        found = next((each for each in self.all() if each.id == id), None)
        if found is None:
            known = ", ".join(each.id for each in self.all()) or "none"
            raise ToolError(f"Unknown scheduled prompt {id}. Scheduled: {known}.")
        if found.durable and self._context.file is not None:
            try:
                await asyncio.to_thread(self._context.file.remove, id)
            except (OSError, ValueError) as error:
                raise ToolError(f"Could not delete the scheduled prompt: {error}") from error
        self._jobs.pop(id, None)
        self._keep_own()
        self._changed.set()
        return found

    def all(self) -> Sequence[Scheduled]:
        """The prompts of the session and of the file, also if another process runs those."""
        own = [job.what for job in self._jobs.values()]
        file = self._context.file
        if file is not None and not file.owned:
            own += self._read(file)
        return own

    def wake_in(self, seconds: float, *, reason: str, prompt: str) -> Wakeup:
        """Schedule one prompt after a delay. It replaces the one before.

        Raises:
            ToolError: the session ends before.
        """
        self._check(prompt, durable=False)
        at = self._context.clock.now() + seconds
        self._wakeup = Wakeup(at=at, seconds=seconds, reason=reason, prompt=prompt)
        self.begin()
        return self._wakeup

    def stop_waking(self) -> Wakeup | None:
        """Cancel the wakeup. Returns what was cancelled."""
        before, self._wakeup = self._wakeup, None
        self._changed.set()
        return before

    def work(self) -> None:
        """A turn begins: what is due waits."""
        self._idle = False

    def rest(self) -> None:
        """No turn runs and none is owed."""
        self._idle = True
        self._changed.set()

    async def close(self) -> None:
        """Stop all prompts."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._context.file is not None:
            self._context.file.disown()

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            self._look()
            left = self._left()
            if left is not None and left <= 0 and self._idle:
                await self._fire()
            else:
                # While a turn runs, only its end or another process matters.
                wanted = _LONGEST_WAIT if left is None or not self._idle else left
                await self._context.clock.wait(self._changed, min(wanted, _LONGEST_WAIT))

    def _left(self) -> float | None:
        """The seconds until something is due."""
        times = [job.at for job in self._jobs.values()]
        if self._wakeup is not None:
            times.append(self._wakeup.at)
        return min(times) - self._context.clock.now() if times else None

    async def _fire(self) -> None:
        """Run the prompt that has been due for longest."""
        wakeup = self._wakeup
        job = min(self._jobs.values(), key=lambda each: each.at, default=None)
        if wakeup is not None and (job is None or wakeup.at <= job.at):
            self._wakeup = None
            self._context.tell(f"The session continues automatically: {wakeup.reason[:_TOLD]}")
            self._context.wake(_prompt(wakeup.prompt, "wakeup"))
        elif job is not None:
            await self._come(job)

    async def _come(self, job: "_Job") -> None:
        what, now = job.what, self._context.clock.now()
        if what.durable and not await self._still_approved(what):
            self._jobs.pop(what.id, None)
            return
        expired = what.recurring and not what.permanent and now >= what.created + _EXPIRY
        following = None if expired or not what.recurring else self._following(what, now)
        if following is None:
            del self._jobs[what.id]
        else:
            self._jobs[what.id] = following
        # First on disk: a prompt that comes twice does more harm than one that does not come.
        file = self._context.file
        if what.durable and file is not None:
            await self._note(file, what, now, over=following is None)
        elif following is None:
            self._keep_own()
        self._context.tell(f"Scheduled prompt {what.id} ({what.words}): {what.prompt[:_TOLD]}")
        self._context.wake(_prompt(_late(what, job) if job.missed else what.prompt, what.id))

    async def _still_approved(self, what: Scheduled) -> bool:
        """A change of the file ends an approval, also before it was read."""
        file = self._context.file
        return file is not None and await asyncio.to_thread(file.is_approved, what.id)

    def _own(self) -> list[Scheduled]:
        """The scheduled prompts of this conversation."""
        return [job.what for job in self._jobs.values() if not job.what.durable]

    def _keep_own(self) -> None:
        if (own := self._own()) != self._kept:
            self._kept = own
            self._context.keep(own)

    async def _note(self, file: ScheduleFile, what: Scheduled, now: float, *, over: bool) -> None:
        try:
            await asyncio.to_thread(file.remove, what.id) if over else await asyncio.to_thread(
                file.mark, what.id, now
            )
        except (OSError, ValueError) as error:
            self._tell_once(f"Could not write {file.path}, so a scheduled prompt may run again: {error}")

    def _look(self) -> None:
        """Read the file again, if this process runs its prompts."""
        file = self._context.file
        if file is None or not file.exists():
            return
        if not file.own():
            return
        stamp = file.stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        now = self._context.clock.now()
        found = self._read(file)
        self._tell_waiting([each for each in found if not each.approved])
        there = {each.id: each for each in found if each.approved}
        known = {id: job.what for id, job in self._jobs.items() if job.what.durable}
        for id, what in known.items():
            if there.get(id) != what:
                del self._jobs[id]
        for id, each in there.items():
            if id not in self._jobs and (job := self._following(each, now)) is not None:
                self._jobs[id] = job

    def _tell_waiting(self, waiting: Sequence[Scheduled]) -> None:
        if waiting:
            named = ", ".join(printable(each.id)[:_TOLD] for each in waiting[:_MOST_NAMED])
            self._tell_once(
                f"Scheduled prompts of this project do not run, because they are not approved: {named}."
                " List them with: bridle schedules"
            )

    def _read(self, file: ScheduleFile) -> tuple[Scheduled, ...]:
        try:
            return file.read(self._context.clock.now())
        except (OSError, ValueError) as error:
            self._tell_once(f"The scheduled prompts of the project are ignored: {error}")
            return ()

    def _job(self, what: Scheduled, now: float) -> "_Job":
        try:
            parse(what.cron)
        except ValueError as error:
            raise ToolError(f"The cron expression is not valid: {error}.") from error
        if (job := self._following(what, now)) is None:
            raise ToolError(f"{what.cron} never runs: no such day exists.")
        return job

    def _following(self, what: Scheduled, now: float) -> "_Job | None":
        """When it runs next; a one-time prompt whose time has passed is due at once."""
        times, zone = parse(what.cron), self._context.zone
        since = now if what.recurring else what.created
        base = times.next_after(since, zone)
        if base is None:
            return None
        at = shifted(times, base, id=what.id, recurring=what.recurring, zone=zone)
        return _Job(what=what, at=max(at, now), base=base, missed=base < now)

    def _check(self, prompt: str, *, durable: bool) -> None:
        if not prompt.strip():
            raise ToolError("The prompt is empty.")
        if len(prompt) > _MOST_PROMPT:
            raise ToolError(f"The prompt is too long: at most {_MOST_PROMPT} characters.")
        if len(self.all()) >= MOST:
            raise ToolError(
                f"The limit of {MOST} scheduled prompts is reached: delete one with CronDelete first."
            )
        if durable and self._context.file is None:
            raise ToolError("Durable prompts need a trusted folder: omit durable.")
        if not durable and not self._context.lasting:
            raise ToolError(
                "This session ends with its answer, so a later prompt cannot run. Wait with Sleep instead."
            )

    async def _keep(self, file: ScheduleFile, wanted: Scheduled) -> None:
        try:
            await asyncio.to_thread(file.add, wanted)
        except (OSError, ValueError) as error:
            raise ToolError(f"Could not save the scheduled prompt: {error}") from error

    def _tell_once(self, text: str) -> None:
        if text != self._reported:
            self._reported = text
            self._context.tell(text)


class _Job(Struct, frozen=True, kw_only=True):
    what: Scheduled
    at: float
    base: float
    missed: bool = False
    """Its time passed while no session was open."""


def _prompt(text: str, schedule: str) -> Prompt:
    # A model or a file wrote it for later: skills in it count, and it waits for the end of a turn.
    return Prompt(content=text, origin=Origin(source="schedule", who=schedule), priority="later")


def _late(what: Scheduled, job: _Job) -> str:
    when = datetime.fromtimestamp(job.base).strftime("%Y-%m-%d %H:%M")
    return (
        f"A prompt was scheduled for {when}, but no session was open. Ask the user whether to run it "
        f"now, and wait for the answer:\n\n{what.prompt}"
    )


_SHARE = 0.1
_MOST_LATE = 900.0
_MOST_EARLY = 90.0
_ROUND = (0, 30)


def shifted(times: Times, base: float, *, id: str, recurring: bool, zone: tzinfo | None) -> float:
    """When a prompt runs that is due at `base`: the same shift every time for the same id.

    What recurs comes up to a tenth of its period late, a quarter of an hour at most. What comes once, at the
    full or half hour, comes up to 90 seconds early.
    """
    fraction = crc32(id.encode()) / 2**32
    if not recurring:
        return base - fraction * _MOST_EARLY if base // 60 % 60 in _ROUND else base
    following = times.next_after(base, zone)
    period = 0.0 if following is None else following - base
    return base + fraction * min(period * _SHARE, _MOST_LATE)

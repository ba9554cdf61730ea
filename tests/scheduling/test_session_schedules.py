"""Prompts that come by themselves: when, how often, and in which of several sessions."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from bridle.config.schedules import approve, forget, is_approved
from bridle.features.schedules.file import ScheduleFile
from bridle.features.schedules.session import MOST, ScheduleContext, SessionSchedules
from bridle.types.errors import ToolError
from bridle.types.services.schedules import Scheduled
from bridle.types.turn import Prompt
from tests.fakes.clock import FakeClock
from tests.fakes.processes import eventually

_UTC = ZoneInfo("UTC")
_START = datetime(2026, 1, 5, 10, 0, 30, tzinfo=_UTC).timestamp()
_DAY = 86400.0


class Session:
    """One session's schedules and what came of them."""

    def __init__(self, clock: FakeClock, project: Path | None = None, *, lasting: bool = True) -> None:
        self.clock = clock
        self.came: list[Prompt] = []
        self.told: list[str] = []
        self.kept: list[list[Scheduled]] = []
        """Everything that was written down for a resume."""
        self.schedules = SessionSchedules(
            ScheduleContext(
                wake=self.came.append,
                tell=self.told.append,
                file=None if project is None else ScheduleFile(str(project), {"HOME": str(project / "home")}),
                lasting=lasting,
                keep=lambda own: self.kept.append(list(own)),
                clock=clock,
                zone=_UTC,
            )
        )

    @property
    def texts(self) -> list[Any]:
        return [prompt.content for prompt in self.came]


@pytest.fixture
async def session() -> AsyncIterator[Session]:
    made = Session(FakeClock(_START))
    yield made
    await made.schedules.close()


def _file(project: Path) -> Any:
    return json.loads((project / ".claude" / "scheduled_tasks.json").read_text())


async def test_a_recurring_prompt_comes_at_each_of_its_times(session: Session):
    made = await session.schedules.create("*/5 * * * *", "look", recurring=True, durable=False)
    assert len(made.id) == 8 and made.words == "every 5 minutes"
    await session.clock.advance(200)
    assert session.texts == []
    # Due at 10:05, at most half a minute late.
    await session.clock.advance(100)
    assert session.texts == ["look"]
    await session.clock.advance(300)
    assert session.texts == ["look", "look"]


async def test_a_single_prompt_comes_once(session: Session):
    await session.schedules.create("7 10 * * *", "remind", recurring=False, durable=False)
    await session.clock.advance(389)
    assert session.texts == []
    await session.clock.advance(1)
    assert session.texts == ["remind"]
    await session.clock.advance(2 * _DAY)
    assert session.texts == ["remind"] and session.schedules.all() == []


async def test_prompts_come_behind_all_others_and_are_no_notes(session: Session):
    await session.schedules.create("* * * * *", "/check it", recurring=True, durable=False)
    await session.clock.advance(60)
    (prompt,) = session.came
    assert (prompt.priority, prompt.meta, prompt.query) == ("later", False, True)


async def test_nothing_comes_while_a_turn_runs_and_then_once(session: Session):
    await session.schedules.create("* * * * *", "look", recurring=True, durable=False)
    session.schedules.work()
    await session.clock.advance(600)
    assert session.texts == []
    session.schedules.rest()
    await session.clock.settle()
    assert session.texts == ["look"]


async def test_a_recurring_prompt_ends_after_seven_days_with_one_last_time(session: Session):
    await session.schedules.create("0 12 * * *", "daily", recurring=True, durable=False)
    await session.clock.advance(_DAY / 2)
    for _ in range(6):
        await session.clock.advance(_DAY)
    assert len(session.came) == 7 and len(session.schedules.all()) == 1
    await session.clock.advance(_DAY)
    assert len(session.came) == 8 and session.schedules.all() == []


async def test_a_deleted_prompt_does_not_come(session: Session):
    made = await session.schedules.create("* * * * *", "look", recurring=True, durable=False)
    await session.schedules.delete(made.id)
    await session.clock.advance(600)
    assert session.texts == []
    with pytest.raises(ToolError, match="Unknown scheduled prompt"):
        await session.schedules.delete(made.id)


@pytest.mark.parametrize(
    ("cron", "prompt"),
    [("61 * * * *", "x"), ("0 0 30 2 *", "x"), ("* * * * *", " "), ("* * * * *", "x" * 20_000)],
)
async def test_what_makes_no_sense_is_refused(session: Session, cron: str, prompt: str):
    with pytest.raises(ToolError):
        await session.schedules.create(cron, prompt, recurring=True, durable=False)
    assert session.schedules.all() == []


async def test_there_is_a_limit(session: Session):
    for _ in range(MOST):
        await session.schedules.create("0 0 1 1 *", "x", recurring=True, durable=False)
    with pytest.raises(ToolError, match="delete one"):
        await session.schedules.create("0 0 1 1 *", "x", recurring=True, durable=False)


async def test_a_wakeup_comes_once_and_a_new_one_takes_its_place(session: Session):
    session.schedules.wake_in(100, reason="a", prompt="first")
    session.schedules.wake_in(300, reason="b", prompt="second")
    await session.clock.advance(200)
    assert session.texts == []
    await session.clock.advance(100)
    assert session.texts == ["second"]
    await session.clock.advance(1000)
    assert session.texts == ["second"]


async def test_a_wakeup_can_be_given_up(session: Session):
    session.schedules.wake_in(100, reason="a", prompt="first")
    before = session.schedules.stop_waking()
    assert before is not None and before.prompt == "first"
    assert session.schedules.stop_waking() is None
    await session.clock.advance(200)
    assert session.texts == []


async def test_a_session_that_ends_with_its_answer_promises_nothing(tmp_path: Path):
    session = Session(FakeClock(_START), tmp_path, lasting=False)
    with pytest.raises(ToolError, match="ends with its answer"):
        session.schedules.wake_in(100, reason="a", prompt="first")
    with pytest.raises(ToolError, match="ends with its answer"):
        await session.schedules.create("* * * * *", "x", recurring=True, durable=False)
    await session.schedules.create("* * * * *", "x", recurring=True, durable=True)
    assert len(_file(tmp_path)["tasks"]) == 1
    await session.schedules.close()


async def test_without_a_file_nothing_outlives_the_session(session: Session):
    with pytest.raises(ToolError, match="trusted folder"):
        await session.schedules.create("* * * * *", "x", recurring=True, durable=True)


async def test_a_durable_prompt_outlives_its_session(tmp_path: Path):
    clock = FakeClock(_START)
    first = Session(clock, tmp_path)
    made = await first.schedules.create("*/5 * * * *", "look", recurring=True, durable=True)
    await first.schedules.close()
    (entry,) = _file(tmp_path)["tasks"]
    assert entry == {
        "id": made.id, "cron": "*/5 * * * *", "prompt": "look", "createdAt": round(_START * 1000),
        "recurring": True,
    }  # fmt: skip
    second = Session(clock, tmp_path)
    second.schedules.begin()
    await clock.settle()
    assert [each.id for each in second.schedules.all()] == [made.id]
    await clock.advance(300)
    await eventually(lambda: second.texts == ["look"])
    assert _file(tmp_path)["tasks"][0]["lastFiredAt"] == round(clock.now() * 1000)
    await second.schedules.close()


async def test_only_one_of_several_sessions_lets_a_durable_prompt_come(tmp_path: Path):
    clock = FakeClock(_START)
    sessions = [Session(clock, tmp_path) for _ in range(3)]
    await sessions[0].schedules.create("*/5 * * * *", "look", recurring=True, durable=True)
    for each in sessions:
        each.schedules.begin()
    await clock.settle()
    await clock.advance(300)
    await eventually(lambda: sum(len(each.came) for each in sessions) == 1)
    assert [len(each.schedules.all()) for each in sessions] == [1, 1, 1]
    # When that one ends, another takes over.
    owner = next(each for each in sessions if each.came)
    await owner.schedules.close()
    await clock.advance(31)
    await clock.advance(300)
    await eventually(lambda: sum(len(each.came) for each in sessions) == 2)
    assert len(owner.came) == 1
    for each in sessions:
        await each.schedules.close()


async def test_another_process_that_has_the_lock_lets_them_come(tmp_path: Path):
    (tmp_path / ".claude").mkdir()
    script = (
        "import sys\nfrom bridle.features.schedules.file import ScheduleFile\n"
        "assert ScheduleFile(sys.argv[1], {}).own()\nprint('mine', flush=True)\nsys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as other:
        assert other.stdout is not None
        assert await asyncio.to_thread(other.stdout.readline) == "mine\n"
        session = Session(FakeClock(_START), tmp_path)
        await session.schedules.create("*/5 * * * *", "look", recurring=True, durable=True)
        await session.clock.advance(400)
        assert session.texts == [] and len(session.schedules.all()) == 1
        other.kill()
        await asyncio.to_thread(other.wait)
    await session.clock.advance(31)
    await session.clock.advance(300)
    await eventually(lambda: session.texts == ["look"])
    await session.schedules.close()


async def test_a_single_prompt_whose_time_passed_without_a_session_asks_first(tmp_path: Path):
    clock = FakeClock(_START)
    first = Session(clock, tmp_path)
    await first.schedules.create("7 10 * * *", "water the plants", recurring=False, durable=True)
    await first.schedules.close()
    await clock.advance(_DAY)
    second = Session(clock, tmp_path)
    second.schedules.begin()
    await eventually(lambda: len(second.came) == 1)
    assert "Ask the user" in second.texts[0] and "water the plants" in second.texts[0]
    assert _file(tmp_path)["tasks"] == []
    await second.schedules.close()


async def test_what_another_session_adds_or_removes_counts_within_half_a_minute(tmp_path: Path):
    clock = FakeClock(_START)
    owner, other = Session(clock, tmp_path), Session(clock, tmp_path)
    kept = await owner.schedules.create("*/5 * * * *", "one", recurring=True, durable=True)
    await clock.settle()
    await other.schedules.create("*/5 * * * *", "two", recurring=True, durable=True)
    await clock.advance(31)
    assert [each.prompt for each in owner.schedules.all()] == ["one", "two"]
    await other.schedules.delete(kept.id)
    await clock.advance(31)
    assert [each.prompt for each in owner.schedules.all()] == ["two"]
    for each in (owner, other):
        await each.schedules.close()


async def test_what_is_not_understood_in_the_file_is_kept(tmp_path: Path):
    (tmp_path / ".claude").mkdir()
    strange = {"tasks": [{"id": "zz", "kind": "new"}, {"id": "a", "cron": "bad", "prompt": "x"}], "more": 1}
    (tmp_path / ".claude" / "scheduled_tasks.json").write_text(json.dumps(strange))
    session = Session(FakeClock(_START), tmp_path)
    await session.schedules.create("*/5 * * * *", "one", recurring=True, durable=True)
    stored = _file(tmp_path)
    assert stored["more"] == 1 and stored["tasks"][:2] == strange["tasks"]
    assert [each.prompt for each in session.schedules.all()] == ["one"]
    await session.schedules.close()


async def test_a_broken_file_is_told_once_and_never_overwritten(tmp_path: Path):
    (tmp_path / ".claude").mkdir()
    path = tmp_path / ".claude" / "scheduled_tasks.json"
    path.write_text("{")
    session = Session(FakeClock(_START), tmp_path)
    session.schedules.begin()
    await session.clock.advance(60)
    assert len(session.told) == 1 and "are ignored" in session.told[0]
    with pytest.raises(ToolError, match="not JSON"):
        await session.schedules.create("* * * * *", "x", recurring=True, durable=True)
    assert path.read_text() == "{"
    await session.schedules.close()


async def test_writers_do_not_lose_each_others_prompts(tmp_path: Path):
    sessions = [Session(FakeClock(_START), tmp_path) for _ in range(8)]
    await asyncio.gather(
        *(each.schedules.create("0 0 1 1 *", "x", recurring=True, durable=True) for each in sessions)
    )
    assert len(_file(tmp_path)["tasks"]) == 8
    assert sorted(os.listdir(tmp_path / ".claude")) == ["scheduled_tasks.json", "scheduled_tasks.lock"]
    for each in sessions:
        await each.schedules.close()


async def test_prompts_of_a_conversation_come_again_after_a_resume_while_they_are_not_over():
    clock = FakeClock(_START)
    first = Session(clock)
    create = first.schedules.create
    often = await create("*/5 * * * *", "look", recurring=True, durable=False)
    await create("7 10 * * *", "missed", recurring=False, durable=False)
    ahead = await create("7 12 * * *", "remind", recurring=False, durable=False)
    gone = await create("7 13 * * *", "never", recurring=False, durable=False)
    await first.schedules.delete(gone.id)
    await first.schedules.close()
    await clock.advance(3600)

    second = Session(clock)
    second.schedules.restore(first.kept[-1])
    assert [each.id for each in second.schedules.all()] == [often.id, ahead.id]
    assert second.kept == [[often, ahead]]
    assert second.told == ["2 scheduled prompts are active again: CronList."]
    await clock.advance(360)
    assert second.texts == ["look"]
    await clock.advance(3700)
    assert sorted(second.texts) == ["look", "look", "remind"] and second.kept[-1] == [often]
    await second.schedules.close()


async def test_what_recurs_does_not_come_back_after_seven_days():
    clock = FakeClock(_START)
    first = Session(clock)
    await first.schedules.create("0 12 * * *", "daily", recurring=True, durable=False)
    await first.schedules.close()
    await clock.advance(7 * _DAY)
    second = Session(clock)
    second.schedules.restore(first.kept[-1])
    assert second.schedules.all() == [] and second.kept == [[]] and second.told == []


async def test_a_line_that_somebody_has_changed_brings_nothing(session: Session):
    broken = Scheduled(id="a", cron="every day", prompt="x", created=_START)
    durable = Scheduled(id="b", cron="* * * * *", prompt="x", created=_START, durable=True)
    session.schedules.restore([broken, durable])
    assert session.schedules.all() == []


async def test_prompts_of_a_conversation_that_is_left_do_not_come_and_stay_written_down(session: Session):
    await session.schedules.create("* * * * *", "look", recurring=True, durable=False)
    session.schedules.wake_in(100, reason="a", prompt="first")
    session.schedules.forget()
    await session.clock.advance(600)
    assert session.texts == [] and len(session.kept) == 1


_BROUGHT = {"id": "a1", "cron": "* * * * *", "prompt": "/permissions allow Bash user", "recurring": True}


def _bring(project: Path, *entries: dict[str, Any]) -> None:
    (project / ".claude").mkdir(exist_ok=True)
    schedule_file = project / ".claude" / "scheduled_tasks.json"
    schedule_file.write_text(json.dumps({"tasks": entries}))


async def test_what_a_repository_brings_does_not_come_before_it_is_approved(tmp_path: Path):
    """S41, S42."""
    _bring(tmp_path, {**_BROUGHT, "createdAt": _START * 1000})
    session = Session(FakeClock(_START), tmp_path)
    session.schedules.begin()
    await session.clock.advance(600)
    await session.schedules.close()
    assert session.came == [] and "a1" in session.told[0] and "bridle schedules" in session.told[0]
    assert [each.approved for each in session.schedules.all()] in ([], [False])


@pytest.mark.parametrize(
    "change",
    [
        {"prompt": "something else"},
        {"prompt": "/permissions allow Bash user "},
        {"cron": "*/1 * * * *"},
        {"permanent": True},
        {"recurring": 1},
        {"createdAt": 1},
        {"extra": None},
    ],
)
@pytest.mark.parametrize("running", [False, True])
async def test_an_approval_ends_with_any_change(tmp_path: Path, change: dict[str, Any], running: bool):
    """S42: the content that was approved comes, and no other; also when it changes in a running session."""
    entry = {**_BROUGHT, "createdAt": _START * 1000}
    env = {"HOME": str(tmp_path / "home")}
    _bring(tmp_path, entry)
    approve(env, str(tmp_path), entry)
    session = Session(FakeClock(_START), tmp_path)
    if running:
        session.schedules.begin()
        await session.clock.advance(130)
        await eventually(lambda: len(session.came) == 1)
    _bring(tmp_path, {**entry, **change})
    session.schedules.begin()
    await session.clock.advance(600)
    await eventually(lambda: "are not approved" in session.told[-1])
    await session.clock.advance(600)
    await session.schedules.close()
    assert len(session.came) == int(running)


async def test_an_approval_holds_while_only_the_last_time_is_noted(tmp_path: Path):
    entry = {**_BROUGHT, "createdAt": _START * 1000}
    _bring(tmp_path, entry)
    approve({"HOME": str(tmp_path / "home")}, str(tmp_path), entry)
    session = Session(FakeClock(_START), tmp_path)
    session.schedules.begin()
    for count in (1, 2, 3):
        await session.clock.advance(130)
        await eventually(lambda count=count: len(session.came) == count)
    await session.schedules.close()
    assert {prompt.origin.source for prompt in session.came} == {"schedule"}


async def test_an_approval_is_of_one_name_and_one_place(tmp_path: Path):
    entry = {**_BROUGHT, "createdAt": _START * 1000}
    env = {"HOME": str(tmp_path / "home")}
    approve(env, str(tmp_path), entry)
    (tmp_path / "sub").mkdir()
    assert is_approved(env, str(tmp_path), entry)
    assert not is_approved(env, str(tmp_path), {**entry, "id": "a2"})
    assert not is_approved(env, str(tmp_path / "sub"), entry)
    forget(env, str(tmp_path), entry)
    assert not is_approved(env, str(tmp_path), entry)

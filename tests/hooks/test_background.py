import asyncio
import os
from pathlib import Path
from typing import Any

from bridle.config.hook_schema import CommandHook
from bridle.hooks.background import BackgroundHooks
from bridle.hooks.command import CommandHooks
from bridle.hooks.handler import Detached, Ran, Reply
from bridle.types.hooks.events import UserPromptSubmit
from tests.fakes.hook_calls import BASH, STOPPED, call_of
from tests.fakes.hook_runner import runner_of
from tests.fakes.processes import eventually, is_running, read_number

PROMPT = UserPromptSubmit(prompt="hi")


class Session:
    """Background hooks with somebody who listens."""

    def __init__(self, **options: Any) -> None:
        self.woken: list[str] = []
        self.told: list[str] = []
        self.hooks = BackgroundHooks(rewake=self.woken.append, tell=self.told.append, **options)


def _ends(reply: Reply | Exception, after: asyncio.Event | None = None, timeout: float = 5) -> Detached:
    async def rest() -> Reply:
        if after is not None:
            await after.wait()
        if isinstance(reply, Exception):
            raise reply
        return reply

    return Detached(rest=rest, timeout=timeout)


def _hook(*, rewake: bool = False) -> CommandHook:
    return CommandHook(command="true", run_async=True, async_rewake=rewake)


async def test_words_of_a_hook_are_delivered_once_when_it_is_done():
    session, done = Session(), asyncio.Event()
    assert session.hooks.adopt(call_of(_hook(), PROMPT), _ends(Ran(exit_code=0, stdout="late news"), done))
    assert session.hooks.collect() == () and len(session.hooks) == 1
    done.set()
    await eventually(lambda: not len(session.hooks))
    assert session.hooks.collect() == ("late news",)
    assert session.hooks.collect() == ()
    assert (session.woken, session.told) == ([], [])


async def test_an_object_gives_context_to_the_model_and_a_message_to_the_user():
    session = Session()
    output = (
        '{"systemMessage": "linted", "hookSpecificOutput":'
        ' {"hookEventName": "PreToolUse", "additionalContext": "2 warnings"}}'
    )
    session.hooks.adopt(call_of(_hook(), BASH), _ends(Ran(exit_code=0, stdout=output)))
    await eventually(lambda: not len(session.hooks))
    assert (session.hooks.collect(), session.told) == (("2 warnings",), ["linted"])


async def test_exit_code_2_wakes_the_model_when_the_hook_asks_for_it():
    session = Session()
    session.hooks.adopt(
        call_of(_hook(rewake=True), STOPPED), _ends(Ran(exit_code=2, stdout="", stderr="tests fail\n"))
    )
    await eventually(lambda: session.woken)
    assert session.woken == ["tests fail"]
    assert session.hooks.collect() == ()


async def test_other_exit_codes_wake_nobody():
    session = Session()
    for code in (0, 1):
        session.hooks.adopt(
            call_of(_hook(rewake=True), STOPPED), _ends(Ran(exit_code=code, stdout="", stderr="x"))
        )
    await eventually(lambda: not len(session.hooks))
    assert session.woken == []
    assert len(session.told) == 1 and "exit code 1" in session.told[0]


async def test_a_decision_comes_too_late_and_the_user_is_told():
    session = Session()
    session.hooks.adopt(call_of(_hook(), BASH), _ends(Ran(exit_code=2, stdout="", stderr="forbidden")))
    await eventually(lambda: not len(session.hooks))
    assert (session.woken, session.hooks.collect()) == ([], ())
    assert (
        len(session.told) == 1 and "ignored forbidden" in session.told[0] and "forbidden" in session.told[0]
    )


async def test_words_have_a_size_limit():
    session = Session()
    session.hooks.adopt(
        call_of(_hook(rewake=True), STOPPED), _ends(Ran(exit_code=2, stdout="", stderr="x" * 50_000))
    )
    for letter in "abcdefghijklmnopqrstu":
        reply = Ran(exit_code=0, stdout=letter * 50_000)
        session.hooks.adopt(call_of(_hook(), PROMPT), _ends(reply))
    await eventually(lambda: not len(session.hooks))
    assert session.woken == ["x" * 10_000]
    heard = session.hooks.collect()
    assert {len(text) for text in heard} == {10_000} and sum(map(len, heard)) <= 100_000


async def test_a_hook_past_its_time_is_ended_and_told():
    session, never = Session(), asyncio.Event()
    session.hooks.adopt(call_of(_hook(), PROMPT), _ends(Ran(exit_code=0, stdout="x"), never, timeout=0.05))
    await eventually(lambda: session.told)
    assert "timed out after 0.05 seconds" in session.told[0]
    assert (len(session.hooks), session.hooks.collect()) == (0, ())


async def test_a_hook_that_breaks_is_told_and_harms_nobody():
    session = Session()
    session.hooks.adopt(call_of(_hook(), PROMPT), _ends(OSError("no such program")))
    session.hooks.adopt(call_of(_hook(), PROMPT), _ends(Ran(exit_code=0, stdout="fine")))
    await eventually(lambda: not len(session.hooks))
    assert session.hooks.collect() == ("fine",)
    assert len(session.told) == 1 and "no such program" in session.told[0]


async def test_only_so_many_run_at_once():
    session, done = Session(most=2), asyncio.Event()
    called: list[int] = []

    async def rest() -> Reply:
        called.append(1)
        return Ran(exit_code=0, stdout="")

    for _ in range(2):
        assert session.hooks.adopt(call_of(_hook()), _ends(Ran(exit_code=0, stdout=""), done))
    assert not session.hooks.adopt(call_of(_hook()), Detached(rest=rest, timeout=5))
    done.set()
    await eventually(lambda: not len(session.hooks))
    assert called == []
    assert session.hooks.adopt(call_of(_hook()), Detached(rest=rest, timeout=5))
    await session.hooks.close()


async def test_everything_ends_with_the_session():
    session, ended = Session(), asyncio.Event()

    async def rest() -> Reply:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return Ran(exit_code=0, stdout="")

    session.hooks.adopt(call_of(_hook(rewake=True)), Detached(rest=rest, timeout=60))
    async with asyncio.timeout(50):
        await session.hooks.close()
    assert ended.is_set() and len(session.hooks) == 0
    assert (session.woken, session.told, session.hooks.collect()) == ([], [], ())
    assert not session.hooks.adopt(call_of(_hook()), _ends(Ran(exit_code=0, stdout="")))


def _commands(folder: Path) -> CommandHooks:
    return CommandHooks(
        project_dir=str(folder), storage=str(folder / "storage"), env=lambda: os.environ, reaper=None
    )


async def test_a_program_that_is_async_by_its_settings_is_heard_later(tmp_path: Path):
    session, commands = Session(), _commands(tmp_path)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    hook = CommandHook(command=f"read line < {gate}; echo late $line", run_async=True)
    runner = runner_of("UserPromptSubmit", hook, handlers={"command": commands.run}, background=session.hooks)
    async with asyncio.timeout(50):
        outcome = await runner.fire(PROMPT)
        assert (outcome.context, len(session.hooks)) == ((), 1)
        await asyncio.to_thread(gate.write_text, "news\n")
        await eventually(lambda: not len(session.hooks))
    assert session.hooks.collect() == ("late news",)
    await commands.close()


async def test_a_program_that_announces_itself_goes_on_in_the_background(tmp_path: Path):
    session, commands = Session(), _commands(tmp_path)
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    announces = f"""echo '{{"async": true, "asyncTimeout": 5000}}'; read line < {gate}; echo late $line"""
    runner = runner_of(
        "UserPromptSubmit",
        CommandHook(command=announces),
        handlers={"command": commands.run},
        background=session.hooks,
    )
    async with asyncio.timeout(50):
        assert (await runner.fire(PROMPT)).context == ()
        await asyncio.to_thread(gate.write_text, "news\n")
        await eventually(lambda: not len(session.hooks))
    assert session.hooks.collect() == ("late news",)
    await commands.close()


async def test_a_program_wakes_the_model_with_what_it_complains_of(tmp_path: Path):
    session, commands = Session(), _commands(tmp_path)
    hook = CommandHook(command="echo two tests fail >&2; exit 2", async_rewake=True)
    runner = runner_of("Stop", hook, handlers={"command": commands.run}, background=session.hooks)
    assert (await runner.fire(STOPPED)).block is None
    await eventually(lambda: session.woken)
    assert session.woken == ["two tests fail"]
    await commands.close()


async def test_a_program_in_the_background_ends_with_the_session(tmp_path: Path):
    session, commands = Session(), _commands(tmp_path)
    pid = tmp_path / "pid"
    hook = CommandHook(command=f"echo $$ > {pid}; exec sleep 60", run_async=True)
    runner = runner_of("Stop", hook, handlers={"command": commands.run}, background=session.hooks)
    await runner.fire(STOPPED)
    await eventually(lambda: read_number(pid))
    async with asyncio.timeout(50):
        await session.hooks.close()
        await commands.close()
    number = read_number(pid)
    assert number is not None
    await eventually(lambda: not is_running(number))

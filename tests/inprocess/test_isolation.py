import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.providers.scripted import calls, says
from bridle.sdk import AssistantMessage, Client, ResultMessage, ToolResultBlock, UserMessage, query
from tests.fakes.processes import eventually
from tests.inprocess.scene import Scene, of


def printed(messages: list[object]) -> str:
    return "".join(
        str(block.content)
        for message in messages
        if isinstance(message, UserMessage) and isinstance(message.content, list)
        for block in message.content
        if isinstance(block, ToolResultBlock)
    )


async def test_sessions_beside_each_other_have_folders_and_variables_of_their_own(tmp_path: Path):
    command = calls("Bash", command='mkdir -p sub && cd sub && pwd && echo "$FLAVOR"')
    again = calls("Bash", command="pwd")
    one = Scene(tmp_path, says(command), says(again), says("done"), project="one")
    two = Scene(tmp_path, says(command), says(again), says("done"), project="two")
    before = (os.getcwd(), dict(os.environ))
    first, second = await asyncio.gather(
        one.ask(allowed_tools=["Bash"], env={"FLAVOR": "sweet"}),
        two.ask(allowed_tools=["Bash"], env={"FLAVOR": "sour"}),
    )
    assert (os.getcwd(), dict(os.environ)) == before
    assert printed([*first]) == f"{one.project}/sub\nsweet{one.project}/sub"
    assert printed([*second]) == f"{two.project}/sub\nsour{two.project}/sub"
    assert len({message.session_id for each in (first, second) for message in of(each, ResultMessage)}) == 2


async def test_rules_and_modes_of_one_session_do_not_reach_another(tmp_path: Path):
    write = calls("Write", file_path="a.txt", content="x")
    free = Scene(tmp_path, says(write), says("done"), project="free")
    bound = Scene(tmp_path, says(write), says("done"), project="bound")
    await asyncio.gather(free.ask(permission_mode="acceptEdits"), bound.ask())
    assert (free.project / "a.txt").exists() and not (bound.project / "a.txt").exists()


async def test_a_conversation_has_one_writer_also_inside_a_process(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    async with Client(scene.options()) as client:
        await client.query("hi")
        messages = [message async for message in client.receive_response()]
        session_id = of(messages, ResultMessage)[0].session_id
        with pytest.raises(Exception, match="using session"):
            await scene.ask(resume=session_id)


async def test_cancelling_the_consumer_ends_commands_and_their_children(tmp_path: Path):
    scene = Scene(tmp_path, says(calls("Bash", command="sleep 300 & echo $! > child; echo $$ > own; wait")))
    task = asyncio.create_task(scene.ask(allowed_tools=["Bash"]))
    names = [scene.project / name for name in ("child", "own")]
    async with asyncio.timeout(50):
        await eventually(lambda: all(path.exists() and path.read_text().strip() for path in names))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        pids = [path.read_text().strip() for path in names]
        await eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids))
    assert scene.model.closed
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_a_broken_consumer_leaves_a_conversation_that_can_be_resumed(tmp_path: Path):
    scene = Scene(tmp_path, says("Looking.", calls("Bash", command="sleep 300")))
    stream = query(prompt="go", options=scene.options(allowed_tools=["Bash"]))
    with pytest.raises(ZeroDivisionError):
        async for message in stream:
            if isinstance(message, AssistantMessage):
                raise ZeroDivisionError
    await stream.aclose()
    after = Scene(tmp_path, says("going on"))
    messages = await after.ask("go on", continue_conversation=True)
    assert of(messages, ResultMessage)[0].result == "going on"


_QUIET = """
import asyncio, gc, signal, sys
before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
from bridle import Options, query
from bridle.providers.scripted import ScriptedProvider, calls, says
async def main():
    script = [says(calls("Bash", command="echo to stdout; echo to stderr >&2")), says("done")]
    options = Options(
        cwd=sys.argv[1], provider=ScriptedProvider(script), allowed_tools=["Bash"],
        env={"CLAUDE_CONFIG_DIR": sys.argv[1], "HOME": sys.argv[1]}, settings='{"nonsense": 1}',
    )
    return [message async for message in query(prompt="hi", options=options)][-1].result
result = asyncio.run(main())
after = {number: signal.getsignal(number) for number in before}
assert before == after, "signals were changed"
assert gc.isenabled()
sys.exit(0 if result == "done" else 1)
"""


def test_nothing_is_printed_and_no_signal_is_touched(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", _QUIET, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_importing_the_package_costs_next_to_nothing():
    probe = "import sys; import bridle; print([name for name in sys.modules if name.startswith('bridle')])"
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['bridle']"


async def test_what_would_stand_on_standard_error_goes_to_the_program(tmp_path: Path):
    scene = Scene(tmp_path, says("ok"))
    (scene.home / ".claude").mkdir()
    (scene.home / ".claude" / "projects").write_text("no folder")
    await scene.ask()
    assert any("Cannot save this session" in text for text in scene.heard)


async def test_the_signals_of_the_process_stay_as_they_are(tmp_path: Path):
    before = signal.getsignal(signal.SIGTERM)
    await Scene(tmp_path, says("ok")).ask()
    assert signal.getsignal(signal.SIGTERM) is before


async def test_variables_that_come_later_reach_commands_and_not_the_process(tmp_path: Path):
    scene = Scene(tmp_path, says(calls("Bash", command='echo "$LATE_FLAVOR"')), says("done"))

    async def lines() -> AsyncGenerator[Mapping[str, Any], None]:
        yield {"type": "update_environment_variables", "variables": {"LATE_FLAVOR": "bitter"}}
        yield {"type": "user", "message": {"role": "user", "content": "go"}}

    messages = await scene.ask(lines(), allowed_tools=["Bash"])
    assert printed([*messages]) == "bitter"
    assert "LATE_FLAVOR" not in os.environ

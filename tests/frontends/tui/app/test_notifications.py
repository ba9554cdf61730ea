"""How the program calls for attention, names its window and shows a line of the user's own."""

import json
from pathlib import Path

import pytest

from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.tui.app.session import bridle

_AWAY = "\x1b[O"
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made"}}


@pytest.mark.parametrize(
    ("program", "channel", "written"),
    [
        ("iTerm.app", "auto", b"\x1b]9;Bash needs your approval"),
        ("ghostty", "auto", b"\x1b]777;notify;bridle;Bash needs your approval"),
        ("iTerm.app", "terminal_bell", b"\x07"),
    ],
)
async def test_who_looks_elsewhere_is_called(tmp_path: Path, program: str, channel: str, written: bytes):
    settings = {"preferredNotifChannel": channel}
    async with bridle(tmp_path, [step(_CALL)], settings=settings, TERM_PROGRAM=program) as terminal:
        await terminal.ready()
        terminal.type(_AWAY)
        await terminal.say("make it")
        await terminal.until_text("Run a command?")
        await terminal.until_written(written)


async def test_who_is_there_is_not_called(tmp_path: Path):
    async with bridle(tmp_path, [step(_CALL)], TERM_PROGRAM="iTerm.app") as terminal:
        await terminal.ready()
        await terminal.say("make it")
        await terminal.until_text("enter to choose")
        assert b"\x1b]9;Your" not in terminal.output


async def test_a_hook_hears_that_somebody_is_waited_for(tmp_path: Path):
    heard = tmp_path / "heard.json"
    hook = {"type": "command", "command": f"cat > {heard}"}
    settings = {"hooks": {"Notification": [{"hooks": [hook]}]}}
    async with bridle(tmp_path, [step(_CALL)], settings=settings) as terminal:
        await terminal.ready()
        await terminal.say("make it")
        await terminal.until_text("Run a command?")
        await eventually(lambda: heard.exists() and heard.read_text())
        told = json.loads(heard.read_text())
        assert told["hook_event_name"] == "Notification"
        assert told["notification_type"] == "permission_prompt"


async def test_the_window_is_named_after_the_conversation(tmp_path: Path):
    async with bridle(tmp_path, [step("Hi.")]) as terminal:
        await terminal.until_written("\x1b]0;project · bridle".encode())
        await terminal.ready()
        await terminal.say("mend the login")
        await terminal.until_written(b"\x1b]0;mend the login")
        await terminal.until_text("Hi.")
        await terminal.say("/rename login page")
        await terminal.until_written(b"\x1b]0;login page")


async def test_a_status_line_command_is_told_the_state_and_follows_it(tmp_path: Path):
    command = (
        "python3 -c \"import json,sys; d=json.load(sys.stdin); print('mode', d['model']['display_name'], "
        "d['cost']['total_cost_usd'] > 0)\""
    )
    settings = {"statusLine": {"type": "command", "command": command}}
    async with bridle(tmp_path, [step("Hi.")], settings=settings) as terminal:
        await terminal.until_text("mode Sonnet 5.5 False")
        await terminal.say("hello there")
        await terminal.until_text("mode Sonnet 5.5 True")

"""Tools that speak to the user: notifications, findings, files, and the end of a conversation."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bridle.config.options import SessionOptions
from bridle.engine.server import Inbox, Server
from bridle.providers.scripted import calls, says
from bridle.session.choices import choose_tools
from bridle.tools.end_conversation import TOOL as END
from bridle.tools.files.send_user_file import TOOL as SEND
from bridle.tools.push_notification import TOOL as PUSH
from bridle.tools.report_findings import TOOL as REPORT
from bridle.types.event import Noticed, Signalled, ToolFinished, TurnFinished
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeChannel, make_runtime, make_session
from tests.fakes.hooked import hooked
from tests.fakes.processes import eventually

_FINDING = {"file": "a.py", "line": 3, "summary": "wrong", "failure_scenario": "f(0) raises"}


async def _result(folder: Path, name: str, **input: Any) -> tuple[Any, FakeChannel]:
    async with hooked(folder, [says(calls(name, **input)), says("ok")], PUSH, REPORT, SEND) as made:
        await made.prompt()
        (finished,) = made.channel.of(ToolFinished)
    return finished.data, made.channel


async def test_a_notification_reaches_people_the_terminal_and_hooks(tmp_path: Path):
    script = [
        says(calls("PushNotification", message="done:\x1b]0;x\x07 all\ntests", status="proactive")),
        says("ok"),
    ]
    async with hooked(tmp_path, script, PUSH) as made:
        made.listen("Notification")
        await made.prompt()
        await eventually(lambda: made.inputs("Notification"))
        (heard,) = made.inputs("Notification")
    assert heard["message"] == "done:]0;x all tests"
    assert [event.text for event in made.channel.of(Noticed)] == ["done:]0;x all tests"]
    assert [event.sequence for event in made.channel.of(Signalled)] == [
        "\x1b]9;bridle: done:]0;x all tests\x07"
    ]


@pytest.mark.parametrize("message", ["", " ", "x" * 200])
async def test_a_notification_is_short(tmp_path: Path, message: str):
    data, channel = await _result(tmp_path, "PushNotification", message=message)
    assert "1 to 199 characters" in data and channel.of(Noticed) == []


async def test_findings_come_back_as_data(tmp_path: Path):
    data, _ = await _result(tmp_path, "ReportFindings", findings=[_FINDING], level="high")
    assert data == {"level": "high", "findings": [_FINDING], "count": 1}
    data, _ = await _result(tmp_path, "ReportFindings", findings=[_FINDING] * 33)
    assert "32" in data


async def test_files_are_shown_if_they_are_there(tmp_path: Path):
    (tmp_path / "report.md").write_text("all is well")
    data, channel = await _result(tmp_path, "SendUserFile", files=["report.md"], caption="The report")
    path = str(tmp_path / "report.md")
    assert data == {"files": [{"path": path, "size": 11}], "caption": "The report", "display": "attach"}
    assert [event.text for event in channel.of(Noticed)] == [f"The report: {path}"]
    data, _ = await _result(tmp_path, "SendUserFile", files=["missing"])
    assert "Not files" in data


async def test_a_conversation_that_is_ended_takes_no_more_prompts(tmp_path: Path):
    channel, inbox = FakeChannel(), Inbox()
    runtime = make_runtime(tmp_path, [says(calls("EndConversation")), says("Goodbye.")], END, channel=channel)
    server = Server(make_session(), runtime, inbox)
    inbox.put(Prompt(content="insults", origin=TYPED))
    async with asyncio.timeout(50):
        await server.serve(wait_for_tasks=0, say_waiting=print)
    (finished,) = channel.of(TurnFinished)
    assert finished.outcome.text == "Goodbye."


def test_only_at_a_terminal_can_a_conversation_be_ended():
    assert "EndConversation" not in choose_tools(SessionOptions(print_mode=True, prompt="hi"), {}, ()).names()
    asked = SessionOptions(print_mode=True, permission_prompt_tool="stdio")
    assert "EndConversation" not in choose_tools(asked, {}, ()).names()

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from bridle import sdk
from bridle.providers.scripted import calls, says
from bridle.sdk import Client, ResultMessage, UserMessage
from bridle.types.ids import new_uuid
from tests.inprocess.scene import Scene, of


def session_of(messages: list[Any]) -> str:
    return of(messages, ResultMessage)[-1].session_id


async def test_a_conversation_is_resumed_continued_and_forked(tmp_path: Path):
    first = session_of(await Scene(tmp_path, says("blue")).ask("my colour?"))
    resumed = Scene(tmp_path, says("still blue"))
    assert session_of(await resumed.ask("again?", resume=first)) == first
    assert "my colour?" in str(resumed.model.requests[0].messages)
    continued = Scene(tmp_path, says("blue it is"))
    assert session_of(await continued.ask("and now?", continue_conversation=True)) == first
    wanted = new_uuid()
    forked = Scene(tmp_path, says("red"))
    assert session_of(await forked.ask("x", resume=first, fork_session=True, session_id=wanted)) == wanted
    assert len(forked.transcripts()) == 2
    assert "again?" in str(forked.model.requests[0].messages)


async def test_a_conversation_is_resumed_at_a_message(tmp_path: Path):
    scene = Scene(tmp_path, says("one"), says("two"))
    async with Client(scene.options()) as client:
        await client.query("first")
        kept = [message async for message in client.receive_response()]
        await client.query("second")
        session_id = session_of([message async for message in client.receive_response()])
    at = of(kept, sdk.AssistantMessage)[-1].uuid
    again = Scene(tmp_path, says("other"))
    await again.ask("instead", resume=session_id, fork_session=True, resume_session_at=at)
    asked = str(again.model.requests[0].messages)
    assert "first" in asked and "instead" in asked and "second" not in asked
    with pytest.raises(sdk.ProcessError, match=r"No message found with message\.uuid"):
        await Scene(tmp_path).ask("x", resume=session_id, resume_session_at=new_uuid())


async def test_files_still_go_back_after_a_resume(tmp_path: Path):
    edit = calls("Write", file_path="a.txt", content="new")
    scene = Scene(tmp_path, says(edit), says("done"))
    wanted: dict[str, Any] = {
        "enable_file_checkpointing": True,
        "permission_mode": "acceptEdits",
        "extra_args": {"replay-user-messages": None},
    }
    messages = await scene.ask("go", **wanted)
    prompt = next(m.uuid for m in of(messages, UserMessage) if m.content == "go")
    assert prompt is not None
    for fork in (True, False):
        (scene.project / "a.txt").write_text("new")
        options = Scene(tmp_path).options(resume=session_of(messages), fork_session=fork, **wanted)
        async with Client(options) as client:
            await client.rewind_files(prompt)
        assert not (scene.project / "a.txt").exists()


_NOTEBOOK = (
    '{"cells": [{"cell_type": "code", "id": "c1", "source": "1", "metadata": {}, "outputs": []}], '
    '"metadata": {}, "nbformat": 4, "nbformat_minor": 5}'
)


@pytest.mark.parametrize(
    ("name", "content", "change"),
    [
        ("a.txt", "one\n", calls("Write", file_path="a.txt", content="two\n")),
        ("a.txt", "one\r\n", calls("Edit", file_path="a.txt", old_string="one", new_string="two")),
        (
            "a.ipynb",
            _NOTEBOOK,
            calls("NotebookEdit", notebook_path="a.ipynb", cell_id="c1", new_source="2"),
        ),
    ],
    ids=["Write", "Edit", "NotebookEdit"],
)
async def test_what_each_file_tool_changes_goes_back_to_the_byte(
    tmp_path: Path, name: str, content: str, change: Any
):
    scene = Scene(tmp_path, says(calls("Read", file_path=name)), says(change), says("done"))
    file = scene.project / name
    file.write_bytes(content.encode())
    options = scene.options(
        enable_file_checkpointing=True,
        permission_mode="acceptEdits",
        extra_args={"replay-user-messages": None},
    )
    async with Client(options) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        assert file.read_bytes() != content.encode()
        prompt = next(m.uuid for m in of(messages, UserMessage) if m.content == "go")
        assert prompt is not None
        await client.rewind_files(prompt)
    assert file.read_bytes() == content.encode()


async def test_a_prompt_that_joins_a_running_turn_can_be_gone_back_to(tmp_path: Path):
    later = new_uuid()
    client: Client

    async def interject() -> None:
        await client.query(_one({"uuid": later, "message": {"role": "user", "content": "and then"}}))

    scene = Scene(
        tmp_path,
        says(calls("Write", file_path="a.txt", content="first"), then=interject),
        says(calls("Write", file_path="a.txt", content="second")),
        says("done"),
    )
    options = scene.options(enable_file_checkpointing=True, permission_mode="acceptEdits")
    async with Client(options) as client:
        await client.query("go")
        async for _ in client.receive_response():
            pass
        assert (scene.project / "a.txt").read_text() == "second"
        await client.rewind_files(later)
        assert (scene.project / "a.txt").read_text() == "first"


async def _one(message: dict[str, Any]) -> AsyncGenerator[dict[str, Any], None]:
    yield {"type": "user", **message}


async def test_commands_are_undone_too_where_git_knows_the_files(tmp_path: Path):
    import subprocess

    scene = Scene(tmp_path, says(calls("Bash", command="echo x > a.txt; echo y > made.txt")), says("done"))
    (scene.project / "a.txt").write_text("committed")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words], cwd=scene.project, check=True
        )
    options = scene.options(
        enable_file_checkpointing=True,
        allowed_tools=["Bash"],
        extra_args={"replay-user-messages": None},
    )
    async with Client(options) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
        prompt = next(m.uuid for m in of(messages, UserMessage) if m.content == "go")
        assert prompt is not None
        await client.rewind_files(prompt)
    assert (scene.project / "a.txt").read_text() == "committed"
    assert not (scene.project / "made.txt").exists()


async def test_without_a_transcript_nothing_stays(tmp_path: Path):
    scene = Scene(tmp_path, says(calls("Write", file_path="a.txt", content="new")), says("done"))
    await scene.ask(
        extra_args={"no-session-persistence": None},
        enable_file_checkpointing=True,
        permission_mode="acceptEdits",
        env={"TMPDIR": str(tmp_path / "tmp")},
    )
    assert scene.transcripts() == []
    assert not (scene.home / ".claude" / "file-history").exists()
    assert not list((tmp_path / "tmp").glob("*/file-history"))


async def test_conversations_are_listed_named_tagged_copied_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    scene = Scene(tmp_path, says("ok"))
    session_id = session_of(await scene.ask("what is this?"))
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(scene.home / ".claude"))
    folder = str(scene.project)
    (info,) = sdk.list_sessions(folder)
    assert (info.session_id, info.summary) == (session_id, "what is this?")
    assert info.first_prompt == info.summary
    assert (info.cwd, info.file_size) == (folder, scene.transcripts()[0].stat().st_size)
    sdk.rename_session(session_id, "A name", folder)
    sdk.tag_session(session_id, "work")
    renamed = sdk.get_session_info(session_id)
    assert renamed is not None and (renamed.custom_title, renamed.tag) == ("A name", "work")
    said = sdk.get_session_messages(session_id)
    assert [each.type for each in said] == ["user", "assistant"]
    copy = sdk.fork_session(session_id, up_to_message_id=said[0].uuid).session_id
    assert [each.type for each in sdk.get_session_messages(copy)] == ["user"]
    assert {each.session_id for each in sdk.list_sessions()} == {session_id, copy}
    sdk.delete_session(copy)
    assert sdk.get_session_info(copy) is None
    with pytest.raises(FileNotFoundError):
        sdk.delete_session(copy)
    with pytest.raises(ValueError, match="Invalid session_id"):
        sdk.rename_session("x", "y")
    with pytest.raises(ValueError, match="non-empty"):
        sdk.rename_session(session_id, "  ")
    assert sdk.project_key_for_directory(folder) == scene.transcripts()[0].parent.name

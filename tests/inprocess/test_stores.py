"""Transcripts in a store of the program, held against the official Agent SDK where it does the same."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import claude_agent_sdk as official
import pytest

from bridle import sdk
from bridle.providers.scripted import calls, says
from bridle.sdk import Client, InMemorySessionStore, ResultMessage, SessionKey
from bridle.types.ids import new_uuid
from tests.inprocess.scene import Scene, of


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Functions about conversations on disk look where the environment of the program says."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))
    yield


def _rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def _plain(found: Any) -> Any:
    """Results of either SDK as plain values."""
    if isinstance(found, list):
        return [_plain(each) for each in found]
    if hasattr(found, "__struct_fields__"):
        return _told({name: getattr(found, name) for name in found.__struct_fields__})
    return _told(dict(vars(found))) if hasattr(found, "__dataclass_fields__") else found


def _told(fields: dict[str, Any]) -> dict[str, Any]:
    """What a store says of a session; its size and time are not known there and guessed in different ways."""
    return {name: value for name, value in fields.items() if name not in ("file_size", "last_modified")}


def _agent(prompt: str) -> Any:
    return calls("Agent", description="look", prompt=prompt, run_in_background=False)


async def _talk(tmp_path: Path, *, store: Any = None, **options: Any) -> str:
    """A conversation with an agent in it; its id."""
    scene = Scene(tmp_path, says(_agent("find it")), says("It is under the tree."), says("Found."))
    messages = await scene.ask("Where is it?", session_store=store, **options)
    return of(messages, ResultMessage)[-1].session_id


async def test_what_is_written_to_disk_is_in_the_store_when_the_turn_is_over(tmp_path: Path):
    store = InMemorySessionStore()
    scene = Scene(tmp_path, says(_agent("find it")), says("It is under the tree."), says("Found."))
    kept: list[Any] = []
    async with Client(scene.options(session_store=store, session_id=(name := new_uuid()))) as client:
        await client.query("Where is it?")
        project = sdk.project_key_for_directory(scene.project)
        async for message in client.receive_response():
            if isinstance(message, ResultMessage):
                kept += store.get_entries({"project_key": project, "session_id": name})
    assert any(entry["type"] == "assistant" for entry in kept)
    agents = [path for path in scene.transcripts() if "subagents" in path.parts]
    (own,) = [path for path in scene.transcripts() if "subagents" not in path.parts]
    assert store.get_entries({"project_key": project, "session_id": name}) == _rows(own)
    assert store.size == 1 and len(agents) == 1
    (subpath,) = await store.list_subkeys({"project_key": project, "session_id": name})
    key: SessionKey = {"project_key": project, "session_id": name, "subpath": subpath}
    first, *rest = store.get_entries(key)
    assert first["type"] == "agent_metadata" and rest == _rows(agents[0])


async def test_a_conversation_goes_on_where_only_the_store_has_it(tmp_path: Path):
    store = InMemorySessionStore()
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    project = str(tmp_path / "here" / "project")
    session_id = await _talk(tmp_path / "here", store=store)
    resumed = Scene(tmp_path / "there", says("Still there."))
    messages = await resumed.ask("And now?", session_store=store, resume=session_id, cwd=project)
    assert of(messages, ResultMessage)[-1].session_id == session_id
    assert "Where is it?" in str(resumed.model.requests[0].messages)
    assert {path.name for path in resumed.transcripts()} >= {f"{session_id}.jsonl"}
    assert sum("subagents" in path.parts for path in resumed.transcripts()) == 1

    continued = Scene(tmp_path / "there", says("Yes."))
    messages = await continued.ask("Sure?", session_store=store, continue_conversation=True, cwd=project)
    assert of(messages, ResultMessage)[-1].session_id == session_id
    said = await sdk.get_session_messages_from_store(store, session_id, project)
    texts = [str(each.message["content"]) for each in said]
    assert [
        text for text in ("Where is it?", "And now?", "Sure?") if any(text in each for each in texts)
    ] == [
        "Where is it?",
        "And now?",
        "Sure?",
    ]


async def test_the_disk_keeps_what_the_store_has_not(tmp_path: Path):
    session_id = await _talk(tmp_path)
    store = InMemorySessionStore()
    await sdk.import_session_to_store(session_id, store)
    await Scene(tmp_path, says("Later.")).ask("later?", resume=session_id)
    again = Scene(tmp_path, says("Again."))
    await again.ask("again?", resume=session_id, session_store=store)
    assert "later?" in str(again.model.requests[0].messages)
    (own,) = [path for path in again.transcripts() if "subagents" not in path.parts]
    rows = [row["uuid"] for row in _rows(own) if "uuid" in row]
    assert len(rows) == len(set(rows))


class _Broken(InMemorySessionStore):
    """Takes nothing, or nothing at first."""

    def __init__(self, refusals: int) -> None:
        super().__init__()
        self.left = refusals

    async def append(self, key: Any, entries: Any) -> None:
        self.left -= 1
        if self.left >= 0:
            raise OSError("the store is closed")
        await super().append(key, entries)


@pytest.mark.parametrize(("refusals", "errors"), [(2, 0), (10_000, 1)])
async def test_a_store_that_fails_is_tried_again_and_then_told_of(tmp_path: Path, refusals: int, errors: int):
    store = _Broken(refusals)
    scene = Scene(tmp_path, says("ok"))
    async with Client(scene.options(session_store=store)) as client:
        await client.query("go")
        messages = [message async for message in client.receive_response()]
    assert of(messages, ResultMessage)[-1].result == "ok"
    told = [each for each in messages if isinstance(each, sdk.MirrorErrorMessage)]
    assert bool(store.size) == (errors == 0)
    assert all(each.error == "the store is closed" and each.key for each in told)


async def test_an_eager_store_has_lines_before_the_turn_is_over(tmp_path: Path):
    store = InMemorySessionStore()
    seen: list[int] = []

    async def look() -> None:
        async with asyncio.timeout(50):
            while not store.size:
                await asyncio.sleep(0)
        seen.append(store.size)

    scene = Scene(tmp_path, says("ok", then=look))
    await scene.ask("go", session_store=store, session_store_flush="eager")
    assert seen == [1]


async def test_options_that_a_store_cannot_have_are_refused(tmp_path: Path):
    class Least:
        async def append(self, key: Any, entries: Any) -> None:
            del key, entries

        async def load(self, key: Any) -> Any:
            del key

    with pytest.raises(ValueError, match="enable_file_checkpointing"):
        await Scene(tmp_path).ask(session_store=InMemorySessionStore(), enable_file_checkpointing=True)
    with pytest.raises(ValueError, match="list_sessions"):
        await Scene(tmp_path).ask(session_store=Least(), continue_conversation=True)
    with pytest.raises(ValueError, match="list_sessions"):
        least: Any = Least()
        await sdk.list_sessions_from_store(least)
    await Scene(tmp_path, says("ok")).ask(session_store=Least())


async def test_both_sdks_read_the_same_from_a_store(tmp_path: Path):
    session_id, folder = await _talk(tmp_path), str(tmp_path / "project")
    other = of(await Scene(tmp_path, says("Hello.")).ask("<command-name>/go</command-name>"), ResultMessage)
    sdk.rename_session(session_id, "The tree", folder)
    sdk.tag_session(session_id, "garden", folder)
    ours, theirs = InMemorySessionStore(), official.InMemorySessionStore()
    for name in (session_id, other[-1].session_id):
        await sdk.import_session_to_store(name, ours)
        await official.import_session_to_store(name, theirs)
    stores: list[Any] = [ours, theirs]
    (agent_id,) = sdk.list_subagents(session_id)
    assert sdk.list_subagents(session_id, folder) == official.list_subagents(session_id, folder) == [agent_id]
    on_disk = _plain(sdk.get_subagent_messages(session_id, agent_id))
    assert on_disk == _plain(official.get_subagent_messages(session_id, agent_id))
    assert "under the tree" in str(on_disk[-1]["message"]) and on_disk[0]["parent_tool_use_id"] == "call-1"
    for store in stores:
        asked = [
            ("list_sessions_from_store", (store, folder)),
            ("list_sessions_from_store", (store, folder, 1, 1)),
            ("get_session_info_from_store", (store, session_id, folder)),
            ("get_session_info_from_store", (store, new_uuid(), folder)),
            ("get_session_messages_from_store", (store, session_id, folder)),
            ("get_session_messages_from_store", (store, session_id, folder, 1, 1)),
            ("list_subagents_from_store", (store, session_id, folder)),
            ("get_subagent_messages_from_store", (store, session_id, agent_id, folder)),
            ("get_subagent_messages_from_store", (store, session_id, "none", folder)),
        ]
        for name, arguments in asked:
            found = _plain(await getattr(sdk, name)(*arguments))
            assert found == _plain(await getattr(official, name)(*arguments)), name
    listed = await sdk.list_sessions_from_store(ours, folder)
    assert [(info.custom_title, info.tag) for info in listed] == [(None, None), ("The tree", "garden")]


async def test_summaries_that_are_old_or_missing_are_made_from_the_lines(tmp_path: Path):
    session_id, folder = await _talk(tmp_path), str(tmp_path / "project")

    class Stale(InMemorySessionStore):
        async def list_session_summaries(self, project_key: str) -> Any:
            return [
                {**each, "mtime": 0, "data": {}} for each in await super().list_session_summaries(project_key)
            ]

    class Plain(InMemorySessionStore):
        list_session_summaries = sdk.SessionStore.list_session_summaries

    for store in (Stale(), Plain()):
        await sdk.import_session_to_store(session_id, store)
        (info,) = await sdk.list_sessions_from_store(store, folder)
        assert info.summary == "Where is it?"


async def test_a_session_in_a_store_is_named_tagged_copied_and_removed(tmp_path: Path):
    store, folder = InMemorySessionStore(), str(tmp_path / "project")
    session_id = await _talk(tmp_path, store=store)
    await sdk.rename_session_via_store(store, session_id, " A name ", folder)
    await sdk.tag_session_via_store(store, session_id, "work", folder)
    said = await sdk.get_session_messages_from_store(store, session_id, folder)
    copy = await sdk.fork_session_via_store(store, session_id, folder, up_to_message_id=said[0].uuid)
    info = await sdk.get_session_info_from_store(store, copy.session_id, folder)
    assert info is not None and info.custom_title == "A name (fork)"
    assert len(await sdk.get_session_messages_from_store(store, copy.session_id, folder)) == 1
    theirs = await official.get_session_messages_from_store(store, copy.session_id, folder)
    assert [each.message["content"] for each in theirs] == ["Where is it?"]
    await sdk.tag_session_via_store(store, session_id, None, folder)
    named = await sdk.get_session_info_from_store(store, session_id, folder)
    assert named is not None and (named.custom_title, named.tag) == ("A name", None)
    await sdk.delete_session_via_store(store, session_id, folder)
    assert await sdk.get_session_info_from_store(store, session_id, folder) is None
    assert await sdk.list_subagents_from_store(store, session_id, folder) == []
    for wrong in (
        sdk.rename_session_via_store(store, "x", "y"),
        sdk.rename_session_via_store(store, session_id, " "),
        sdk.tag_session_via_store(store, session_id, "\u200b"),
        sdk.delete_session_via_store(store, "x"),
        sdk.fork_session_via_store(store, copy.session_id, folder, up_to_message_id="x"),
    ):
        with pytest.raises(ValueError, match=r"Invalid|non-empty"):
            await wrong
    with pytest.raises(FileNotFoundError):
        await sdk.fork_session_via_store(store, session_id, folder)
    with pytest.raises(FileNotFoundError):
        await sdk.import_session_to_store(new_uuid(), store)

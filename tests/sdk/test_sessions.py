from pathlib import Path
from typing import Any

import claude_agent_sdk as sdk
import pytest

from tests.fakes.messages_server import step
from tests.sdk.world import World, bash, result_of, text_of, texts_of, world

SESSION = "11111111-1111-4111-8111-111111111111"


def _needs(name: str) -> Any:
    if not hasattr(sdk, name):
        pytest.skip(f"this release of the SDK has no {name}")
    return getattr(sdk, name)


@pytest.fixture(autouse=True)
def _same_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The SDK reads transcripts from the home that bridle writes them to."""
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "home" / ".claude"))


async def _talk(it: World, *prompts: str, **chosen: Any) -> str:
    """A conversation over several processes; its id."""
    session = ""
    for prompt in prompts:
        going_on = {"resume": session} if session else {}
        session = result_of(await it.ask(prompt, **chosen, **going_on)).session_id
    return session


async def test_resume_continues_the_conversation(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two")) as it:
        session = await _talk(it, "first", "second")
        said, answers = it.said(), texts_of(it.sent(), "assistant")
    assert said == ["first", "second"] and answers == ["one"]
    assert [path.stem for path in it.program.transcripts()] == [session]


async def test_continue_takes_the_newest(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two")) as it:
        await it.ask("first")
        await it.ask("second", continue_conversation=True)
        assert it.said() == ["first", "second"]


async def test_fork_leaves_the_old_conversation_alone(tmp_path: Path):
    async with world(tmp_path, step("one"), step("two")) as it:
        session = await _talk(it, "first")
        (old,) = it.program.transcripts()
        before = old.read_bytes()
        result = result_of(await it.ask("second", resume=session, fork_session=True))
        assert it.said() == ["first", "second"]
    assert result.session_id != session and old.read_bytes() == before


async def test_session_id_may_be_chosen(tmp_path: Path):
    async with world(tmp_path, step("one")) as it:
        result = result_of(await it.ask("hi", extra_args={"session-id": SESSION}))
    assert result.session_id == SESSION


async def test_sessions_are_listed_with_their_first_prompt(tmp_path: Path):
    list_sessions = _needs("list_sessions")
    async with world(tmp_path, step("one"), step("two")) as it:
        first = await _talk(it, "paint the fence")
        second = await _talk(it, "mow the lawn")
        listed = list_sessions(directory=str(it.project))
    assert {each.session_id: each.first_prompt for each in listed} == {
        first: "paint the fence",
        second: "mow the lawn",
    }
    assert {each.cwd for each in listed} == {str(it.project)}


async def test_messages_of_a_session_are_read_back(tmp_path: Path):
    get_session_messages = _needs("get_session_messages")
    async with world(tmp_path, step(bash("echo x")), step("Done."), step("two")) as it:
        session = await _talk(it, "first", "second")
        messages = get_session_messages(session, directory=str(it.project))
    kinds = [message.type for message in messages]
    assert kinds == ["user", "assistant", "user", "assistant", "user", "assistant"]
    assert messages[0].message["content"] == "first"


async def test_title_and_tag_of_the_sdk_survive_a_resume(tmp_path: Path):
    get_session_info, rename, tag = (
        _needs("get_session_info"),
        _needs("rename_session"),
        _needs("tag_session"),
    )
    async with world(tmp_path, step("one"), step("two")) as it:
        session = await _talk(it, "first")
        rename(session, "The fence", directory=str(it.project))
        tag(session, "garden", directory=str(it.project))
        await it.ask("second", resume=session)
        info = get_session_info(session, directory=str(it.project))
    assert (info.custom_title, info.tag) == ("The fence", "garden")


async def test_fork_made_by_the_sdk_can_be_resumed(tmp_path: Path):
    fork = _needs("fork_session")
    async with world(tmp_path, step("one"), step("two")) as it:
        session = await _talk(it, "first")
        copy = fork(session, directory=str(it.project)).session_id
        await it.ask("second", resume=copy)
        assert it.said() == ["first", "second"]


async def test_deleted_session_is_unknown(tmp_path: Path):
    delete = _needs("delete_session")
    async with world(tmp_path, step("one")) as it:
        session = await _talk(it, "first")
        delete(session, directory=str(it.project))
        with pytest.raises(Exception, match=r"No conversation found|exit code"):
            await it.ask("second", resume=session)


async def test_resume_at_a_message_forgets_what_came_after(tmp_path: Path):
    get_session_messages = _needs("get_session_messages")
    async with world(tmp_path, step("one"), step("two"), step("three")) as it:
        session = await _talk(it, "first", "second")
        messages = get_session_messages(session, directory=str(it.project))
        await it.ask("third", resume=session, extra_args={"resume-session-at": messages[1].uuid})
        assert it.said() == ["first", "third"]


async def test_store_gets_every_row_before_the_result(tmp_path: Path):
    store = _needs("InMemorySessionStore")()
    key_of = _needs("project_key_for_directory")
    seen: list[int] = []
    key: dict[str, str] = {}
    async with world(tmp_path, step(bash("echo x")), step("Done.")) as it:
        async for message in sdk.query(prompt="go", options=it.options(session_store=store)):
            if isinstance(message, sdk.ResultMessage):
                key = {"project_key": key_of(str(it.project)), "session_id": message.session_id}
                seen.append(len(await store.load(key) or []))
    rows = it.program.rows()
    assert seen and 0 < seen[0] <= len(rows)
    kept = await store.load(key)
    assert [row.get("uuid") for row in kept] == [row.get("uuid") for row in rows]


async def test_session_can_be_resumed_from_a_store_alone(tmp_path: Path):
    store = _needs("InMemorySessionStore")()
    async with world(tmp_path, step("one"), step("two")) as it:
        session = result_of(await it.ask("first", session_store=store)).session_id
        (transcript,) = it.program.transcripts()
        transcript.unlink()
        messages = await it.ask("second", session_store=store, resume=session)
        assert it.said() == ["first", "second"]
    assert text_of(messages) == "two"

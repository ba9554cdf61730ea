from pathlib import Path
from typing import Any

import msgspec

from bridle.transcripts.attachments import entries_of, is_opening, to_row
from bridle.transcripts.conversation import fold
from bridle.transcripts.reader import load
from bridle.transcripts.resume import resume
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block, text_block
from tests.transcripts.entries import call, link, say, text

GIT = "<system-reminder>\n# Git\nBranch: main\n</system-reminder>"


def open_session(path: Path) -> Session:
    return Session(writer=Transcript(str(path), warn=lambda _: None), cwd="/p", entrypoint="sdk-cli")


def rows(path: Path) -> list[dict[str, Any]]:
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()]


def test_the_first_row_is_the_prompt_and_what_is_attached_has_rows_of_its_own(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("do it")
    session.attach("session_context", [text_block(GIT)], isInitial=True)
    session.attach_hook_context("UserPromptSubmit", ("mind the gap",))
    prompt, git, hook = rows(path)
    assert (prompt["type"], prompt["parentUuid"], prompt["message"]["content"]) == ("user", None, "do it")
    assert git["type"] == hook["type"] == "attachment"
    assert "message" not in git
    assert "isMeta" not in git
    assert git["parentUuid"] == prompt["uuid"]
    assert git["attachment"] == {"type": "session_context", "isInitial": True, "source": "bridle"}
    assert git["rendered"] == [{"content": GIT}]
    assert git["renderedRole"] == "system"
    assert hook["attachment"] == {
        "type": "hook_additional_context",
        "content": ["mind the gap"],
        "hookName": "UserPromptSubmit",
        "hookEvent": "UserPromptSubmit",
        "source": "bridle",
    }


def test_the_model_reads_what_is_attached_to_a_prompt_before_it_and_beside_results_behind_them(
    tmp_path: Path,
):
    session = open_session(tmp_path / "s.jsonl")
    session.say_user("first")
    session.attach("session_context", [text_block(GIT)])
    say(session, "m1", call("c1"))
    session.say_user([result_block("c1", "ok")], data="ok")
    session.attach("task_reminder", [text_block("tasks")])
    session.say_user("more")
    session.attach("file", [text_block("a file")])
    sent = [message["content"] for message in session.history.messages if message["role"] == "user"]
    assert sent == [
        [text_block(GIT), text_block("first")],
        [result_block("c1", "ok"), text_block("tasks"), text_block("a file"), text_block("more")],
    ]


def test_a_resumed_or_forked_conversation_sends_the_same_bytes(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("first")
    session.attach("session_context", [text_block(GIT)], isInitial=True)
    say(session, "m1", text("hello"))
    session.say_user("second")
    session.attach("file", [text_block("a file")])
    say(session, "m2", text("bye"))
    sent = list(session.history.messages)
    session.close()
    place = TranscriptPath(cwd="/p", env={"HOME": str(tmp_path)}, warn=lambda _: None)
    for fork in (True, False):
        again = resume(str(path), place, fork=fork)
        assert list(again.history.messages) == sent
        assert sum(map(is_opening, again.entries)) == 1
        again.close()


def test_rows_of_a_killed_process_keep_their_attachments(tmp_path: Path):
    session = open_session(path := tmp_path / "s.jsonl")
    session.say_user("first")
    session.say_assistant(
        {
            "id": "m1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [call("c1")],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {},
        }
    )
    session.attach("file", [text_block("a file")])
    session.say_user([result_block("c1", "ok")], data="ok")
    session.secure()
    assert "a file" in str(fold(load(str(path)).entries).messages)


def test_attachments_of_other_programs_are_read_as_they_were_rendered():
    chain: list[dict[str, Any]] = [
        {**link("u"), "type": "user", "message": {"role": "user", "content": "q"}},
        {
            **link("a", "u"),
            "type": "attachment",
            "attachment": {"type": "date"},
            "rendered": [{"content": "today"}],
        },
        {**link("b", "a"), "type": "attachment", "attachment": {"type": "prompt_snapshot"}},
        {**link("c", "b"), "type": "attachment", "attachment": "odd", "rendered": [{"content": "x"}]},
        {
            **link("d", "c"),
            "type": "attachment",
            "attachment": {"type": "file"},
            "rendered": [
                {"content": [text_block("part"), {"type": "tool_use"}, 7]},
                {"content": " "},
                None,
                {},
            ],
        },
        {**link("e", "d"), "type": "something-new"},
    ]
    entries = entries_of(chain)
    assert [entry["uuid"] for entry in entries] == ["u", "a", "d"]
    assert fold(entries).messages[0]["content"] == [text_block("today"), text_block("part"), text_block("q")]
    assert not any(map(is_opening, entries))


def test_only_attachments_change_on_their_way_to_the_file():
    entry: Any = {
        **link("u"),
        "type": "user",
        "isMeta": True,
        "message": {"role": "user", "content": "nudge"},
    }
    assert to_row(entry) is entry


def test_conversations_from_before_attachments_are_known_to_be_opened():
    old: Any = {
        **link("u"),
        "type": "user",
        "isMeta": True,
        "message": {"role": "user", "content": [text_block(GIT)]},
    }
    assert is_opening(old)

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.host.paths import project_dir
from bridle.transcripts import resume, store
from bridle.transcripts.conversation import MISSING_RESULT
from bridle.transcripts.line import decode_line, encode_line
from bridle.transcripts.reader import load
from bridle.transcripts.session import Session
from bridle.types.block import result_block
from bridle.types.entry import AssistantEntry
from bridle.types.errors import SessionError
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.usage import Usage
from tests.fakes.counting import steps_of
from tests.transcripts.entries import assert_sendable, assistant, call, message, say, text, thinking, user


def place(tmp_path: Path, cwd: str = "project", *, persist: bool = True) -> store.TranscriptPath:
    (tmp_path / cwd).mkdir(exist_ok=True)
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    return store.TranscriptPath(
        cwd=str(tmp_path / cwd), env=env, warn=pytest.fail, persist=persist, entrypoint="sdk-cli"
    )


def path_of(session: Session, where: store.TranscriptPath) -> str:
    return store.transcript_path(session.id, where.cwd, where.env)


def put(
    where: store.TranscriptPath, *rows: Any, session_id: str | None = None, mtime: int | None = None
) -> str:
    folder = project_dir(where.cwd, where.env)
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{session_id or new_uuid()}.jsonl")
    with open(path, "wb") as file:
        file.write(b"".join(map(encode_line, rows)))
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def talked(where: store.TranscriptPath) -> str:
    """A conversation of two turns, the second with a call."""
    session = store.begin(where)
    session.say_user("one", uuid="p1")
    say(session, "m1", text("first"))
    session.say_user("two", uuid="p2")
    say(session, "m2", call("a"), stop="tool_use")
    session.say_user([result_block("a", "ok")], data="ok")
    say(session, "m3", text("second"))
    session.record_cost("m", Usage(input=2), 0.5, context_window=10, max_output=5)
    session.save_cost()
    session.close()
    return path_of(session, where)


def test_a_session_begins_without_a_file(tmp_path: Path):
    where = place(tmp_path)
    session = store.begin(where)
    assert not os.path.exists(path_of(session, where))
    session.say_user("q")
    assert os.path.exists(path_of(session, where))
    session.close()


def test_a_session_that_is_not_kept_writes_nothing(tmp_path: Path):
    where = place(tmp_path, persist=False)
    session = store.begin(where)
    session.say_user("q")
    session.close()
    assert not (tmp_path / "home").exists()


def test_a_given_id_must_be_a_free_uuid(tmp_path: Path):
    where = place(tmp_path)
    taken = new_uuid()
    put(place(tmp_path, "other"), user("1", "q"), session_id=taken)
    assert store.begin(where, session_id=(free := new_uuid())).id == free
    for bad in ("mine", "", taken):
        with pytest.raises(SessionError):
            store.begin(where, session_id=bad)


def test_newest_is_the_conversation_of_this_folder_that_changed_last(tmp_path: Path):
    where = place(tmp_path)
    put(where, user("1", "q"), mtime=100)
    expected = put(where, user("1", "q"), mtime=200)
    put(where, {"type": "queue-operation"}, mtime=300)
    put(where, {**user("1", "q"), "isSidechain": True}, mtime=400)
    put(place(tmp_path, "other"), user("1", "q"), mtime=500)
    assert resume.newest(where.cwd, where.env) == expected


def test_newest_is_nothing_where_nobody_has_talked(tmp_path: Path):
    where = place(tmp_path)
    assert resume.newest(where.cwd, where.env) is None
    put(where, {"type": "queue-operation"})
    assert resume.newest(where.cwd, where.env) is None


def test_newest_can_pass_over_conversations_of_programs(tmp_path: Path):
    where = place(tmp_path)
    person = put(where, user("1", "q"), mtime=100)
    program = put(where, {**user("1", "q"), "entrypoint": "sdk-py"}, mtime=200)
    assert resume.newest(where.cwd, where.env) == program
    assert resume.newest(where.cwd, where.env, interactive=True) == person


def test_find_looks_in_this_folder_then_everywhere_and_takes_paths(tmp_path: Path):
    where, other = place(tmp_path), place(tmp_path, "other")
    same = new_uuid()
    here, there = put(where, user("1", "q"), session_id=same), put(other, user("1", "q"), session_id=same)
    far = put(other, user("1", "q"))
    assert resume.find(same, where.cwd, where.env) == here
    assert resume.find(same, other.cwd, other.env) == there
    assert resume.find(Path(far).stem, where.cwd, where.env) == far
    assert resume.find(far, where.cwd, where.env) == far


@pytest.mark.parametrize("unknown", ["", "nope", "../project", "/etc/passwd", "a\0b", "gone.jsonl"])
def test_an_unknown_session_is_said_to_be_unknown(tmp_path: Path, unknown: str):
    where = place(tmp_path)
    talked(where)
    with pytest.raises(SessionError) as caught:
        resume.find(unknown, where.cwd, where.env)
    assert str(caught.value) == f"No conversation found with session ID: {unknown}"


def test_a_file_without_a_conversation_cannot_be_resumed(tmp_path: Path):
    where = place(tmp_path)
    path = put(where, {"type": "queue-operation"})
    with pytest.raises(SessionError, match="No conversation found with session ID"):
        resume.resume(path, where)
    with pytest.raises(SessionError):
        resume.resume(path + "x", where)
    assert not os.path.exists(path + "x")


def test_a_resumed_session_continues_the_same_file(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    before = Path(path).read_bytes()
    session = resume.resume(path, where)
    assert [m["role"] for m in session.history.messages] == ["user", "assistant"] * 3
    assert session.total_cost_usd == 0.5
    assert session.spend["m"].usage == Usage(input=2)
    leaf = session.entries[-1]["uuid"]
    entry = session.say_user("three")
    session.close()
    assert entry["parentUuid"] == leaf
    assert entry["sessionId"] == Path(path).stem
    added = Path(path).read_bytes().removeprefix(before).splitlines(keepends=True)
    assert added[1] == encode_line(entry)
    assert decode_line(added[0]) == {"type": "mode", "mode": "normal", "sessionId": entry["sessionId"]}
    assert load(path).entries == session.entries


def test_resuming_alone_writes_nothing(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    before = Path(path).read_bytes()
    session = resume.resume(path, where)
    session.save_cost()
    session.close()
    assert Path(path).read_bytes() == before


def test_a_session_in_use_must_be_forked(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    first = resume.resume(path, where)
    with pytest.raises(SessionError, match="--fork-session"):
        resume.resume(path, where)
    resume.resume(path, where, fork=True).close()
    first.close()
    resume.resume(path, where).close()


_USE = """
import sys
from bridle.transcripts import resume, store
where = store.TranscriptPath(cwd=sys.argv[2], env={"CLAUDE_CONFIG_DIR": sys.argv[3]}, warn=print)
session = resume.resume(sys.argv[1], where)
print("resumed", flush=True)
sys.stdin.read()
"""


def test_a_session_that_another_process_has_resumed_is_free_when_that_process_is_dead(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    command = [sys.executable, "-c", _USE, path, where.cwd, where.env["CLAUDE_CONFIG_DIR"]]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "resumed\n"
        with pytest.raises(SessionError, match="--fork-session"):
            resume.resume(path, where)
        other.kill()
    resume.resume(path, where).close()


def test_a_failed_resume_lets_go_of_the_file(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    with pytest.raises(SessionError):
        resume.resume(path, where, at="nowhere")
    resume.resume(path, where).close()


def test_calls_without_a_result_are_answered_in_the_file(tmp_path: Path):
    where = place(tmp_path)
    path = put(
        where,
        user("1", "q"),
        assistant("2", "m", call("a"), parent="1"),
        assistant("3", "m", call("b"), parent="2"),
        user("4", [result_block("a", "ok")], parent="3"),
    )
    session = resume.resume(path, where)
    session.close()
    added: Any = load(path).entries[-1]
    assert added["message"]["content"] == [result_block("b", MISSING_RESULT, is_error=True)]
    assert added["sourceToolAssistantUUID"] == "3"
    assert added["toolUseResult"].startswith("Error: ")
    assert_sendable(session.history.messages, open_end=False)
    again = resume.resume(path, where)
    assert again.entries == session.entries


@pytest.mark.parametrize(
    "leftovers",
    [
        [assistant("2", "m", thinking(), parent="1")],
        [assistant("2", "m", text(" \n"), parent="1")],
        [assistant("2", "m", thinking(), parent="1"), assistant("3", "m", text(""), parent="2")],
    ],
)
def test_an_answer_that_says_nothing_is_chained_past(tmp_path: Path, leftovers: list[AssistantEntry]):
    where = place(tmp_path)
    path = put(where, user("1", "q"), *leftovers)
    session = resume.resume(path, where)
    entry = session.say_user("again")
    session.close()
    assert entry["parentUuid"] == "1"
    assert session.history.messages == [{"role": "user", "content": [text("q"), text("again")]}]
    assert load(path).entries == session.entries


def test_thinking_behind_the_text_of_an_answer_is_no_leftover(tmp_path: Path):
    where = place(tmp_path)
    path = put(
        where,
        user("1", "q"),
        assistant("2", "m", text("x"), parent="1"),
        assistant("3", "m", thinking(), parent="2"),
    )
    session = resume.resume(path, where)
    assert len(session.entries) == 3
    session.close()


def test_a_fork_copies_the_chain_and_leaves_the_old_file_alone(tmp_path: Path):
    where, elsewhere = place(tmp_path), place(tmp_path, "other")
    path = talked(where)
    before = Path(path).read_bytes()
    fresh = new_uuid()
    session = resume.resume(path, elsewhere, fork=True, session_id=fresh)
    session.say_user("three")
    session.close()
    old, new = load(path), load(path_of(session, elsewhere))
    assert Path(path).read_bytes() == before
    assert session.id == new.session_id == fresh
    assert [e["uuid"] for e in new.entries[:-1]] == [e["uuid"] for e in old.entries]
    assert {e["sessionId"] for e in new.entries} == {fresh}
    first: Any = new.entries[0]
    assert first["forkedFrom"] == {"sessionId": old.session_id, "messageUuid": "p1"}
    assert new.entries == session.entries
    assert session.total_cost_usd == 0.5


def test_a_fork_takes_rows_of_unknown_kinds_along(tmp_path: Path):
    where = place(tmp_path)
    attachment = {"type": "attachment", "uuid": "2", "parentUuid": "1", "attachment": {"x": 1}}
    path = put(where, user("1", "q"), attachment, assistant("3", "m", text("x"), parent="2"))
    session = resume.resume(path, where, fork=True)
    session.close()
    copied = load(path_of(session, where)).chain
    assert [row["uuid"] for row in copied] == ["1", "2", "3"]
    assert copied[1]["attachment"] == {"x": 1}


def test_a_forks_id_must_be_free(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    with pytest.raises(SessionError):
        resume.resume(path, where, fork=True, session_id=Path(path).stem)


def test_resuming_without_keeping_leaves_the_file_alone(tmp_path: Path):
    where = place(tmp_path, persist=False)
    path = talked(place(tmp_path))
    before = Path(path).read_bytes()
    for fork in (False, True):
        session = resume.resume(path, where, fork=fork)
        session.say_user("three")
        session.close()
        assert len(session.history) == 7
    assert Path(path).read_bytes() == before
    assert len(os.listdir(os.path.dirname(path))) == 1


def test_a_conversation_can_be_cut_after_an_entry(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    cut = load(path).entries[1]["uuid"]
    session = resume.resume(path, where, at=cut)
    entry = session.say_user("other")
    session.close()
    assert [m["content"] for m in session.history.messages] == ["one", [text("first")], "other"]
    assert entry["parentUuid"] == cut
    assert load(path).entries == session.entries


def test_a_cut_at_an_unknown_entry_is_refused(tmp_path: Path):
    where = place(tmp_path)
    with pytest.raises(SessionError) as caught:
        resume.resume(talked(where), where, at="nowhere")
    assert str(caught.value) == "No message found with message.uuid of: nowhere"


def test_a_cut_may_be_bound_to_drop_one_turn_only(tmp_path: Path):
    where = place(tmp_path)
    path = talked(where)
    entries = load(path).entries
    for kept, dropped in ((1, "p2"), (3, "p2"), (len(entries) - 1, "p1")):
        resume.resume(path, where, fork=True, at=entries[kept]["uuid"], drops_turn=dropped).close()
    for kept, dropped in ((0, "p2"), (1, "p1"), (1, "unknown"), (3, "p1")):
        with pytest.raises(SessionError, match=r"^Resume rejected by --resume-drops-turn: "):
            resume.resume(path, where, fork=True, at=entries[kept]["uuid"], drops_turn=dropped)
    with pytest.raises(SessionError):
        resume.resume(path, where, drops_turn="p2")


def test_a_conversation_is_resumed_with_the_same_work_for_each_message(tmp_path: Path):
    def work(count: int) -> int:
        (folder := tmp_path / f"{count}").mkdir()
        where = place(folder)
        path = _conversation(where, count)
        return steps_of(lambda: _resumed(path, where, count))

    work(50)  # The first run counts less on Python 3.13.
    few, many = work(200), work(800)
    assert many <= few * 4.2


def _conversation(where: store.TranscriptPath, count: int) -> str:
    session = store.begin(where)
    for number in range(count):
        session.say_user(f"question {number}")
        session.say_assistant(message(f"m{number}", text("answer " * 100), stop="end_turn"))
    session.close()
    return path_of(session, where)


def _resumed(path: str, where: store.TranscriptPath, count: int) -> None:
    resumed = resume.resume(path, where)
    assert len(resumed.history) == 2 * count
    resumed.close()


@pytest.mark.parametrize("fork", [False, True])
def test_a_resume_and_a_fork_keep_where_every_prompt_came_from(tmp_path: Path, fork: bool):
    """S44: what a schedule or a letter said is not the user's after a restart either."""
    where = place(tmp_path)
    session = store.begin(where)
    origins = [
        Origin(source="typed"),
        Origin(source="schedule", who="wakeup"),
        Origin(source="letter", who="ann"),
        Origin(source="argument", words=(0, 3)),
    ]
    for origin in origins:
        session.say_user("go on", origin=origin)
        say(session, new_uuid(), text("done"))
    session.close()

    again = resume.resume(path_of(session, where), where, fork=fork)

    kept = [Origin.from_entry(entry.get("origin")) for entry in again.entries if entry["type"] == "user"]
    assert kept == origins

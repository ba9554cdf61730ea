"""What a compaction keeps word for word, and what it does about a poor summary."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.context.restoration import restored
from bridle.context.window import CompactionSettings
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.feature import Features
from bridle.engine.loop import run_turn
from bridle.engine.tool_services import ToolServices
from bridle.engine.turn import Turn
from bridle.providers.scripted import ScriptedProvider, SeenRequest, calls, says
from bridle.tools.files.edit import TOOL as EDIT
from bridle.tools.files.read import TOOL as READ
from bridle.tools.tasks.task_create import TOOL as TASK_CREATE
from bridle.tools.tasks.task_update import TOOL as TASK_UPDATE
from bridle.transcripts.resume import TranscriptPath, resume
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.errors import ProviderError
from bridle.types.origin import JOB, TYPED, Origin
from bridle.types.turn import Prompt
from bridle.types.workspace import FileState
from tests.fakes.engine import make_runtime, make_session

SUMMARY = says("<summary>1. Goal: tests.</summary>")
RULE = "The final answer is to be in German and ends with the word KIWI."


def _prompt(text: str, origin: Origin = TYPED) -> Prompt:
    return Prompt(content=text, origin=origin)


def _sent(asked: SeenRequest) -> str:
    return msgspec.json.encode(asked.messages).decode()


async def test_what_the_user_typed_stays_word_for_word_through_many_compactions(tmp_path: Path):
    script = ScriptedProvider([line for _ in range(4) for line in (says("Ok."), SUMMARY)])
    runtime, session = make_runtime(tmp_path, script), make_session()
    for number in range(4):
        await run_turn(session, _prompt(f"{RULE} Step {number}: «ä» <b>"), runtime)
        await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    opening = str(session.history.messages[0]["content"])
    assert [f"<user-message>{RULE} Step {n}: «ä» <b></user-message>" in opening for n in range(4)] == [
        True
    ] * 4
    assert opening.count("<user-message>") == 4


async def test_the_words_survive_a_resume(tmp_path: Path):
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    session = Session(path.stem, writer=Transcript(str(path), warn=print))
    session.swap(model="model-a")
    runtime = make_runtime(tmp_path, [says("Ok."), SUMMARY])
    await run_turn(session, _prompt(RULE), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")
    session.close()

    again = resume(
        str(path), TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print)
    )
    runtime = make_runtime(tmp_path, [says("Ok."), SUMMARY])
    await run_turn(again, _prompt("And now?"), runtime)
    await compact(Turn(again, _prompt(""), runtime), trigger="manual")

    opening = str(again.history.messages[0]["content"])
    assert f"<user-message>{RULE}</user-message>\n<user-message>And now?</user-message>" in opening
    again.close()


async def test_only_what_people_wrote_is_kept(tmp_path: Path):
    script = ScriptedProvider([says("Ok."), says("Ok."), says("Ok."), SUMMARY])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("typed"), runtime)
    await run_turn(session, _prompt("a job has ended", JOB), runtime)
    await run_turn(
        session, _prompt("piped in\nmy own words", Origin(source="argument", words=(9, 21))), runtime
    )
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    opening = str(session.history.messages[0]["content"])
    assert opening.count("<user-message>") == 2
    assert "<user-message>my own words</user-message>" in opening


async def test_beyond_the_budget_the_first_and_the_newest_messages_stay(tmp_path: Path):
    texts = [f"message {number} " + "lorem ipsum " * 500 for number in range(12)]
    script = ScriptedProvider([*(says("Ok.") for _ in texts), SUMMARY])
    runtime, session = make_runtime(tmp_path, script), make_session()
    for text in texts:
        await run_turn(session, _prompt(text), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    opening = str(session.history.messages[0]["content"])
    kept = [number for number in range(12) if f"<user-message>message {number} " in opening]
    assert kept[0] == 0
    assert kept[1:] == list(range(kept[1], 12))
    assert 3 < len(kept) < 12
    assert len(opening) < 60_000


async def test_a_message_that_is_longer_than_the_budget_keeps_its_beginning_and_its_end(tmp_path: Path):
    script = ScriptedProvider([says("Ok."), SUMMARY])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("BEGIN " + "lorem ipsum " * 20_000 + " END"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    opening = str(session.history.messages[0]["content"])
    assert "<user-message>BEGIN" in opening and "END</user-message>" in opening
    assert len(opening) < 40_000


async def test_the_newest_round_stays_when_it_fits_half_of_the_window(tmp_path: Path):
    (tmp_path / "a.txt").write_text("old\n" * 4_000)
    (tmp_path / "b.txt").write_text("needed now\n" * 350)
    old, new = (calls("Read", file_path=str(tmp_path / name)) for name in ("a.txt", "b.txt"))
    full = {"input_tokens": 12_000, "output_tokens": 50}
    script = ScriptedProvider([says("One.", old), says("Two.", new, usage=full), SUMMARY, says("Done.")])
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, script, READ), habits=CompactionSettings(window=10_000)
    )

    await run_turn(make_session(), _prompt("go"), runtime)

    sent = script.requests[3].messages
    assert sent[1:] == script.requests[2].messages[3:5]
    assert "needed now" in _sent(script.requests[3])


async def test_a_file_that_is_being_edited_comes_back_first(tmp_path: Path):
    edited = tmp_path / "edited.py"
    edited.write_text("".join(f"line_{number} = {number}\n" for number in range(2_000)))
    for number in range(6):
        (tmp_path / f"read{number}.txt").write_text(f"content {number}")
    path = str(edited)
    script = ScriptedProvider(
        [
            says(calls("Read", file_path=path)),
            says(
                calls("Edit", file_path=path, old_string="line_1500 = 1500", new_string="line_1500 = 'new'")
            ),
            says(*(calls("Read", file_path=str(tmp_path / f"read{number}.txt")) for number in range(6))),
            says("Ok."),
            SUMMARY,
        ]
    )
    runtime, session = make_runtime(tmp_path, script, READ, EDIT), make_session()
    await run_turn(session, _prompt("change it"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    sent = msgspec.json.encode(session.history.messages).decode()
    assert "edited.py" in sent and "line_1500 = 'new'" in sent
    assert sent.index("edited.py") < sent.index("content 5")


def test_of_a_long_file_that_is_being_edited_the_lines_around_the_changes_come_back(tmp_path: Path):
    lines = [f"line_{number} = {number}" for number in range(9_000)]
    lines[5_000] = "line_5000 = 'new'"
    workspace = make_runtime(tmp_path, []).workspace
    workspace.files.note("/a.py", FileState(content="\n".join(lines), mtime_ns=0))

    blocks = restored(workspace, [], edited={"/a.py": ["line_5000 = 'new'", "gone since"]})

    assert "line_5000 = 'new'" in blocks[0]["text"] and "4981\tline_4980 = 4980" in blocks[0]["text"]
    assert "line_4900" not in blocks[0]["text"] and "9000 lines" in blocks[0]["text"]


def test_a_long_file_that_was_only_read_comes_back_with_its_beginning(tmp_path: Path):
    workspace = make_runtime(tmp_path, []).workspace
    text = "\n".join(f"line_{number} = {number}" for number in range(9_000))
    workspace.files.note("/long.py", FileState(content=text, mtime_ns=0))

    (block,) = restored(workspace, [])

    assert "line_0 = 0" in block["text"] and "of 9000 lines)" in block["text"]
    assert "line_8999" not in block["text"]


async def test_the_open_tasks_come_back(tmp_path: Path):
    made = [calls("TaskCreate", subject=name, description="x") for name in ("one", "two")]
    done = calls("TaskUpdate", taskId="1", status="completed")
    script = ScriptedProvider([says(*made), says(done), says("Ok."), SUMMARY])
    runtime, session = make_runtime(tmp_path, script, TASK_CREATE, TASK_UPDATE), make_session()
    runtime = runtime.replaced(
        features=Features([ToolServices()]), env={**runtime.env, "CLAUDE_CONFIG_DIR": str(tmp_path / "c")}
    )
    await run_turn(session, _prompt("plan it"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    sent = msgspec.json.encode(session.history.messages).decode()
    assert "- #2 [pending] two" in sent and "- #1" not in sent


async def test_of_a_file_of_which_a_part_is_known_what_was_written_comes_back(tmp_path: Path):
    edited = tmp_path / "edited.py"
    edited.write_text("".join(f"line_{number} = {number}\n" for number in range(9_000)))
    path = str(edited)
    script = ScriptedProvider(
        [
            says(calls("Read", file_path=path, offset=5_000, limit=10)),
            says(
                calls("Edit", file_path=path, old_string="line_5000 = 5000", new_string="line_5000 = 'new'")
            ),
            says("Ok."),
            SUMMARY,
        ]
    )
    runtime, session = make_runtime(tmp_path, script, READ, EDIT), make_session()
    await run_turn(session, _prompt("change it"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    sent = msgspec.json.encode(session.history.messages).decode()
    assert "line_5000 = 'new'" in sent
    assert "line_4000 = 4000" not in sent


@pytest.mark.parametrize(
    ("poor", "why"),
    [
        (says("<summary></summary>"), "the summary is empty"),
        (says("We did things."), "is not inside <summary> tags"),
        (says("<summary>open"), "the summary is incomplete"),
        (says("<summary>All went well.</summary>"), "Never touch the vendor folder"),
    ],
)
async def test_a_poor_summary_is_asked_for_once_more(tmp_path: Path, poor: Any, why: str):
    good = says("<summary>Constraints: never touch the vendor folder.</summary>")
    script = ScriptedProvider([says("Ok."), poor, good])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("Never touch the vendor folder."), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    first, second = (str(asked.messages[-1]["content"]) for asked in script.requests[1:])
    assert second.startswith(first) and why in second
    assert script.requests[1].messages[:-1] == script.requests[2].messages[:-1]
    assert "Constraints: never touch" in str(session.history.messages[0]["content"])


@pytest.mark.parametrize("again", [says("<summary></summary>"), ProviderError("overloaded", status=529)])
async def test_a_summary_that_will_do_is_used_when_the_second_is_worse(tmp_path: Path, again: Any):
    script = ScriptedProvider([says("Ok."), says("We did things."), again])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("go"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    assert "We did things." in str(session.history.messages[0]["content"])


async def test_two_empty_summaries_change_nothing(tmp_path: Path):
    script = ScriptedProvider([says("Ok."), says("<summary></summary>"), says("<summary> </summary>")])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("go"), runtime)
    before = msgspec.json.encode(session.history.messages)

    with pytest.raises(CompactionFailed, match="empty"):
        await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    assert msgspec.json.encode(session.history.messages) == before
    assert script.left == 0


async def test_the_request_asks_for_constraints_decisions_and_open_work(tmp_path: Path):
    script = ScriptedProvider([says("Ok."), SUMMARY])
    runtime, session = make_runtime(tmp_path, script), make_session()
    await run_turn(session, _prompt("go"), runtime)
    await compact(Turn(session, _prompt(""), runtime), trigger="manual")

    asked = str(script.requests[1].messages[-1]["content"])
    assert all(heading in asked for heading in ("Constraints:", "Decisions:", "Open work:"))

"""What a compaction leaves out, what it keeps, and what gives way without one."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.context.old_results import CLEARED
from bridle.context.reminders import reminder
from bridle.context.window import CompactionSettings
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.compaction.items import (
    drop_item,
    hold_item,
    item_text,
    list_items,
    release_item,
    stub_item,
)
from bridle.engine.compaction.pins import find_constraints, pin, unpin
from bridle.engine.feature import Feature, Notes
from bridle.engine.loop import run_turn
from bridle.engine.turn import Turn
from bridle.providers.scripted import ScriptedProvider, calls, says
from bridle.tools.files.read import TOOL as READ
from bridle.transcripts.resume import resume
from bridle.transcripts.session import Session
from bridle.transcripts.store import TranscriptPath
from bridle.transcripts.transcript import Transcript
from bridle.transcripts.truncation import undo_compaction
from bridle.types.block import UserBlock
from bridle.types.errors import UsageError
from bridle.types.event import CompactionStarted, Noticed
from bridle.types.origin import TYPED
from bridle.types.turn import Prompt
from tests.fakes.engine import FakeBriefing, FakeChannel, make_runtime, make_session
from tests.fakes.features import with_feature
from tests.fakes.hooked import hooked

SUMMARY = says("<summary>It was about files.</summary>")


def _prompt(text: str = "go on") -> Prompt:
    return Prompt(content=text, origin=TYPED)


def _bytes(session: Session) -> bytes:
    return msgspec.json.encode(session.history.messages)


def _reads(folder: Path, count: int, size: int) -> list[Any]:
    lines: list[Any] = []
    for number in range(count):
        path = folder / f"f{number}.txt"
        path.write_text(f"{number} " + "word\n" * (size // 7))
        tokens = {"input_tokens": 100 + number * size // 4, "output_tokens": 10}
        lines.append(says(calls("Read", file_path=str(path)), usage=tokens))
    return [*lines, says("Read.", usage={"input_tokens": 100 + count * size // 4, "output_tokens": 10})]


def _recorded(path: Path, *, clock: Any = time.time) -> Session:
    session = Session(
        "11111111-1111-4111-8111-111111111111", writer=Transcript(str(path), warn=print), clock=clock
    )
    session.swap(model="model-a", mode="bypassPermissions")
    return session


async def test_old_results_are_cleared_after_a_pause_that_cost_the_cache_anyway(tmp_path: Path):
    now = time.time() - 3600
    session = _recorded(tmp_path / "s.jsonl", clock=lambda: now)
    script = ScriptedProvider([*_reads(tmp_path, 8, 20_000), says("Yes.")])
    runtime = make_runtime(tmp_path, script, READ)
    await run_turn(session, _prompt("read"), runtime)

    await run_turn(session, _prompt("later"), runtime)

    sent = msgspec.json.encode(script.requests[-1].messages).decode()
    assert sent.count(CLEARED) == 3
    assert "7 word" in sent and "0 word" not in sent


async def test_a_warm_cache_is_not_broken_for_little(tmp_path: Path):
    script = ScriptedProvider([*_reads(tmp_path, 8, 20_000), says("Yes.")])
    runtime = make_runtime(tmp_path, script, READ)
    session = make_session()
    await run_turn(session, _prompt("read"), runtime)
    await run_turn(session, _prompt("at once"), runtime)

    assert CLEARED not in msgspec.json.encode(script.requests[-1].messages).decode()


async def test_enough_old_results_give_way_before_a_summary_is_made(tmp_path: Path):
    channel = FakeChannel()
    script = ScriptedProvider([*_reads(tmp_path, 8, 20_000)[:-1], says("Done.")])
    runtime = msgspec.structs.replace(
        make_runtime(tmp_path, script, READ, channel=channel), habits=CompactionSettings(window=38_000)
    )
    session = make_session()

    outcome = await run_turn(session, _prompt("read"), runtime)

    assert outcome.text == "Done."
    assert not channel.of(CompactionStarted)
    assert msgspec.json.encode(script.requests[-1].messages).decode().count(CLEARED) == 3


async def test_a_resume_sends_the_same_bytes_after_results_were_cleared(tmp_path: Path):
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    session = _recorded(path)
    runtime = make_runtime(tmp_path, [*_reads(tmp_path, 3, 4_000)], READ)
    await run_turn(session, _prompt("read"), runtime)
    stub_item(session, runtime, "call-1")
    before = _bytes(session)
    session.close()

    again = resume(
        str(path), TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print)
    )
    assert _bytes(again) == before
    again.close()

    fork = resume(
        str(path),
        TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print),
        fork=True,
    )
    assert _bytes(fork) == before
    fork.close()


async def test_an_undone_compaction_keeps_what_was_cleared_before_it(tmp_path: Path):
    path = tmp_path / "s.jsonl"
    session = _recorded(path)
    runtime = make_runtime(tmp_path, [*_reads(tmp_path, 2, 4_000), SUMMARY], READ)
    await run_turn(session, _prompt("read"), runtime)
    stub_item(session, runtime, "call-1")
    before = _bytes(session)
    await compact(Turn(session, _prompt(), runtime), trigger="manual")

    assert undo_compaction(session, str(path))

    assert _bytes(session) == before


async def test_the_newer_part_can_give_way_while_the_older_stays_word_for_word(tmp_path: Path):
    script = ScriptedProvider([says("One."), says("Two."), SUMMARY, says("Three.")])
    runtime = make_runtime(tmp_path, script, briefing=FakeBriefing(["<system-reminder>r</system-reminder>"]))
    session = make_session()
    await run_turn(session, Prompt(content="a", origin=TYPED, uuid="first"), runtime)
    before = list(session.history.messages)
    await run_turn(session, Prompt(content="b", origin=TYPED, uuid="second"), runtime)

    await compact(Turn(session, _prompt(), runtime), trigger="manual", replace_from="second")
    await run_turn(session, _prompt("c"), runtime)

    assert "b" in str(script.requests[2].messages[-1]["content"])
    assert script.requests[3].messages[:2] == before
    assert "It was about files." in str(script.requests[3].messages[2]["content"])


async def test_the_first_prompt_cannot_be_the_place_behind_which_all_gives_way(tmp_path: Path):
    runtime = make_runtime(tmp_path, [says("One.")])
    session = make_session()
    await run_turn(session, Prompt(content="a", origin=TYPED, uuid="first"), runtime)

    with pytest.raises(CompactionFailed):
        await compact(Turn(session, _prompt(), runtime), trigger="manual", replace_from="first")


async def test_hooks_hear_before_and_after_and_of_the_new_beginning(tmp_path: Path):
    async with hooked(tmp_path, [says("One."), SUMMARY]) as scene:
        for event in ("PreCompact", "PostCompact"):
            scene.listen(event)
        scene.listen(
            "SessionStart",
            {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "mind the dog"}},
        )
        await run_turn(scene.session, _prompt("a"), scene.runtime)
        await compact(Turn(scene.session, _prompt(), scene.runtime), trigger="manual", focus="dogs")

        told = [(each["hook_event_name"], each.get("source")) for each in scene.told]
        assert told[-3:] == [("PreCompact", None), ("PostCompact", None), ("SessionStart", "compact")]
        assert "mind the dog" in _bytes(scene.session).decode()


async def test_constraints_in_prompts_are_kept_and_come_back_with_a_resume(tmp_path: Path):
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    session = _recorded(path)
    runtime = make_runtime(tmp_path, [says("Ok."), SUMMARY, SUMMARY])
    await run_turn(session, _prompt("Sort it. Never touch vendor/.  And be quick."), runtime)
    pin(session, "The port is 8081")
    gone = pin(session, "wrong").pins[-1].id
    assert unpin(session, gone) and not unpin(session, gone)
    await compact(Turn(session, _prompt(), runtime), trigger="manual")
    session.close()

    again = resume(
        str(path), TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print)
    )
    assert again.state.ledger.texts == ("The port is 8081", "Never touch vendor/.")
    assert "<pinned>Never touch vendor/.</pinned>" in _bytes(again).decode()
    assert find_constraints(again) is again.state.ledger
    again.close()


async def test_notes_stand_for_a_summary_when_they_are_up_to_date(tmp_path: Path):
    full = {"input_tokens": 170_000, "output_tokens": 50}
    script = ScriptedProvider([says("One."), says("Two.", usage=full), says("Three.")])
    session = make_session()

    class NoteTaker(Feature):
        def notes(self, turn: Turn) -> Notes:
            return Notes("# Notes\nall is well", turn.session.entries[1]["uuid"])

    runtime = with_feature(make_runtime(tmp_path, script), NoteTaker())
    await run_turn(session, _prompt("a"), runtime)
    await run_turn(session, _prompt("b"), runtime)
    await run_turn(session, _prompt("c"), runtime)

    sent = msgspec.json.encode(script.requests[2].messages).decode()
    assert "all is well" in sent and '"b"' in sent and "Two." in sent


async def test_single_things_can_be_stubbed_dropped_and_held(tmp_path: Path):
    runtime = make_runtime(tmp_path, [*_reads(tmp_path, 3, 4_000)], READ)
    session = make_session()
    await run_turn(session, _prompt("read"), runtime)
    results = [item for item in list_items(session) if item.kind == "result"]
    assert [item.id for item in results] == ["call-1", "call-2", "call-3"]
    assert all(item.tokens > 900 for item in results)

    assert stub_item(session, runtime, "call-1") > 900
    hold_item(session, "call-2")
    assert drop_item(session, runtime, "call-3") > 900

    sent = _bytes(session).decode()
    assert CLEARED in sent and "1 word" in sent and "call-3" not in sent
    for refused in (stub_item, drop_item):
        with pytest.raises(UsageError):
            refused(session, runtime, "call-2")
    with pytest.raises(UsageError):
        drop_item(session, runtime, "nothing")


async def test_reminders_of_one_message_are_one_item_named_by_their_headings(tmp_path: Path):
    session = make_session()
    blocks: list[UserBlock] = [reminder("# Git\nOn main."), reminder("# Skills\nNone.")]
    session.say_user(blocks, meta=True)
    await run_turn(session, _prompt("two\nlines"), make_runtime(tmp_path, [says("Hm.")]))

    first, second = list_items(session)[:2]
    assert (first.kind, first.title) == ("reminder", "Git, Skills")
    assert "On main." in item_text(session, first) and "None." in item_text(session, first)
    assert (second.kind, second.title) == ("prompt", "two lines")


async def test_what_is_held_is_held_after_a_resume_and_in_a_fork(tmp_path: Path):
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    session = _recorded(path)
    await run_turn(session, _prompt("read"), make_runtime(tmp_path, [*_reads(tmp_path, 2, 4_000)], READ))
    hold_item(session, "call-1")
    hold_item(session, "call-2")
    release_item(session, "call-2")
    with pytest.raises(UsageError):
        release_item(session, "call-2")
    session.close()

    place = TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print)
    for fork in (True, False):
        again = resume(str(path), place, fork=fork)
        assert again.state.pinned_items == {"call-1"}
        again.close()


async def test_a_line_about_held_items_that_makes_no_sense_holds_nothing(tmp_path: Path):
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    session = _recorded(path)
    await run_turn(session, _prompt("hi"), make_runtime(tmp_path, [says("Hm.")]))
    session.note({"type": "bridle-held", "items": {"call-1": 7}})
    session.close()
    again = resume(
        str(path), TranscriptPath(cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, warn=print)
    )
    assert again.state.pinned_items == frozenset()
    again.close()


async def test_who_changes_the_prefix_is_named_and_a_compaction_is_not(tmp_path: Path):
    channel = FakeChannel()
    usage = {"input_tokens": 9_000, "output_tokens": 5}
    script = ScriptedProvider([says("One.", usage=usage), says("Two.", usage=usage), SUMMARY, says("Three.")])
    runtime = make_runtime(tmp_path, script, channel=channel)
    session = make_session()
    await run_turn(session, _prompt("a"), runtime)
    with_tool = msgspec.structs.replace(
        make_runtime(tmp_path, script, READ, channel=channel), watch=runtime.watch
    )
    await run_turn(session, _prompt("b"), with_tool)
    assert [event.text for event in channel.of(Noticed)] == [
        "About 9,005 cached tokens must be read again: tool Read was added."
    ]

    await compact(Turn(session, _prompt(), with_tool), trigger="manual")
    await run_turn(session, _prompt("c"), with_tool)

    assert len(channel.of(Noticed)) == 1

import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bridle.transcripts.conversation import fold
from bridle.transcripts.cost import Cost
from bridle.transcripts.line import encode_line
from bridle.transcripts.reader import Loaded, load, opening
from bridle.transcripts.session import Session
from bridle.transcripts.transcript import Transcript
from bridle.types.block import result_block
from bridle.types.usage import ModelSpend, Usage
from tests.transcripts.entries import assert_sendable, assistant, call, say, system, text, thinking, user


def write(tmp_path: Path, *rows: Mapping[str, object] | bytes) -> str:
    path = tmp_path / "11111111-1111-4111-8111-111111111111.jsonl"
    path.write_bytes(b"".join(row if isinstance(row, bytes) else encode_line(row) for row in rows))
    return str(path)


def read(tmp_path: Path, *rows: Mapping[str, object] | bytes) -> Loaded:
    return load(write(tmp_path, *rows))


def uuids(loaded: Loaded) -> list[str]:
    return [entry["uuid"] for entry in loaded.entries]


def sample(tmp_path: Path) -> bytes:
    path = tmp_path / "22222222-2222-4222-8222-222222222222.jsonl"
    session = Session("22222222-2222-4222-8222-222222222222", writer=Transcript(str(path), warn=print))
    session.note({"type": "queue-operation", "operation": "enqueue"})
    session.say_user("first 😀")
    rows = say(session, "m1", thinking(), text("looking"), call("a"), call("b"), stop="tool_use")
    session.say_user([result_block("b", "two")], data={"n": 2}, source=rows[3]["uuid"])
    session.say_user([result_block("a", "one")], data={"n": 1}, source=rows[2]["uuid"])
    say(session, "m2", text("done"))
    session.record_cost("m", Usage(input=1), 0.5, context_window=1, max_output=1)
    session.save_cost()
    session.say_system("compact_boundary", fields={"compactMetadata": {"trigger": "manual"}})
    session.say_user("summary", summary=True)
    session.say_user([text("second"), text("part")])
    say(session, "m3", call("c"), stop="tool_use")
    session.say_user([result_block("c", "three")], data="x")
    session.close()
    return path.read_bytes()


def test_the_chain_ends_in_the_last_row_and_begins_at_its_root(tmp_path: Path):
    loaded = read(
        tmp_path,
        user("1", "q"),
        assistant("2", "m", text("x"), parent="1"),
        assistant("3", "n", text("other branch"), parent="1"),
        user("4", "on", parent="2"),
    )
    assert uuids(loaded) == ["1", "2", "4"]
    assert loaded.session_id == "11111111-1111-4111-8111-111111111111"
    assert loaded.broken_lines == 0


def test_side_chains_meta_rows_and_team_rows_are_not_the_end(tmp_path: Path):
    side: Any = {**user("3", "side", parent="2"), "isSidechain": True}
    team: Any = {**user("5", "team", parent="2"), "teamName": "t"}
    loaded = read(
        tmp_path,
        user("1", "q"),
        assistant("2", "m", text("x"), parent="1"),
        side,
        user("4", "n", parent="2", meta=True),
        team,
    )
    assert uuids(loaded) == ["1", "2"]


def test_meta_rows_inside_the_chain_are_kept(tmp_path: Path):
    loaded = read(
        tmp_path,
        user("1", "q"),
        user("2", "n", parent="1", meta=True),
        assistant("3", "m", text("x"), parent="2"),
    )
    assert uuids(loaded) == ["1", "2", "3"]


def test_rows_of_unknown_kinds_link_the_chain_but_are_no_entries(tmp_path: Path):
    attachment = {"type": "attachment", "uuid": "2", "parentUuid": "1", "attachment": {"x": 1}}
    loaded = read(tmp_path, user("1", "q"), attachment, assistant("3", "m", text("x"), parent="2"))
    assert uuids(loaded) == ["1", "3"]
    assert [row["uuid"] for row in loaded.chain] == ["1", "2", "3"]


def test_unknown_fields_survive(tmp_path: Path):
    row: Any = {**user("1", "q"), "future": {"deep": [1, None]}}
    assert read(tmp_path, row).entries == [row]


def test_the_newest_note_of_each_kind_is_kept(tmp_path: Path):
    loaded = read(
        tmp_path,
        {"type": "custom-title", "customTitle": "old"},
        user("1", "q"),
        {"type": "custom-title", "customTitle": "new"},
        {"type": "from-the-future", "x": 1},
    )
    assert loaded.notes == {
        "custom-title": {"type": "custom-title", "customTitle": "new"},
        "from-the-future": {"type": "from-the-future", "x": 1},
    }


def test_the_cost_so_far_is_read(tmp_path: Path):
    counts = {"inputTokens": 4, "outputTokens": 2, "costUSD": 0.5, "contextWindow": 200, "maxOutputTokens": 8}
    loaded = read(
        tmp_path, user("1", "q"), {"type": "cost-state", "totalCostUSD": 0.75, "modelUsage": {"m": counts}}
    )
    assert loaded.cost == Cost(0.75, {"m": ModelSpend(Usage(input=4, output=2), 0.5, 200, 8)})


def test_a_cost_that_makes_no_sense_counts_as_nothing(tmp_path: Path):
    loaded = read(
        tmp_path,
        {
            "type": "cost-state",
            "totalCostUSD": "lots",
            "modelUsage": {"m": 1, "n": {"costUSD": []}},
            "totalDuration": "long",
            "totalAPIDuration": -4,
            "totalLinesAdded": None,
            "startTime": [1],
        },
    )
    assert loaded.cost == Cost(0.0, {"n": ModelSpend()})


@pytest.mark.parametrize(
    "bad",
    [
        b'{"type":"user"\n',
        b"\0\0\0\n",
        b"[]\n",
        b'{"type":"user","uuid":"2","parentUuid":"1"}\n',
        b'{"type":"user","uuid":"2","message":{"content":5}}\n',
        b'{"type":"user","uuid":"2","message":{"content":[7]}}\n',
        b'{"type":"assistant","uuid":"2","message":{"id":[],"content":[]}}\n',
        b'{"type":"assistant","uuid":"2","message":{"content":[{"type":"tool_use","id":"x"}]}}\n',
        b'{"type":[],"uuid":"2"}\n',
    ],
)
def test_a_bad_line_costs_only_itself(tmp_path: Path, bad: bytes):
    loaded = read(
        tmp_path, user("1", "q"), bad, assistant("3", "m", text("x"), parent="2"), user("4", "r", parent="3")
    )
    assert uuids(loaded) == ["1", "3", "4"]
    assert loaded.broken_lines == 1


def test_a_broken_first_line_leaves_the_rest(tmp_path: Path):
    loaded = read(tmp_path, b"{\n", assistant("2", "m", text("x"), parent="1"), user("3", "r", parent="2"))
    assert uuids(loaded) == ["2", "3"]
    assert_sendable(fold(loaded.entries).messages)


def test_a_lost_boundary_does_not_bring_back_what_was_summarized(tmp_path: Path):
    summary: Any = {**user("3", "summary", parent="2"), "isCompactSummary": True}
    assert uuids(read(tmp_path, user("1", "old"), b"{\n", summary, user("4", "q", parent="3"))) == ["3", "4"]


def test_circles_and_own_parents_end(tmp_path: Path):
    assert set(uuids(read(tmp_path, user("1", "a", parent="2"), user("2", "b", parent="1")))) == {"1", "2"}
    assert uuids(read(tmp_path, user("1", "a", parent="1"))) == ["1"]


def test_the_last_line_of_a_uuid_counts(tmp_path: Path):
    loaded = read(
        tmp_path,
        user("1", "a"),
        user("2", "b", parent="1"),
        user("3", "c", parent="2"),
        user("3", "c", parent="1"),
    )
    assert uuids(loaded) == ["1", "3"]


def test_the_least_that_another_program_writes_is_enough(tmp_path: Path):
    common = {
        "isSidechain": False,
        "userType": "external",
        "cwd": "/p",
        "sessionId": "s",
        "version": "2.0.0",
        "gitBranch": "",
    }
    loaded = read(
        tmp_path,
        {
            **common,
            "parentUuid": None,
            "type": "user",
            "message": {"role": "user", "content": "q"},
            "uuid": "1",
            "timestamp": "t",
        },
        {
            **common,
            "parentUuid": "1",
            "type": "assistant",
            "message": {"role": "assistant", "content": [text("x")]},
            "uuid": "2",
            "timestamp": "t",
            "requestId": "r",
        },
    )
    assert [m["content"] for m in fold(loaded.entries).messages] == ["q", [text("x")]]
    assert all(entry["entrypoint"] == "" for entry in loaded.entries)


def test_a_file_without_a_conversation_has_no_opening(tmp_path: Path):
    path = write(tmp_path, {"type": "queue-operation"}, b"{\n", {**user("1", "q"), "isSidechain": True})
    assert opening(path) is None
    assert load(path).entries == []


def test_every_prefix_of_a_transcript_loads_and_can_be_sent(tmp_path: Path):
    whole = sample(tmp_path)
    path = tmp_path / "prefix.jsonl"
    path.write_bytes(whole)
    for end in range(len(whole), -1, -1):
        os.truncate(path, end)
        loaded = load(str(path))
        assert loaded.broken_lines <= 1
        assert_sendable(fold(loaded.entries).messages)


def test_no_mutation_of_a_transcript_breaks_loading(tmp_path: Path):
    whole = sample(tmp_path)
    path = tmp_path / "mutated.jsonl"
    chance = random.Random(7)
    for _ in range(1000):
        path.write_bytes(_mutated(whole, chance))
        assert_sendable(fold(load(str(path)).entries).messages)


def _mutated(whole: bytes, chance: random.Random) -> bytes:
    data = bytearray(whole)
    lines = whole.splitlines(keepends=True)
    match chance.randrange(6):
        case 0:
            for _ in range(chance.randrange(1, 20)):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 1:
            start = chance.randrange(len(data))
            del data[start : start + chance.randrange(400)]
        case 2:
            chance.shuffle(lines)
            return b"".join(lines)
        case 3:
            return b"".join(line for line in lines if chance.random() < 0.7)
        case 4:
            values = [b"null", b"7", b"[]", b"{}", b'"x"', b"true"]
            keys = [
                b'"type":',
                b'"content":',
                b'"message":',
                b'"uuid":',
                b'"parentUuid":',
                b'"id":',
                b'"text":',
            ]
            key = chance.choice(keys)
            pieces = whole.split(key)
            spot = chance.randrange(1, len(pieces))
            pieces[spot] = chance.choice(values) + b"," + b'"was":' + pieces[spot]
            return key.join(pieces)
        case _:
            return b"".join(line * chance.randrange(3) for line in lines)
    return bytes(data)


def test_what_another_program_kept_beside_its_summary_stands_behind_it(tmp_path: Path):
    kept = {"anchorUuid": "sum", "uuids": ["u2"], "allUuids": ["u2", "gone", 7]}
    line = {**system("line", "compact_boundary"), "logicalParentUuid": "u2"}
    old = [user("u1", "old"), user("u2", "kept", parent="u1")]
    new = [
        {**user("sum", "summary", parent="line"), "isCompactSummary": True},
        user("u3", "new", parent="sum"),
    ]
    found = read(tmp_path, *old, {**line, "compactMetadata": {"preservedMessages": kept}}, *new)
    assert uuids(found) == ["line", "sum", "u2", "u3"]
    odd = {"anchorUuid": "sum", "uuids": "x"}
    found = read(tmp_path, *old, {**line, "compactMetadata": {"preservedMessages": odd}}, *new)
    assert uuids(found) == ["line", "sum", "u3"]

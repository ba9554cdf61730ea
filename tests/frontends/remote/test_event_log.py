"""Numbered events: exactly once, in order, with bounded memory (R13)."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.frontends.remote.event_log import EventLog
from bridle.frontends.remote.http import Timeouts
from bridle.types.ids import new_uuid
from tests.fakes.remote import CuttingLine, RemoteClient
from tests.frontends.remote.shared_sessions import Served, served

_DISCONNECTS = 1_000


async def test_nothing_is_lost_or_doubled_across_a_thousand_disconnects():
    """R13."""
    async with served(Timeouts(beat=0.001)) as made, CuttingLine(made.client.port) as line:
        client = RemoteClient(line.port, made.client.token)
        async with asyncio.timeout(60):
            got = await _follow(client, made, line)
    assert line.cuts >= _DISCONNECTS
    assert got == list(range(1, len(got) + 1)) and len(got) >= _DISCONNECTS


async def _follow(client: RemoteClient, made: Served, line: CuttingLine) -> list[int]:
    """The numbers that the session gave its frames, as somebody gets them who comes back again and again."""
    epoch, after = made.shared_session.log.epoch, 0
    got: list[int] = []
    while line.cuts < _DISCONNECTS:
        _talk(made, after)
        try:
            async with client.follow(made.shared_session.id, epoch=epoch, after=after) as stream:
                while True:
                    came = await stream.line()
                    assert "snapshot" not in came
                    _talk(made, after)
                    if came["n"] > after:
                        after = came["n"]
                        got += [came["frame"]["number"]] if "number" in came["frame"] else []
        except (OSError, asyncio.IncompleteReadError):
            continue  # The line was cut.
    return got


def _talk(made: Served, heard: int) -> None:
    """Stay a little ahead of whoever listens."""
    while made.shared_session.log.last < heard + 20:
        number = len(made.performed.done) + 1
        made.performed.interrupt(who="the count")
        made.shared_session.publish({"type": "status", "number": number, "text": "x" * (number % 700)})


async def test_somebody_who_was_away_too_long_begins_anew_from_a_snapshot():
    async with served() as made:
        made.shared_session.publish(_said("first"))
        async with made.client.follow(made.shared_session.id) as stream:
            begun = await stream.line()
        assert [each["message"]["content"] for each in begun["snapshot"]["frames"]] == ["first"]
        for number in range(25_000):
            made.shared_session.publish({"type": "stream_event", "event": number})
        made.shared_session.publish(_said("second"))
        async with made.client.follow(
            made.shared_session.id, epoch=begun["epoch"], after=begun["n"]
        ) as stream:
            anew = await stream.line()
            made.shared_session.publish(_said("third"))
            after = await stream.line()
    assert [each["message"]["content"] for each in anew["snapshot"]["frames"]] == ["first", "second"]
    assert after["n"] == anew["n"] + 1 and after["frame"]["message"]["content"] == "third"


@pytest.mark.parametrize(("epoch", "after"), [("", 0), ("another", 0), (None, 999), (None, -1)])
def test_a_place_that_means_nothing_here_is_no_place(epoch: str | None, after: int):
    log = EventLog(most_lines=3)
    for number in range(5):
        log.append({"type": "x", "number": number})
    assert log.since(log.epoch if epoch is None else epoch, after, most=1_000) is None


@given(
    st.lists(st.integers(0, 300), max_size=60),
    st.integers(200, 4_000),
    st.integers(1, 20),
    st.lists(st.integers(0, 60), max_size=10),
)
def test_lines_behind_a_number_are_all_there_or_none_is(
    sizes: list[int], most_bytes: int, most_lines: int, places: list[int]
):
    log = EventLog(most_bytes=most_bytes, most_lines=most_lines)
    for size in sizes:
        log.append({"type": "x", "text": "y" * size})
    for after in places:
        found = log.since(log.epoch, after, most=10**9)
        if found is not None:
            assert [json.loads(line)["n"] for line in found] == list(range(after + 1, log.last + 1))
    kept = log.since(log.epoch, log.last, most=10**9)
    assert kept == []


def test_a_long_conversation_is_bounded_and_says_that_there_was_more():
    log = EventLog()
    for number in range(2_000):
        log.append(_said(f"{number} " + "z" * 5_000))
    snapshot = json.loads(log.snapshot())["snapshot"]
    assert snapshot["earlier"] is True
    assert len(json.dumps(snapshot)) < 2_500_000
    assert snapshot["frames"][-1]["message"]["content"].startswith("1999 ")


@pytest.mark.parametrize(
    "content",
    [
        [{"type": "tool_result", "tool_use_id": "c", "content": "x"}],
        [{"type": "tool_use", "id": "c", "name": "Write", "input": {}}],
        [{"type": "text", "text": "x"}],
    ],
)
def test_what_is_too_large_for_a_phone_is_told_without_its_bulk(content: list[dict[str, Any]]):
    log = EventLog()
    log.append({"type": "user", "message": {"content": content}, "uuid": "u", "padding": "x" * 600_000})
    (line,) = log.since(log.epoch, 0, most=10**9) or []
    told = json.loads(line)["frame"]
    assert len(line) < 1_000 and "transcript" in line.decode()
    assert [block["type"] for block in told["message"]["content"]] == [block["type"] for block in content]


def test_a_prompt_that_is_too_large_is_told_in_a_line():
    log = EventLog()
    log.append(_said("x" * 600_000))
    (line,) = log.since(log.epoch, 0, most=10**9) or []
    assert "transcript" in json.loads(line)["frame"]["message"]["content"][0]["text"]


def test_results_are_told_without_their_data_first():
    log = EventLog()
    block = {"type": "tool_result", "tool_use_id": "c", "content": "fine"}
    log.append({"type": "user", "message": {"content": [block]}, "tool_use_result": "x" * 600_000})
    (line,) = log.since(log.epoch, 0, most=10**9) or []
    assert json.loads(line)["frame"] == {"type": "user", "message": {"content": [block]}}


def test_what_the_conversation_began_with_is_not_told_again():
    log = EventLog()
    known = _said("known")
    log.restart([known])
    log.append(known)
    log.append(_said("new"))
    assert log.last == 1
    assert len(json.loads(log.snapshot())["snapshot"]["frames"]) == 2


def test_what_was_withdrawn_is_not_in_the_snapshot():
    log = EventLog()
    gone, stays = _said("gone"), _said("stays")
    log.append(gone)
    log.append(stays)
    log.withdraw((gone["uuid"], "unknown"))
    assert json.loads(log.snapshot())["snapshot"]["frames"] == [stays]


def test_separators_that_end_lines_elsewhere_do_not_end_ours():
    log = EventLog()
    log.append(_said("a\u2028b\nc\ud800"))
    (line,) = log.since(log.epoch, 0, most=10**9) or []
    assert line.count(b"\n") == 1 and line.endswith(b"\n") and b"\xe2\x80\xa8" not in line


async def test_a_conversation_that_begins_anew_sends_followers_to_its_beginning():
    async with served() as made:
        async with made.client.follow(made.shared_session.id) as stream:
            before = await stream.line()
            made.shared_session.log.restart([_said("another conversation")])
            with pytest.raises(asyncio.IncompleteReadError):
                await stream.line()
        async with made.client.follow(
            made.shared_session.id, epoch=before["epoch"], after=before["n"]
        ) as stream:
            begun = await stream.line()
    assert begun["epoch"] != before["epoch"]
    assert begun["snapshot"]["frames"][0]["message"]["content"] == "another conversation"


async def test_an_answer_that_is_half_written_is_seen_by_those_who_come_now():
    async with served() as made:
        made.shared_session.stream("Once upon ")
        made.shared_session.stream("a time")
        async with made.client.follow(made.shared_session.id) as stream:
            assert (await stream.line())["snapshot"]["partial"] == "Once upon a time"
        made.shared_session.end_stream()
        async with made.client.follow(made.shared_session.id) as stream:
            assert (await stream.line())["snapshot"]["partial"] == ""


def _said(text: str) -> dict[str, Any]:
    return {"type": "user", "uuid": new_uuid(), "message": {"role": "user", "content": text}}

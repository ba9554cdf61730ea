"""Where words come from stays with them, in memory and on disk (S5, S44)."""

from typing import Any, get_args

import pytest

from bridle.types.origin import Origin, Source
from tests.tables import table


@table("source", get_args(Source))
@table("who", ["", "ann", "a1b2"])
def test_every_origin_comes_back_from_a_transcript(source: Source, who: str):
    origin = Origin(source=source, who=who)
    assert Origin.from_entry(origin.to_entry()) == origin


def test_a_stamp_and_the_senders_own_words_come_back():
    for origin in (
        Origin(source="host", stamped=True),
        Origin(source="argument", words=(0, 12)),
        Origin(source="host", stamped=True, words=(20, 31)),
    ):
        assert Origin.from_entry(origin.to_entry()) == origin


@table(
    ("value", "expected"),
    [
        ({"kind": "human"}, "typed"),
        ({"kind": "task-notification"}, "job"),
        ({"kind": "peer", "from": "x"}, "letter"),
        ({"kind": "channel", "server": "s"}, "channel"),
        ({"kind": "human", "source": "remote"}, "remote"),
        ({"kind": "human", "source": "of a newer release"}, None),
        ({"kind": "coordinator"}, None),
        ({}, None),
        (None, None),
        ("human", None),
        ([], None),
        ({"kind": ["human"]}, None),
        ({"source": {"typed": 1}}, None),
    ],
)
def test_lines_of_other_releases_are_read_and_nothing_unknown_counts_as_typed(
    value: Any, expected: str | None
):
    found = Origin.from_entry(value)
    assert (None if found is None else found.source) == expected


@pytest.mark.parametrize("words", ["5", [1], [1, "2"], {"a": 1}, 7, True])
def test_a_broken_span_leaves_no_words_to_the_sender(words: Any):
    found = Origin.from_entry({"kind": "human", "source": "argument", "words": words})
    assert found is not None and found.own_words("the user says yes") == ""


def test_only_the_user_and_the_users_programs_speak_for_the_user():
    own = {source for source in get_args(Source) if Origin(source=source).is_own}
    people = {source for source in get_args(Source) if Origin(source=source).is_person}
    typed = {source for source in get_args(Source) if Origin(source=source).is_typed}
    assert own == {"typed", "argument", "host"}
    assert people == own | {"remote"}
    assert typed == {"typed", "argument"}
    assert Origin(source="host", stamped=True).is_typed and not Origin(source="remote", stamped=True).is_typed


def test_words_before_the_senders_own_are_those_of_a_file():
    assert Origin(source="typed", words=(3, 9)).at_start.source == "file"
    assert Origin(source="argument", words=(0, 9)).at_start.source == "argument"


def test_results_say_what_hosts_know():
    assert Origin(source="host", stamped=True).on_result() == {"kind": "human"}
    assert Origin(source="host").on_result() is None
    assert Origin(source="typed").on_result() is None
    assert Origin(source="schedule", who="a1").on_result() == {"kind": "task-notification", "schedule": "a1"}
    assert Origin(source="letter", who="ann").on_result() == {"kind": "peer", "from": "ann"}

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.context.compaction_report import dropped
from bridle.context.ledger import constraints_in, to_note
from bridle.context.rounds import newest_rounds, oldest_rounds_to_drop, rounds_of
from bridle.context.summary import opening_text, read_summary, summary_request
from bridle.context.tokens import estimate, measure, tokens_now, units_of, weigh
from bridle.context.window import habits_from, read_window, window_of
from bridle.types.block import AssistantMessage, SentMessage
from bridle.types.history import History
from bridle.types.ledger import Ledger
from bridle.types.usage import Usage


def test_the_marks_of_a_large_window():
    window = window_of(200_000, 64_000)

    assert (window.usable, window.compact_at, window.warn_at) == (180_000, 167_000, 147_000)
    assert [window.level(n) for n in (0, 147_000, 167_000, 177_000)] == ["fine", "warning", "compact", "full"]


@given(st.integers(500, 2_000_000), st.integers(1, 128_000))
def test_the_marks_stand_in_order_in_every_window(size: int, output: int):
    window = window_of(size, output)

    assert 0 <= window.warn_at <= window.compact_at <= window.full_at <= window.usable <= size


def test_the_user_can_lower_the_mark_and_not_raise_it():
    assert window_of(200_000, 64_000, chosen=50_000).compact_at == 50_000
    assert window_of(200_000, 64_000, chosen=900_000).compact_at == 167_000
    assert window_of(200_000, 64_000, percent=50).compact_at == 90_000
    assert window_of(200_000, 64_000, percent=99).compact_at == 167_000


def test_variables_count_more_than_settings():
    habits = habits_from({"CLAUDE_CODE_AUTO_COMPACT_WINDOW": "120000"}, enabled=True, window=500_000)

    assert (habits.automatic, habits.window) == (True, 120_000)
    assert not habits_from({"DISABLE_AUTO_COMPACT": "1"}, enabled=True, window=None).automatic
    assert not habits_from({"DISABLE_COMPACT": "true"}, enabled=True, window=None).allowed
    assert not habits_from({}, enabled=False, window=None).automatic


@pytest.mark.parametrize(
    ("text", "tokens"), [("auto", None), ("500k", 500_000), ("1m", 1_000_000), ("200000", 200_000)]
)
def test_windows_as_people_write_them(text: str, tokens: int | None):
    assert read_window(text) == tokens


@pytest.mark.parametrize("text", ["", "10", "2m", "many", "-1", "٣٠٠k"])
def test_what_is_no_window_is_refused(text: str):
    with pytest.raises(ValueError, match="is not a window"):
        read_window(text)


def test_a_counted_conversation_is_estimated_only_in_what_came_since():
    history = History.of({"role": "user", "content": "x" * 40_000})
    asked = units_of(history)
    answer: Any = {"role": "assistant", "content": [{"type": "text", "text": "y" * 400}]}
    measured = measure(Usage(input=20_000, output=200), answer, fixed=0, asked=asked)
    history.add(answer)

    assert tokens_now(history, measured, fixed=0) == 20_200

    history.add({"role": "user", "content": "z" * 4_000})
    assert tokens_now(history, measured, fixed=0) == pytest.approx(22_200, rel=0.01)


def test_without_a_count_four_units_are_a_token():
    message: SentMessage = {"role": "user", "content": "The quick brown fox jumps over the lazy dog."}
    assert 40 <= weigh(message) <= 60
    assert tokens_now(History.of(message), None, fixed=4_000) == round((4_000 + weigh(message)) / 4)
    assert estimate("The quick brown fox jumps over the lazy dog. " * 8) == pytest.approx(80, abs=4)


def test_messages_are_weighed_once():
    weighed: list[str] = []

    def scale(message: Any) -> int:
        weighed.append(message["content"])
        return 1

    history = History.of({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    history.weights(scale)
    history.add({"role": "user", "content": "c"})
    history.weights(scale)

    assert weighed == ["a", "b", "b", "c"]


def test_a_longer_copy_shares_what_is_encoded_and_leaves_the_original_alone():
    encoded: list[str] = []

    def encode(message: Any, origin: str | None) -> bytes:
        encoded.append(message["content"])
        return b""

    history = History.of({"role": "user", "content": "a"}, {"role": "assistant", "content": "b"})
    history.encoded("x", encode)
    history.extended({"role": "user", "content": "c"}).encoded("x", encode)

    assert encoded == ["a", "b"]
    assert len(history) == 2


def test_every_block_has_a_weight():
    blocks: list[Any] = [
        {"type": "text", "text": "ä"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"type": "tool_use", "id": "1", "name": "Read", "input": {"file_path": "/x"}},
        {"type": "tool_result", "tool_use_id": "1", "content": [{"type": "text", "text": "out"}]},
        {"type": "tool_result", "tool_use_id": "1"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "document", "source": {"type": "base64", "data": "A" * 100}},
        {"type": "newer", "field": 1},
    ]

    assert all(weigh({"role": "user", "content": [block]}) > 0 for block in blocks)


def _answer(text: str, stop_reason: str = "end_turn") -> AssistantMessage:
    return {
        "id": "m",
        "type": "message",
        "role": "assistant",
        "model": "x",
        "content": [{"type": "text", "text": text}],
        "stop_reason": stop_reason,
        "stop_sequence": None,
        "usage": {},
    }


def test_the_summary_stands_between_its_tags():
    assert read_summary(_answer("<analysis>hm</analysis>\n<summary> all is well </summary>")) == "all is well"
    assert read_summary(_answer("<analysis>hm</analysis> plain words")) == "plain words"


@pytest.mark.parametrize(
    "answer",
    [
        _answer(""),
        _answer("<summary>  </summary>"),
        _answer("<summary>begun and never"),
        _answer("<summary>whole</summary>", stop_reason="max_tokens"),
        _answer("<summary>" + "x" * 90_000 + "</summary>"),
    ],
)
def test_a_summary_that_cannot_stand_for_a_conversation_is_refused(answer: AssistantMessage):
    with pytest.raises(ValueError, match="summary"):
        read_summary(answer)


def test_the_request_and_the_opening_carry_the_words_of_the_user():
    assert summary_request("mind the tests").endswith("mind the tests")
    text = opening_text("S", pins=("never push",), transcript="/t.jsonl", in_turn=True)
    assert "<pinned>never push</pinned>" in text
    assert "/t.jsonl" in text


def _rows(*sizes: int) -> list[Any]:
    rows: list[Any] = [{"type": "user", "uuid": "u0", "message": {"role": "user", "content": "start"}}]
    for number, size in enumerate(sizes, 1):
        call = {"type": "tool_use", "id": f"c{number}", "name": "Read", "input": {}}
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": "x" * size}
        rows += [
            {"type": "assistant", "uuid": f"t{number}", "message": {"id": f"m{number}", "content": []}},
            {"type": "assistant", "uuid": f"a{number}", "message": {"id": f"m{number}", "content": [call]}},
            {"type": "user", "uuid": f"u{number}", "message": {"role": "user", "content": [result]}},
        ]
    return rows


def test_rows_of_one_answer_and_its_results_are_one_round():
    assert [[row["uuid"] for row in each] for each in rounds_of(_rows(1, 1))] == [
        ["u0"],
        ["t1", "a1", "u1"],
        ["t2", "a2", "u2"],
    ]


def test_only_whole_rounds_are_kept_and_never_all():
    kept = newest_rounds(_rows(100, 100, 100), units=280)
    assert [row["uuid"] for row in kept] == ["t2", "a2", "u2", "t3", "a3", "u3"]
    assert newest_rounds(_rows(100), units=10) == []
    assert len(newest_rounds(_rows(1, 1), units=10**9)) == 6


def test_as_much_of_the_head_goes_as_is_missing_and_something_stays():
    rows = _rows(1_000, 1_000, 1_000)
    assert oldest_rounds_to_drop(rows, units=1_000) == 4
    assert oldest_rounds_to_drop(rows, units=None) == 1
    assert oldest_rounds_to_drop(rows, units=10**9) == 7
    assert oldest_rounds_to_drop(rows[:1], units=1) == 0


def test_the_report_names_what_is_gone_the_costliest_first():
    report = dropped(_rows(4_000, 4_000), 0.25)
    assert (report[0].kind, report[0].count) == ("results of Read", 2)
    assert 2_000 <= report[0].tokens <= 2_020
    assert {row.kind for row in report} == {"results of Read", "calls of Read", "prompts"}


def test_rules_that_the_user_lays_down_are_found_word_for_word():
    text = "Fix the parser. Never touch src/gen.py! It is old.\nYou must run v1.2 of the tests afterwards"
    assert constraints_in(text) == [
        "Never touch src/gen.py!",
        "You must run v1.2 of the tests afterwards",
    ]


def test_pins_survive_the_transcript_and_are_kept_once():
    ledger = Ledger().plus("a").plus("a").plus("b", origin="found")
    assert ledger.texts == ("a", "b")
    assert Ledger.from_note(to_note(ledger, "s")) == ledger
    assert Ledger.from_note({"type": "bridle-pins", "pins": [{"id": 3}, {"id": "x", "text": "t"}]}).texts == (
        "t",
    )
    assert ledger.less(ledger.pins[0].id).texts == ("b",)


def test_found_pins_give_way_and_pinned_ones_do_not():
    ledger = Ledger().plus("p" * 15_000)
    for number in range(20):
        ledger = ledger.plus(f"{number}" * 200, origin="found")
    assert ledger.texts[0] == "p" * 15_000
    assert sum(map(len, ledger.texts)) <= 16_000
    assert ledger.texts[-1] == "19" * 200


@given(
    st.floats(2.0, 8.0),
    st.integers(0, 200),
    st.lists(st.integers(200, 40_000), min_size=1, max_size=8),
    st.lists(st.integers(1, 40_000), max_size=8),
)
def test_estimates_are_within_five_percent_after_the_first_answer(
    bytes_per_token: float, overhead: int, first: list[int], later: list[int]
):
    """A tokenizer of its own kind for each model, and some tokens that the service adds."""

    def count(units: int) -> int:
        return overhead + round(units / bytes_per_token)

    fixed = 30_000
    history = History()
    for number, size in enumerate(first):
        history.add({"role": "assistant" if number % 2 else "user", "content": "x" * size})
    asked = units_of(history)
    answer: Any = {"role": "assistant", "content": "y" * 500}
    usage = Usage(input=count(fixed + asked), output=round(weigh(answer) / bytes_per_token))
    measured = measure(usage, answer, fixed=fixed, asked=asked)
    history.add(answer)
    for number, size in enumerate(later):
        history.add({"role": "assistant" if number % 2 else "user", "content": "z" * size})

    truth = count(fixed + units_of(history))
    assert abs(tokens_now(history, measured, fixed=fixed) - truth) <= 0.05 * truth + 2

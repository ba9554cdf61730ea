from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.transcripts.conversation import MISSING_RESULT, Conversation, fold
from bridle.types.block import SentMessage, result_block
from bridle.types.entry import ConversationEntry
from tests.transcripts.entries import assert_sendable, assistant, call, system, text, thinking, user


def missing(call_id: str):
    return result_block(call_id, MISSING_RESULT, is_error=True)


def test_a_lone_string_prompt_stays_a_string():
    assert fold([user("1", "hello")]).messages == [{"role": "user", "content": "hello"}]


def test_user_rows_in_a_row_become_one_message_of_blocks():
    history = fold([user("1", "one"), user("2", [text("two")]), user("3", "three", meta=True)])
    assert history.messages == [{"role": "user", "content": [text("one"), text("two"), text("three")]}]


def test_rows_of_one_answer_are_joined_and_blocks_are_the_very_objects():
    thought: Any = {**thinking(), "future": {"kept": True}}
    words, request = text("so"), call("a")
    history = fold(
        [
            user("1", "q"),
            assistant("2", "m", thought),
            assistant("3", "m", words),
            assistant("4", "m", request),
        ]
    )
    assert history.messages[1]["role"] == "assistant"
    assert [id(block) for block in history.messages[1]["content"]] == [id(thought), id(words), id(request)]
    assert history.origins == [None, "m"]


def test_rows_of_one_answer_are_joined_across_the_results_between_them():
    first, second = result_block("a", "1"), result_block("b", "2")
    history = fold(
        [
            user("1", "q"),
            assistant("2", "m", call("a")),
            user("3", [first]),
            user("4", "by the way", meta=True),
            assistant("5", "m", call("b")),
            user("6", [second]),
        ]
    )
    assert history.messages[1:] == [
        {"role": "assistant", "content": [call("a"), call("b")]},
        {"role": "user", "content": [first, second, text("by the way")]},
    ]


def test_results_stand_in_the_order_of_their_calls_and_before_other_text():
    history = fold(
        [
            user("1", "q"),
            assistant("2", "m", call("a")),
            assistant("3", "m", call("b")),
            user("4", [result_block("b", "2")]),
            user("5", "go on"),
            user("6", [result_block("a", "1")]),
        ]
    )
    assert history.messages[2]["content"] == [result_block("a", "1"), result_block("b", "2"), text("go on")]


def test_an_id_that_comes_again_after_a_prompt_is_another_answer():
    history = fold(
        [user("1", "q"), assistant("2", "m", text("x")), user("3", "q2"), assistant("4", "m", text("y"))]
    )
    assert [m["content"] for m in history.messages] == ["q", [text("x")], "q2", [text("y")]]


def test_api_errors_synthetic_answers_and_system_rows_are_not_sent():
    error = assistant("2", "e", text("API Error"))
    error["isApiErrorMessage"] = True
    synthetic = assistant("3", "f", text("nothing to say"))
    synthetic["message"]["model"] = "<synthetic>"
    history = fold([user("1", "q"), error, synthetic, system("4", "informational"), user("5", "again")])
    assert history.messages == [{"role": "user", "content": [text("q"), text("again")]}]


def test_rows_of_kinds_that_nobody_knows_are_passed_over():
    strange: Any = {**system("2", "x"), "type": "attachment"}
    assert fold([user("1", "q"), strange]).messages == [{"role": "user", "content": "q"}]


def test_a_compaction_starts_the_history_anew():
    history = fold(
        [
            user("1", "old"),
            assistant("2", "m", text("x")),
            system("3", "compact_boundary"),
            user("4", "summary"),
        ]
    )
    assert history.messages == [{"role": "user", "content": "summary"}]


def test_a_call_without_a_result_is_answered_once_something_else_is_said():
    rows = [
        user("1", "q"),
        assistant("2", "m", call("a")),
        assistant("3", "m", call("b")),
        user("4", [result_block("b", "2")]),
    ]
    assert fold(rows).messages[2]["content"] == [result_block("b", "2")]
    with_prompt = fold([*rows, user("5", "and?")])
    assert with_prompt.messages[2]["content"] == [missing("a"), result_block("b", "2"), text("and?")]
    with_answer = fold([*rows, assistant("5", "n", text("well"))])
    assert with_answer.messages[2]["content"] == [missing("a"), result_block("b", "2")]


def test_a_result_whose_call_is_gone_is_not_sent():
    history = fold([user("1", "q"), user("2", [result_block("gone", "x")]), assistant("3", "m", text("x"))])
    assert history.messages == [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": [text("x")]},
    ]


def test_a_second_result_of_one_call_is_not_sent():
    history = fold(
        [
            user("1", "q"),
            assistant("2", "m", call("a")),
            user("3", [result_block("a", "1")]),
            user("4", [result_block("a", "2")]),
        ]
    )
    assert history.messages[2]["content"] == [result_block("a", "1")]


def test_two_answers_in_a_row_become_one():
    history = fold([user("1", "q"), assistant("2", "m", text("x")), assistant("3", "n", text("y"))])
    assert history.messages[1:] == [{"role": "assistant", "content": [text("x"), text("y")]}]


def test_an_answer_of_thinking_alone_is_not_sent_and_its_neighbors_are_joined():
    history = fold([user("1", "q"), assistant("2", "m", thinking()), user("3", "go on", meta=True)])
    assert history.messages == [{"role": "user", "content": [text("q"), text("go on")]}]


def test_thinking_at_the_end_of_an_answer_is_not_sent():
    history = fold(
        [user("1", "q"), assistant("2", "m", text("x")), assistant("3", "m", thinking()), user("4", "go on")]
    )
    assert history.messages[1] == {"role": "assistant", "content": [text("x")]}


def test_a_history_that_begins_with_an_answer_gets_a_user_message_before_it():
    history = fold([assistant("1", "m", text("x"))])
    assert [m["role"] for m in history.messages] == ["user", "assistant"]


def test_settled_messages_are_encoded_once():
    encoded: list[str] = []

    def encode(message: SentMessage, origin: str | None) -> bytes:
        del origin
        encoded.append(str(message["content"]))
        return b""

    conversation = Conversation()
    conversation.append(user("1", "q"))
    for step in range(5):
        conversation.history.encoded("x", encode)
        conversation.append(assistant(f"t{step}", f"m{step}", thinking()))
        conversation.append(assistant(f"c{step}", f"m{step}", call(f"c{step}")))
        conversation.append(user(f"r{step}", [result_block(f"c{step}", "ok")]))
    conversation.history.encoded("x", encode)
    assert len(encoded) == len(set(encoded)) == 10


_OPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["text", "thinking", "call", "blank", "error"]), st.booleans(), st.just(0)),
        st.tuples(
            st.sampled_from(["result", "prompt", "blocks", "nudge", "orphan", "system"]),
            st.just(True),
            st.integers(0, 3),
        ),
        st.tuples(st.just("boundary"), st.just(True), st.just(0)),
        st.tuples(st.sampled_from(["withdraw", "withdraw"]), st.booleans(), st.integers(1, 6)),
    ),
    max_size=40,
)


@settings(max_examples=400, deadline=None)
@given(_OPS)
def test_growing_a_history_step_by_step_equals_folding_it_from_scratch(ops: list[tuple[str, bool, int]]):
    conversation = Conversation()
    entries: list[ConversationEntry] = []
    message_id, calls = 0, list[str]()
    for number, (kind, fresh, choice) in enumerate(ops):
        uuid = f"u{number}"
        if kind == "withdraw":
            entries = _withdrawn(conversation, entries, suffix=fresh, count=choice)
        else:
            message_id += fresh and kind in {"text", "thinking", "call", "blank", "error"}
            if kind == "call":
                calls.append(f"call{number}")
            wanted = calls[-1 - choice % len(calls)] if calls else "none"
            entry = _entry(kind, uuid, f"m{message_id}", wanted)
            entries.append(entry)
            conversation.append(entry)
        scratch = fold(entries)
        assert conversation.history.messages == scratch.messages
        assert conversation.history.origins == scratch.origins
        assert conversation.history.encoded("x", _encode) == [_encode(m, None) for m in scratch.messages[:-1]]
        assert_sendable(scratch.messages)


def _withdrawn(
    conversation: Conversation, entries: list[ConversationEntry], *, suffix: bool, count: int
) -> list[ConversationEntry]:
    start = max((i + 1 for i, e in enumerate(entries) if e["type"] == "system"), default=0)
    tail = entries[start:]
    gone = {entry["uuid"] for entry in (tail[-count:] if suffix else tail[::count])}
    conversation.forget(gone)
    return [entry for entry in entries if entry["uuid"] not in gone]


def _entry(kind: str, uuid: str, message_id: str, wanted: str) -> ConversationEntry:
    match kind:
        case "text":
            return assistant(uuid, message_id, text(uuid))
        case "thinking":
            return assistant(uuid, message_id, thinking(uuid))
        case "call":
            return assistant(uuid, message_id, call(wanted))
        case "blank":
            return assistant(uuid, message_id, text(" \n"))
        case "error":
            entry = assistant(uuid, message_id, text(uuid))
            entry["isApiErrorMessage"] = True
            return entry
        case "result":
            return user(uuid, [result_block(wanted, uuid)])
        case "orphan":
            return user(uuid, [result_block("nobody", uuid)])
        case "prompt":
            return user(uuid, uuid)
        case "blocks":
            return user(uuid, [text(uuid), text("more")])
        case "nudge":
            return user(uuid, uuid, meta=True)
        case "boundary":
            return system(uuid, "compact_boundary")
        case _:
            return system(uuid, "informational")


def _encode(message: SentMessage, origin: str | None) -> bytes:
    del origin
    return repr(message).encode()


def test_answers_that_share_an_id_stay_apart_when_they_answer_different_requests():
    first, second = result_block("a", "1"), result_block("b", "2")
    one: Any = {**assistant("2", "m", call("a")), "requestId": "r1"}
    two: Any = {**assistant("4", "m", call("b")), "requestId": "r2"}
    history = fold([user("1", "q"), one, user("3", [first]), two, user("5", [second])])
    assert history.messages[1:] == [
        {"role": "assistant", "content": [call("a")]},
        {"role": "user", "content": [first]},
        {"role": "assistant", "content": [call("b")]},
        {"role": "user", "content": [second]},
    ]


def test_an_answer_that_was_whole_does_not_go_on_behind_its_results():
    first, second = result_block("a", "1"), result_block("b", "2")
    one, two = assistant("2", "m", call("a")), assistant("4", "m", call("b"))
    one["message"]["stop_reason"] = two["message"]["stop_reason"] = "tool_use"
    history = fold([user("1", "q"), one, user("3", [first]), two, user("5", [second])])
    assert [message["role"] for message in history.messages] == ["user", *["assistant", "user"] * 2]

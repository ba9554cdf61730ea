import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from bridle.providers.dialects.messages_request import betas, encode
from bridle.types.block import SentMessage, TextBlock
from bridle.types.history import History
from bridle.types.model import ModelRequest, Thinking

MARK = {"type": "ephemeral"}
THOUGHT: Any = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
REDACTED: Any = {"type": "redacted_thinking", "data": "xx"}


def text(words: str) -> TextBlock:
    return {"type": "text", "text": words}


def request(*messages: SentMessage, **fields: Any) -> ModelRequest:
    given: dict[str, Any] = {"model": "claude-sonnet-4-5", "max_tokens": 32_000, **fields}
    return ModelRequest(history=History.of(*messages), **given)


def body(asked: ModelRequest, **options: Any) -> Any:
    return json.loads(encode(asked, **options))


HELLO: SentMessage = {"role": "user", "content": "Hello"}


def test_a_plain_request_has_what_the_api_asks_for_and_no_more():
    assert body(request(HELLO)) == {
        "model": "claude-sonnet-4-5",
        "max_tokens": 32_000,
        "stream": True,
        "messages": [{"role": "user", "content": [{**text("Hello"), "cache_control": MARK}]}],
    }


def test_the_last_two_system_blocks_and_the_last_block_are_marked():
    sent = body(request(HELLO, system=(text("a"), text("b"), text("c"))))
    assert sent["system"] == [
        text("a"),
        {**text("b"), "cache_control": MARK},
        {**text("c"), "cache_control": MARK},
    ]
    assert sent["messages"][-1]["content"][-1]["cache_control"] == MARK


def test_no_marks_are_set_without_caching():
    assert b"cache_control" not in encode(request(HELLO, system=(text("a"),), cache=False))
    assert b"cache_control" not in encode(request(HELLO, system=(text("a"),)), cache=None)


def test_an_hour_of_caching_is_said_in_each_mark():
    sent = body(request(HELLO, system=(text("a"),)), cache="1h")
    assert sent["system"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


def test_thoughts_are_never_marked():
    sent = body(request(HELLO, {"role": "assistant", "content": [text("x"), THOUGHT, REDACTED]}))
    assert sent["messages"][-1]["content"] == [{**text("x"), "cache_control": MARK}, THOUGHT, REDACTED]


def test_marks_from_elsewhere_are_removed_so_that_there_are_never_more_than_four():
    marked: Any = {**text("x"), "cache_control": MARK}
    result: Any = {"type": "tool_result", "tool_use_id": "t", "content": [marked], "cache_control": MARK}
    message: SentMessage = {"role": "user", "content": [marked, result]}
    asked = request(message, message, message, HELLO, system=(marked, marked, marked, marked))
    assert encode(asked).count(b"cache_control") == 3
    assert marked["cache_control"] == MARK


def test_tools_keep_their_order_and_their_fields():
    tools: Any = (
        {"name": "Zeta", "description": "z", "input_schema": {"type": "object"}},
        {"type": "web_search_20250305", "name": "web_search", "max_uses": 8},
    )
    assert body(request(HELLO, tools=tools))["tools"] == list(tools)


def test_only_role_and_content_of_an_answer_are_sent_back():
    answer: Any = {"id": "msg_1", "role": "assistant", "content": [text("x")], "usage": {}, "model": "m"}
    assert body(request(answer, HELLO))["messages"][0] == {"role": "assistant", "content": [text("x")]}


def test_blank_text_is_left_out_because_the_api_refuses_it():
    message: SentMessage = {"role": "assistant", "content": [text(""), text("x"), text(" \n")]}
    blank: SentMessage = {"role": "assistant", "content": [text("")]}
    sent = body(request(message, blank, HELLO))["messages"]
    assert sent[0]["content"] == [text("x")]
    assert sent[1]["content"] == [text("(no content)")]


@pytest.mark.parametrize(
    ("thinking", "form"),
    [
        (Thinking("adaptive"), {"type": "adaptive"}),
        (Thinking("adaptive", display="omitted"), {"type": "adaptive", "display": "omitted"}),
        (Thinking("enabled"), {"type": "enabled", "budget_tokens": 31_999}),
        (Thinking("enabled", budget=5_000), {"type": "enabled", "budget_tokens": 5_000}),
        (Thinking("enabled", budget=90_000), {"type": "enabled", "budget_tokens": 31_999}),
    ],
)
def test_thinking_is_sent_with_its_context_management(thinking: Thinking, form: dict[str, Any]):
    sent = body(request(HELLO, thinking=thinking))
    assert sent["thinking"] == form
    assert sent["context_management"] == {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}


def test_disabled_thinking_is_said_unless_the_model_cannot_hear_it():
    asked = request(HELLO, thinking=Thinking("disabled"))
    assert body(asked)["thinking"] == {"type": "disabled"}
    assert "thinking" not in body(request(HELLO, thinking=Thinking("disabled", sent=False)))
    assert "context_management" not in body(asked)
    assert "thinking" not in body(replace(asked, model="claude-opus-5-5"))


def test_effort_budget_metadata_and_extra_fields_are_in_the_body():
    sent = body(
        request(
            HELLO,
            effort="high",
            task_budget=9,
            user_id="me",
            extra={"top_k": 3, "max_tokens": 7},
            stream=False,
        )
    )
    assert sent["output_config"] == {"effort": "high", "task_budget": {"type": "tokens", "total": 9}}
    assert sent["metadata"] == {"user_id": "me"}
    assert (sent["top_k"], sent["max_tokens"], sent["stream"]) == (3, 7, False)


def test_nothing_that_needs_a_beta_is_sent_without_experiments():
    asked = request(HELLO, effort="high", task_budget=9, thinking=Thinking("adaptive"))
    sent = body(asked, experimental=False)
    assert sent["thinking"] == {"type": "adaptive"}
    assert not {"output_config", "context_management"} & sent.keys()


def test_betas_are_those_of_the_features_in_use():
    tool: Any = {"name": "Read"}
    assert betas(request(HELLO)) == []
    assert betas(request(HELLO, thinking=Thinking("adaptive"))) == ["context-management-2025-06-27"]
    assert betas(request(HELLO, thinking=Thinking("enabled"), tools=(tool,))) == [
        "context-management-2025-06-27",
        "interleaved-thinking-2025-05-14",
    ]
    assert betas(request(HELLO, effort="low", task_budget=1, betas=("mine",))) == [
        "mine",
        "effort-2025-11-24",
        "task-budgets-2026-03-13",
    ]


def test_the_long_window_is_a_beta_for_models_that_lack_it_and_never_part_of_the_id():
    asked = request(HELLO, model="claude-sonnet-4-5[1m]")
    assert body(asked)["model"] == "claude-sonnet-4-5"
    assert betas(asked) == ["context-1m-2025-08-07"]
    assert betas(request(HELLO, model="claude-sonnet-5-5[1m]")) == []


@pytest.mark.parametrize(
    ("origin", "kept"),
    [
        ("claude-sonnet-4-5", True),
        ("claude-sonnet-4-5-20250929", True),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", True),
        (None, True),
        ("claude-sonnet-4", False),
        ("claude-opus-4-6", False),
    ],
)
def test_thoughts_go_back_to_the_model_that_had_them_and_to_no_other(origin: str | None, kept: bool):
    history = History()
    history.add(HELLO)
    history.add({"role": "assistant", "content": [THOUGHT, REDACTED, text("x")]}, origin=origin)
    history.add(HELLO)
    asked = ModelRequest(model="claude-sonnet-4-5", history=history, max_tokens=9)
    content = body(asked)["messages"][1]["content"]
    assert content == ([THOUGHT, REDACTED, text("x")] if kept else [text("x")])


def test_another_model_gets_its_own_form_of_the_same_history():
    history = History()
    history.add(HELLO)
    history.add({"role": "assistant", "content": [THOUGHT, text("x")]}, origin="claude-sonnet-4-5")
    history.add(HELLO)
    asked = ModelRequest(model="claude-sonnet-4-5", history=history, max_tokens=9)
    assert THOUGHT in body(asked)["messages"][1]["content"]
    assert body(replace(asked, model="claude-haiku-4-5"))["messages"][1]["content"] == [text("x")]
    assert THOUGHT in body(asked)["messages"][1]["content"]


WORDS = st.text(min_size=1, max_size=20).filter(str.strip)
MESSAGES = st.lists(
    st.tuples(
        st.sampled_from(["user", "assistant"]), WORDS | st.lists(WORDS.map(text), min_size=1, max_size=3)
    ),
    min_size=2,
    max_size=6,
)


@given(MESSAGES)
def test_a_longer_conversation_begins_with_the_bytes_of_the_shorter(said: list[tuple[Any, Any]]):
    history = History()
    asked = ModelRequest(
        model="claude-sonnet-4-5", history=history, max_tokens=9, system=(text("s"),), user_id="u"
    )
    mark = b',"cache_control":{"type":"ephemeral"}'
    before = b""
    for role, content in said:
        history.add({"role": role, "content": content})
        now = encode(asked)
        # Only the mark moves: without it the former body is a prefix, apart from its closing brackets.
        start, _, rest = before.rpartition(mark)
        assert now.startswith((start + rest).removesuffix(b"]}"))
        before = now
        assert json.loads(now)["messages"][-1]["role"] == role


def test_settled_messages_are_encoded_once():
    first: SentMessage = {"role": "user", "content": "as it was"}
    asked = request(first, HELLO)
    encode(asked)
    first["content"] = "changed against the rules"
    assert b"changed" not in encode(asked)

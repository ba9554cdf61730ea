import json
from typing import Any

import pytest

from bridle.providers import catalog
from bridle.providers.dialects.chat import encode
from bridle.providers.dialects.chat_stream import Decoder
from bridle.providers.vendor import Quirks
from bridle.providers.vendors import find
from bridle.types.errors import ProviderError, StreamBroken
from bridle.types.history import History
from bridle.types.model import BlockClosed, Completed, ModelEvent, ModelRequest, PieceArrived, Thinking

MODEL = "deepseek/deepseek-v4-pro"


def vendor(name: str = "deepseek") -> Any:
    return find(name)


def body(quirks: Quirks, *messages: Any, model: str = MODEL, origin: str | None = None, **fields: Any) -> Any:
    history = History()
    told: tuple[Any, ...] = messages or ({"role": "user", "content": "Hi"},)
    for message in told:
        history.add(message, origin=origin if message["role"] == "assistant" else None)
    request = ModelRequest(model=model, history=history, max_tokens=100, **fields)
    return json.loads(encode(request, catalog.find(model), quirks, form="x"))


def called(*, thought: str = "Hm.", identity: str = "toolu_1") -> list[Any]:
    call = {"type": "tool_use", "id": identity, "name": "Read", "input": {"a": 1}}
    thinking = {"type": "thinking", "thinking": thought, "signature": ""}
    result = {"type": "tool_result", "tool_use_id": identity, "content": "found"}
    return [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": [thinking, call]},
        {"role": "user", "content": [result, {"type": "text", "text": "and?"}]},
    ]


def test_quirks_change_the_names_of_fields():
    plain = body(Quirks(), system=({"type": "text", "text": "Be brief."},))
    assert plain["max_tokens"] == 100 and plain["stream_options"] == {"include_usage": True}
    assert plain["messages"][0] == {"role": "system", "content": "Be brief."}
    odd = Quirks(
        limit_field="max_completion_tokens", stream_usage=False, system_role="developer", strict=True
    )
    tool: Any = {"name": "T", "input_schema": {"type": "object"}}
    changed = body(odd, system=({"type": "text", "text": "Be brief."},), tools=(tool,))
    assert "max_tokens" not in changed and "stream_options" not in changed
    assert changed["messages"][0]["role"] == "developer"
    assert changed["tools"][0]["function"]["strict"] is True
    assert "parallel_tool_calls" not in changed
    assert body(Quirks(parallel_calls=True), tools=(tool,))["parallel_tool_calls"] is True


@pytest.mark.parametrize(
    ("switch", "thinking", "effort", "expected"),
    [
        ("effort", Thinking("adaptive"), "max", {"reasoning_effort": "high"}),
        ("effort", Thinking("disabled"), "max", {}),
        ("type", Thinking("adaptive"), None, {"thinking": {"type": "enabled"}}),
        ("type", Thinking("disabled"), None, {"thinking": {"type": "disabled"}}),
        ("nested", Thinking("adaptive"), "low", {"reasoning": {"effort": "low"}}),
        ("nested", Thinking("enabled", 500), None, {"reasoning": {"max_tokens": 500}}),
        ("nested", Thinking("disabled"), None, {"reasoning": {"enabled": False}}),
        ("template", Thinking("disabled"), None, {"chat_template_kwargs": {"enable_thinking": False}}),
        ("none", Thinking("adaptive"), "high", {}),
    ],
)
def test_thinking_is_asked_for_in_the_way_of_the_service(
    switch: Any, thinking: Thinking, effort: str | None, expected: dict[str, Any]
):
    sent = body(Quirks(switch=switch), thinking=thinking, effort=effort)
    names = ("reasoning_effort", "thinking", "reasoning", "chat_template_kwargs")
    assert {name: sent[name] for name in names if name in sent} == expected


def test_reasoning_goes_back_to_the_model_that_wrote_it_and_to_no_other():
    quirks = Quirks(thoughts="reasoning_content")
    own = body(quirks, *called(), origin=MODEL)["messages"][1]
    assert own["reasoning_content"] == "Hm."
    assert "reasoning_content" not in body(quirks, *called(), origin="claude-opus-5")["messages"][1]
    assert "reasoning_content" not in body(Quirks(), *called(), origin=MODEL)["messages"][1]


def test_a_service_that_insists_on_reasoning_gets_it_empty_from_others():
    quirks = Quirks(thoughts="reasoning_content", thoughts_required=True)
    assert body(quirks, *called(), origin="claude-opus-5")["messages"][1]["reasoning_content"] == ""


def test_ids_are_short_where_they_must_be_and_stay_a_pair():
    sent = body(Quirks(short_ids=True), *called(identity="toolu_01ABCDEFGHIJ"))["messages"]
    identity = sent[1]["tool_calls"][0]["id"]
    assert len(identity) == 9 and identity.isalnum()
    assert sent[2]["tool_call_id"] == identity


def test_no_user_message_follows_a_result_where_that_is_refused():
    sent = body(Quirks(user_after_result=False), *called())["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool"]
    assert sent[-1]["content"] == "found\n\nand?"


def test_files_that_a_model_cannot_take_become_notes():
    picture = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}}
    message = {"role": "user", "content": [picture]}
    (seen,) = body(Quirks(), message, model="openai/gpt-5")["messages"]
    assert seen["content"] == [{"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}}]
    for sent in (body(Quirks(images=False), message, model="openai/gpt-5"), body(Quirks(), message)):
        assert "cannot see images" in sent["messages"][0]["content"]


def test_prefixes_are_marked_where_the_model_behind_takes_marks():
    quirks = Quirks(cache_marks=True)
    system: Any = ({"type": "text", "text": "Be brief."},)
    sent = body(quirks, model="openrouter/anthropic/claude-sonnet-4.5", system=system)["messages"]
    assert [message["content"][-1]["cache_control"] for message in sent] == [{"type": "ephemeral"}] * 2
    assert (
        body(quirks, model="openrouter/openai/gpt-5", system=system)["messages"][0]["content"] == "Be brief."
    )


def feed(*chunks: Any, done: bool = True) -> list[ModelEvent]:
    decoder = Decoder(MODEL, vendor())
    events = [event for chunk in chunks for event in decoder.feed(json.dumps(chunk).encode())]
    return [*events, *(decoder.feed(b"[DONE]") if done else decoder.finish())]


def chunk(finish: str | None = None, **delta: Any) -> dict[str, Any]:
    return {"id": "c1", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def piece(arguments: Any = "", **fields: Any) -> dict[str, Any]:
    name = fields.pop("name", None)
    function = {"arguments": arguments, **({"name": name} if name else {})}
    return chunk(tool_calls=[{**fields, "function": function}])


def calls_of(events: list[ModelEvent]) -> list[tuple[str, dict[str, Any], str | None]]:
    return [
        (event.block["name"], event.block["input"], event.flaw)
        for event in events
        if isinstance(event, BlockClosed) and event.block["type"] == "tool_use"
    ]


@pytest.mark.parametrize(
    "chunks",
    [
        # Pieces of two calls mixed.
        [piece(index=0, id="a", name="A"), piece(index=1, id="b", name="B"), piece('{"x"', index=0),
         piece('{"y":2}', index=1), piece(":1}", index=0)],
        # No numbers at all.
        [piece('{"x":1}', id="a", name="A"), piece('{"y":2}', id="b", name="B")],
        # Every call has the number 0.
        [piece('{"x":1}', index=0, id="a", name="A"), piece('{"y":2}', index=0, id="b", name="B")],
        # Objects instead of text, and no ids.
        [piece({"x": 1}, index=0, name="A"), piece({"y": 2}, index=1, name="B")],
        # Both in one chunk.
        [chunk(tool_calls=[{"index": 0, "id": "a", "function": {"name": "A", "arguments": '{"x":1}'}},
                           {"index": 1, "id": "b", "function": {"name": "B", "arguments": '{"y":2}'}}])],
        # The name comes again with every piece.
        [piece('{"x"', index=0, id="a", name="A"), piece(":1}", index=0, id="a", name="A"),
         piece('{"y":2}', index=1, id="b", name="B")],
    ],
)  # fmt: skip
def test_calls_are_put_together_however_they_are_streamed(chunks: list[Any]):
    events = feed(*chunks, chunk("tool_calls"))
    assert calls_of(events) == [("A", {"x": 1}, None), ("B", {"y": 2}, None)]
    ids = [event.block["id"] for event in events if isinstance(event, BlockClosed) and "id" in event.block]
    assert len(set(ids)) == 2 and all(ids)


def test_a_call_is_told_as_soon_as_the_next_begins():
    decoder = Decoder(MODEL, vendor())
    events: list[ModelEvent] = []
    for each in (piece('{"x":1}', index=0, id="a", name="A"), piece(index=1, id="b", name="B")):
        events += decoder.feed(json.dumps(each).encode())
    assert calls_of(events) == [("A", {"x": 1}, None)]


def test_input_that_is_not_quite_json_is_mended():
    assert calls_of(feed(piece("{'x': 1,}", index=0, id="a", name="A"), chunk("tool_calls"))) == [
        ("A", {"x": 1}, None)
    ]


@pytest.mark.parametrize("finish", ["length", "tool_calls"])
def test_input_that_was_cut_is_reported_and_never_guessed(finish: str):
    ((_, given, flaw),) = calls_of(
        feed(piece('{"command": "rm -rf /tmp/x', index=0, id="a", name="A"), chunk(finish))
    )
    assert given == {} and flaw is not None and "rm -rf" in flaw


def test_a_missing_bracket_is_only_added_when_the_answer_was_not_cut():
    cut = piece('{"x": 1', index=0, id="a", name="A")
    assert calls_of(feed(cut, chunk("tool_calls")))[0][1:] == ({"x": 1}, None)
    assert calls_of(feed(cut, chunk("length")))[0][2] is not None


def test_stop_after_calls_means_calls():
    last = feed(piece("{}", index=0, id="a", name="A"), chunk("stop"))[-1]
    assert isinstance(last, Completed) and last.message["stop_reason"] == "tool_use"


def test_an_end_without_a_reason_is_an_end_only_if_it_is_said():
    assert isinstance(feed(chunk(content="Hi"))[-1], Completed)
    assert not isinstance(feed(chunk(content="Hi"), done=False)[-1], Completed)
    assert isinstance(feed(chunk(content="Hi"), chunk("stop"), done=False)[-1], Completed)


def test_content_in_parts_is_thought_and_text():
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
        {"type": "text", "text": "Hi"},
    ]
    last = feed(chunk(content=parts), chunk("stop"))[-1]
    assert isinstance(last, Completed)
    assert [block["type"] for block in last.message["content"]] == ["thinking", "text"]


def test_details_of_reasoning_are_kept_and_go_back():
    details = [
        {"type": "reasoning.text", "index": 0, "text": "a"},
        {"type": "reasoning.text", "index": 0, "text": "b"},
    ]
    chunks = [chunk(reasoning=part["text"], reasoning_details=[part]) for part in details]
    last = feed(*chunks, chunk(content="Hi"), chunk("stop"))[-1]
    assert isinstance(last, Completed)
    answer: Any = {"role": "assistant", "content": last.message["content"]}
    quirks = Quirks(thoughts="reasoning_details")
    sent = body(
        quirks, {"role": "user", "content": "x"}, answer, {"role": "user", "content": "y"}, origin=MODEL
    )
    assert sent["messages"][1]["reasoning_details"] == [{"type": "reasoning.text", "index": 0, "text": "ab"}]


def test_an_error_in_the_stream_breaks_it_and_before_it_refuses():
    error = {"error": {"message": "upstream died", "code": 502}}
    with pytest.raises(StreamBroken):
        feed(chunk(content="Hi"), error)
    with pytest.raises(ProviderError) as caught:
        feed({"error": {"message": "slow down", "code": 429}})
    assert (caught.value.kind, caught.value.retryable) == ("rate_limit", True)


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"choices": 5}', b"\xff"])
def test_what_is_no_chunk_breaks_the_stream(data: bytes):
    with pytest.raises(StreamBroken):
        Decoder(MODEL, vendor()).feed(data)


def test_half_a_surrogate_pair_costs_a_character():
    decoder = Decoder(MODEL, vendor())
    events = decoder.feed(b'{"id":"x","choices":[{"delta":{"content":"a\\ud83d"}}]}')
    assert any(getattr(event, "text", "") == "a\ufffd" for event in events)


def test_pieces_of_a_call_are_its_input():
    events = feed(piece('{"x":', index=0, id="a", name="A"), piece("1}", index=0), chunk("tool_calls"))
    assert len([event for event in events if isinstance(event, PieceArrived)]) == 2

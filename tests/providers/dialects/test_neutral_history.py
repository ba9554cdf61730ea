"""One conversation, told in every dialect, means the same to whoever reads it there."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.providers import catalog
from bridle.providers.dialects.chat import encode as encode_chat
from bridle.providers.dialects.converse import encode as encode_converse
from bridle.providers.dialects.gemini import encode as encode_gemini
from bridle.providers.dialects.messages_request import encode as encode_messages
from bridle.providers.dialects.responses import encode as encode_responses
from bridle.providers.vendor import Quirks
from bridle.types.history import History
from bridle.types.model import ModelRequest, ToolDefinition
from tests.fakes.bedrock_server import check_messages
from tests.fakes.converse_server import ConverseApi
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Received
from tests.fakes.openai_server import ChatApi, ResponsesApi

words = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=12).filter(
    str.strip
)
inputs = st.dictionaries(
    st.sampled_from(["path", "ä", "n"]), words | st.integers() | st.booleans(), max_size=3
)
ORIGINS = ("claude-opus-5", "openai/gpt-5", "gemini/gemini-3-pro-preview", "deepseek/deepseek-v4-pro")
KEY = {"authorization": "Bearer test-key", "x-goog-api-key": "test-key"}

Turn = tuple[str, str, list[dict[str, Any]], list[str], str]
"""What the user says; what the model thinks, says and calls; what the calls give; who the model is."""


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    calls = draw(st.lists(inputs, max_size=3))
    results = [draw(words) for _ in calls]
    return draw(words), draw(words), calls, results, draw(st.sampled_from(ORIGINS))


def history_of(told: list[Turn]) -> History:
    history = History()
    carried: list[Any] = []
    number = 0
    for prompt, said, calls, results, origin in told:
        history.add({"role": "user", "content": [*carried, {"type": "text", "text": prompt}]})
        content: list[Any] = [_thought(origin), {"type": "text", "text": said}]
        carried = []
        for given_input, result in zip(calls, results, strict=True):
            number += 1
            identity = f"call.{number}:x"
            content.append({"type": "tool_use", "id": identity, "name": f"T{number}", "input": given_input,
                            "bridle": {"gemini": {"signature": "c2ln"}}})  # fmt: skip
            carried.append({"type": "tool_result", "tool_use_id": identity, "content": result})
        history.add({"role": "assistant", "content": content}, origin=origin)
    history.add({"role": "user", "content": [*carried, {"type": "text", "text": "end"}]})
    return history


def _thought(origin: str) -> Any:
    item = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
    ours = {"responses": {"item": item}} if origin == "openai/gpt-5" else {}
    return {"type": "thinking", "thinking": "a secret thought", "signature": "signed", "bridle": ours}


Meaning = list[tuple[str, ...]]


def meaning(told: list[Turn]) -> Meaning:
    found: Meaning = []
    open_results: list[tuple[str, ...]] = []
    number = 0
    for prompt, said, calls, results, _ in told:
        found += [*open_results, ("user", prompt), ("assistant", said)]
        open_results = []
        for given_input, result in zip(calls, results, strict=True):
            number += 1
            found.append(("call", f"T{number}", json.dumps(given_input, sort_keys=True)))
            open_results.append(("result", f"T{number}", result))
    return [*found, *open_results, ("user", "end")]


def request(history: History, model: str) -> ModelRequest:
    return ModelRequest(model=model, history=history, max_tokens=100)


def from_messages(history: History) -> Meaning:
    body = json.loads(encode_messages(request(history, "claude-opus-5")))
    check_messages(body, "model stream")
    names: dict[str, str] = {}
    found: Meaning = []
    for message in body["messages"]:
        for block in message["content"]:
            match block["type"]:
                case "text":
                    found.append((message["role"], block["text"]))
                case "tool_use":
                    names[block["id"]] = block["name"]
                    found.append(("call", block["name"], json.dumps(block["input"], sort_keys=True)))
                case "tool_result":
                    found.append(("result", names[block["tool_use_id"]], block["content"]))
                case _:
                    pass
    return found


def from_chat(history: History) -> Meaning:
    model = "deepseek/deepseek-v4-pro"
    quirks = Quirks(thoughts="reasoning_content", thoughts_required=True, short_ids=True)
    raw = encode_chat(request(history, model), catalog.find(model), quirks, form="chat")
    assert ChatApi().problem(Received("POST", "/v1/chat/completions", KEY, raw)) is None
    names: dict[str, str] = {}
    found: Meaning = []
    for message in json.loads(raw)["messages"]:
        if message["role"] == "tool":
            found.append(("result", names[message["tool_call_id"]], message["content"]))
            continue
        if message["content"]:
            found.append((message["role"], message["content"]))
        for call in message.get("tool_calls", []):
            names[call["id"]] = call["function"]["name"]
            given_input = json.loads(call["function"]["arguments"])
            found.append(("call", call["function"]["name"], json.dumps(given_input, sort_keys=True)))
    return found


def from_responses(history: History) -> Meaning:
    model = "openai/gpt-5"
    raw = encode_responses(request(history, model), catalog.find(model), Quirks(), form="responses")
    assert ResponsesApi().problem(Received("POST", "/v1/responses", KEY, raw)) is None
    names: dict[str, str] = {}
    found: Meaning = []
    for item in json.loads(raw)["input"]:
        match item["type"]:
            case "message":
                found += ((item["role"], part["text"]) for part in item["content"])
            case "function_call":
                names[item["call_id"]] = item["name"]
                given_input = json.loads(item["arguments"])
                found.append(("call", item["name"], json.dumps(given_input, sort_keys=True)))
            case "function_call_output":
                found.append(("result", names[item["call_id"]], item["output"]))
            case _:
                pass
    return found


def from_gemini(history: History) -> Meaning:
    model = "gemini/gemini-3-pro-preview"
    raw = encode_gemini(request(history, model), catalog.find(model))
    assert GeminiApi().problem(Received("POST", "/v1/models/m:generateContent", KEY, raw)) is None
    found: Meaning = []
    for content in json.loads(raw)["contents"]:
        role = "assistant" if content["role"] == "model" else "user"
        for part in content["parts"]:
            if "text" in part:
                found.append((role, part["text"]))
            elif "functionCall" in part:
                call = part["functionCall"]
                found.append(("call", call["name"], json.dumps(call["args"], sort_keys=True)))
            else:
                result = part["functionResponse"]
                found.append(("result", result["name"], result["response"]["output"]))
    return found


def from_converse(history: History) -> Meaning:
    model = "bedrock/amazon.nova-pro-v1:0"
    tool: ToolDefinition = {"name": "T1", "input_schema": {"type": "object"}}
    asked = ModelRequest(model=model, history=history, max_tokens=100, tools=(tool,))
    raw = encode_converse(asked, catalog.find(model), {})
    assert ConverseApi().problem(Received("POST", "/model/m/converse-stream", KEY, raw)) is None
    names: dict[str, str] = {}
    found: Meaning = []
    for message in json.loads(raw)["messages"]:
        for block in message["content"]:
            match block:
                case {"text": text}:
                    found.append((message["role"], text))
                case {"toolUse": call}:
                    names[call["toolUseId"]] = call["name"]
                    found.append(("call", call["name"], json.dumps(call["input"], sort_keys=True)))
                case {"toolResult": result}:
                    (part,) = result["content"]
                    found.append(("result", names[result["toolUseId"]], part["text"]))
                case _:
                    pass
    return found


READERS = {
    "messages": from_messages,
    "chat": from_chat,
    "responses": from_responses,
    "gemini": from_gemini,
    "converse": from_converse,
}


def rebuilt(told: Meaning, origin: str) -> History:
    """The conversation that a service would have made of what it was sent."""
    history = History()
    role, content = "", list[Any]()

    def add(speaker: str, block: Any) -> None:
        nonlocal role, content
        if speaker != role:
            content = []
            role = speaker
            message: Any = {"role": speaker, "content": content}
            history.add(message, origin=origin if speaker == "assistant" else None)
        content.append(block)

    for kind, *parts in told:
        match kind, parts:
            case "call", [name, given_input]:
                add(
                    "assistant",
                    {"type": "tool_use", "id": f"{name}.x", "name": name, "input": json.loads(given_input)},
                )
            case "result", [name, text]:
                add("user", {"type": "tool_result", "tool_use_id": f"{name}.x", "content": text})
            case _:
                add(kind, {"type": "text", "text": parts[0]})
    return history


@settings(max_examples=40, deadline=None)
@given(st.lists(turns(), min_size=1, max_size=3), st.permutations(list(READERS)))
def test_a_conversation_passed_on_through_three_dialects_and_back_means_the_same(
    told: list[Turn], order: list[str]
):
    history = history_of(told)
    first, *rest = [*order[:3], "messages"]
    passed = READERS[first](history)
    for name in rest:
        passed = READERS[name](rebuilt(passed, origin=first))
    assert passed == meaning(told)


@settings(max_examples=60, deadline=None)
@given(st.lists(turns(), min_size=1, max_size=4))
def test_a_conversation_of_many_vendors_means_the_same_in_every_dialect(told: list[Turn]):
    history = history_of(told)
    for read in (*READERS.values(), *READERS.values()):
        assert read(history) == meaning(told)


@settings(max_examples=30, deadline=None)
@given(st.lists(turns(), min_size=1, max_size=3))
def test_thoughts_and_signatures_go_to_nobody_but_their_writer(told: list[Turn]):
    others = [(prompt, said, calls, results, "xai/grok-4.5") for prompt, said, calls, results, _ in told]
    history = history_of(others)
    gemini = catalog.find("gemini/gemini-2.5-pro")
    for encode in (
        lambda: encode_messages(request(history, "claude-opus-5")),
        lambda: encode_chat(request(history, "openai/gpt-5"), catalog.find("openai/gpt-5"),
                            Quirks(thoughts="reasoning_content"), form="c"),
        lambda: encode_responses(request(history, "openai/gpt-5"), catalog.find("openai/gpt-5"), Quirks(),
                                 form="r"),
        lambda: encode_gemini(request(history, gemini.id), gemini),
    ):  # fmt: skip
        sent = encode()
        assert b"secret thought" not in sent and b"bridle" not in sent and b"c2ln" not in sent


def test_own_thoughts_go_back_in_the_form_of_their_vendor():
    def of(model: str) -> History:
        return history_of([("hi", "ho", [{"n": 1}], ["r"], model)])

    sealed = json.loads(
        encode_responses(
            request(of("openai/gpt-5"), "openai/gpt-5"), catalog.find("openai/gpt-5"), Quirks(), form="r"
        )
    )
    assert sealed["input"][1]["type"] == "reasoning" and sealed["input"][1]["encrypted_content"] == "c2VhbGVk"
    model = "gemini/gemini-3-pro-preview"
    signed = json.loads(encode_gemini(request(of(model), model), catalog.find(model)))
    assert signed["contents"][1]["parts"][-1]["thoughtSignature"] == "c2ln"
    claude = json.loads(encode_messages(request(of("claude-opus-5"), "claude-opus-5")))
    assert claude["messages"][1]["content"][0]["thinking"] == "a secret thought"


def test_unsigned_thoughts_of_the_same_model_behind_another_dialect_stay_away():
    history = history_of([("hi", "ho", [], [], "openrouter/anthropic/claude-opus-5")])
    content: Any = history.messages[1]["content"]
    content[0]["signature"] = ""
    sent = json.loads(encode_messages(request(history, "claude-opus-5")))
    assert [block["type"] for block in sent["messages"][1]["content"]] == ["text"]


def test_calls_of_others_are_excused_from_a_signature():
    model = "gemini/gemini-3-pro-preview"
    history = history_of([("hi", "ho", [{"n": 1}, {"n": 2}], ["r", "s"], "claude-opus-5")])
    parts = json.loads(encode_gemini(request(history, model), catalog.find(model)))["contents"][1]["parts"]
    signatures = [part.get("thoughtSignature") for part in parts if "functionCall" in part]
    assert signatures == ["skip_thought_signature_validator", None]


@pytest.mark.parametrize("name", READERS)
def test_a_step_encodes_what_it_adds_and_nothing_more(name: str):
    told: list[Turn] = [("hi", "ho", [{"n": 1}], ["r"], "openai/gpt-5")] * 300
    history = history_of(told)
    READERS[name](history)
    encoded = 0

    class Counted(dict[str, Any]):
        def __getitem__(self, key: str) -> Any:
            nonlocal encoded
            encoded += key == "content"
            return super().__getitem__(key)

    messages: Any = history.messages
    messages[:] = [Counted(message) for message in messages]
    history.add({"role": "assistant", "content": [{"type": "text", "text": "next"}]}, origin="openai/gpt-5")
    history.add({"role": "user", "content": "go on"})
    READERS[name](history)
    assert encoded <= 4

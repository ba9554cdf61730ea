import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.dialects.text_calls import Call, Recovery, find_calls
from bridle.types.history import History
from bridle.types.model import ModelRequest, ToolDefinition
from tests.tables import table

_READ: ToolDefinition = {
    "name": "Read",
    "description": "Read a file.",
    "input_schema": {
        "type": "object",
        "properties": {"file_path": {"type": "string"}, "limit": {"type": "integer"}},
        "required": ["file_path"],
        "additionalProperties": False,
    },
}
_CALL = Call("Read", {"file_path": "a.txt"})


def request(*said: Any) -> ModelRequest:
    messages: tuple[Any, ...] = said or ({"role": "user", "content": "Look at the file."},)
    return ModelRequest(model="m", history=History.of(*messages), tools=(_READ,), max_tokens=100)


@table(
    "text",
    [
        '{"name": "Read", "arguments": {"file_path": "a.txt"}}',
        '{"name": "Read", "parameters": {"file_path": "a.txt"}}',
        '{"name": "Read", "arguments": "{\\"file_path\\": \\"a.txt\\"}"}',
        '{"tool": "Read", "input": {"file_path": "a.txt"}}',
        '{"type": "function", "function": {"name": "Read", "arguments": {"file_path": "a.txt"}}}',
        '{"tool_calls": [{"name": "Read", "arguments": {"file_path": "a.txt"}}]}',
        '[{"name": "Read", "arguments": {"file_path": "a.txt"}}]',
        '```json\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n```',
        '```\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n```\n',
        '<tool_call>\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n</tool_call>',
        '<tool_call>{"name": "Read", "arguments": {"file_path": "a.txt"}}',
        '<function=Read>{"file_path": "a.txt"}</function>',
        "<tool_call>\n<function=Read>\n<parameter=file_path>\na.txt\n</parameter>\n</function>\n</tool_call>",
        '<invoke name="Read"><parameter name="file_path">a.txt</parameter></invoke>',
        '[TOOL_CALLS][{"name": "Read", "arguments": {"file_path": "a.txt"}}]',
        '<|python_tag|>{"name": "Read", "parameters": {"file_path": "a.txt"}}',
        "{'name': 'Read', 'arguments': {'file_path': 'a.txt'},}",
    ],
)
def test_a_call_is_found_in_every_form_that_models_write(text: str):
    assert find_calls(text, request()) == [_CALL]


def test_several_calls_are_found_in_order():
    text = "".join(
        f'<tool_call>{{"name":"Read","arguments":{{"file_path":"{n}"}}}}</tool_call>\n' for n in "ab"
    )
    assert [call.input["file_path"] for call in find_calls(text, request())] == ["a", "b"]


def test_text_becomes_the_type_that_the_schema_wants():
    text = "<function=Read><parameter=file_path>a.txt</parameter><parameter=limit>5</parameter></function>"
    assert find_calls(text, request()) == [Call("Read", {"file_path": "a.txt", "limit": 5})]


@table(
    "text",
    [
        '{"name": "Bash", "arguments": {"command": "rm -rf /"}}',
        '{"name": "Read", "arguments": {"path": "a.txt"}}',
        '{"name": "Read", "arguments": {"file_path": 3}}',
        '{"name": "Read"}',
        '{"name": "Read", "arguments": {"file_path": "a.txt"}, "comment": "or not"}',
        '{"name": "Read", "arguments": {"file_path": "a.txt"}} is how it is called.',
        '{"name": "Ada", "age": 36}',
        "[1, 2, 3]",
        '```python\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n```',
        '> {"name": "Read", "arguments": {"file_path": "a.txt"}}',
        '{"name": "Read", "arguments": {"file_path": "a.t',
        "Read a.txt",
        "",
    ],
)
def test_what_is_not_surely_a_call_to_an_offered_tool_is_text(text: str):
    assert find_calls(text, request()) == []


@pytest.mark.parametrize("where", ["prompt", "result"])
def test_a_call_that_somebody_else_wrote_is_not_made_by_repeating_it(where: str):
    text = '{"name": "Read", "arguments": {"file_path": "a.txt"}}'
    spread = json.dumps(json.loads(text), indent=2)
    content: Any = f"What does this do?\n{spread}"
    if where == "result":
        content = [{"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text", "text": spread}]}]
    assert find_calls(f"```json\n{text}\n```", request({"role": "user", "content": content})) == []


def read(text: str, size: int) -> tuple[str, list[Call], str]:
    """What is shown while the text comes, the calls, and all that is shown."""
    hold = Recovery(request())
    shown = "".join(hold.feed(text[at : at + size]) for at in range(0, len(text), size))
    rest, calls = hold.finish(called=False)
    return shown, calls, shown + rest


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_text_before_a_call_is_shown_and_the_call_is_not(size: int):
    text = 'I will look {now}.\n\n```json\n{"name": "Read", "arguments": {"file_path": "a.txt"}}\n```'
    assert read(text, size) == ("I will look {now}.\n\n", [_CALL], "I will look {now}.\n\n")


@pytest.mark.parametrize("size", [1, 5, 1000])
def test_code_and_lists_are_shown_before_the_answer_ends(size: int):
    text = "So:\n```python\nx = {}\n```\n[a](b)\n<div>\n{ x }\nand that is all"
    assert read(text, size) == (text, [], text)


def test_nothing_is_read_out_of_text_when_the_model_has_called_by_itself():
    hold = Recovery(request())
    text = '{"name": "Read", "arguments": {"file_path": "a.txt"}}'
    assert hold.feed(text) == ""
    assert hold.finish(called=True) == (text, [])


_PIECES = st.sampled_from(
    [
        "\n",
        "```",
        "```json\n",
        "{",
        "}",
        '"name"',
        "<tool_call>",
        "</tool_call>",
        "[",
        " word",
        "`",
        "<",
        ": ",
    ]
)


@given(st.lists(_PIECES, max_size=25).map("".join), st.integers(1, 9))
def test_no_character_is_lost_or_added_whatever_comes(text: str, size: int):
    _, calls, everything = read(text, size)
    assert calls == []
    assert everything == text

import json
from typing import Any

from bridle.providers.dialects.messages_request import encode
from bridle.types.history import History
from bridle.types.model import ModelRequest


def _marked(calls: int) -> list[int]:
    """The messages with a mark after an answer with so many calls."""
    uses: list[Any] = [{"type": "tool_use", "id": f"c{n}", "name": "Read", "input": {}} for n in range(calls)]
    results: list[Any] = [
        {"type": "tool_result", "tool_use_id": f"c{n}", "content": "x"} for n in range(calls)
    ]
    history = History.of(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": results},
    )
    body = json.loads(encode(ModelRequest(model="claude-sonnet-4-5", history=history, max_tokens=10)))
    return [n for n, message in enumerate(body["messages"]) if "cache_control" in json.dumps(message)]


def test_the_end_of_a_request_is_marked():
    assert _marked(2) == [2]


def test_the_end_of_the_request_before_is_marked_too_when_many_blocks_came_since():
    assert _marked(12) == [0, 2]

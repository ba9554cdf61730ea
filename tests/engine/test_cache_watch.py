from typing import Any

import pytest

from bridle.engine.cache_watch import CacheWatch
from bridle.types.history import History
from bridle.types.model import ModelRequest, Thinking


def _request(*messages: Any, **more: Any) -> ModelRequest:
    fields: dict[str, Any] = {"model": "m", "max_tokens": 1, "session_id": "s", **more}
    return ModelRequest(history=History.of(*messages), **fields)


def _user(*texts: str) -> Any:
    return {"role": "user", "content": [{"type": "text", "text": text} for text in texts]}


def _said(text: str) -> Any:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


_TOOL = {"name": "Read", "description": "d", "input_schema": {}}


@pytest.mark.parametrize(
    ("second", "part"),
    [
        (_request(_user("a"), _said("b"), _user("c")), None),
        (_request(_user("a", "more")), None),
        (_request(_user("a"), tools=({**_TOOL, "description": "e"},)), "tool Read changed"),
        (_request(_user("a"), tools=()), "tool Read was removed"),
        (_request(_user("a"), tools=(_TOOL, {"name": "New"})), "tool New was added"),
        (_request(_user("a"), system=({"type": "text", "text": "x"},)), "the system prompt"),
        (_request(_user("a"), thinking=Thinking("disabled")), "the settings for thinking or effort"),
        (_request(_user("a"), model="other"), None),
    ],
)
def test_the_part_that_changed_is_named(second: ModelRequest, part: str | None):
    watch = CacheWatch()
    first = (
        _request(_user("a"), tools=(_TOOL,))
        if second.tools or (part and "removed" in part)
        else _request(_user("a"))
    )
    assert watch.look(first) is None
    assert watch.look(second) == part


def test_a_message_in_the_middle_is_named_by_its_number():
    watch = CacheWatch()
    watch.look(_request(_user("a"), _said("b"), _user("c")))
    assert watch.look(_request(_user("a"), _said("B"), _user("c"))) == "message 2 of 3"


def test_what_was_changed_on_purpose_is_no_news():
    watch = CacheWatch()
    watch.look(_request(_user("a"), _said("b"), _user("c")))
    watch.forget("s")
    assert watch.look(_request(_user("summary"))) is None
    assert watch.look(_request(_user("another beginning"), _said("b"))) is None

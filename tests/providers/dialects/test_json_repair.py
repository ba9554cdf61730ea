import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.providers.dialects.json_repair import repair_json
from tests.tables import table


@table(
    ("text", "expected"),
    [
        ('{"a": 1,}', {"a": 1}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ('{a: 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        ('{"a": True, "b": None, "c": False}', {"a": True, "b": None, "c": False}),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('{"a": {"b": [1', {"a": {"b": [1]}}),
        ('{}{"a": 1}', {"a": 1}),
        ('{"a": 1}{"a": 1}', {"a": 1}),
        (r'{"pattern": "\d+\."}', {"pattern": r"\d+\."}),
        ('{"a": "\\u00e4\\n"}', {"a": "ä\n"}),
        ('{"a": -1.5e3}', {"a": -1500.0}),
    ],
)
def test_what_can_mean_one_thing_is_read(text: str, expected: dict[str, Any]):
    assert repair_json(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        '{"command": "rm -rf /tmp',
        '{"a": 1}{"a": 2}',
        "not json",
        "[1, 2]",
        '{"a" 1}',
        '{"a":',
        '{"a": 1 "b": 2}',
        '{"a": maybe}',
        "",
        "{" * 200,
    ],
)
def test_what_would_be_guessing_is_not(text: str):
    assert repair_json(text) is None


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), values, min_size=1, max_size=4))
def test_good_json_means_what_it_says(value: dict[str, Any]):
    assert repair_json(json.dumps(value)) == value
    assert repair_json(json.dumps(value, ensure_ascii=False)) == value


@given(st.text(max_size=60))
def test_nothing_makes_it_fail(text: str):
    assert repair_json(text) is None or isinstance(repair_json(text), dict)

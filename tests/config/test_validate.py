import json
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.config.problems import line_numbers
from bridle.config.schema import Settings
from bridle.config.validate import check, parse, validate
from tests.frontends.tui.app.session import bridle

FILE = "/home/me/.claude/settings.json"


def cleaned(text: str) -> tuple[dict[str, Any], list[tuple[str, int | None]]]:
    values, text, problem = parse(text.encode(), file=FILE)
    assert problem is None
    clean, problems = validate(values, file=FILE, text=text)
    assert all(each.file == FILE for each in problems)
    return clean, [(each.key, each.line) for each in problems]


def test_a_valid_file_is_passed_on_as_it_is():
    values = {"model": "opus", "permissions": {"allow": ["Read"]}, "newKey": {"deep": [1, None]}}
    clean, problems = validate(values, file=FILE, text="")
    assert clean is values
    assert problems == ()


def test_only_the_wrong_element_of_a_list_is_left_out():
    text = '{\n"permissions": {\n"allow": [\n"Read",\n"Edit",\n7\n],\n"deny": ["x"]}}'
    assert cleaned(text) == (
        {"permissions": {"allow": ["Read", "Edit"], "deny": ["x"]}},
        [("permissions.allow[2]", 6)],
    )


def test_only_the_wrong_leaf_of_an_object_is_left_out():
    network = '"network": {"allowedDomains": ["a"], "httpProxyPort": "x"}'
    text = f'{{"model": "opus",\n "sandbox": {{"enabled": "yes",\n {network}}}}}'
    assert cleaned(text) == (
        {"model": "opus", "sandbox": {"network": {"allowedDomains": ["a"]}}},
        [("sandbox.enabled", 2), ("sandbox.network.httpProxyPort", 3)],
    )


def test_a_hook_that_cannot_run_is_left_out_and_its_neighbors_stay():
    good = {"type": "command", "command": "x"}
    values = {
        "hooks": {
            "PreToolUse": [
                {"matcher": "Bash", "hooks": [good, {"type": "command"}, {"type": "carrier-pigeon"}]},
                {"matcher": 3, "hooks": [good]},
            ],
            "FutureEvent": [{"hooks": [good]}],
        }
    }
    clean, problems = check(values)
    assert clean == {
        "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [good]}, {"hooks": [good]}],
            "FutureEvent": [{"hooks": [good]}],
        }
    }
    assert [path for path, _ in problems] == [
        ("hooks", "PreToolUse", 0, "hooks", 1),
        ("hooks", "PreToolUse", 0, "hooks", 2),
        ("hooks", "PreToolUse", 1, "matcher"),
    ]


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"verbose": "yes"}, 'expected true or false, found "yes"'),
        ({"model": 3}, "expected a text, found 3"),
        ({"effortLevel": "hgih"}, 'expected one of low, medium, high, xhigh, found "hgih"'),
        ({"disableAutoMode": True}, "expected disable, found true"),
        ({"autoCompactWindow": 5}, "expected a whole number from 100000 to 1000000, found 5"),
        ({"cleanupPeriodDays": 0}, "expected a whole number of at least 1, found 0"),
        ({"availableModels": "opus"}, 'expected a list, found "opus"'),
        ({"permissions": []}, "expected an object, found a list"),
        ({"forceLoginOrgUUID": 1}, "expected a text or a list, found 1"),
        ({"statusLine": {"type": "command"}}, "`command` is missing"),
        ({"fileSuggestion": "x"}, 'expected an object with `type` command, found "x"'),
    ],
)
def test_a_problem_says_what_is_wrong_and_what_is_expected(values: dict, sentence: str):
    clean, faults = check(values)
    assert clean == {}
    assert [message for _, message in faults] == [sentence]


def test_long_texts_are_not_repeated_because_they_may_be_secrets():
    _, faults = check({"verbose": "sk-ant-0123456789-0123456789"})
    assert faults == ((("verbose",), "expected true or false, found a text"),)


def test_nulls_are_not_wrong_anywhere_in_an_object():
    values = {"model": None, "env": {"A": None, "B": 1}, "permissions": {"allow": None}, "statusLine": None}
    assert check(values) == (values, ())


def test_bridle_models_are_checked():
    values = {
        "bridleModels": {
            "m": {"inputPrice": 1, "outputPrice": 2.5, "thinking": "maybe"},
            "n": {"inputPrice": 1, "dialect": "klingon"},
            "short": "openai/gpt-5",
        }
    }
    clean, faults = check(values)
    assert clean == {
        "bridleModels": {
            "m": {"inputPrice": 1, "outputPrice": 2.5},
            "n": {"inputPrice": 1},
            "short": "openai/gpt-5",
        }
    }
    assert faults == (
        (("bridleModels", "m", "thinking"), 'expected one of adaptive, enabled, none, found "maybe"'),
        (
            ("bridleModels", "n", "dialect"),
            'expected one of anthropic, chat, responses, gemini, bedrock, vertex, offline, found "klingon"',
        ),
    )


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        # Python 3.13 points at the comma, older ones at what follows it.
        ('{\n  "model": "a",\n}', *((2, 15) if sys.version_info >= (3, 13) else (3, 1))),
        ('{\n  // note\n  "a": 1}', 2, 3),
        ('{"a": 1\n "b": 2}', 2, 2),
        ('{"a": 1} x', 1, 10),
        ('{\r\n"a": nul}', 2, 6),
        ("[1]", 1, 1),
        ('{"a":\n NaN}', 2, 2),
    ],
)
def test_syntax_errors_name_line_and_column_and_the_file_counts_as_empty(text: str, line: int, column: int):
    values, _, problem = parse(text.encode(), file=FILE)
    assert values == {}
    assert problem is not None and problem.broken
    assert (problem.file, problem.line, problem.column) == (FILE, line, column)
    assert str(problem).startswith(f"{FILE}:{line}:{column}: ")


@pytest.mark.parametrize("data", [b"", b" \r\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf{}\r\n", b"{\r\n}\r\n"])
def test_marks_line_ends_and_empty_files_are_tolerated(data: bytes):
    values, _, problem = parse(data, file=FILE)
    assert (values, problem) == ({}, None)


def test_bytes_that_are_no_text_are_one_problem():
    values, _, problem = parse(b'{\n"a": "\xff"}', file=FILE)
    assert values == {}
    assert problem is not None and problem.line == 2


@pytest.mark.parametrize("depth", [100, 100_000])
def test_deep_nesting_is_refused_and_does_no_harm(depth: int):
    values, _, problem = parse(b'{"a":' + b"[" * depth + b"]" * depth + b"}", file=FILE)
    assert values == {}
    assert problem is not None and problem.broken


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 10) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(
    ["permissions", "hooks", "sandbox", "env", "model", "statusLine", "bridleModels", "allow", "network", "x"]
)
OBJECTS = st.dictionaries(KEYS, JSON | st.dictionaries(KEYS, JSON, max_size=3), max_size=4)


@given(OBJECTS)
def test_whatever_is_wrong_the_rest_can_be_used(values: dict):
    clean, faults = check(values)
    assert check(clean) == (clean, ())
    assert (clean == values) == (not faults)
    if not faults and "null" not in json.dumps(values):
        msgspec.convert(values, Settings)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> set[tuple[str | int, ...]]:
    if isinstance(value, dict):
        items = list(value.items())
    else:
        items = list(enumerate(value)) if isinstance(value, list) else []
    return {(*path, key) for key, _ in items}.union(*(_paths(item, (*path, key)) for key, item in items))


@given(OBJECTS, st.sampled_from([None, 1, "\t"]))
def test_every_value_has_a_line(values: dict, indent: int | str | None):
    text = json.dumps(values, indent=indent)
    lines = line_numbers(text)
    assert lines.keys() == _paths(values)
    assert all(1 <= line <= text.count("\n") + 1 for line in lines.values())


def test_of_equal_keys_the_line_of_the_last_counts():
    assert line_numbers('{"a": 1,\n"b": {},\n"a": 2}')[("a",)] == 3


@pytest.mark.parametrize("key", ["modle", "Model", "modl", "modell", "nodel"])
def test_a_key_that_is_one_slip_away_from_a_setting_is_named_and_others_are_left_alone(key: str):
    values: dict[str, Any] = {"newKey": 1, key: "opus", "x": 2}
    _, problems = validate(values, file=FILE, text=f'{{\n"{key}": "opus"}}')
    told = {problem.key: problem for problem in problems}
    assert told[key].message.endswith("did you mean model?") and told[key].line == 2
    assert "newKey" not in told and "x" not in told


async def test_a_misspelled_setting_is_named_at_the_start(tmp_path: Path):
    async with bridle(tmp_path, size=(200, 24), settings={"modle": "opus"}) as terminal:
        await terminal.until_text("did you mean model?")

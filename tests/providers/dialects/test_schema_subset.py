import json

import pytest

from bridle.providers.dialects.schema_subset import subset
from bridle.tools.definitions import load
from tests.fakes.gemini_server import GeminiApi
from tests.fakes.model_server import Received


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "object", "additionalProperties": False, "$schema": "x"}, {"type": "object"}),
        ({"type": ["string", "null"]}, {"type": "string", "nullable": True}),
        ({"anyOf": [{"type": "integer"}, {"type": "null"}]}, {"type": "integer", "nullable": True}),
        ({"const": "x"}, {"type": "string", "enum": ["x"]}),
        ({"enum": [1, "b", None]}, {"type": "string", "enum": ["1", "b"], "nullable": True}),
        ({"type": "array"}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "string", "format": "uri"}, {"type": "string"}),
        (
            {"$ref": "#/$defs/A", "$defs": {"A": {"type": "integer", "exclusiveMinimum": 0}}},
            {"type": "integer"},
        ),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "gone"]},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
        ),
    ],
)
def test_schemas_keep_what_google_understands(schema: dict[str, object], expected: dict[str, object]):
    assert subset(schema) == expected


def test_schemas_that_hold_themselves_end():
    schema = {"$ref": "#/$defs/T", "$defs": {"T": {"type": "array", "items": {"$ref": "#/$defs/T"}}}}
    assert json.dumps(subset(schema)).count("array") < 20


def test_every_tool_of_ours_is_accepted():
    functions = [
        {"name": name, "description": "d", "parameters": subset(tool.get("input_schema", {}))}
        for name, tool in load().items()
    ]
    body = {
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": functions}],
    }
    request = Received(
        "POST", "/models/m:generateContent", {"x-goog-api-key": "test-key"}, json.dumps(body).encode()
    )
    assert GeminiApi().problem(request) is None

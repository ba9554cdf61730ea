"""The names and fields of the official Agent SDK, compared with ours."""

import json
import subprocess
import sys
from functools import cache
from typing import Any

import pytest

from bridle import sdk

_DESCRIBE = """
import dataclasses, inspect, json
import claude_agent_sdk as official
def fields(each):
    if dataclasses.is_dataclass(each):
        return [field.name for field in dataclasses.fields(each)]
    return sorted(getattr(each, "__annotations__", {})) if hasattr(each, "__required_keys__") else None
found = {name: fields(getattr(official, name)) for name in official.__all__ if name != "__version__"}
client = official.ClaudeSDKClient
methods = [name for name in vars(client) if not name.startswith("_")]
functions = {
    name: list(inspect.signature(getattr(official, name)).parameters)
    for name in official.__all__
    if inspect.isfunction(getattr(official, name))
}
errors = {
    name: [base.__name__ for base in getattr(official, name).__mro__]
    for name in official.__all__
    if isinstance(getattr(official, name), type) and issubclass(getattr(official, name), Exception)
}
print(json.dumps({"types": found, "methods": methods, "functions": functions, "errors": errors}))
"""


@cache
def official() -> Any:
    done = subprocess.run([sys.executable, "-c", _DESCRIBE], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_public_name_is_there():
    assert set(official()["types"]) <= set(sdk.__all__)
    assert all(hasattr(sdk, name) for name in sdk.__all__)


def test_classes_have_the_same_fields():
    for name, fields in official()["types"].items():
        ours: Any = getattr(sdk, name, None)
        if fields is None or ours is None:
            continue
        if hasattr(ours, "__struct_fields__"):
            extra = {"custom_tools", "provider"} if name == "ClaudeAgentOptions" else set()
            assert [field for field in ours.__struct_fields__ if field not in extra] == fields, name
        elif hasattr(ours, "__required_keys__"):
            assert set(ours.__annotations__) <= set(fields), name


def test_the_client_has_the_same_methods():
    assert set(official()["methods"]) <= set(vars(sdk.Client))


def test_functions_take_the_same_parameters():
    import inspect

    for name, parameters in official()["functions"].items():
        assert list(inspect.signature(getattr(sdk, name)).parameters) == parameters, name


def test_errors_are_related_in_the_same_way():
    for name, line in official()["errors"].items():
        ours = [base.__name__ for base in getattr(sdk, name).__mro__]
        assert [base for base in ours if base != "BridleError"] == line


@pytest.mark.parametrize("name", ["query", "Client", "tool", "Options"])
def test_the_short_names_are_at_the_top(name: str):
    import bridle

    assert getattr(bridle, name) is getattr(sdk, name)
    assert not hasattr(bridle, f"{name}_of_no_kind")

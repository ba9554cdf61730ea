"""What runs a turn names no feature, and what a tool is given stays small."""

import ast
import inspect
import sys
import textwrap
from pathlib import Path
from typing import get_args, get_type_hints

from bridle.engine.feature import Feature
from bridle.engine.lazy_feature import AFTERWARDS, imported
from bridle.engine.runtime import Runtime
from bridle.engine.runtime_parts import RuntimeParts
from bridle.features.registry import FEATURES, FeatureRow, open_features
from bridle.types.command import Commands
from bridle.types.services import startup
from bridle.types.services.mcp import McpServers
from bridle.types.tool import ToolContext
from tests.architecture.modules import SOURCE
from tests.fakes.features import feature_context

_TURN = (
    *("engine/server.py", "engine/loop.py", "engine/step.py"),
    *sorted(f"engine/calls/{path.name}" for path in (SOURCE / "engine" / "calls").glob("*.py")),
)
_CAPABILITIES = (
    "advisor", "agents", "auto_mode", "background", "browser", "budgets",
    "editors", "language_servers", "leases",
    "memory", "monitors", "plan_mode", "plugins", "remote", "schedules", "skills", "teams", "voice",
    "workflows", "worktrees",
)  # fmt: skip
_FEATURES = sorted(each.name for each in (SOURCE / "features").iterdir() if (each / "feature.py").is_file())


def test_every_capability_is_a_feature():
    assert sorted(set(_CAPABILITIES) - set(_FEATURES)) == []


def test_every_feature_is_opened_for_a_session_by_its_own_name(tmp_path: Path):
    opened = {feature.name for feature in open_features(feature_context(tmp_path))}
    # Some have no place in a session without settings, editors or other sessions.
    assert opened <= {*_FEATURES, "tool_services"} and {"background", "remote", "schedules"} <= opened


def test_every_feature_has_one_line_in_the_registry():
    registry = (SOURCE / "features" / "registry.py").read_text(encoding="utf-8")
    assert [name for name in _FEATURES if f"features.{name}.feature" not in registry] == []


def test_what_is_known_of_a_feature_before_its_code_is_imported_is_all_that_can_concern_it(tmp_path: Path):
    wrong: list[str] = []
    for row in (each for each in FEATURES if isinstance(each, FeatureRow) and each.at):
        feature = imported(f"bridle.{row.opener}")(feature_context(tmp_path))
        assert feature is not None
        acts_at = {
            name for name, default in vars(Feature).items()
            if callable(default) and not name.startswith("_") and getattr(type(feature), name) is not default
        }  # fmt: skip
        always = {"for_agent", "offer", "part"}
        unsaid = acts_at - set(row.at) - set(row.then) - AFTERWARDS - always
        wrong += [f"{feature.name}: {moment}" for moment in sorted(unsaid | {*row.at, *row.then} - acts_at)]
        wrong += [f"{feature.name}: {key}" for key in sorted(_keys(type(feature)) ^ set(row.keys))]
    assert wrong == []


def _keys(kind: type[Feature]) -> set[str]:
    """The names of the services whose keys a feature compares with that which it is asked for."""
    source = textwrap.dedent(inspect.getsource(kind))
    module = sys.modules[kind.__module__]
    named: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Compare(left=ast.Name(id="key"), comparators=[ast.Name(id=name)]):
                named.add(name)
            case _:
                pass
    keys = [getattr(module, name, None) or getattr(startup, name) for name in named]
    return {key.name for key in keys}


def test_the_loop_the_step_the_calls_and_dispatch_name_no_feature():
    named = [(file, name) for file in _TURN for name in _names(file) if _is_feature(name)]
    # The & of a shell statement is no feature.
    assert named == [("engine/calls/failed_commands.py", "background")]


def test_a_tool_is_given_at_most_fourteen_things():
    assert len(ToolContext.__struct_fields__) <= 14


def test_a_turn_works_with_at_most_twenty_things():
    assert len(Runtime.__struct_fields__) <= 20


def test_no_part_of_a_runtime_is_optional():
    parts = _parts_of_a_runtime()
    assert [name for name, kind in parts.items() if type(None) in get_args(kind)] == []


def test_what_replaces_a_part_has_the_type_of_the_part():
    assert get_type_hints(RuntimeParts) == _parts_of_a_runtime()


def _parts_of_a_runtime() -> dict[str, object]:
    late = {"Commands": Commands, "McpServers": McpServers}
    return get_type_hints(Runtime, localns=late)


def _names(file: str) -> set[str]:
    """Every name, attribute and imported module of a file."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((SOURCE / file).read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                found.add(name)
            case ast.ImportFrom(module=str() as module, names=names):
                found.update((*module.split("."), *(each.name for each in names)))
            case ast.Import(names=names):
                found.update(part for each in names for part in each.name.split("."))
            case _:
                pass
    return found


def _is_feature(name: str) -> bool:
    return name.lower().strip("_") in _FEATURES

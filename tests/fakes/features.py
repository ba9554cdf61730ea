"""Features for tests of the engine: those that a session without settings has, and ways to put others in."""

from pathlib import Path
from typing import Any

import msgspec

from bridle.config.load import Config, load
from bridle.engine.feature import Feature, Features
from bridle.engine.runtime import ModelFacts, Runtime
from bridle.engine.tool_services import ToolServices
from bridle.features.budgets.feature import BudgetsFeature
from bridle.features.context import FeatureContext
from bridle.features.plan_mode.feature import PlanModeFeature
from bridle.features.registry import open_features
from bridle.features.worktrees.feature import WorktreesFeature
from bridle.transcripts.session import Session
from bridle.types.command import Command
from bridle.types.workspace import Workspace
from tests.fakes.tool_context import FakeTasks


def usual_features(folder: Path) -> Features:
    """What needs nothing of a session around it."""
    return Features(
        [PlanModeFeature(str(folder / "plans")), WorktreesFeature(), BudgetsFeature(), ToolServices()]
    )


def with_feature(runtime: Runtime, *features: Feature) -> Runtime:
    """A runtime with these features, in the place of others of the same name."""
    names = {feature.name for feature in features}
    others = [each for each in runtime.features if each.name not in names]
    return msgspec.structs.replace(runtime, features=Features([*others, *features]))


def feature_context(folder: Path, **changes: Any) -> FeatureContext:
    """What a feature is opened with, in a session without settings."""
    place = str(folder)
    given: dict[str, Any] = {
        "session": Session("s1"),
        "workspace": Workspace(place, tasks=FakeTasks()),
        "project": place,
        "storage": place,
        "env": {},
        "config": settings(folder),
        "facts": _facts,
        "wake": print,
        "tell": print,
        "trusted": True,
        "lasting": True,
    }
    return FeatureContext(**given | changes)


def feature_commands(folder: Path) -> tuple[Command, ...]:
    """The slash commands that features bring."""
    return tuple(open_features(feature_context(folder)).commands())


def settings(folder: Path, flag: str | None = None) -> Config:
    """The settings of a user who has set nothing, or what would follow --settings."""
    place = str(folder)
    return load(cwd=place, env={"CLAUDE_CONFIG_DIR": place}, flag=flag, setting_sources=(), trusted=True)


def _facts(model: str) -> ModelFacts:
    del model
    return ModelFacts(context_window=200_000, max_output=64_000, max_tokens=32_000)

"""Every feature that a session may have: one line each."""

from collections.abc import Callable, Sequence

from bridle.engine.feature import Feature, Features
from bridle.engine.tool_services import ToolServices
from bridle.features.advisor.feature import AdvisorFeature
from bridle.features.agents.feature import open_agents
from bridle.features.audit.feature import open_audit
from bridle.features.auto_mode.feature import open_auto_mode
from bridle.features.background.feature import BackgroundFeature
from bridle.features.browser.feature import BrowserFeature
from bridle.features.budgets.feature import open_budgets
from bridle.features.context import FeatureContext
from bridle.features.editors.feature import open_editors
from bridle.features.fast_mode.feature import open_fast_mode
from bridle.features.language_servers.feature import LanguageServersFeature
from bridle.features.leases.feature import open_leases
from bridle.features.memory.feature import open_memory
from bridle.features.monitors.feature import MonitorsFeature
from bridle.features.plan_mode.feature import open_plan_mode
from bridle.features.plugins.feature import PluginsFeature
from bridle.features.quality.feature import open_quality
from bridle.features.recall.feature import open_recall
from bridle.features.remote.feature import RemoteFeature
from bridle.features.schedules.feature import SchedulesFeature
from bridle.features.side_work.feature import open_side_work
from bridle.features.skills.feature import open_skills
from bridle.features.startup_files.feature import open_startup_files
from bridle.features.teams.feature import TeamsFeature
from bridle.features.telemetry.feature import open_telemetry
from bridle.features.voice.feature import VoiceFeature
from bridle.features.workflows.feature import open_workflows
from bridle.features.worktrees.feature import open_worktrees

FEATURES: tuple[Callable[[FeatureContext], Feature | None], ...] = (
    BackgroundFeature,
    SchedulesFeature,
    MonitorsFeature,
    LanguageServersFeature,
    open_editors,
    open_leases,
    open_memory,
    open_skills,
    TeamsFeature,
    open_agents,
    open_workflows,
    open_plan_mode,
    open_worktrees,
    open_auto_mode,
    PluginsFeature,
    open_telemetry,
    open_audit,
    open_startup_files,
    open_budgets,
    open_fast_mode,
    AdvisorFeature,
    ToolServices,
    open_quality,
    open_recall,
    open_side_work,
    RemoteFeature,
    BrowserFeature,
    VoiceFeature,
)
"""In the order in which they are opened; the last is closed first, so what runs agents ends before them."""


def open_features(context: FeatureContext, more: Sequence[Feature] = ()) -> Features:
    """The features of a session and `more` from outside; one that has no place in it is left out."""
    opened = (opener(context) for opener in FEATURES)
    return Features([*(feature for feature in opened if feature is not None), *more])

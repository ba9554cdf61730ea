"""Every feature that a session may have: one line each."""

from collections.abc import Callable, Sequence

from msgspec import Struct

from bridle.engine.feature import Feature, Features
from bridle.engine.lazy_feature import LazyFeature, imported
from bridle.features.agents.feature import open_agents
from bridle.features.background.feature import BackgroundFeature
from bridle.features.context import FeatureContext
from bridle.features.fast_mode.feature import open_fast_mode
from bridle.features.memory.feature import open_memory
from bridle.features.plan_mode.feature import open_plan_mode
from bridle.features.recall.feature import open_recall
from bridle.features.skills.feature import open_skills
from bridle.features.teams.feature import TeamsFeature
from bridle.features.workflows.feature import open_workflows


class FeatureRow(Struct, frozen=True):
    """A feature as far as it is known before its code is imported."""

    opener: str
    """`module:name` below `bridle`."""
    at: tuple[str, ...] = ()
    """The moments at which it can first have something to do; none to open it with the session."""
    keys: tuple[str, ...] = ()
    """Names of the services that it offers."""
    then: tuple[str, ...] = ()
    """Moments that concern it once it is open, besides those that do so for every feature (`AFTERWARDS`)."""
    when: Callable[[FeatureContext], bool] = lambda _: True
    """Whether it has a place in a session at all."""
    begins: Callable[[FeatureContext], bool] = lambda _: False
    """Whether it has something to do while the session opens, and is opened with it."""


FEATURES: tuple[Callable[[FeatureContext], Feature | None] | FeatureRow, ...] = (
    BackgroundFeature,
    FeatureRow(
        "features.schedules.feature:SchedulesFeature",
        at=("follow",),
        keys=("schedules",),
        then=("begin", "work"),
        begins=lambda context: context.lasting,
    ),
    FeatureRow(
        "features.monitors.feature:MonitorsFeature",
        at=("skill_called",),
        keys=("monitors",),
        then=("begin",),
        begins=lambda context: context.lasting,
    ),
    FeatureRow(
        "features.language_servers.feature:LanguageServersFeature",
        at=("settle",),
        keys=("languages",),
        then=("reminder",),
    ),
    FeatureRow(
        "features.editors.feature:open_editors",
        when=lambda context: (context.lasting or context.wants_editor) and not context.closed,
    ),
    FeatureRow("features.leases.feature:open_leases", at=("before_call", "around_call")),
    open_memory,
    open_skills,
    TeamsFeature,
    open_agents,
    open_workflows,
    open_plan_mode,
    FeatureRow(
        "features.worktrees.feature:open_worktrees",
        at=("standing",),
        keys=("worktrees", "worktree_options"),
    ),
    FeatureRow("features.auto_mode.feature:open_auto_mode", at=("review",)),
    FeatureRow("features.plugins.feature:PluginsFeature", at=("side_tasks",), keys=("plugins",)),
    FeatureRow(
        "features.telemetry.feature:open_telemetry",
        when=lambda context: bool(context.env.get("CLAUDE_CODE_ENABLE_TELEMETRY")),
    ),
    FeatureRow(
        "features.audit.feature:open_audit",
        when=lambda context: context.settings.bridle_audit is not None,
    ),
    FeatureRow(
        "features.startup_files.feature:open_startup_files",
        at=("expect_call", "before_decision"),
        keys=("start-up files",),
        then=("before_call", "standing"),
    ),
    FeatureRow(
        "features.budgets.feature:open_budgets",
        at=("more_work", "for_hook_agent"),
        keys=("token_goal",),
        then=("provider",),
        begins=lambda context: (
            context.settings.bridle_budgets is not None or context.settings.bridle_record_usage is True
        ),
    ),
    open_fast_mode,
    FeatureRow("features.advisor.feature:AdvisorFeature", at=("commands", "reconfigure"), keys=("advise",)),
    FeatureRow(
        "engine.tool_services:ToolServices",
        at=("after_call", "restore", "for_hook_agent"),
        keys=("announce", "pause", "leave", "objections"),
    ),
    FeatureRow("features.quality.feature:open_quality", when=lambda context: context.interactive),
    open_recall,
    FeatureRow(
        "features.side_work.feature:open_side_work",
        when=lambda context: context.works_aside and (context.interactive or context.options.is_hosted),
    ),
    FeatureRow(
        "features.remote.feature:RemoteFeature",
        at=("commands", "reconfigure"),
        keys=("remote",),
        then=("begin",),
        begins=lambda context: context.listener is not None,
    ),
    FeatureRow(
        "features.browser.feature:BrowserFeature",
        at=("commands", "complete_call", "reconfigure", "review"),
        keys=("browser", "browsers"),
        then=("enabled_tools", "rules", "settle"),
        begins=lambda context: context.options.chrome or context.settings.bridle_chrome is True,
    ),
    FeatureRow("features.voice.feature:VoiceFeature", at=("commands", "reconfigure"), keys=("voice",)),
)
"""In the order in which they are opened; the last is closed first, so what runs agents ends before them."""


def open_features(context: FeatureContext, more: Sequence[Feature] = ()) -> Features:
    """The features of a session and `more` from outside; one that has no place in it is left out."""
    opened = (_open(row, context) for row in FEATURES)
    return Features([*(feature for feature in opened if feature is not None), *more])


def _open(
    row: Callable[[FeatureContext], Feature | None] | FeatureRow, context: FeatureContext
) -> Feature | LazyFeature | None:
    if not isinstance(row, FeatureRow):
        return row(context)
    if not row.when(context):
        return None
    if not row.at or row.begins(context):
        return imported(f"bridle.{row.opener}")(context)
    return LazyFeature(lambda: imported(f"bridle.{row.opener}")(context), at=row.at, keys=row.keys)

"""Plan mode as a feature; what makes and shows plans is imported while one is made."""

import os.path
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from bridle.engine.feature import Feature
from bridle.features.context import FeatureContext
from bridle.host.paths import config_home
from bridle.tools.catalog import traits_of
from bridle.types.services.service import Service
from bridle.types.services.session import PLANNING

if TYPE_CHECKING:
    from bridle.engine.assignment import Assignment
    from bridle.engine.calls.call import Call
    from bridle.engine.turn import Turn
    from bridle.permissions.preparation import SessionPosition
    from bridle.types.question import PermissionQuestion
    from bridle.types.tool import Tool


class PlanModeFeature(Feature):
    name = "plan_mode"

    def __init__(self, folder: str, *, planner: str | None = None) -> None:
        self._folder = folder
        """Where plans are kept."""
        self._planner = planner
        """The model that answers in plan mode, where it is another."""

    def part(self, key: Service[Any]) -> Any:
        return self if key is SESSION_PLAN else None

    def path_of(self, session_id: str) -> str:
        """The file of a session's plan."""
        from bridle.features.plan_mode.plans import plan_path

        return plan_path(session_id, self._folder)

    def offer(self, key: Service[Any], call: "Call", turn: "Turn") -> Any:
        if key is not PLANNING:
            return None
        from bridle.features.plan_mode.planning import SessionPlanning

        return SessionPlanning(turn, self._path(turn))

    def before_step(self, turn: "Turn") -> None:
        """Choose the model that plans, and say at the start of a turn what holds."""
        state, planner = turn.session.state, self._planner
        if planner is not None and turn.model in (planner, state.model):
            turn.model = planner if state.mode == "plan" else state.model
        if turn.steps == 0 and (state.mode == "plan" or state.pre_plan_mode is not None):
            from bridle.features.plan_mode.planning import remind_of_plan

            remind_of_plan(turn, self._path(turn))

    def standing(self, turn: "Turn", standing: "SessionPosition") -> "SessionPosition":
        """The model may write the plan while it makes one."""
        if turn.session.state.mode != "plan":
            return standing
        folder, name = os.path.split(self._path(turn))
        # Only the folder is followed: a link in place of the plan itself would lead elsewhere.
        own = os.path.join(os.path.realpath(folder), name)
        return msgspec.structs.replace(standing, own=(*standing.own, own))

    def question(self, turn: "Turn", tool: "Tool", question: "PermissionQuestion") -> "PermissionQuestion":
        """A plan is shown with its text, and with the modes in which the work can continue."""
        if traits_of(tool.name).kind != "plan":
            return question
        from bridle.features.plan_mode.planning import plan_suggestions, with_plan

        return msgspec.structs.replace(
            question,
            input=with_plan(question.input, self._path(turn)),
            suggestions=plan_suggestions(turn.runtime.gate.modes),
        )

    def restore(self, turn: "Turn") -> Sequence[str | None]:
        from bridle.features.plan_mode.planning import plan_rules
        from bridle.features.plan_mode.plans import restored_plan

        path = self._path(turn)
        return restored_plan(path), plan_rules(turn, path)

    def for_agent(self, work: "Assignment") -> Feature:
        return PlanModeFeature(self._folder)

    def _path(self, turn: "Turn") -> str:
        """The plan's file; an agent has one of its own."""
        path, agent = self.path_of(turn.session.id), turn.session.agent_id
        return path if agent is None else f"{path.removesuffix('.md')}-agent-{agent}.md"


SESSION_PLAN: Service[PlanModeFeature] = Service("session_plan", missing="This session has no plan mode.")


def open_plan_mode(context: FeatureContext) -> PlanModeFeature:
    """A relative folder of plans is the project's."""
    settings, env = context.config.settings, context.env
    folder = os.path.join(config_home(env), "plans")
    if settings.plans_directory:
        chosen = os.path.expanduser(settings.plans_directory)
        folder = os.path.normpath(os.path.join(context.project, chosen))
    return PlanModeFeature(folder, planner=_planner(context))


def _planner(context: FeatureContext) -> str | None:
    """The model that answers in plan mode, for a choice that means two models."""
    named = context.options.model or context.env.get("ANTHROPIC_MODEL") or context.config.settings.model or ""
    if not named.strip().lower().startswith("opusplan"):
        return None
    from bridle.providers import catalog

    return catalog.resolve(named, context.env, planning=True)

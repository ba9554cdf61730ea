"""Hand in a plan."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from bridle.types.errors import ToolError
from bridle.types.services.session import PLANNING, Planning
from bridle.types.tool import UNLISTED, ToolContext, ToolOutput, tool

_LARGEST = 200_000
_SHOWN = 40_000


class AllowedPrompt(Struct, frozen=True):
    tool: Literal["Bash"]
    prompt: Annotated[str, Meta(min_length=1, description="Such as: run the tests.")]


class ExitPlanModeInput(Struct, frozen=True, forbid_unknown_fields=True):
    allowedPrompts: Annotated[
        list[AllowedPrompt] | None,
        Meta(description="Actions to approve with the plan, as narrow as possible."),
    ] = None
    plan: Annotated[str | None, UNLISTED] = None
    planFilePath: Annotated[str | None, UNLISTED] = None


def _check(input: ExitPlanModeInput, ctx: ToolContext) -> None:
    planning = ctx.need(PLANNING)
    # An approval that chooses the next mode comes with the plan and has ended plan mode already.
    if not planning.active and input.plan is None:
        raise ToolError("Plan mode is not on; continue with the work.")


@tool("ExitPlanMode", ExitPlanModeInput, parallel=lambda _: False, check=_check, max_result_chars=None)
async def exit_plan_mode(input: ExitPlanModeInput, ctx: ToolContext) -> ToolOutput:
    """Let the user decide on the plan."""
    planning = ctx.need(PLANNING)
    plan = planning.read() or ""
    edited = input.plan is not None and input.plan.strip() not in ("", plan)
    if input.plan is not None and edited:
        plan = input.plan.strip()[:_LARGEST]
        _save(plan, planning)
    mode = await planning.leave([msgspec.to_builtins(each) for each in input.allowedPrompts or ()])
    if not plan:
        return ToolOutput(
            content="The user agreed to leave plan mode without a plan. You may make changes now "
            f"(mode {mode}).",
            data={"plan": None, "filePath": planning.path, "isAgent": False,
                  "planMode": "# Plan mode has ended"},
        )  # fmt: skip
    how = "with changes" if edited else "as it is"
    text = plan if len(plan) <= _SHOWN else f"{plan[:_SHOWN]}\n…"
    return ToolOutput(
        content=f"The user approved the plan {how}. You may make changes now (mode {mode}). Carry it out, "
        "with a task list if it has more than a few steps. It is saved in "
        f"{planning.path}.\n\n{text}",
        data={"plan": plan, "filePath": planning.path, "isAgent": False, "planWasEdited": edited,
              "planMode": "# Plan mode has ended"},
    )  # fmt: skip


def _save(plan: str, planning: Planning) -> None:
    try:
        planning.write(plan)
    except OSError as error:
        raise ToolError(f"Could not save the edited plan to {planning.path}: {error.strerror}.") from error


TOOL = exit_plan_mode

"""Lines about hooks for the user: one for each refusal, and one for each hook that took long."""

from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.permission import Deny

_LONGEST = 1_000
_REFUSED = {
    "UserPromptSubmit": "blocked the prompt",
    "UserPromptExpansion": "blocked the command",
    "PostToolUse": "rejected the result of {subject}",
    "PostToolBatch": "ended the turn after its calls",
    "Stop": "continued the turn",
    "SubagentStop": "continued the agent",
    "TaskCreated": "blocked the new task",
    "TaskCompleted": "blocked task completion",
    "TeammateIdle": "continued the teammate",
    "ConfigChange": "blocked the settings change",
    "WorktreeCreate": "blocked the worktree",
    "PreCompact": "blocked compaction",
    "PreModelSwitch": "blocked the switch to {subject}",
}
"""What a refusal did, by event; a call is refused where nothing else is said."""


def refusals(event: HookEvent, said: HookOutcome) -> list[str]:
    """A line for each thing that hooks kept from happening."""
    lines: list[str] = []
    refused = said.decision.reason if isinstance(said.decision, Deny) else said.block
    if refused is not None:
        what = _REFUSED.get(event.name, "blocked {subject}").format(subject=event.subject or "this")
        lines.append(f"A hook {what}: {refused}")
    if said.deferred is not None:
        lines.append(f"A hook deferred {event.subject}: {said.deferred}")
    if said.stop is not None and said.stop != refused:
        lines.append(f"A hook stopped the turn: {said.stop}")
    return [_short(line) for line in lines]


def delays(said: HookOutcome) -> list[str]:
    """A line for each slow hook."""
    return [f"The {run.name} hook took {run.seconds:.1f} s." for run in said.runs if run.slow]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

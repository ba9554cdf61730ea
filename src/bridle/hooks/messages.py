"""Lines about hooks for the user: one for each refusal, and one for each hook that took long."""

from bridle.types.hooks.events import HookEvent
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.permission import Deny

_LONGEST = 1_000
_REFUSED = {
    "UserPromptSubmit": "refused the prompt",
    "UserPromptExpansion": "refused the command",
    "PostToolUse": "objected to the result of {subject}",
    "PostToolBatch": "ended the turn after its calls",
    "Stop": "keeps the turn going",
    "SubagentStop": "keeps the agent going",
    "TaskCreated": "refused the new task",
    "TaskCompleted": "refused to call the task done",
    "TeammateIdle": "keeps the teammate going",
    "ConfigChange": "refused the changed settings",
    "WorktreeCreate": "refused the worktree",
    "PreCompact": "refused to compact the conversation",
    "PreModelSwitch": "refused the switch to {subject}",
}
"""What a refusal did, by event; a call is refused where nothing else is said."""


def refusals(event: HookEvent, said: HookOutcome) -> list[str]:
    """A line for each thing that hooks kept from happening."""
    lines: list[str] = []
    refused = said.decision.reason if isinstance(said.decision, Deny) else said.block
    if refused is not None:
        what = _REFUSED.get(event.name, "refused {subject}").format(subject=event.subject or "this")
        lines.append(f"A hook {what}: {refused}")
    if said.deferred is not None:
        lines.append(f"A hook put off {event.subject}: {said.deferred}")
    if said.stop is not None and said.stop != refused:
        lines.append(f"A hook stopped the work: {said.stop}")
    return [_short(line) for line in lines]


def delays(said: HookOutcome) -> list[str]:
    """A line for each slow hook."""
    return [f"The {run.name} hook took {run.seconds:.1f} s." for run in said.runs if run.slow]


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"

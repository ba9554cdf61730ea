"""Facts about a tool that other parts act on: they stand on the tool, so that no part needs its name."""

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct

Kind = Literal[
    "advice", "agent", "choice", "command", "edit", "fetch", "list", "notebook", "other", "plan",
    "plan_start", "read", "search", "skill", "task", "task_list", "task_output", "task_stop", "todo", "watch",
    "web_search", "workflow", "write",
]  # fmt: skip
"""What a call does: how it is shown, grouped, summed up and suggested follows from this."""

LOOKS_AT_FILES = ("read", "search", "list")
"""Calls that look at files and do nothing else."""
CHANGES_FILES = ("edit", "write", "notebook")
RUNS_COMMANDS = ("command", "watch")

ForAgents = Literal["main", "foreground", "team", "any"]
"""Who has it: the main thread only, agents that are waited for, those and teammates, or all agents."""


class ToolTraits(Struct, frozen=True, kw_only=True):
    kind: Kind = "other"
    about: str = ""
    """The parameter that says what a call is about: a path, a command, an address."""
    agents: ForAgents = "foreground"
    repeatable: bool = False
    """Old results may be cleared: they can be had again, or say nothing that the call did not say."""
    essential: bool = False
    """Offered also to a model whose window is small."""
    updates_tasks: bool = False
    """Its calls keep the list of things to do up to date."""
    is_question: bool = False
    """Asking a person is its whole purpose: no rule of a host can answer it."""
    missing: str = ""
    """What a model is told that calls it where no person is present."""
    sample: Mapping[str, Any] = {}
    """An input to try hooks with; `{cwd}` stands for the folder."""


NO_TRAITS = ToolTraits()
"""Nothing is known of the tool: one that comes from outside, for instance."""

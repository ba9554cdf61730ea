"""Says why a tool that a model calls is not there, and what to do instead."""

from collections.abc import Sequence

from bridle.engine.turn import Turn
from bridle.permissions.command_parts import denied
from bridle.permissions.explanations import refusal
from bridle.permissions.sorted_rules import names as is_named
from bridle.tools.catalog import traits_of
from bridle.types.nearest import did_you_mean
from bridle.types.permission import Effect


def why_missing(name: str, turn: Turn) -> str:
    """The sentence for a call of a tool that is not offered."""
    rules = (rule for rule in turn.rules if rule.effect is Effect.DENY and rule.content is None)
    if (rule := next((rule for rule in rules if is_named(rule, name)), None)) is not None:
        return refusal(name, denied(rule))
    offered = turn.runtime.toolbox.names()
    if reason := _for_nobody(name, offered):
        return f"{name} is not available in this session: {reason}"
    meant = did_you_mean(_bare(name), offered)
    return f"No such tool available: {name}{meant or '.'} Available tools: {', '.join(offered) or 'none'}."


def _bare(name: str) -> str:
    """`ReadFile`, `read_file` and `ReadTool` mean Read."""
    bare = name.lower()
    for ending in ("tool", "file"):
        bare = bare.removesuffix(ending).removesuffix("_")
    return bare


def _for_nobody(name: str, offered: Sequence[str]) -> str:
    """Why a tool is not offered where no person is present."""
    traits = traits_of(name)
    # Who has another kind of list may have meant that one.
    has_list = traits.updates_tasks and any(traits_of(each).updates_tasks for each in offered)
    return "" if has_list else traits.missing

"""Which old tool results may give way to a note that they were there."""

from collections.abc import Callable, Collection, Sequence

from msgspec import Struct

from bridle.context.tokens import weigh_block
from bridle.types.entry import ConversationEntry

CLEARED = "[This old result was cleared to make room. Call the tool again if you need it.]"
KEPT_RESULTS = 5
"""So many of the newest results always stay."""

_LEAST_UNITS = 600


class OldResult(Struct, frozen=True):
    """A result that could be cleared."""

    call_id: str
    tool: str
    units: int
    """What clearing it would save."""


def old_results(
    entries: Sequence[ConversationEntry],
    is_repeatable: Callable[[str], bool],
    *,
    keep: int = KEPT_RESULTS,
    spared: Collection[str] = (),
) -> list[OldResult]:
    """Results that may be cleared, oldest first, without the newest ones, small ones and those `spared`.

    Only results of tools that are repeatable can be had again.
    """
    tools: dict[str, str] = {}
    found: list[OldResult] = []
    for entry in entries:
        if entry["type"] == "system" or isinstance(content := entry["message"]["content"], str):
            continue
        for block in content:
            if block["type"] == "tool_use":
                tools[block["id"]] = block["name"]
            elif block["type"] == "tool_result" and is_repeatable(
                tool := tools.get(block["tool_use_id"], "")
            ):
                saved = weigh_block(block) - len(CLEARED)
                found.append(OldResult(block["tool_use_id"], tool, saved))
    older = found[: len(found) - keep] if keep else found
    return [each for each in older if each.units >= _LEAST_UNITS and each.call_id not in spared]

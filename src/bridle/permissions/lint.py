"""Finds rules that have no effect."""

from collections.abc import Collection, Iterator, Sequence

from msgspec import Struct

from bridle.permissions import patterns
from bridle.permissions.matching import names
from bridle.permissions.rules import write
from bridle.permissions.tool_names import EDIT, ENTER, READ, SHELL
from bridle.types.permission import Effect, Rule

_STRONGER = {Effect.ALLOW: (Effect.DENY, Effect.ASK), Effect.ASK: (Effect.DENY,), Effect.DENY: ()}
_PATHS = (READ, EDIT, ENTER)


class Finding(Struct, frozen=True):
    """A rule that does nothing, and why."""

    rule: Rule
    message: str

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.rule.file, self.rule.line) if part is not None)
        return f"{place or self.rule.source}: {self.rule.effect.value} {write(self.rule)}: {self.message}"


def lint(rules: Sequence[Rule], tools: Collection[str]) -> tuple[Finding, ...]:
    """Every rule that never matches or is settled by another; `tools` are all tools there are, by name."""
    return tuple(
        Finding(rule, message)
        for index, rule in enumerate(rules)
        if (message := next(_objections(rule, rules[:index], rules, tools), None)) is not None
    )


def _objections(
    rule: Rule, before: Sequence[Rule], rules: Sequence[Rule], tools: Collection[str]
) -> Iterator[str]:
    if not rule.tool.startswith("mcp__") and not any(names(rule, tool) for tool in tools):
        yield f"unknown tool {rule.tool}"
    if rule.tool == SHELL and ":*" in (rule.content or "")[:-2]:
        yield "`:*` only works at the end; elsewhere write a space and a star"
    for other in rules:
        if other.effect in _STRONGER[rule.effect] and _includes(other, rule):
            yield f"no effect: {_place_of(other)} covers it"
    for other in before:
        if other.effect is rule.effect and _same(other, rule):
            yield f"duplicate of {_place_of(other)}"
    for other in rules:
        if other.effect is rule.effect and not _same(other, rule) and _includes(other, rule):
            yield f"redundant: {_place_of(other)} already covers it"


def _same(one: Rule, other: Rule) -> bool:
    anchored = (one.content or "").startswith("/") and one.tool in _PATHS
    return (one.tool, one.content) == (other.tool, other.content) and (
        not anchored or one.source == other.source
    )


def _includes(wide: Rule, narrow: Rule) -> bool:
    """Whether everything that the second rule covers is covered by the first, as far as that is certain."""
    if not names(wide, narrow.tool):
        return False
    if wide.content is None or _same(wide, narrow):
        return True
    if narrow.content is None:
        return False
    if wide.tool in _PATHS:
        return _includes_paths(wide, narrow)
    # A star in the narrow pattern can only be met by one in the wide pattern, so it stands for itself here.
    return not patterns.is_exact(wide.content) and patterns.covers(
        wide.content, narrow.content.replace(":*", " *")
    )


def _includes_paths(wide: Rule, narrow: Rule) -> bool:
    folder = (wide.content or "").removesuffix("/**")
    if folder == wide.content or "*" in folder or not (narrow.content or "").startswith(f"{folder}/"):
        return False
    return not folder.startswith("/") or folder.startswith("//") or wide.source == narrow.source


def _place_of(rule: Rule) -> str:
    place = ":".join(str(part) for part in (rule.file, rule.line) if part is not None)
    return f"{rule.effect.value} {write(rule)} ({place or rule.source})"

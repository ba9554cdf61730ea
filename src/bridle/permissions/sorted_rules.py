"""The rules of a session sorted once, so that most of them need no look for each command."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from bridle.permissions import texts
from bridle.types.permission import Effect, Rule

SHELL = "Bash"
OPERATOR = re.compile(r"[;|&<>`(){}\n\r]|\$\(")
"""What only the whole text of a command can hold."""
_FIELDS = frozenset({"run_in_background", "timeout", "description", "dangerouslyDisableSandbox"})
"""What a rule may name instead of a command."""
_MOST = 32


class Sorted(Struct, frozen=True):
    """Rules of one effect."""

    rules: tuple[Rule, ...]
    begins: tuple[str, ...]
    """For each of them, how the texts begin that it may cover; empty if it is about more than that."""
    beginnings: tuple[str, ...]
    """The same of those by command alone, each once."""
    others: tuple[Rule, ...]
    """Those that are about more than how a command begins."""

    def about(self, forms: Sequence[str]) -> tuple[Rule, ...]:
        """Those that may cover one of the forms of a command, or what else is known of it."""
        given = tuple(form.lstrip(" \t") for form in forms)
        if not any(form.startswith(self.beginnings) for form in given):
            return self.others
        return tuple(
            rule
            for rule, begins in zip(self.rules, self.begins, strict=True)
            if any(form.startswith(begins) for form in given)
        )


class SortedRules(Struct, frozen=True):
    """All rules of a session."""

    allow: tuple[Rule, ...]
    ask: Sorted
    deny: Sorted
    by_command: tuple[Rule, ...]
    """Those that deny or ask by what a command says."""


def sorted_rules(rules: tuple[Rule, ...]) -> SortedRules:
    """The rules in order; what was sorted before is remembered for the same tuple."""
    kept = _kept.get(id(rules))
    if kept is not None and kept[0] is rules:
        return kept[1]
    made = SortedRules(
        tuple(rule for rule in rules if rule.effect is Effect.ALLOW),
        _sorted(rules, Effect.ASK),
        _sorted(rules, Effect.DENY),
        tuple(rule for rule in rules if rule.effect is not Effect.ALLOW and _is_by_command(rule)),
    )
    if len(_kept) >= _MOST:
        _kept.clear()
    _kept[id(rules)] = rules, made
    return made


def names(rule: Rule, tool: str) -> bool:
    """A server's name stands for all its tools; a star for the rest of a name."""
    if rule.tool == tool:
        return True
    if "*" in rule.tool:
        return fnmatchcase(tool, texts.only_stars(rule.tool))
    server = rule.tool.removesuffix("__")
    return server.startswith("mcp__") and "__" not in server[5:] and tool.startswith(f"{server}__")


_kept: dict[int, tuple[tuple[Rule, ...], SortedRules]] = {}
"""By identity, because comparing rules takes longer than sorting them. What is held keeps its number."""


def _sorted(rules: tuple[Rule, ...], effect: Effect) -> Sorted:
    mine = tuple(rule for rule in rules if rule.effect is effect)
    plain = {rule: texts.beginning(rule.content or "") for rule in mine if _begins(rule)}
    others = tuple(rule for rule in mine if rule not in plain)
    return Sorted(mine, tuple(plain.get(rule, "") for rule in mine), tuple({*plain.values()}), others)


def _begins(rule: Rule) -> bool:
    """Whether nothing but the beginning of a command tells that a rule is not about it."""
    return _is_by_command(rule) and not OPERATOR.search(rule.content or "")


def _is_by_command(rule: Rule) -> bool:
    content = rule.content
    if content is None or not names(rule, SHELL):
        return False
    return content.endswith(":*") or content.partition(":")[0] not in _FIELDS

"""The rules of a session sorted once, so that most of them need no look for each command."""

import re
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import lru_cache

from msgspec import Struct

from bridle.permissions import patterns
from bridle.permissions.tool_names import SHELL
from bridle.types.permission import Effect, Rule

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
    """The beginnings of the rules by command alone, each once."""
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
    allow_commands: tuple[Rule, ...]
    """Those that may allow a command by its text, or every command."""
    ask: Sorted
    deny: Sorted
    by_command: tuple[Rule, ...]
    """Those that deny or ask by what a command says."""


def sorted_rules(rules: tuple[Rule, ...]) -> SortedRules:
    """The rules in order; what was sorted before is remembered for the same tuple."""
    kept = _kept.get(id(rules))
    if kept is not None and kept[0] is rules:
        return kept[1]
    allow = tuple(rule for rule in rules if rule.effect is Effect.ALLOW)
    made = SortedRules(
        allow,
        tuple(rule for rule in allow if names(rule, SHELL)),
        _sorted(rules, Effect.ASK),
        _sorted(rules, Effect.DENY),
        tuple(
            rule
            for rule in rules
            if rule.effect is not Effect.ALLOW and _is_by_command(rule.tool, rule.content)
        ),
    )
    if len(_kept) >= _MOST:
        _kept.clear()
    _kept[id(rules)] = rules, made
    return made


def names(rule: Rule, tool: str) -> bool:
    """Whether a rule is about a tool."""
    return names_tool(rule.tool, tool)


def names_tool(named: str, tool: str) -> bool:
    """A server's name stands for all its tools; a star for the rest of a name."""
    if named == tool:
        return True
    if "*" in named:
        return fnmatchcase(tool, patterns.only_stars(named))
    server = named.removesuffix("__")
    return server.startswith("mcp__") and "__" not in server[5:] and tool.startswith(f"{server}__")


_kept: dict[int, tuple[tuple[Rule, ...], SortedRules]] = {}
"""By identity, because comparing rules takes longer than sorting them. What is held keeps its number."""


def _sorted(rules: tuple[Rule, ...], effect: Effect) -> Sorted:
    mine = tuple(rule for rule in rules if rule.effect is effect)
    begins = [_begins(rule.tool, rule.content) for rule in mine]
    others = tuple(rule for rule, each in zip(mine, begins, strict=True) if each is None)
    known = {each for each in begins if each is not None}
    return Sorted(mine, tuple(each or "" for each in begins), tuple(known), others)


@lru_cache(maxsize=1024)
def _begins(tool: str, content: str | None) -> str | None:
    """How a command begins that a rule is about; None where something else may tell that it is."""
    if content is None or not _is_by_command(tool, content) or OPERATOR.search(content):
        return None
    return patterns.beginning(content)


@lru_cache(maxsize=1024)
def _is_by_command(tool: str, content: str | None) -> bool:
    if content is None or not names_tool(tool, SHELL):
        return False
    return content.endswith(":*") or content.partition(":")[0] not in _FIELDS

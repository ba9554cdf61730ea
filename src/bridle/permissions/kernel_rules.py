"""Which rules the kernel can hold, whatever a command runs: those for files, whole programs and hosts."""

import os.path
import re
from collections.abc import Iterator

from bridle.permissions.files.paths import anchored
from bridle.permissions.tool_names import EDITORS, FETCH, READERS, SHELL
from bridle.types.permission import Case, Effect, Rule
from bridle.types.sandbox import Denials, Pattern

_WITH_ANY_ARGUMENTS = re.compile(r"([^\s*?\\]+?)(?::\*| \*|(\*))")
_HOST = re.compile(r"domain:(\S+)")


def denials(case: Case, *, approved: bool) -> Denials:
    """What a confined command is kept from; rules that ask count as denials unless the call was approved."""
    effects = {Effect.DENY} if approved else {Effect.DENY, Effect.ASK}
    rules = [rule for rule in case.rules if rule.effect in effects and rule.content is not None]
    return Denials(
        unreadable=_patterns(case, (rule for rule in rules if rule.tool in READERS)),
        unwritable=_patterns(case, (rule for rule in rules if rule.tool in EDITORS)),
        programs=tuple(name for rule in rules if rule.tool == SHELL for name in _program(rule, case)),
        # The proxy is one for all commands, and asks about hosts on its own.
        hosts=tuple(host for rule in rules if rule.effect is Effect.DENY for host in _hosts(rule)),
    )


def _patterns(case: Case, rules: Iterator[Rule]) -> tuple[Pattern, ...]:
    return tuple(dict.fromkeys(pattern for rule in rules for pattern in anchored(rule, case)))


def _program(rule: Rule, case: Case) -> Iterator[str]:
    """The program that a rule names with any arguments; one for some arguments only is left to the gate."""
    if found := _WITH_ANY_ARGUMENTS.fullmatch((rule.content or "").strip()):
        name, star = found[1], found[2] or ""
        yield os.path.normpath(os.path.join(case.cwd, name)) + star if "/" in name else name + star


def _hosts(rule: Rule) -> Iterator[str]:
    if rule.tool == FETCH and (found := _HOST.fullmatch(rule.content or "")):
        yield found[1]

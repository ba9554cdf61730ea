"""Which files the tools that look at many may not show."""

from collections.abc import Callable

from msgspec.structs import replace

from bridle.permissions.matching import find_rule
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.permissions.tool_names import READ
from bridle.types.permission import Access, Effect, Rule


def hides(rules: tuple[Rule, ...], standing: Callable[[], SessionPosition]) -> Callable[[str], bool]:
    """Whether one of the rules denies reading the file at an absolute path.

    `standing` tells where the session stands now; it is asked only if there is such a rule.
    """
    rules = tuple(rule for rule in rules if rule.effect is Effect.DENY and rule.tool == READ and rule.content)
    if not rules:
        return lambda _: False
    narrowed = replace(standing(), rules=rules)

    def is_hidden(path: str) -> bool:
        asked = CallRequest(tool=READ, input={}, access=Access(reads=(path,)))
        return find_rule(prepare(asked, narrowed), Effect.DENY) is not None

    return is_hidden

"""Variables that may hold what the environment keeps to itself."""

from collections.abc import Collection, Sequence

from bridle.permissions.shell.syntax.simple_command import Loop, Simple
from bridle.permissions.shell.values.variables import may_be_shown

_MOST = 200


def tainted(simples: Sequence[Simple], loops: Sequence[Loop], variables: Collection[str]) -> frozenset[str]:
    """The variables into which the command line may copy one that it did not set itself."""
    copies = [
        (each.name, each.value.names, simple.certain) for simple in simples for each in simple.assignments
    ]
    copies += [(loop.name, word.names, loop.certain) for loop in loops for word in loop.words or ()]
    if len(copies) > _MOST:
        return frozenset(name for name, _, _ in copies)
    found: set[str] = set()
    while True:
        more = {
            name
            for name, shown, certain in copies
            if name not in found
            and any(each in found or not is_own(each, certain, variables) for each in shown)
        }
        if not more:
            return frozenset(found)
        found |= more


def is_own(name: str, certain: Collection[str], variables: Collection[str]) -> bool:
    """Whether a variable is the command line's own, or one of the environment that is no secret."""
    # What may not have been set yet is the environment's, where secrets have names in capitals.
    return name in certain or may_be_shown(name) or (name in variables and name.islower())

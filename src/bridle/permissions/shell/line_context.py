"""What the commands of one command line have in common."""

from collections.abc import Mapping

from msgspec import Struct

from bridle.permissions.shell.values.variable_values import Values


class LineContext(Struct, frozen=True):
    """What is the same for every command of a command line."""

    start: str
    """Absolute, as short as it can be written."""
    home: str
    functions: frozenset[str] = frozenset()
    variables: frozenset[str] = frozenset()
    tainted: frozenset[str] = frozenset()
    values: Values = Values()
    startup: Mapping[str, str] = {}
    """Names that the user's start-up files define, and as what."""

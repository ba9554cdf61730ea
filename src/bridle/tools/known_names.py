"""Names of tools that rules, hooks and lists of existing configurations may use."""

from bridle.tools.catalog import CATALOG, FORMER, MADE_ELSEWHERE

_NOT_HERE = """
    Cd Projects REPL RefreshMcpTools RemoteTrigger ShareOnboardingGuide ShowOnboardingRolePicker
"""
"""Names that are no tool here: `Cd` is a rule about folders, the others are tools of the surface."""

KNOWN_NAMES = frozenset(
    (
        *(name for listing in CATALOG for name in (listing.name, *listing.aliases)),
        *MADE_ELSEWHERE,
        *FORMER,
        *_NOT_HERE.split(),
    )
)

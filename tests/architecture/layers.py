"""The layers of bridle, the lowest first; packages on one line never import each other."""

LAYERS = (
    {"types", "version"},
    {"host"},
    {"config"},
    {"providers", "permissions", "hooks", "tools", "mcp", "transcripts", "context", "extensions"},
    {"engine"},
    {"features"},
    {"commands"},
    {"session"},
    {"protocol"},
    {"frontends"},
    {"cli", "sdk", "fleet"},
    {"__main__", "__init__"},
)
LEVELS = {package: level for level, packages in enumerate(LAYERS) for package in packages}

FEATURE_IMPORTS = {"teams": {"agents"}, "workflows": {"agents"}, "monitors": {"schedules"}}
"""Which features may import which others; all other meetings go through keys and moments (decision 26)."""


def level(module: str) -> int:
    """How high a module stands, by its path below `src/bridle`."""
    return LEVELS[module.partition("/")[0].removesuffix(".py")]

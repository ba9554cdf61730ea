"""bridle: an open agent harness."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bridle.sdk import Client as Client
    from bridle.sdk import Options as Options
    from bridle.sdk import query as query
    from bridle.sdk import tool as tool

__all__ = ["Client", "Options", "query", "tool"]


def __getattr__(name: str) -> object:
    """The Python interface, imported when it is first asked for: the program itself never does."""
    if name in __all__:
        from bridle import sdk

        return getattr(sdk, name)
    raise AttributeError(f"module 'bridle' has no attribute {name!r}")

"""Values of environment variables: what turns a switch on or off is the same for all of them."""

from collections.abc import Mapping


def is_on(env: Mapping[str, str], name: str) -> bool:
    """Whether a variable turns something on; any other value is as if it were not set."""
    return env.get(name, "").strip().lower() in ("1", "true", "yes", "on")


def is_off(env: Mapping[str, str], name: str) -> bool:
    """Whether a variable turns off what is on without it; any other value is as if it were not set."""
    return env.get(name, "").strip().lower() in ("0", "false", "no", "off")


def whole_number(env: Mapping[str, str], name: str, *, least: int = 1) -> int | None:
    """A number from a variable; what is not one, or is too small, is as if it were not set."""
    text = env.get(name, "")
    return int(text) if text.isdecimal() and int(text) >= least else None

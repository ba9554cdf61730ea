"""Values of environment variables: what turns a switch on or off is the same for all of them."""

from collections.abc import Mapping

ENTRYPOINT = "CLAUDE_CODE_ENTRYPOINT"
"""What started a session; every program that it starts inherits it."""
_OWN_ENTRYPOINTS = ("", "cli", "sdk-cli")


def own_entrypoint(env: Mapping[str, str], *, interactive: bool) -> str:
    """What started this session: what a host program says, not what a session around this one was."""
    given = env.get(ENTRYPOINT, "")
    return ("cli" if interactive else "sdk-cli") if given in _OWN_ENTRYPOINTS else given


def is_hosted(env: Mapping[str, str]) -> bool:
    """Whether a program with an Agent SDK has started the session; no person reads its standard error."""
    given = env.get(ENTRYPOINT, "")
    return given.startswith("sdk-") and given not in _OWN_ENTRYPOINTS


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

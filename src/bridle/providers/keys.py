"""Where the key of a service comes from: a variable, the user's helper, or what `bridle auth login` kept."""

import asyncio
import os.path
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from bridle.host.paths import credentials_file

if TYPE_CHECKING:
    from bridle.providers.credentials.key_helper import KeyHelper

HELPER = "apiKeyHelper"
LOGIN = "login"
"""The names of the sources that are not variables."""


class Keys:
    """The keys of one session besides those in variables, which count first and are read where they are used.

    The helper is for Anthropic's service alone: no other is given what it prints.
    """

    def __init__(self, env: Mapping[str, str], *, helper: str | None = None, cwd: str = "/") -> None:
        self._env = env
        self._helper = _helper(helper, env, cwd) if helper and helper.strip() else None

    async def helped(self) -> str:
        """What the user's command prints, empty without one.

        Raises:
            ProviderError: the command gives no key.
        """
        return "" if self._helper is None else await self._helper.key()

    async def kept(self, vendor: str, address: str) -> str:
        """The key that was saved for the service of a vendor at `address`, empty without one.

        Raises:
            ConfigError: what was saved cannot be read.
        """
        if not os.path.exists(credentials_file(self._env)):
            return ""
        from bridle.providers.credentials.store import Credentials

        return await asyncio.to_thread(Credentials(self._env).key, vendor, address)

    def refused(self) -> None:
        """Anthropic's service did not take the key."""
        if self._helper is not None:
            self._helper.forget()


def _helper(command: str, env: Mapping[str, str], cwd: str) -> "KeyHelper":
    from bridle.providers.credentials.key_helper import KeyHelper  # Few users have one.

    return KeyHelper(command, env, cwd=cwd)


def custom_headers(env: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The headers of `ANTHROPIC_CUSTOM_HEADERS`, one on each line."""
    for line in env.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, colon, value = line.partition(":")
        if colon and name.strip():
            yield name.strip().lower(), value.strip()


def source_of(
    vendor: str, variables: tuple[str, ...], env: Mapping[str, str], *, helper: str | None = None
) -> str | None:
    """Which of the sources has the key of a vendor, by name; None when none has. No key is read for that."""
    found = next((name for name in variables if env.get(name, "").strip()), None)
    if found is not None:
        return found
    if vendor == "anthropic" and helper and helper.strip():
        return HELPER
    if not os.path.exists(credentials_file(env)):
        return None
    from bridle.providers.credentials.store import Credentials

    return LOGIN if vendor in Credentials(env).vendors() else None

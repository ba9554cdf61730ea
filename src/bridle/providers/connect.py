"""The way to the models: each request goes to the provider of its model's dialect."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import Any

from bridle.providers import catalog
from bridle.providers.retry import Retrying, WarmingProvider
from bridle.types.errors import ConfigError
from bridle.types.model import ModelEvent, ModelRequest, Provider

_RETRIES = 10
_MOST_RETRIES = 15


def provider_for(
    model: str,
    env: Mapping[str, str],
    *,
    fallbacks: tuple[str, ...] = (),
    own_models: Mapping[str, Any] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Retrying:
    """Who answers for `model`, and for any other that a request may name later."""
    providers = Providers(env, own_models or {})
    providers.of(model)
    return Retrying(
        providers,
        max_retries=retries(env),
        fallbacks=fallbacks,
        sleep=sleep,
        whole_answers=not env.get("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK"),
    )


class Providers:
    """One provider for each dialect in use, made when it is first needed."""

    def __init__(self, env: Mapping[str, str], own_models: Mapping[str, Any]) -> None:
        self._env = env
        self._own_models = own_models
        self._made: dict[str, Provider] = {}

    def of(self, model: str) -> Provider:
        """The provider that speaks the dialect of `model`.

        Raises:
            ConfigError: the user's entry for `model` names a dialect that does not exist.
        """
        name = catalog.find(model, self._own_models).dialect
        if name not in catalog.DIALECTS:
            known = ", ".join(catalog.DIALECTS)
            raise ConfigError(
                f"The model {model} has the dialect {name!r} in bridleModels: use one of {known}."
            )
        if name not in self._made:
            dialect = catalog.DIALECTS[name]
            make = getattr(import_module(dialect.module), dialect.provider)
            self._made[name] = make(self._env) if dialect.takes_env else make()
        return self._made[name]

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        return self.of(request.model).stream(request)

    async def warm_up(self, model: str) -> None:
        """Connect ahead of the first request, where there is something to connect to."""
        provider = self.of(model)
        if isinstance(provider, WarmingProvider):
            await provider.warm_up(model)

    async def close(self) -> None:
        for provider in self._made.values():
            await provider.close()


def retries(env: Mapping[str, str]) -> int:
    """How often a failed call is tried again."""
    given = env.get("CLAUDE_CODE_MAX_RETRIES", "")
    return min(int(given), _MOST_RETRIES) if given.isdecimal() else _RETRIES

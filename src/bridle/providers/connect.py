"""The way to the models: each request goes to the service that its model is on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bridle.providers import catalog
from bridle.providers.facts import Model
from bridle.providers.keys import Keys
from bridle.providers.retry import Retrying, WarmingProvider
from bridle.types.errors import ConfigError
from bridle.types.model import ModelEvent, ModelRequest, Provider

if TYPE_CHECKING:
    from bridle.providers.vendors import Vendor

_RETRIES = 10
_MOST_RETRIES = 15
_ON = ("1", "true", "yes", "on")
_CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": "bedrock",
    "CLAUDE_CODE_USE_VERTEX": "vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "foundry",
}
"""Variables that send Anthropic's models to another service."""


def provider_for(
    model: str,
    env: Mapping[str, str],
    *,
    fallbacks: tuple[str, ...] = (),
    own_models: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
    helper: str | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Retrying:
    """Who answers for `model`, and for any other that a request may name later.

    `names` is what services call models that have another name there (the setting `modelOverrides`), `helper`
    the command that prints a key (`apiKeyHelper`).
    """
    providers = Providers(env, own_models or {}, names=names, keys=Keys(env, helper=helper))
    providers.of(model)
    return Retrying(
        providers,
        max_retries=retries(env),
        fallbacks=fallbacks,
        find=providers.find,
        sleep=sleep,
        whole_answers=not env.get("CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK"),
    )


class Providers:
    """One provider for each service in use, made when it is first needed."""

    def __init__(
        self,
        env: Mapping[str, str],
        own_models: Mapping[str, Any],
        *,
        names: Mapping[str, str] | None = None,
        keys: Keys | None = None,
    ) -> None:
        self._env = env
        self._own_models = own_models
        self._names = names or {}
        self._keys = keys or Keys(env)
        self._made: dict[Vendor | str, Provider] = {}

    def find(self, name: str) -> Model:
        """What is known of a model, with what the user says of it."""
        model = catalog.find(name, self._own_models)
        if (served := self._names.get(model.id) or self._names.get(name)) is not None:
            return replace(model, name=served)
        return model

    def of(self, name: str) -> Provider:
        """The provider that asks the service of this model.

        Raises:
            ConfigError: the user's entry for the model names a dialect that does not exist, or an
                impossible quirk.
        """
        model = self.find(name)
        if model.dialect not in catalog.DIALECTS:
            known = ", ".join(catalog.DIALECTS)
            raise ConfigError(
                f"The model {name} has the dialect {model.dialect!r} in bridleModels: use one of {known}."
            )
        vendor = self._vendor(model)
        place = vendor or model.dialect
        if place not in self._made:
            self._made[place] = self._make(model.dialect) if vendor is None else self._ask(vendor)
        return self._made[place]

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

    def _vendor(self, model: Model) -> "Vendor | None":
        """The row of the service, None for the planner and for the service that ANTHROPIC_* names."""
        name = model.vendor
        if name == "anthropic" and model.dialect == "anthropic":
            switched = (cloud for key, cloud in _CLOUDS.items() if self._env.get(key, "").lower() in _ON)
            name = next(switched, name)
        if model.dialect == "offline" or (name == "anthropic" and model.access is None):
            return None
        from bridle.providers.routes import vendor_of  # Only other services than Anthropic's need the table.

        return vendor_of(model, name, self._env)

    def _make(self, dialect: str) -> Provider:
        if dialect == "offline":
            from bridle.providers.offline import OfflineProvider

            return OfflineProvider()
        from bridle.providers.anthropic import AnthropicProvider

        return AnthropicProvider(self._env, keys=self._keys, names=self._names)

    def _ask(self, vendor: "Vendor") -> Provider:
        if vendor.name == "local":
            from bridle.providers.in_process import InProcessProvider

            return InProcessProvider(vendor, self._env, self.find)
        from bridle.providers.exchange import HttpProvider
        from bridle.providers.routes import place_of

        spoken = catalog.DIALECTS[vendor.dialect]
        dialect = getattr(import_module(spoken.module), spoken.provider)()
        return HttpProvider(dialect, place_of(vendor, self._env), self.find, keys=self._keys)


def retries(env: Mapping[str, str]) -> int:
    """How often a failed call is tried again."""
    given = env.get("CLAUDE_CODE_MAX_RETRIES", "")
    return min(int(given), _MOST_RETRIES) if given.isdecimal() else _RETRIES

"""The way to the models: each request goes to the service that its model is on."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bridle.providers import catalog
from bridle.providers.facts import Model
from bridle.providers.keys import Keys
from bridle.providers.pairing import paired
from bridle.providers.retry import LONGEST_DELAY, Retrying, WarmingProvider
from bridle.types.errors import ConfigError
from bridle.types.model import ModelEvent, ModelRequest, Provider, Repaired
from bridle.types.variables import is_on

if TYPE_CHECKING:
    from bridle.providers.http_provider import HttpProvider
    from bridle.providers.vendor import CloudCommands, Vendor

_RETRIES = 10
_MOST_RETRIES = 15
_RETRIES_UNATTENDED = 50
_CLOUDS = {
    "CLAUDE_CODE_USE_BEDROCK": "bedrock",
    "CLAUDE_CODE_USE_VERTEX": "vertex",
    "CLAUDE_CODE_USE_FOUNDRY": "foundry",
    "CLAUDE_CODE_USE_MANTLE": "mantle",
    "CLAUDE_CODE_USE_ANTHROPIC_AWS": "anthropic-aws",
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
    commands: "CloudCommands | None" = None,
    switches_when_declined: bool = True,
    allowed: tuple[str, ...] | None = None,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Retrying:
    """Who answers for `model`, and for any other that a request may name later.

    `names` is what services call models that have another name there (the setting `modelOverrides`), `helper`
    the command that prints a key (`apiKeyHelper`), `commands` those for the credentials of clouds;
    `switches_when_declined` is the setting `switchModelsOnFlag`, `allowed` the
    services that the administrator allows.
    """
    keys = Keys(env, helper=helper)
    providers = Providers(env, own_models or {}, names=names, keys=keys, commands=commands, allowed=allowed)
    providers.of(model)
    return Retrying(
        providers,
        max_retries=retries(env),
        longest_overload_delay=longest_overload_delay(env),
        fallbacks=fallbacks,
        find=providers.find,
        sleep=sleep,
        whole_answers=not is_on(env, "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK"),
        patient=is_unattended(env),
        stops_on_overload=bool(env.get("FALLBACK_FOR_ALL_PRIMARY_MODELS")),
        switches_when_declined=switches_when_declined,
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
        commands: "CloudCommands | None" = None,
        allowed: tuple[str, ...] | None = None,
    ) -> None:
        self._env = env
        self._allowed = allowed
        """The services that the administrator allows; None for all."""
        self._commands = commands
        self._own_models = catalog.with_declared(own_models, env)
        self._names = names or {}
        self._keys = keys or Keys(env)
        self._made: dict[Vendor | str, Provider] = {}
        self._told: set[tuple[str, ...]] = set()
        """What was wrong with requests, as far as it was said."""

    def find(self, name: str) -> Model:
        """What is known of a model, with what the user says of it."""
        model = catalog.find(name, self._own_models)
        if (served := self._names.get(model.id) or self._names.get(name)) is not None:
            return replace(model, name=served)
        return model

    def of(self, name: str) -> Provider:
        """The provider that asks the service of this model.

        Raises:
            ConfigError: no vendor is called like the one of this model, or the user's entry for it names a
                dialect that does not exist, or an impossible quirk.
        """
        model = self.find(name)
        if "/" in name and name not in self._names:
            check_vendor(name, self._env, self._own_models)
        if model.dialect not in catalog.DIALECTS:
            known = ", ".join(catalog.DIALECTS)
            raise ConfigError(
                f"The model {name} has the dialect {model.dialect!r} in bridleModels: use one of {known}."
            )
        vendor = self._vendor(model)
        service = "offline" if vendor is None else vendor.name
        if self._allowed is not None and service not in self._allowed:
            listed = ", ".join(self._allowed) or "none"
            raise ConfigError(
                f"Your administrator allows only these services: {listed}; {name} is on {service}."
            )
        place = vendor or model.dialect
        if place not in self._made:
            self._made[place] = self._planner() if vendor is None else self._ask(vendor)
        return self._made[place]

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        provider = self.of(request.model)
        history, faults = paired(request.history)
        if not faults:
            return provider.stream(request)
        return self._after_repair(provider.stream(replace(request, history=history)), faults)

    async def _after_repair(
        self, events: AsyncIterator[ModelEvent], faults: tuple[str, ...]
    ) -> AsyncIterator[ModelEvent]:
        """Say once what was wrong with a request, then what the model says."""
        if faults not in self._told:
            self._told.add(faults)
            yield Repaired(faults)
        async for event in events:
            yield event

    async def warm_up(self, model: str) -> None:
        """Connect ahead of the first request, where there is something to connect to."""
        provider = self.of(model)
        if isinstance(provider, WarmingProvider):
            await provider.warm_up(model)

    async def close(self) -> None:
        for provider in self._made.values():
            await provider.close()

    def _vendor(self, model: Model) -> "Vendor | None":
        """The row of the service, None for the planner."""
        name = model.vendor
        if name == "anthropic" and model.dialect == "anthropic":
            name = cloud_of(self._env) or name
        if model.dialect == "offline":
            return None
        from bridle.providers.vendor import HOME  # The planner needs none of them.

        if name == HOME.name and model.access is None:
            return HOME
        from bridle.providers.routes import vendor_of  # Only other services than Anthropic's need the table.

        return vendor_of(model, name, self._env)

    def _planner(self) -> Provider:
        from bridle.providers.offline import OfflineProvider

        return OfflineProvider()

    def _ask(self, vendor: "Vendor") -> Provider:
        if vendor.is_home:
            return home_provider(self._env, self._keys, self.find)
        if vendor.name == "local":
            from bridle.providers.in_process import InProcessProvider

            return InProcessProvider(vendor, self._env, self.find)
        from bridle.providers.http_provider import HttpProvider
        from bridle.providers.routes import place_of

        spoken = catalog.DIALECTS[vendor.dialect]
        dialect = getattr(import_module(spoken.module), spoken.provider)()
        place = place_of(vendor, self._env, self._commands, keys=self._keys)
        return HttpProvider(dialect, place, self.find)


def home_provider(
    env: Mapping[str, str], keys: Keys | None = None, find: Callable[[str], Model] = catalog.find
) -> "HttpProvider":
    """Asks Anthropic's service, or the gateway that a variable names in its place."""
    from bridle.providers.dialects.messages import MessagesDialect, home_place
    from bridle.providers.http_provider import HttpProvider

    return HttpProvider(MessagesDialect(), home_place(env, keys or Keys(env)), find)


def check_vendor(name: str, env: Mapping[str, str], own_models: Mapping[str, Any]) -> None:
    """Make sure that the vendor in `vendor/model` exists; a gateway or a cloud may have names of any form.

    Raises:
        ConfigError: it does not.
    """
    model = catalog.find(name, own_models)
    at_home = model.vendor == "anthropic" and model.access is None and model.dialect == "anthropic"
    vendor, slash, _ = name.partition("/")
    if not slash or not at_home or vendor == "anthropic" or env.get("ANTHROPIC_BASE_URL") or cloud_of(env):
        return
    from bridle.providers.nearest import alike

    advice = f"{alike(name)}write vendor/model with one of `bridle models list --all`"
    raise ConfigError(f"Unknown vendor {vendor!r}: {advice}.")


def cloud_of(env: Mapping[str, str]) -> str | None:
    """The vendor that the environment sends Anthropic's models to, None for Anthropic itself."""
    return next((name for key, name in _CLOUDS.items() if is_on(env, key)), None)


def retries(env: Mapping[str, str]) -> int:
    """How often a failed call is tried again."""
    given = env.get("CLAUDE_CODE_MAX_RETRIES", "")
    if is_unattended(env):
        return int(given) if given.isdecimal() else _RETRIES_UNATTENDED
    return min(int(given), _MOST_RETRIES) if given.isdecimal() else _RETRIES


def longest_overload_delay(env: Mapping[str, str]) -> float:
    """The longest pause before an overloaded service is asked again, in seconds."""
    given = env.get("CLAUDE_CODE_OVERLOADED_RETRY_MAX_DELAY_MS", "").strip()
    return int(given) / 1000 if given.isdecimal() and int(given) else LONGEST_DELAY


def is_unattended(env: Mapping[str, str]) -> bool:
    """Whether the session is unattended, so that a busy service may be retried for as long as it takes."""
    return is_on(env, "CLAUDE_CODE_RETRY_WATCHDOG")

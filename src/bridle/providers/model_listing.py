"""The models that a user may choose, with what they cost, what they can do and whether there is a key."""

from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import Any, Literal

from msgspec import Struct

from bridle.config.schema import Settings
from bridle.providers import catalog, gateway, vendors
from bridle.providers.choices import vendor_keys
from bridle.providers.connect import cloud_of
from bridle.providers.facts import Model
from bridle.providers.in_process import is_installed, sample_file
from bridle.providers.keys import source_of
from bridle.providers.vendor import Vendor

_ALIASES = ("default", "sonnet", "opus", "haiku", "fable", "opusplan")

KeyState = Literal["present", "missing", "not needed"]


class ModelListing(Struct, frozen=True, kw_only=True):
    """One line of the list of models; prices are dollars for a million tokens, None where not known."""

    value: str
    """What to write: an alias or an id."""
    model: str
    """The full id."""
    vendor: str
    service: str
    """The vendor whose service it is asked at, which for Anthropic's models may be a cloud."""
    window: int
    max_output: int
    input_price: float | None
    output_price: float | None
    capabilities: tuple[str, ...]
    efforts: tuple[str, ...]
    key: KeyState
    key_source: str | None = None
    allowed: bool = True
    """False when `availableModels` leaves it out."""
    label: str = ""

    @property
    def advice(self) -> str:
        """What it is good for, in a few words."""
        if self.key == "missing":
            return "no key: /login adds one"
        if self.label:
            return self.label
        if "tools" not in self.capabilities:
            return "no tools: chat only"
        family = next((words for name, words in _GOOD_FOR if name in self.model), "")
        if family or self.input_price is None:
            return family or "unknown price"
        if not self.input_price and not self.output_price:
            return "free"
        return next(words for most, words in _BY_PRICE if self.input_price <= most)


_GOOD_FOR = (
    ("claude-fable", "hardest problems; most expensive"),
    ("claude-opus", "hard problems and long tasks"),
    ("claude-sonnet", "everyday coding: fast and capable"),
    ("claude-haiku", "small edits and quick questions; cheapest"),
)
_BY_PRICE = (
    (0.5, "small edits and quick questions; cheap"),
    (3.0, "everyday coding"),
    (float("inf"), "hard problems; expensive"),
)
"""What models of other vendors are usually good for, by their price."""


class Choice(Struct, frozen=True, kw_only=True):
    """What bears on which models there are."""

    settings: Settings
    own: Mapping[str, Any]
    env: Mapping[str, str]


def offer(value: str, choice: Choice) -> ModelListing:
    """What is known of a model or an alias.

    Raises:
        ConfigError: the user's entry for it cannot be read.
    """
    name = full_name(value, choice)
    model = catalog.find(name, choice.own)
    source = key_source(model, choice)
    state: KeyState = (
        "not needed" if not _needs_key(model, choice.env) else "present" if source else "missing"
    )
    return ModelListing(
        value=value,
        model=name,
        vendor="bridle" if model.dialect == "offline" else model.vendor,
        service=model.vendor if (row := _row(model, choice.env)) is None else row.name,
        window=model.context_window,
        max_output=model.max_output,
        input_price=model.input_price if model.priced else None,
        output_price=model.output_price if model.priced else None,
        capabilities=tuple(_capabilities(model)),
        efforts=model.efforts,
        key=state,
        key_source=source,
        allowed=is_available(value, choice),
        label=_label(value, model, choice.env),
    )


def full_name(value: str, choice: Choice) -> str:
    """The full id of a model or an alias; the default is of a vendor that there is a key for."""
    if value.strip().lower() == "default" and "default" not in choice.own:
        helper = choice.settings.api_key_helper
        value = vendor_keys.default_model(choice.env, helper=helper) or value
    return catalog.resolve(value, choice.env, own=choice.own)


def offers(
    choice: Choice, *, everything: bool = False, vendor: str | None = None
) -> tuple[ModelListing, ...]:
    """Aliases, the user's own models, and those of the vendors that can be used; all with `everything`."""
    found: dict[str, ModelListing] = {}
    for value in _values(choice, vendor):
        line = offer(value, choice)
        usable = line.key != "missing" and line.allowed
        named = value in choice.own or value in catalog.ALIASES
        wanted = vendor is None or line.vendor == vendor
        if wanted and (everything or usable or vendor is not None or (named and line.allowed)):
            found.setdefault(value, line)
    return tuple(found.values())


def is_available(name: str, choice: Choice) -> bool:
    """Whether `availableModels` lets a model be chosen: an entry is an alias, an id, its beginning or a glob.

    `default` can always be had, unless `enforceAvailableModels` is set.
    """
    allowed = choice.settings.available_models
    if allowed is None:
        return True
    if name.strip().lower() in ("", "default"):
        return not choice.settings.enforce_available_models or _covered("sonnet", allowed, choice)
    return _covered(name, allowed, choice)


def settled(name: str, choice: Choice) -> str:
    """The name to start with: where the default must be available and is not, the first that is."""
    allowed = choice.settings.available_models
    default = name.strip().lower() in ("", "default")
    return allowed[0] if default and allowed and not is_available(name, choice) else name


def key_source(model: Model, choice: Choice) -> str | None:
    """Where the key of a model comes from, by name; None without one."""
    access = model.access
    if access is not None and access.key_env is not None:
        return access.key_env if choice.env.get(access.key_env, "").strip() else None
    row = _row(model, choice.env)
    if row is None or model.dialect == "offline":
        return None
    more = _MORE.get(row.name, ())
    variables = (*row.token_env, *row.key_env, *filter(None, (row.unguarded_env,)), *more)
    found = source_of(row.name, variables, choice.env, helper=choice.settings.api_key_helper)
    return found or _command(row.name, choice.settings)


def way_to_key(service: str) -> str:
    """How to get a key for a service, as the end of a sentence."""
    if (login := CLOUD_LOGINS.get(service)) is not None:
        return login
    row = vendors.find(service)
    named = f"set {' or '.join(row.key_env)}, or " if row is not None and row.key_env else ""
    return f"{named}run `bridle auth login {service}`"


CLOUD_LOGINS: Mapping[str, str] = {
    "bedrock": "set AWS_BEARER_TOKEN_BEDROCK, or log in with `aws sso login`",
    "mantle": "set AWS_BEARER_TOKEN_BEDROCK, or log in with `aws sso login`",
    "vertex": "log in with `gcloud auth application-default login`",
}
"""Services whose credentials are not keys that we could keep."""
_AWS = ("AWS_ACCESS_KEY_ID", "AWS_PROFILE")
_MORE: Mapping[str, tuple[str, ...]] = {
    "bedrock": _AWS,
    "mantle": _AWS,
    "anthropic-aws": _AWS,
    "vertex": ("GOOGLE_OAUTH_ACCESS_TOKEN", "CLOUDSDK_AUTH_ACCESS_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"),
}
"""Variables of clouds that lead to a credential without being one key."""


def _command(vendor: str, settings: Settings) -> str | None:
    """The setting with a command that brings the credentials of a cloud."""
    aws = _MORE.get(vendor) is _AWS
    commands = {
        "awsCredentialExport": settings.aws_credential_export if aws else None,
        "awsAuthRefresh": settings.aws_auth_refresh if aws else None,
        "gcpAuthRefresh": settings.gcp_auth_refresh if vendor == "vertex" else None,
    }
    return next((name for name, command in commands.items() if command), None)


def _row(model: Model, env: Mapping[str, str]) -> Vendor | None:
    """The service that a model is on; variables may send Anthropic's to a cloud."""
    at_home = model.vendor == "anthropic" and model.access is None
    return vendors.find((cloud_of(env) if at_home else None) or model.vendor)


def _covered(name: str, allowed: tuple[str, ...], choice: Choice) -> bool:
    wanted = catalog.resolve(name, choice.env, own=choice.own)
    plain = catalog.normal(wanted)
    for entry in allowed:
        meant = catalog.resolve(entry, choice.env, own=choice.own)
        family = entry.lower() in ("sonnet", "opus", "haiku", "fable") and f"-{entry.lower()}" in plain
        begins = plain == catalog.normal(meant) or plain.startswith((f"{entry}-", f"claude-{entry}-"))
        if name == entry or wanted == meant or family or begins or fnmatchcase(wanted, entry):
            return True
    return False


def _values(choice: Choice, vendor: str | None) -> Iterator[str]:
    yield from catalog.ALIASES
    yield from choice.own
    if extra := choice.env.get("ANTHROPIC_CUSTOM_MODEL_OPTION", "").strip():
        yield extra
    yield from gateway.known_models(choice.env)
    for model in catalog.listed():
        absent = model.vendor == "local" and (sample_file() is None or not is_installed())
        if (vendor is None or model.vendor == vendor) and not absent:
            yield model.id


def _needs_key(model: Model, env: Mapping[str, str]) -> bool:
    if model.dialect == "offline":
        return False
    if model.access is not None and model.access.key_env is not None:
        return True
    row = _row(model, env)
    return row is None or row.key_needed


def _capabilities(model: Model) -> Iterator[str]:
    if model.tools:
        yield "tools"
    if model.images:
        yield "images"
    if model.documents:
        yield "pdf"
    if model.thinking != "none":
        yield "reasoning"


def _label(value: str, model: Model, env: Mapping[str, str]) -> str:
    if value == env.get("ANTHROPIC_CUSTOM_MODEL_OPTION"):
        return _described("ANTHROPIC_CUSTOM_MODEL_OPTION", env) or model.label
    if value == "opusplan":
        return "opus in plan mode, else sonnet"
    return _described(f"ANTHROPIC_DEFAULT_{value.upper()}_MODEL", env) or model.label


def _described(variable: str, env: Mapping[str, str]) -> str:
    parts = (env.get(f"{variable}_NAME", "").strip(), env.get(f"{variable}_DESCRIPTION", "").strip())
    return ": ".join(part for part in parts if part)


def available_names(choice: Choice) -> tuple[str, ...]:
    """What users can type: aliases, models of their own, those of a gateway and those that settings list."""
    return tuple(dict.fromkeys(name for name in _names(choice) if is_available(name, choice)))


def _names(choice: Choice) -> Iterator[str]:
    yield from _ALIASES
    yield from choice.own
    if extra := choice.env.get("ANTHROPIC_CUSTOM_MODEL_OPTION", "").strip():
        yield extra
    yield from gateway.known_models(choice.env)
    helper = choice.settings.api_key_helper
    for each in vendor_keys.vendors_with_key(choice.env, helper=helper):
        if not each.vendor.is_home:
            yield from vendor_keys.models_of(each.vendor)
    if choice.settings.available_models is not None:
        # Entries may be patterns, so what they cover is looked up.
        yield from (name for name in choice.settings.available_models if "*" not in name)
        yield from (model.id for model in catalog.listed())
    yield "offline"

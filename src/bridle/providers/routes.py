"""Finds the service of a model: a vendor's row, changed by variables and by the user's entry."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from bridle.providers import url_parts, vendors
from bridle.providers.facts import Model
from bridle.providers.http_provider import ServiceEndpoint
from bridle.providers.keys import Keys
from bridle.providers.vendor import CloudCommands, Quirks, Vendor
from bridle.types.errors import ConfigError


def vendor_of(model: Model, name: str, env: Mapping[str, str]) -> Vendor:
    """The row of the service called `name`, as it is for this model.

    Raises:
        ConfigError: the user's entry for the model sets an impossible quirk.
    """
    row = vendors.find(name)
    if row is None:
        raise ConfigError(f"Unknown vendor {name!r}: write the model as vendor/model.")
    if row.dialect_elsewhere and base_of(row, env)[1]:
        row = replace(row, dialect=row.dialect_elsewhere)
    access = model.access
    if access is None:
        return row
    if row.is_home:
        # What the user says of a model is all that is known of its service.
        row = replace(row, is_home=False, serves_anthropic=False, quirks=Quirks())
    changes: dict[str, Any] = {"headers": (*row.headers, *access.headers)}
    if row.name == "custom" or access.dialect is not None:
        changes["dialect"] = access.dialect or model.dialect
    if access.base_url is not None:
        changes |= {"url": url_parts.base(access.base_url, name="baseUrl in bridleModels"), "url_env": ()}
    if access.key_env is not None:
        changes |= {"key_env": (access.key_env,), "key_needed": True}
    return vendors.altered(replace(row, **changes), access.quirks)


def place_of(
    vendor: Vendor,
    env: Mapping[str, str],
    commands: CloudCommands | None = None,
    *,
    keys: Keys | None = None,
) -> ServiceEndpoint:
    """Where the service is for this environment, with the commands that renew what opens it."""
    base, _ = base_of(vendor, env)
    if not base:
        base = _computed(vendor, env)
    return ServiceEndpoint(vendor, env, base.rstrip("/"), commands=commands or CloudCommands(), keys=keys)


def base_of(vendor: Vendor, env: Mapping[str, str]) -> tuple[str, bool]:
    """The address of a vendor's service, and whether a variable named it."""
    variable = next((name for name in vendor.url_env if env.get(name, "").strip()), "")
    if not variable:
        return vendor.url, False
    given = env[variable].strip()
    url = url_parts.base(given if "://" in given else f"http://{given}", name=variable)
    host_only = "/" not in url.partition("://")[2]
    return (url + vendor.root if host_only else url), True


def _computed(vendor: Vendor, env: Mapping[str, str]) -> str:
    """Addresses that are made of a region or a resource; each cloud is imported by those who use it."""
    match vendor.name:
        case "bedrock":
            from bridle.providers.dialects import bedrock

            return bedrock.base_url(env)
        case "vertex":
            from bridle.providers.dialects import vertex

            return vertex.base_url(env)
        case "mantle" | "anthropic-aws":
            from bridle.providers.dialects import aws_messages

            return aws_messages.base_url(vendor.name, env)
        case "foundry" if env.get("ANTHROPIC_FOUNDRY_RESOURCE"):
            name = url_parts.resource(env["ANTHROPIC_FOUNDRY_RESOURCE"].strip())
            return f"https://{name}.services.ai.azure.com/anthropic"
        case _:
            return ""

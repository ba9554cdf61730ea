"""Values that become part of an address: each must look like what it is, wherever it comes from."""

import re

from bridle.types.errors import ConfigError

_REGION = r"[a-z0-9]+(?:-[a-z0-9]+)*"
_RESOURCE = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_PROJECT = r"[A-Za-z0-9](?:[A-Za-z0-9._:-]*[A-Za-z0-9])?"
_MODEL = r"[A-Za-z0-9@:._/+-]+"
_BASE = r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::\d{1,5})?(?:/[^\s?#\\]*)?"
_LONGEST_LABEL = 63
_LONGEST_SHOWN = 100


def region(text: str) -> str:
    """A region of a cloud, such as us-east-1.

    Raises:
        ConfigError: it is none.
    """
    return _checked(text, _REGION, "the region", "letters, digits and hyphens such as us-east-1")


def resource(text: str) -> str:
    """The name of a resource that is the first label of a host name.

    Raises:
        ConfigError: it is none.
    """
    return _checked(text, _RESOURCE, "the resource", "letters, digits and hyphens")


def project(text: str) -> str:
    """The id of a project of Google Cloud.

    Raises:
        ConfigError: it is none.
    """
    return _checked(text, _PROJECT, "the project", "letters, digits, hyphens, dots and colons")


def model(text: str) -> str:
    """The name of a model as a part of a path.

    Raises:
        ConfigError: it would lead elsewhere.
    """
    if re.fullmatch(_MODEL, text) is None or {"", ".", ".."} & set(text.split("/")):
        raise ConfigError(f"The model {text[:_LONGEST_SHOWN]!r} is not valid in a URL: check its name.")
    from urllib.parse import quote  # Most services are named in the body.

    return quote(text, safe="/@:._+-")


def base(text: str, *, name: str) -> str:
    """The address of a service, without a slash at its end.

    Raises:
        ConfigError: it is none, or names a user, a query or a fragment.
    """
    if re.fullmatch(_BASE, text) is None:
        raise ConfigError(
            f"{name} is not a service URL: use http:// or https://, a host and an optional path."
        )
    return text.rstrip("/")


def _checked(text: str, pattern: str, what: str, wanted: str) -> str:
    if len(text) > _LONGEST_LABEL or re.fullmatch(pattern, text) is None:
        raise ConfigError(f"{text[:_LONGEST_SHOWN]!r} is not valid as {what}: use {wanted}.")
    return text

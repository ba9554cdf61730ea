"""Reads which credentials commands may not have, and which of them they use without having them."""

import os.path
import re
from collections.abc import Callable, Iterable, Iterator
from glob import has_magic
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from bridle.config.load import Config
from bridle.config.sandbox.layers import collect
from bridle.config.sandbox.schema import MaskedFile as FileEntry
from bridle.config.sandbox.schema import MaskedVariable as VariableEntry
from bridle.config.sandbox.schema import SandboxCredentials, SandboxNetwork, SignedRequests
from bridle.config.sources import SHARED
from bridle.host.sandbox.masking.settings import (
    AwsPair,
    Mask,
    MaskedFile,
    MaskedVariable,
    MaskingSettings,
    Signing,
)

Entry = TypeVar("Entry", FileEntry, VariableEntry)
Resolve = Callable[[str, str], Iterable[str]]

_USUAL_PAIR = AwsPair("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")


class Credentials(Struct, frozen=True, kw_only=True):
    hidden_files: tuple[str, ...]
    hidden_variables: tuple[str, ...]
    wishes: MaskingSettings
    problems: tuple[str, ...]


def read_credentials(config: Config, resolve: Resolve) -> Credentials:
    """What all layers say; `resolve` gives the paths of an entry, by its source.

    Masking sends a real credential somewhere, so a folder cannot ask for it: its entries are hidden instead.
    """
    settings = config.settings.sandbox
    given = (settings.credentials if settings else None) or SandboxCredentials()
    hosts = _own_hosts(config)
    problems: list[str] = []
    hidden_files: list[str] = []
    files: dict[str, MaskedFile] = {}
    for source, entry in _entries(config, "files", FileEntry):
        paths = tuple(resolve(source, entry.path))
        mask = _mask(entry, source, hosts, problems.append, name=entry.path)
        if mask is None or has_magic(entry.path):
            hidden_files += paths
        else:
            files |= {path: MaskedFile(path, mask) for path in paths}
    hidden_variables: list[str] = []
    variables: dict[str, MaskedVariable] = {}
    for source, entry in _entries(config, "envVars", VariableEntry):
        mask = _mask(entry, source, hosts, problems.append, name=entry.name)
        if mask is None:
            hidden_variables.append(entry.name)
        else:
            variables[entry.name] = MaskedVariable(entry.name, mask)
    masked = {name: variable for name, variable in variables.items() if name not in hidden_variables}
    hidden = {os.path.realpath(path) for path in hidden_files}
    return Credentials(
        hidden_files=tuple(dict.fromkeys(hidden_files)),
        hidden_variables=tuple(dict.fromkeys(hidden_variables)),
        wishes=MaskingSettings(
            variables=tuple(masked.values()),
            files=tuple(file for path, file in files.items() if os.path.realpath(path) not in hidden),
            pairs=tuple(_pairs(given, masked, problems.append)),
            signing=_signing(given.sigv4),
            plaintext=given.allow_plaintext_inject is True,
        ),
        problems=tuple(problems),
    )


def _entries(config: Config, key: str, kind: type[Entry]) -> Iterator[tuple[str, Entry]]:
    for source, entry in collect(config, ("credentials", key)):
        try:
            yield source, msgspec.convert(entry, kind)
        except msgspec.ValidationError:
            pass  # Reported with its line when the settings were read.


def _mask(
    entry: FileEntry | VariableEntry,
    source: str,
    hosts: tuple[str, ...],
    warn: Callable[[str], None],
    *,
    name: str,
) -> Mask | None:
    """How an entry is masked; None when it is hidden."""
    if entry.mode == "deny":
        return None
    if source in SHARED:
        warn(f"sandbox.credentials: cannot mask {name} in a folder; it is hidden instead")
        return None
    if entry.extract is not None and not _has_group(entry.extract):
        warn(
            f"sandbox.credentials: the pattern for {name} needs a group for the secret; it is hidden "
            "until then"
        )
        return None
    return Mask(
        extract=entry.extract,
        decode=entry.decode,
        claims=entry.mask_claims or (),
        duplicates=entry.mask_duplicates is True,
        no_match=entry.on_extract_no_match or "warn",
        hosts=hosts if entry.inject_hosts is None else entry.inject_hosts,
    )


def _own_hosts(config: Config) -> tuple[str, ...]:
    """Where a credential goes that names no hosts: what the user's own settings allow, never a folder's."""
    settings = config.settings.sandbox
    network = (settings.network if settings else None) or SandboxNetwork()
    managed_only = network.allow_managed_domains_only is True
    found = collect(config, ("network", "allowedDomains"), managed_only=managed_only)
    return tuple(dict.fromkeys(text for source, text in found if source not in SHARED))


def _pairs(
    given: SandboxCredentials, masked: dict[str, MaskedVariable], warn: Callable[[str], None]
) -> Iterator[AwsPair]:
    whole = {
        name
        for name, variable in masked.items()
        if variable.mask.extract is None and variable.mask.decode is None
    }
    used: set[str] = set()
    for entry in given.aws_pairs or ():
        pair = AwsPair(entry.access_key_id_var, entry.secret_access_key_var, entry.session_token_var)
        names = _names(pair)
        if len(set(names)) < len(names) or not whole.issuperset(names) or not used.isdisjoint(names):
            warn(
                f"sandbox.credentials.awsPairs: {', '.join(names)} must each be fully masked and in one "
                "pair only; the pair is ignored"
            )
            continue
        used.update(names)
        yield pair
    usual = _USUAL_PAIR if "AWS_SESSION_TOKEN" in whole else AwsPair(*_names(_USUAL_PAIR)[:2])
    if whole.issuperset(_names(usual)) and used.isdisjoint(_names(_USUAL_PAIR)):
        yield usual


def _names(pair: AwsPair) -> tuple[str, ...]:
    return tuple(name for name in (pair.access_key, pair.secret_key, pair.session_token) if name is not None)


def _signing(given: SignedRequests | None) -> Signing:
    wishes: dict[str, Any] = {}
    for key in ("streaming", "presigned", "sigv4a"):
        if given is not None and (wish := getattr(given, key)) is not None:
            wishes[key] = wish
    return Signing(**wishes)


def _has_group(pattern: str) -> bool:
    try:
        return re.compile(pattern).groups > 0
    except re.error:
        return False

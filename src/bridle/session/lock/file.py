"""`bridle.lock`: everything that models read besides the conversation, with its texts and digests."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes, write_atomic
from bridle.types.errors import ConfigError

FILE = "bridle.lock"
FORMAT = 1
SECRET = "(not kept: it holds a secret)"
DIGEST_ALONE = "(only its digest)"

CARRIED = ("system", "compaction", "builtin-agents", "tools", "models", "aliases")
"""Groups of parts that bridle itself writes: with a lock, their text is taken from there."""

_LARGEST = 32 * 1024 * 1024
_LINES = "|"
"""The key under which a text of several lines is kept as a list of its lines."""

Change = Literal["added", "removed", "changed"]


class Part(Struct, frozen=True, kw_only=True):
    """One thing that a model reads, such as a section of the system prompt or the definition of a tool."""

    digest: str
    value: Any


class PromptLock(Struct, frozen=True, kw_only=True):
    """The parts by their names: `system/care`, `tools/Read`, `skills/deploy`."""

    bridle: str
    """The version that wrote it."""
    parts: Mapping[str, Part]
    path: str = ""

    def group(self, name: str) -> dict[str, Any]:
        """The values of a group by the rest of their names."""
        prefix = f"{name}/"
        return {key[len(prefix) :]: part.value for key, part in self.parts.items() if key.startswith(prefix)}

    def has(self, name: str) -> bool:
        return name in self.parts


class ChangedPart(Struct, frozen=True, kw_only=True):
    name: str
    change: Change

    @property
    def is_carried(self) -> bool:
        return self.name.partition("/")[0] in CARRIED

    def __str__(self) -> str:
        return f"{self.name}: {self.change}"


def part_of(value: Any) -> Part:
    """A part with its digest; the value is what JSON can say."""
    return Part(digest=digest_of(value), value=value)


def digest_of(value: Any) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="deterministic")).hexdigest()


def differences(old: Mapping[str, Part], new: Mapping[str, Part]) -> Iterator[ChangedPart]:
    """What is not the same in both, by name."""
    for name in sorted({*old, *new}):
        if name not in new:
            yield ChangedPart(name=name, change="removed")
        elif name not in old:
            yield ChangedPart(name=name, change="added")
        elif old[name].digest != new[name].digest:
            yield ChangedPart(name=name, change="changed")


def encoded(lock: PromptLock) -> bytes:
    """The content of the file: sorted, a line of text per line, so that its history can be read."""
    parts = {
        name: {"digest": part.digest, "value": _in_lines(part.value)}
        for name, part in sorted(lock.parts.items())
    }
    content = {"bridleLock": FORMAT, "bridle": lock.bridle, "parts": parts}
    return msgspec.json.format(msgspec.json.encode(content), indent=1) + b"\n"


def write(path: str, lock: PromptLock) -> None:
    """Replace the file.

    Raises:
        ConfigError: it cannot be written.
    """
    try:
        write_atomic(path, encoded(lock), mode=None if os.path.exists(path) else 0o644)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}.") from error


def read(path: str) -> PromptLock:
    """A lock from its file.

    Raises:
        ConfigError: it cannot be read, or is no lock.
    """
    try:
        data = read_bytes(path, _LARGEST)
    except FileNotFoundError as error:
        raise ConfigError(f"There is no {path}. Write one with: bridle lock") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror or error}.") from error
    return decoded(data, path)


def decoded(data: bytes, path: str) -> PromptLock:
    """A lock from its content.

    Raises:
        ConfigError: it is no lock, of a later form, or was changed by something else.
    """
    again = "Restore it from git, or write it again with: bridle lock"
    try:
        content = msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is damaged: {error}. {again}") from error
    form, version, listed = content.get("bridleLock"), content.get("bridle"), content.get("parts")
    if not isinstance(form, int) or not isinstance(version, str) or not isinstance(listed, dict):
        raise ConfigError(f"{path} is not a lock of bridle. {again}")
    if form != FORMAT:
        raise ConfigError(f"{path} has form {form}, and this version reads {FORMAT}. Update bridle.")
    parts: dict[str, Part] = {}
    for name, part in listed.items():
        parts[name] = _read_part(name, part, f"{path}: {name}", again)
    return PromptLock(bridle=version, parts=parts, path=path)


def find(cwd: str) -> str | None:
    """The nearest lock, in this folder or above it up to the root of its repository."""
    folder = cwd
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        parent = os.path.dirname(folder)
        if parent == folder or os.path.exists(os.path.join(folder, ".git")):
            return None
        folder = parent


def _read_part(name: str, part: object, place: str, again: str) -> Part:
    if not isinstance(part, dict) or not isinstance(part.get("digest"), str) or "value" not in part:
        raise ConfigError(f"{place} has no digest and value. {again}")
    value = _joined(part["value"])
    if value not in (SECRET, DIGEST_ALONE) and digest_of(value) != part["digest"]:
        raise ConfigError(f"{place} does not match its digest: it was edited by hand. {again}")
    if name.partition("/")[0] in ("system", "compaction") and not isinstance(value, str):
        raise ConfigError(f"{place} is not a text. {again}")
    if name.partition("/")[0] in ("tools", "builtin-agents", "models") and not isinstance(value, dict):
        raise ConfigError(f"{place} is not an object. {again}")
    return Part(digest=part["digest"], value=value)


def _in_lines(value: Any) -> Any:
    match value:
        case str() if "\n" in value:
            return {_LINES: value.split("\n")}
        case dict():
            return {key: _in_lines(each) for key, each in value.items()}
        case list() | tuple():
            return [_in_lines(each) for each in value]
        case _:
            return value


def _joined(value: Any) -> Any:
    match value:
        case {"|": list(lines)} if len(value) == 1 and all(isinstance(line, str) for line in lines):
            return "\n".join(lines)
        case dict():
            return {key: _joined(each) for key, each in value.items()}
        case list():
            return [_joined(each) for each in value]
        case _:
            return value

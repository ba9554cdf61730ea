"""Where plugins and marketplaces come from, as it is written in files and on command lines."""

import os.path
import re
from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import SplitResult, urlsplit

from msgspec import Struct

from bridle.types.errors import ConfigError, UsageError
from bridle.types.text import encodable

SourceKind = Literal["git", "directory", "file", "url", "archive", "npm", "command", "settings"]

_ARCHIVES = (".zip", ".tgz", ".tar.gz", ".tar", ".tar.xz", ".tar.bz2")
_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*/[A-Za-z0-9_.-]+")
_SCP = re.compile(r"[A-Za-z0-9_.-]+@[A-Za-z0-9.-]+:[^-\s][^\s]*")
_PACKAGE = re.compile(r"(@[A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*")
_SHA = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
_SCHEMES = ("https", "http", "ssh", "git", "file")


class Source(Struct, frozen=True, kw_only=True):
    kind: SourceKind
    location: str = ""
    """An address, a path or the name of a package."""
    repository: str = ""
    """`owner/name` where it was written so; the address is made when it is fetched."""
    path: str = ""
    """The folder or file inside what is fetched."""
    ref: str = ""
    sha: str = ""
    checksum: str = ""
    """`sha256:…` in hexadecimal."""
    version: str = ""
    registry: str = ""
    headers: Mapping[str, str] = {}
    words: tuple[str, ...] = ()
    raw: Any = None
    """As it was written."""

    def __str__(self) -> str:
        place = self.repository or self.location or " ".join(self.words)
        return f"{place}{'#' + self.ref if self.ref else ''}{' ' + self.path if self.path else ''}"

    @property
    def host(self) -> str:
        """The host that it is fetched from; empty for what lies on this machine."""
        if self.repository:
            return "github.com"
        if _SCP.fullmatch(self.location):
            return self.location.partition("@")[2].partition(":")[0].lower()
        return (urlsplit(self.location).hostname or "").lower() if "://" in self.location else ""


def read_source(value: Any, *, of: Literal["marketplace", "plugin"]) -> Source:
    """A source as a file writes it.

    Raises:
        ConfigError: it cannot be used.
    """
    if isinstance(value, str):
        if of == "plugin":
            return Source(kind="directory", location=value, path=value, raw=value)
        return parse_source(value, cwd="/")
    if not isinstance(value, dict):
        raise ConfigError("a source is a path or an object with the key source")
    given = {key: each for key, each in value.items() if isinstance(each, str)}
    facts: dict[str, Any] = {
        "ref": given.get("ref", ""),
        "sha": given.get("sha", "").lower(),
        "path": given.get("path", ""),
        "raw": value,
    }
    match given.get("source"):
        case "github":
            return _checked(Source(kind="git", repository=given.get("repo", ""), **facts))
        case "git" | "git-subdir":
            return _checked(_git(given, facts))
        case "url":
            return _checked(_git(given, facts) if of == "plugin" else _url(value, given))
        case "directory" | "local":
            return _checked(Source(kind="directory", location=given.get("path", ""), raw=value))
        case "file":
            return _checked(Source(kind="file", location=given.get("path", ""), raw=value))
        case "archive":
            place = given.get("url") or given.get("path", "")
            return _checked(
                Source(
                    kind="archive",
                    location=place,
                    checksum=_checksum(given),
                    headers=_headers(value),
                    raw=value,
                )
            )
        case "npm":
            registry, version = given.get("registry", ""), given.get("version", "")
            package = given.get("package", "")
            return _checked(
                Source(kind="npm", location=package, registry=registry, version=version, raw=value)
            )
        case "command":
            return _checked(
                Source(kind="command", words=_words(value.get("command"), value.get("args")), raw=value)
            )
        case "settings":
            return Source(kind="settings", location=given.get("name", ""), raw=value)
        case other:
            raise ConfigError(f"unknown source kind {other!r}")


def parse_source(text: str, *, cwd: str) -> Source:
    """A marketplace as a user types it: owner/name, an address, `npm:package`, a folder or a file.

    Raises:
        UsageError: it cannot be understood.
    """
    text = text.strip()
    try:
        return _checked(_parse(text, cwd))
    except ConfigError as error:
        raise UsageError(f"{text!r} is not a marketplace source: {error}") from error


def parts_of(address: str) -> SplitResult:
    """The parts of an address.

    Raises:
        ConfigError: it is not one.
    """
    try:
        return urlsplit(address)
    except ValueError as error:
        raise ConfigError(f"{address!r} is not a valid URL: {error}") from error


def written(source: Source) -> dict[str, Any]:
    """The source as files write it."""
    if isinstance(source.raw, dict):
        return source.raw
    pinned = {key: value for key, value in (("ref", source.ref), ("sha", source.sha)) if value}
    match source.kind:
        case "git" if source.repository:
            return {"source": "github", "repo": source.repository, **pinned}
        case "git":
            return {"source": "git", "url": source.location, **pinned}
        case "directory" | "file":
            return {"source": source.kind, "path": source.location}
        case "url":
            return {"source": "url", "url": source.location}
        case "archive":
            key = "url" if "://" in source.location else "path"
            checksum = {"sha256": source.checksum.removeprefix("sha256:")} if source.checksum else {}
            return {"source": "archive", key: source.location, **checksum}
        case "npm":
            version = {"version": source.version} if source.version else {}
            return {"source": "npm", "package": source.location, **version}
        case "command" | "settings":
            return {"source": source.kind, "command": list(source.words)}


def _parse(text: str, cwd: str) -> Source:
    if text.startswith("npm:"):
        package = text.removeprefix("npm:")
        name, at, version = package.rpartition("@")
        named = bool(at and name)
        return Source(kind="npm", location=name if named else package, version=version if named else "")
    if text.startswith(("./", "../", "/", "~")) or text in (".", ".."):
        return _local(os.path.normpath(os.path.join(cwd, os.path.expanduser(text))))
    place, _, ref = text.partition("#")
    if "://" in place or _SCP.fullmatch(place):
        return _address(place, ref)
    if "@" in place and not ref:
        place, _, ref = place.partition("@")
    if _REPOSITORY.fullmatch(place):
        return Source(kind="git", repository=place, ref=ref)
    if os.path.exists(os.path.join(cwd, text)):
        return _local(os.path.normpath(os.path.join(cwd, text)))
    raise ConfigError("write owner/repository, a URL, npm:package, or a path that begins with ./ or /")


def _local(path: str) -> Source:
    if path.endswith(_ARCHIVES):
        return Source(kind="archive", location=path)
    if path.endswith(".json"):
        return Source(kind="file", location=path)
    return Source(kind="directory", location=path)


def _address(place: str, ref: str) -> Source:
    parts = parts_of(place)
    path = parts.path
    if parts.scheme in ("http", "https") and path.endswith(_ARCHIVES):
        return Source(kind="archive", location=place, checksum=_plain_checksum(ref))
    plain_site = parts.hostname in ("github.com", "gitlab.com") and path.strip("/").count("/") == 1
    if parts.scheme in ("http", "https") and not path.endswith(".git") and not plain_site:
        return Source(kind="url", location=place)
    return Source(kind="git", location=place, ref=ref)


def _git(given: Mapping[str, str], facts: Mapping[str, Any]) -> Source:
    url = given.get("url", "")
    # Shorthands stand for GitHub here too.
    if _REPOSITORY.fullmatch(url) and "://" not in url:
        return Source(kind="git", repository=url, **facts)
    return Source(kind="git", location=url, **facts)


def _url(value: Mapping[str, Any], given: Mapping[str, str]) -> Source:
    url = given.get("url", "")
    kind = "archive" if parts_of(url).path.endswith(_ARCHIVES) else "url"
    return Source(kind=kind, location=url, headers=_headers(value), checksum=_checksum(given), raw=value)


def _checked(source: Source) -> Source:
    """The source, if nothing in it can be taken for an option or lead out of what is fetched."""
    place = source.repository or source.location
    if source.kind == "command":
        if not source.words:
            raise ConfigError("the command is missing")
        return source
    if not place or place.startswith("-") or any(ord(letter) < 32 for letter in place):
        raise ConfigError("the location is missing or invalid")
    if encodable(place) != place:
        raise ConfigError("the location is not valid text")
    if source.repository and not _REPOSITORY.fullmatch(source.repository):
        raise ConfigError(f"{source.repository!r} is not owner/name")
    if source.kind == "git" and not source.repository:
        _check_git_address(source.location)
    if source.kind == "npm" and not _PACKAGE.fullmatch(source.location):
        raise ConfigError(f"{source.location!r} is not a package name")
    if source.kind == "archive":
        parts_of(source.location)
    if source.kind == "url" and not re.match(r"https?://[^/?#]", source.location):
        raise ConfigError("only http and https URLs are supported")
    if source.ref.startswith("-") or re.search(r"[\s~^:?*\\\[]|\.\.", source.ref):
        raise ConfigError(f"{source.ref!r} is not a branch or tag name")
    if source.sha and not _SHA.fullmatch(source.sha):
        raise ConfigError("sha must be the full commit id with 40 digits")
    if os.path.isabs(source.path) or ".." in source.path.split("/"):
        raise ConfigError(f"the path {source.path!r} is outside the fetched folder")
    return source


def _check_git_address(address: str) -> None:
    if _SCP.fullmatch(address):
        return
    parts = parts_of(address)
    if parts.scheme not in _SCHEMES or (parts.scheme != "file" and not parts.hostname):
        raise ConfigError(f"{address!r} is not an https, ssh or file URL")
    if (parts.hostname or "").startswith("-") or (parts.username or "").startswith("-"):
        raise ConfigError(f"{address!r} is not a valid URL")


def _checksum(given: Mapping[str, str]) -> str:
    return _plain_checksum(given.get("sha256") or given.get("checksum") or "")


def _plain_checksum(text: str) -> str:
    digits = text.lower().removeprefix("sha256:").removeprefix("sha256=")
    if not digits:
        return ""
    if not re.fullmatch("[0-9a-f]{64}", digits):
        raise ConfigError("a checksum is sha256: and 64 digits")
    return f"sha256:{digits}"


def _headers(value: Mapping[str, Any]) -> dict[str, str]:
    headers = value.get("headers")
    return {str(key): str(each) for key, each in headers.items()} if isinstance(headers, dict) else {}


def _words(command: Any, args: Any) -> tuple[str, ...]:
    import shlex

    try:
        words = shlex.split(command) if isinstance(command, str) else list(command or ())
    except (TypeError, ValueError) as error:
        raise ConfigError(f"invalid command: {error}") from error
    return tuple(str(word) for word in (*words, *(args if isinstance(args, list) else ())))

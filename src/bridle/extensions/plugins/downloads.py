"""Brings a plugin or a marketplace from where it is into a new folder."""

import asyncio
import hashlib
import os
import os.path
from collections.abc import Mapping
from urllib.parse import quote, urljoin

import msgspec
from msgspec import Struct

from bridle.extensions.plugins.context import remove_tree
from bridle.extensions.plugins.folder_copies import copy_tree, unpack
from bridle.extensions.plugins.repositories import clone
from bridle.extensions.plugins.sources import Source, parts_of
from bridle.extensions.plugins.versions import newest
from bridle.host.files import make_folders, read_bytes
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request
from bridle.host.paths import bridle_dir
from bridle.host.programs import PROGRAMS, require_program
from bridle.types.errors import ConfigError

LARGEST_ARCHIVE = 64 * 1024 * 1024
LARGEST_LIST = 8 * 1024 * 1024
_MOST_REDIRECTS = 5
_PATIENCE = Limits(connect=20.0, idle=30.0, total=300.0, body=LARGEST_ARCHIVE)
_COMMAND_SECONDS = 300
_NPM_SECONDS = 20
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class Fetched(Struct, frozen=True, kw_only=True):
    """What is known of something that was fetched."""

    revision: str = ""
    """The commit, the checksum or the version that it is."""


async def fetch(source: Source, target: str, env: Mapping[str, str]) -> Fetched:
    """Fill `target`, which does not exist yet, with what a source holds: plain files, and nothing was run.

    Only a source that is a command runs something; callers have asked before.

    Raises:
        ConfigError: it cannot be fetched, or is not what it was said to be.
        OSError: it cannot be written.
    """
    match source.kind:
        case "git":
            return await _from_git(source, target, env)
        case "directory":
            if not os.path.isdir(source.location):
                raise ConfigError(f"{source.location} is not a folder")
            await asyncio.to_thread(copy_tree, source.location, target)
            return Fetched()
        case "archive":
            data = await _archive(source, env)
            _verify(data, source.checksum, source.location)
            await asyncio.to_thread(unpack, data, target, name=source.location)
            return Fetched(revision=hashlib.sha256(data).hexdigest())
        case "npm":
            return await _from_npm(source, target, env)
        case "command":
            return await _from_command(source, target, env)
        case "file" | "url" | "settings":
            raise ConfigError(f"{source} is a list of plugins, not a folder")


async def download(url: str, env: Mapping[str, str], *, headers: Mapping[str, str] = {}, most: int) -> bytes:
    """The content at an address; redirects are followed, but not away from encryption.

    Raises:
        ConfigError: it cannot be had.
    """
    client = HttpClient(env)
    limits = msgspec.structs.replace(_PATIENCE, body=most)
    given = tuple((name, value) for name, value in headers.items())
    try:
        for _ in range(_MOST_REDIRECTS + 1):
            _check_address(url)
            async with client.send(Request("GET", url, (("accept", "*/*"), *given)), limits) as response:
                if response.status in (301, 302, 303, 307, 308):
                    onward = _onward(url, response.headers.get("location", ""))
                    # What was said to one host in confidence is not for another.
                    given = given if parts_of(onward).netloc == parts_of(url).netloc else ()
                    url = onward
                    continue
                if response.status != 200:
                    raise ConfigError(f"{url} returned status {response.status}")
                return await response.read()
    except HttpFault as error:
        raise ConfigError(f"could not read {url}: {error}") from error
    finally:
        await client.close()
    raise ConfigError(f"{url} redirects too often")


def _onward(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError as error:
        raise ConfigError(f"{url} redirects to {location[:200]!r}, which is not a valid URL") from error


def _check_address(url: str) -> None:
    parts = parts_of(url)
    if parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK):
        return
    raise ConfigError(f"{url} is not an https URL")


async def _from_git(source: Source, target: str, env: Mapping[str, str]) -> Fetched:
    checkout = f"{target}.checkout"
    try:
        sha = await clone(source, checkout, env)
        inner = os.path.normpath(os.path.join(checkout, source.path))
        if not os.path.isdir(inner):
            raise ConfigError(f"{source} has no folder {source.path}")
        await asyncio.to_thread(copy_tree, inner, target, inside=checkout)
    finally:
        await asyncio.to_thread(remove_tree, checkout)
    return Fetched(revision=sha)


async def _archive(source: Source, env: Mapping[str, str]) -> bytes:
    if "://" in source.location:
        return await download(source.location, env, headers=source.headers, most=LARGEST_ARCHIVE)
    try:
        return await asyncio.to_thread(read_bytes, source.location, LARGEST_ARCHIVE)
    except OSError as error:
        raise ConfigError(f"{source.location} could not be read: {error.strerror or error}") from error


def _verify(data: bytes, checksum: str, name: str) -> None:
    if checksum and f"sha256:{hashlib.sha256(data).hexdigest()}" != checksum:
        raise ConfigError(f"{name} has the wrong checksum")


class _Dist(Struct):
    tarball: str
    integrity: str = ""
    shasum: str = ""


class _Release(Struct):
    dist: _Dist


class _Package(Struct):
    versions: dict[str, _Release] = {}
    tags: dict[str, str] = msgspec.field(default_factory=dict[str, str], name="dist-tags")


async def _from_npm(source: Source, target: str, env: Mapping[str, str]) -> Fetched:
    """The package as its registry has it; its scripts are never run and what it depends on is not fetched."""
    registry = source.registry or env.get("npm_config_registry") or await _registry_of_npm(env)
    name = source.location
    url = f"{registry.rstrip('/')}/{quote(name, safe='@')}"
    try:
        package = msgspec.json.decode(await download(url, env, most=LARGEST_LIST * 4), type=_Package)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ConfigError(f"{url} is not valid package metadata: {error}") from error
    wanted = source.version or "latest"
    version = package.tags.get(wanted) or newest(package.versions, wanted)
    if version is None or version not in package.versions:
        raise ConfigError(f"package {name} has no version {wanted}")
    dist = package.versions[version].dist
    data = await download(dist.tarball, env, most=LARGEST_ARCHIVE)
    _verify_integrity(data, dist, f"{name} {version}")
    await asyncio.to_thread(unpack, data, target, name=f"{name} {version}")
    return Fetched(revision=version)


def _verify_integrity(data: bytes, dist: _Dist, name: str) -> None:
    import base64

    for word in dist.integrity.split():
        algorithm, _, expected = word.partition("-")
        if algorithm in ("sha512", "sha384", "sha256"):
            digest = hashlib.new(algorithm, data).digest()
            if base64.b64encode(digest).decode() != expected:
                raise ConfigError(f"{name} does not match the checksum in its registry")
            return
    if dist.shasum and hashlib.sha1(data, usedforsecurity=False).hexdigest() == dist.shasum.lower():
        return
    raise ConfigError(f"could not verify {name}: the registry has no supported checksum")


async def _registry_of_npm(env: Mapping[str, str]) -> str:
    """The registry that the user's npm is set up for; a project's own settings of npm do not count."""
    way_out = "install npm, or set npm_config_registry to the URL of a registry"
    try:
        process = await asyncio.create_subprocess_exec(
            require_program("npm", env), "config", "get", "registry",
            cwd="/", env=PROGRAMS.environment(env), stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError as error:
        raise ConfigError(f"could not read npm's registry: {way_out}") from error
    try:
        said, _ = await _heard(process, _NPM_SECONDS)
    except TimeoutError as error:
        raise ConfigError(f"could not read npm's registry: {way_out}") from error
    address = said.decode(errors="replace").strip()
    if not address.startswith(("https://", "http://")):
        raise ConfigError(f"could not read npm's registry: {way_out}")
    return address


async def _heard(process: asyncio.subprocess.Process, seconds: float) -> tuple[bytes, bytes]:
    """What a program has printed when it ends; one that takes longer, or is waited for no more, is killed.

    Raises:
        TimeoutError: it took longer.
    """
    try:
        async with asyncio.timeout(seconds):
            return await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _from_command(source: Source, target: str, env: Mapping[str, str]) -> Fetched:
    """Run the command in an empty folder; what it leaves there is the plugin."""
    work = f"{target}.work"
    os.makedirs(work)
    try:
        process = await asyncio.create_subprocess_exec(
            require_program(source.words[0], env, writable=(work,)),
            *source.words[1:],
            cwd=work,
            env={**env, "CLAUDE_PLUGIN_TARGET": work},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise ConfigError(f"could not start {source.words[0]}: {error.strerror or error}") from error
    try:
        _, said = await _heard(process, _COMMAND_SECONDS)
    except TimeoutError as error:
        raise ConfigError(f"{source.words[0]} timed out after {_COMMAND_SECONDS} seconds") from error
    if process.returncode:
        last = said.decode(errors="replace").strip()[-300:]
        raise ConfigError(f"{source.words[0]} failed with {process.returncode}: {last}")
    await asyncio.to_thread(copy_tree, work, target)
    return Fetched()


async def unpacked(place: str, env: Mapping[str, str], *, cwd: str) -> str:
    """The folder with the content of an archive, at an address or on this machine.

    Raises:
        ConfigError: it cannot be had or unpacked.
        OSError: it is invalid or written.
    """
    if "://" in place:
        data = await download(place, env, most=LARGEST_ARCHIVE)
    else:
        path = os.path.join(cwd, os.path.expanduser(place))
        data = await asyncio.to_thread(read_bytes, path, LARGEST_ARCHIVE)
    folder = os.path.join(bridle_dir(env), "plugin-archives")
    target = os.path.join(folder, hashlib.sha256(data).hexdigest())
    if os.path.isdir(target):
        return target
    make_folders(folder, private=True)
    staged = f"{target}.{os.urandom(4).hex()}"
    try:
        await asyncio.to_thread(unpack, data, staged, name=place)
        os.rename(staged, target)
    except OSError:
        if not os.path.isdir(target):
            raise
    finally:
        await asyncio.to_thread(remove_tree, staged)
    return target

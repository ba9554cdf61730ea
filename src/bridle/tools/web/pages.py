"""Pages of the web: followed to where they are, read as text, and kept for a while."""

import asyncio
import hashlib
import os
import os.path
import time
from collections.abc import Mapping
from urllib.parse import urljoin

import msgspec
from msgspec import Struct

from bridle.host.files import read_bytes, write_atomic
from bridle.host.web_address import WebAddress
from bridle.tools.web import text as web_text
from bridle.tools.web import transfer
from bridle.tools.web.addresses import AGREED_HOST, read_url, same_site
from bridle.types.errors import ToolError

MOST_CHARACTERS = 100_000
_MOST_REDIRECTS = 10
_LONGEST_LOCATION = 2_000
_SECONDS = 60
_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_CACHE_SECONDS = 15 * 60
_CACHE_BYTES = 50 * 1024 * 1024
_LARGEST_ENTRY = 4 * 1024 * 1024


class Page(Struct, frozen=True, kw_only=True, tag="page"):
    code: int
    reason: str
    size: int
    text: str
    """At most `MOST_CHARACTERS` of it."""
    cut: bool = False


class Moved(Struct, frozen=True, kw_only=True, tag="moved"):
    """The page is on another host, which was not approved."""

    code: int
    reason: str
    url: str


class Failed(Struct, frozen=True, kw_only=True, tag="failed"):
    """The host answered that there is no page."""

    code: int
    reason: str


Fetched = Page | Moved | Failed


async def fetch(url: str, env: Mapping[str, str], *, folder: str, seconds: float = _SECONDS) -> Fetched:
    """Get a page from `folder` when it is there and fresh, else from its host.

    Raises:
        ToolError: the address may not be fetched, or nothing readable came from it.
    """
    target = read_url(url)
    path = _cache_path(folder, target)
    # A page of this machine is likely to be the one that is being worked on.
    is_local = AGREED_HOST in env
    kept = None if is_local else _recall(path, seconds=_cache_seconds(env), now=time.time())
    if kept is not None:
        return kept
    try:
        async with asyncio.timeout(seconds):
            fetched = await _follow(target, env)
    except TimeoutError as error:
        raise ToolError(
            f"{target.host} did not answer within {seconds:g} seconds; try again later."
        ) from error
    if isinstance(fetched, Page) and not is_local:
        await asyncio.to_thread(_remember, path, fetched)
    return fetched


def bound_cache(folder: str, limit: int = _CACHE_BYTES) -> None:
    """Drop the oldest pages until the rest has at most `limit` bytes."""
    with os.scandir(folder) as entries:
        known = [(entry.stat().st_mtime, entry.stat().st_size, entry.path) for entry in entries]
    total = 0
    for _, size, path in sorted(known, reverse=True):
        total += size
        if total > limit:
            os.unlink(path)


async def _follow(target: WebAddress, env: Mapping[str, str]) -> Fetched:
    for _ in range(_MOST_REDIRECTS + 1):
        async with transfer.get(target, env) as response:
            location = response.header("location")
            if response.status not in _REDIRECTS or not location:
                return await _read(response)
            code, reason = response.status, response.reason
        try:
            following = read_url(urljoin(target.url, location))
        except (ToolError, ValueError):
            # Another scheme, a user's name, nonsense: not followed, and reported like a move to another host.
            return Moved(code=code, reason=reason, url=_shown(target, location))
        if not same_site(target, following):
            return Moved(code=code, reason=reason, url=following.url)
        target = following
    raise ToolError(f"{target.host} redirects more than {_MOST_REDIRECTS} times; try another URL.")


def _shown(target: WebAddress, location: str) -> str:
    """Where a page wants to lead, for a model to read: on one line, and bounded."""
    try:
        whole = urljoin(target.url, location)
    except ValueError:
        whole = location
    return "".join(each if each.isprintable() else "\ufffd" for each in whole)[:_LONGEST_LOCATION]


async def _read(response: transfer.Response) -> Page | Failed:
    if not 200 <= response.status < 300:
        return Failed(code=response.status, reason=response.reason)
    content_type = response.header("content-type")
    web_text.require_text(content_type)
    body = await response.read()
    text = await asyncio.to_thread(web_text.page_text, body, content_type)
    return Page(
        code=response.status,
        reason=response.reason,
        size=len(body),
        text=text[:MOST_CHARACTERS],
        cut=len(text) > MOST_CHARACTERS,
    )


def _cache_path(folder: str, target: WebAddress) -> str:
    return os.path.join(folder, hashlib.sha256(target.url.encode()).hexdigest() + ".json")


def _cache_seconds(env: Mapping[str, str]) -> float:
    stated = env.get("CLAUDE_CODE_WEBFETCH_CACHE_TTL_MS", "")
    return int(stated) / 1000 if stated.isdecimal() else _CACHE_SECONDS


def _recall(path: str, *, seconds: float, now: float) -> Page | None:
    try:
        if not 0 <= now - os.stat(path).st_mtime < seconds:
            return None
        return msgspec.json.decode(read_bytes(path, _LARGEST_ENTRY), type=Page)
    except (OSError, msgspec.DecodeError):
        return None  # What cannot be read is fetched again.


def _remember(path: str, page: Page) -> None:
    try:
        write_atomic(path, msgspec.json.encode(page), mode=0o600)
        bound_cache(os.path.dirname(path))
    except OSError:
        pass  # The page is in hand; without a copy it is only fetched again.

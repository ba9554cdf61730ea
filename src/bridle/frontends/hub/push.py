"""Notifications: Web Push with the hub's own VAPID key, ntfy, or a webhook."""

import asyncio
import ipaddress
import os
import socket
import sqlite3
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from bridle.frontends.hub import identity, sessions
from bridle.frontends.hub.refusals import Refusal
from bridle.frontends.hub.sessions import QuestionRow
from bridle.frontends.remote.access import is_near
from bridle.host.http.client import HttpClient, HttpFault, Limits, Request

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

    from bridle.frontends.hub.hub import Hub

Kind = Literal["webpush", "ntfy", "webhook"]
KINDS: tuple[Kind, ...] = ("webpush", "ntfy", "webhook")
_LIMITS = Limits(connect=10.0, idle=15.0, total=30.0)
_TRIES = 3
_MOST_FAILED = 20
_MOST_SUBSCRIPTIONS = 20
_SECONDS_TO_LIVE = 3_600
_TOKEN_SECONDS = 12 * 3_600
_LONGEST_TEXT = 200
_RECORD_SIZE = 4_096
_GONE = (404, 410)


class Subscription(Struct, frozen=True):
    """Where one device wants to be notified."""

    device: str
    endpoint: str
    kind: Kind
    p256dh: str
    auth: str
    content: bool
    """Whether a notification says what is asked."""


class Notice(Struct, frozen=True):
    """What a notification says."""

    title: str
    text: str
    tag: str
    session: str


class PushService:
    """Tells subscribed devices of every question that stays open for a moment."""

    def __init__(self, hub: "Hub", *, delay: float, contact: str = "mailto:hub@localhost") -> None:
        self._hub = hub
        self._delay = delay
        """Seconds in which a question can be answered before anyone is notified."""
        self._contact = contact
        self._known: set[tuple[str, str]] = set()
        self._http = HttpClient(os.environ, kept=8)

    async def run(self) -> None:
        """Work until cancelled."""
        watch = self._hub.feed.watch()
        self._known = {(each.session, each.id) for each in await self._hub.read(sessions.questions)}
        sending = set[asyncio.Task[None]]()
        try:
            while True:
                await watch.news(self._hub.options.beat_seconds)
                if not watch.questions:
                    continue
                watch.questions = False
                open_now = await self._hub.read(sessions.questions)
                fresh = [each for each in open_now if (each.session, each.id) not in self._known]
                self._known = {(each.session, each.id) for each in open_now}
                if fresh:
                    task = asyncio.create_task(self._notify(fresh))
                    sending.add(task)
                    task.add_done_callback(sending.discard)
        finally:
            self._hub.feed.leave(watch)
            for task in sending:
                task.cancel()
            await asyncio.gather(*sending, return_exceptions=True)
            await self._http.close()

    async def send(self, subscription: Subscription, notice: Notice) -> int:
        """Send one notification; the status of the service, 0 where it can't be reached."""
        try:
            # Its name may lead elsewhere by now.
            await check_endpoint(subscription.endpoint, is_local=is_near(self._hub.options.listen))
        except Refusal:
            return 0
        headers, data = await asyncio.to_thread(self._message, subscription, notice)
        status = 0
        for attempt in range(_TRIES):
            try:
                request = Request("POST", subscription.endpoint, headers, data)
                async with self._http.send(request, _LIMITS) as response:
                    await response.read()
                    status = response.status
            except (HttpFault, OSError):
                status = 0
            if 0 < status < 500 and status != 429:
                return status
            await asyncio.sleep(attempt)
        return status

    async def _notify(self, fresh: Sequence[QuestionRow]) -> None:
        await asyncio.sleep(self._delay)
        still = [each for each in fresh if (each.session, each.id) in self._known]
        for question in still:
            title = (await self._hub.read(sessions.find, question.session)).title
            for subscription in await self._hub.read(subscriptions, "answer"):
                status = await self.send(
                    subscription, notice_of(question, title, content=subscription.content)
                )
                await self._hub.write(note_result, subscription, status)

    def _message(
        self, subscription: Subscription, notice: Notice
    ) -> tuple[tuple[tuple[str, str], ...], bytes]:
        match subscription.kind:
            case "ntfy":
                headers = (("title", _plain(notice.title)), ("tags", "question"), ("priority", "high"))
                return headers, notice.text.encode()
            case "webhook":
                return (("content-type", "application/json"),), msgspec.json.encode(notice)
            case "webpush":
                data = encrypt(msgspec.json.encode(notice), subscription.p256dh, subscription.auth)
                token = vapid_header(self._hub.push_key, subscription.endpoint, self._contact, time.time())
                return (
                    ("content-encoding", "aes128gcm"), ("content-type", "application/octet-stream"),
                    ("ttl", str(_SECONDS_TO_LIVE)), ("urgency", "high"), ("authorization", token),
                ), data  # fmt: skip


def notice_of(question: QuestionRow, title: str, *, content: bool) -> Notice:
    """What a notification of a question says; without content, only that there is one."""
    session, tag = f"session_{question.session}", question.id
    if not content or "sealed" in question.request:
        return Notice("bridle hub", "A session is waiting for your answer.", tag, session)
    request = question.request
    given = request.get("input") or {}
    first = given.get("command") or given.get("file_path") or given.get("url") or request.get("message") or ""
    what = str(request.get("tool_name") or request.get("mcp_server_name") or "A question")
    text = f"{what}: {first}" if first else what
    return Notice(title or "bridle hub", text[:_LONGEST_TEXT], tag, session)


def read_subscription(body: Mapping[str, Any], device: identity.Device) -> Subscription:
    """What a device wants.

    Raises:
        Refusal: it may not have that, or a field is wrong.
    """
    kind, endpoint = body.get("kind"), body.get("endpoint")
    if kind not in KINDS or not isinstance(endpoint, str) or len(endpoint) > 2_000:
        raise Refusal(400, f"kind must be one of {', '.join(KINDS)}, and endpoint an address.")
    if kind != "webpush" and not device.may("start"):
        raise Refusal(
            403, f"{device.name} may {device.role} only; ntfy and webhooks need the right to start."
        )
    p256dh, auth = str(body.get("p256dh") or ""), str(body.get("auth") or "")
    if kind == "webpush":
        try:
            encrypt(b"", p256dh, auth)
        except ValueError as error:
            raise Refusal(400, "p256dh and auth must be the keys of a push subscription.") from error
    return Subscription(device.id, endpoint, kind, p256dh, auth, body.get("content") is True)


async def check_endpoint(endpoint: str, *, is_local: bool) -> None:
    """Refuse addresses by which a device could make the hub talk to services beside it.

    Raises:
        Refusal: it is one of those, or none at all.
    """
    try:
        parts = urlsplit(endpoint)
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise Refusal(400, "endpoint is not an address.") from error
    if parts.scheme not in ("http", "https") or not host or parts.username:
        raise Refusal(400, "endpoint is not an address.")
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port or 443, type=socket.SOCK_STREAM)
    except OSError as error:
        raise Refusal(400, f"{host} is not known.") from error
    addresses = [ipaddress.ip_address(each[4][0]) for each in found]
    if all(each.is_loopback for each in addresses) and is_local:
        return
    if parts.scheme != "https" or any(not each.is_global for each in addresses):
        raise Refusal(403, "endpoint must be https, and no address of the hub's own network.")


def subscribe(base: sqlite3.Connection, wanted: Subscription) -> None:
    """Add a subscription, or change one."""
    (count,) = base.execute("SELECT count(*) FROM push WHERE device = ?", (wanted.device,)).fetchone()
    if count >= _MOST_SUBSCRIPTIONS:
        raise Refusal(400, f"A device can have at most {_MOST_SUBSCRIPTIONS} subscriptions: remove one.")
    values = (
        wanted.device, wanted.endpoint, wanted.kind, wanted.p256dh, wanted.auth, wanted.content, time.time()
    )  # fmt: skip
    base.execute("INSERT OR REPLACE INTO push VALUES (?, ?, ?, ?, ?, ?, ?, 0)", values)
    detail = {"kind": wanted.kind, "host": urlsplit(wanted.endpoint).hostname, "content": wanted.content}
    identity.record(base, actor=wanted.device, action="notifications on", detail=detail)


def unsubscribe(base: sqlite3.Connection, device: str, endpoint: str) -> None:
    base.execute("DELETE FROM push WHERE device = ? AND endpoint = ?", (device, endpoint))


def subscriptions(base: sqlite3.Connection, role: identity.Role) -> list[Subscription]:
    """Those of every device that may do this and was not revoked."""
    able = {each.id for each in identity.devices(base) if each.may(role)}
    return [each for each in _all(base) if each.device in able]


def subscriptions_of(base: sqlite3.Connection, device: str) -> list[Subscription]:
    return [each for each in _all(base) if each.device == device]


def note_result(base: sqlite3.Connection, sent: Subscription, status: int) -> None:
    """Forget a subscription that its service has ended, or that has failed too often."""
    at = (sent.device, sent.endpoint)
    if status in _GONE:
        unsubscribe(base, *at)
    elif 200 <= status < 300:
        base.execute("UPDATE push SET failed = 0 WHERE device = ? AND endpoint = ?", at)
    else:
        base.execute("UPDATE push SET failed = failed + 1 WHERE device = ? AND endpoint = ?", at)
        base.execute("DELETE FROM push WHERE failed >= ?", (_MOST_FAILED,))


def new_push_key() -> bytes:
    """A key by which push services know this hub."""
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.generate_private_key(ec.SECP256R1()).private_numbers().private_value.to_bytes(32, "big")


def public_push_key(key: bytes) -> str:
    """What a browser subscribes with."""
    return _encoded(_point(_private(key)))


def vapid_header(key: bytes, endpoint: str, contact: str, now: float) -> str:
    """Who sends, for the service of an endpoint (RFC 8292)."""
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, utils

    parts = urlsplit(endpoint)
    claims = {"aud": f"{parts.scheme}://{parts.netloc}", "exp": int(now) + _TOKEN_SECONDS, "sub": contact}
    head = _encoded(msgspec.json.encode({"typ": "JWT", "alg": "ES256"}))
    signed = f"{head}.{_encoded(msgspec.json.encode(claims))}"
    signature = _private(key).sign(signed.encode(), ec.ECDSA(hashes.SHA256()))
    r, s = utils.decode_dss_signature(signature)
    token = f"{signed}.{_encoded(r.to_bytes(32, 'big') + s.to_bytes(32, 'big'))}"
    return f"vapid t={token}, k={public_push_key(key)}"


def encrypt(
    data: bytes, p256dh: str, auth: str, *, own: bytes | None = None, salt: bytes | None = None
) -> bytes:
    """The body of a push message that one browser alone can read (RFC 8291).

    Raises:
        ValueError: these are no keys of a subscription.
    """
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    receiver, secret = _decoded(p256dh), _decoded(auth)
    if len(secret) != 16:
        raise ValueError("auth has 16 bytes")
    sender = _private(own) if own is not None else ec.generate_private_key(ec.SECP256R1())
    shared = sender.exchange(
        ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), receiver)
    )
    public, salt = _point(sender), salt or os.urandom(16)

    def derived(salt: bytes, key: bytes, info: bytes, length: int) -> bytes:
        return HKDF(SHA256(), length, salt, info).derive(key)

    key = derived(secret, shared, b"WebPush: info\0" + receiver + public, 32)
    content_key = derived(salt, key, b"Content-Encoding: aes128gcm\0", 16)
    nonce = derived(salt, key, b"Content-Encoding: nonce\0", 12)
    head = salt + _RECORD_SIZE.to_bytes(4, "big") + len(public).to_bytes(1, "big") + public
    return head + AESGCM(content_key).encrypt(nonce, data + b"\2", None)


def _all(base: sqlite3.Connection) -> list[Subscription]:
    rows = base.execute("SELECT device, endpoint, kind, p256dh, auth, has_content FROM push ORDER BY created")
    return [
        Subscription(device, endpoint, kind, p256dh, auth, bool(has_content))
        for device, endpoint, kind, p256dh, auth, has_content in rows
    ]


def _private(key: bytes) -> "EllipticCurvePrivateKey":
    from cryptography.hazmat.primitives.asymmetric import ec

    return ec.derive_private_key(int.from_bytes(key, "big"), ec.SECP256R1())


def _point(key: "EllipticCurvePrivateKey") -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _plain(text: str) -> str:
    """A header has no other letters than these."""
    return text.encode("ascii", "replace").decode()


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))

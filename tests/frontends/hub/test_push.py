"""Notifications: what is sent, to whom, and what it says; the services are real servers on this machine."""

import asyncio
import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from bridle.frontends.hub.push import check_endpoint, encrypt
from bridle.frontends.hub.refusals import Refusal
from tests.fakes.http_server import listening
from tests.frontends.hub.scene import Client, asks, hub_at
from tests.tables import table


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """The keys of a browser, which reads what is sent to it."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._public = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        self._auth = b"0123456789abcdef"
        self.keys = {"p256dh": _encoded(self._public), "auth": _encoded(self._auth)}

    def read(self, body: bytes) -> Any:
        """RFC 8291, from the other side."""
        salt, size, sender = body[:16], body[20], body[21:86]
        assert size == 65
        shared = self._key.exchange(
            ec.ECDH(), ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        )
        info = b"WebPush: info\0" + self._public + sender
        key = HKDF(hashes.SHA256(), 32, self._auth, info).derive(shared)
        content = HKDF(hashes.SHA256(), 16, salt, b"Content-Encoding: aes128gcm\0").derive(key)
        nonce = HKDF(hashes.SHA256(), 12, salt, b"Content-Encoding: nonce\0").derive(key)
        plain = AESGCM(content).decrypt(nonce, body[86:], None)
        assert plain.endswith(b"\2")
        return json.loads(plain[:-1])


class Service:
    """A push service, an ntfy server or anyone behind a webhook."""

    def __init__(self) -> None:
        self.requests: asyncio.Queue[tuple[dict[str, str], bytes]] = asyncio.Queue()
        self.statuses: list[int] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                headers: dict[str, str] = {"": line.decode().split()[1]}
                while (line := await reader.readline()).strip():
                    name, _, value = line.decode().partition(":")
                    headers[name.lower()] = value.strip()
                body = await reader.readexactly(int(headers.get("content-length", "0")))
                status = self.statuses.pop(0) if self.statuses else 201
                if status < 500:
                    self.requests.put_nowait((headers, body))
                writer.write(f"HTTP/1.1 {status} x\r\ncontent-length: 0\r\n\r\n".encode())
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            return

    async def next(self) -> tuple[dict[str, str], bytes]:
        async with asyncio.timeout(60):
            return await self.requests.get()


@asynccontextmanager
async def service() -> AsyncGenerator[Service]:
    made = Service()
    async with listening(made.serve) as port:
        made.url = f"http://127.0.0.1:{port}/topic"
        yield made


async def _ask(machine: Client, worker: Client, id: str, command: str) -> None:
    del machine
    await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": [asks("Bash", command=command)]})


async def test_a_browser_is_pushed_a_question_without_its_words_unless_it_wants_them(tmp_path: Path):
    async with service() as push, hub_at(tmp_path, push_delay=0.0) as scene:
        phone, machine = await scene.device("answer"), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        browser = Browser()
        for content in (False, True):
            wanted = {"kind": "webpush", "endpoint": push.url, "content": content, **browser.keys}
            assert (await phone.send("PUT", "/api/push", wanted)).status == 204
            await _ask(machine, worker, id, "make swordfish")
            headers, body = await push.next()
            said = browser.read(body)
            assert said["session"] == id.replace("cse_", "session_")
            assert ("swordfish" in said["text"]) is content and b"swordfish" not in body
            assert (said["title"], headers["content-encoding"]) == (
                "Desk" if content else "bridle hub",
                "aes128gcm",
            )
        known = await phone.get("/api/push")
        assert known["subscriptions"] == [{"kind": "webpush", "endpoint": push.url, "content": True}]
        _check_sender(headers["authorization"], known["key"], push.url)


def _check_sender(header: str, key: str, url: str) -> None:
    """RFC 8292, as a push service does it."""
    scheme, _, rest = header.partition(" ")
    parts = dict(each.strip().split("=", 1) for each in rest.split(","))
    assert scheme == "vapid" and parts["k"] == key
    signed, _, signature = parts["t"].rpartition(".")
    raw = _decoded(signature)
    der = utils.encode_dss_signature(int.from_bytes(raw[:32], "big"), int.from_bytes(raw[32:], "big"))
    public = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(key))
    public.verify(der, signed.encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(_decoded(signed.split(".")[1]))
    assert url.startswith(claims["aud"]) and claims["sub"].startswith("mailto:")


async def test_ntfy_and_webhooks_are_called_and_a_service_that_is_gone_is_forgotten(tmp_path: Path):
    async with service() as ntfy, service() as hook, hub_at(tmp_path, push_delay=0.0) as scene:
        phone, machine = await scene.device("start"), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        await phone.send("PUT", "/api/push", {"kind": "ntfy", "endpoint": ntfy.url, "content": True})
        await phone.send("PUT", "/api/push", {"kind": "webhook", "endpoint": hook.url})
        assert (await phone.send("POST", "/api/push/try", {"endpoint": hook.url})).status == 204
        assert json.loads((await hook.next())[1])["text"] == "Notifications work."

        ntfy.statuses = [503]
        await _ask(machine, worker, id, "make")
        headers, body = await ntfy.next()
        assert (headers[""], headers["title"], body) == ("/topic", "Desk", b"Bash: make")
        assert json.loads((await hook.next())[1])["text"] == "A session is waiting for your answer."

        hook.statuses = [410]
        await _ask(machine, worker, id, "make again")
        await hook.next()
        await ntfy.next()
        async with phone.stream("/api/stream"):
            while len((await phone.get("/api/push"))["subscriptions"]) > 1:
                await asyncio.sleep(0)
        assert (await phone.send("DELETE", "/api/push", {"endpoint": ntfy.url})).status == 204
        assert (await phone.get("/api/push"))["subscriptions"] == []


async def test_who_may_not_answer_and_who_was_revoked_is_not_notified(tmp_path: Path):
    async with service() as push, hub_at(tmp_path, push_delay=0.0) as scene:
        machine, browser = await scene.machine(), Browser()
        id, worker, _ = await scene.worker(machine)
        watcher, gone, phone = [await scene.device(each, each) for each in ("watch", "steer", "answer")]
        wanted = {"kind": "webpush", "endpoint": push.url, **browser.keys}
        assert (await watcher.send("PUT", "/api/push", wanted)).status == 403
        for kind in ("ntfy", "webhook"):
            assert (await phone.send("PUT", "/api/push", {**wanted, "kind": kind})).status == 403
        assert (await gone.send("PUT", "/api/push", {**wanted, "endpoint": f"{push.url}/gone"})).status == 204
        me = await gone.get("/api/me")
        assert (await gone.send("DELETE", f"/api/devices/{me['id']}")).status == 204
        assert (
            await phone.send("PUT", "/api/push", {**wanted, "endpoint": f"{push.url}/phone"})
        ).status == 204
        await _ask(machine, worker, id, "make")
        assert (await push.next())[0][""] == "/topic/phone"
        for wrong in (
            {}, {"kind": "pigeon", "endpoint": push.url}, {**wanted, "auth": "x"}, {**wanted, "p256dh": "x"},
            {**wanted, "endpoint": "ftp://x"}, {**wanted, "endpoint": "https://[::1"},
            {**wanted, "endpoint": "https://nowhere.invalid/x"},
        ):  # fmt: skip
            assert (await phone.send("PUT", "/api/push", wrong)).status == 400, wrong
        assert (await phone.send("POST", "/api/push/try", {"endpoint": "https://other"})).status == 404


@table(
    "address, is_local, allowed",
    [
        ("http://127.0.0.1:1/x", True, True),
        ("http://127.0.0.1:1/x", False, False),
        ("https://127.0.0.1/x", False, False),
        ("https://10.0.0.7/x", True, False),
        ("https://169.254.169.254/latest", True, False),
        ("https://[::ffff:10.0.0.7]/x", False, False),
        ("https://1.1.1.1/x", False, True),
        ("http://1.1.1.1/x", False, False),
        ("https://user@1.1.1.1/x", False, False),
    ],
)
def test_no_device_reaches_services_beside_the_hub(address: str, is_local: bool, allowed: bool):
    if allowed:
        asyncio.run(check_endpoint(address, is_local=is_local))
    else:
        with pytest.raises(Refusal):
            asyncio.run(check_endpoint(address, is_local=is_local))


def test_a_message_is_encrypted_as_the_example_of_the_standard_is():
    # RFC 8291, appendix A.
    body = encrypt(
        b"When I grow up, I want to be a watermelon",
        "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
        "BTBZMqHH6r4Tts7J_aSIgg",
        own=_decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw"),
        salt=_decoded("DGv6ra1nlYgDCS1FRnbzlw"),
    )
    assert _encoded(body) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl9"
        "5bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )

"""The server of a shared session keeps out whoever has no business there (S60)."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from bridle.frontends.remote.access import letter_token
from bridle.frontends.remote.errors import RequestRefused
from bridle.frontends.remote.http import Timeouts
from bridle.types.ids import new_uuid
from tests.fakes.processes import eventually
from tests.fakes.remote import RemoteClient
from tests.frontends.remote.shared_sessions import served

_FILES = ("/", "/page.js", "/page.css", "/conversation.js", "/questions.js", "/connection.js")


@pytest.mark.parametrize("path", _FILES)
async def test_the_page_is_served_with_a_strict_policy_and_holds_no_secret(path: str):
    async with served() as made:
        answer = await made.client.get(path, authorization=None)
        assert answer.status == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "*" not in policy
        assert "frame-ancestors 'none'" in policy and "base-uri 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"
        assert made.client.token.encode() not in answer.body
        assert b"http://" not in answer.body.replace(b"https?://", b"") and b"innerHTML" not in answer.body


@pytest.mark.parametrize("said", [None, "Bearer wrong", "Bearer ", "Basic eDp5"])
async def test_nothing_is_told_or_done_without_the_key(said: str | None):
    async with served() as made:
        for method, path in (
            ("GET", "/api/sessions"), ("POST", "/api/sessions"), ("GET", made.events),
            ("POST", made.actions), ("GET", "/api/letters"), ("POST", "/api/letters"), ("GET", "/nowhere"),
        ):  # fmt: skip
            answer = await made.client.send(method, path, b"{}", authorization=said)
            assert answer.status == 401, path
        assert made.performed.done == [] and made.shared_session.people == []


async def test_the_key_does_not_count_in_the_address():
    async with served() as made:
        for query in (f"?token={made.client.token}", f"?authorization=Bearer%20{made.client.token}"):
            answer = await made.client.get(f"/api/sessions{query}", authorization=None)
            assert answer.status == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "attacker.localhost.evil", "10.0.0.1", ""]
)
@pytest.mark.parametrize("path", ["/", "/api/sessions"])
async def test_a_name_that_was_made_to_lead_here_gets_nothing(host: str, path: str):
    async with served() as made:
        answer = await made.client.get(path, host=host)
        assert answer.status == 421
        assert b"html" not in answer.body


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"sec_fetch_site": "cross-site"},
    ],
)
async def test_pages_of_others_are_refused_even_with_the_key(headers: dict[str, Any]):
    async with served() as made:
        wish = {"id": new_uuid(), "do": "prompt", "text": "do it"}
        assert (await made.client.post(made.actions, wish, **headers)).status == 403
        assert (await made.client.get("/api/sessions", **headers)).status == 403
        assert made.performed.done == []


async def test_no_page_of_another_origin_may_read_anything():
    async with served() as made:
        origin = f"http://127.0.0.1:{made.client.port}"
        for method, path in (("OPTIONS", made.actions), ("GET", "/"), ("GET", "/api/sessions")):
            answer = await made.client.send(method, path, origin=origin)
            assert not [name for name in answer.headers if name.startswith("access-control")]
        assert (await made.client.send("OPTIONS", made.actions, origin=origin)).status == 405


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", None]
)
async def test_what_a_form_of_another_page_can_send_does_nothing(kind: str | None):
    async with served() as made:
        body = json.dumps({"id": new_uuid(), "do": "prompt", "text": "do it"}).encode()
        answer = await made.client.send("POST", made.actions, body, content_type=kind)
        assert answer.status == 415
        assert made.performed.done == []


async def test_nothing_changes_by_get():
    async with served() as made:
        assert (await made.client.get(made.actions)).status == 405
        assert (await made.client.get(f"{made.actions}?do=prompt&text=x&id={new_uuid()}")).status == 405
        for method in ("PUT", "DELETE", "PATCH", "HEAD"):
            assert (await made.client.send(method, made.actions, b"")).status == 405
        assert made.performed.done == []


async def test_bodies_heads_and_prompts_that_are_too_large_are_refused():
    async with served() as made:
        announced = await made.client.send("POST", made.actions, b"{}", content_length="2000000")
        assert announced.status == 413
        chunks = b"".join(b"fffff\r\n" + b"x" * 0xFFFFF + b"\r\n" for _ in range(2)) + b"0\r\n\r\n"
        unannounced = await made.client.send(
            "POST", made.actions, chunks, content_length=None, transfer_encoding="chunked"
        )
        assert unannounced.status == 413
        assert (await made.client.get("/api/sessions", x_long="x" * 40_000)).status == 431
        long = {"id": new_uuid(), "do": "prompt", "text": "x" * 500_000}
        assert (await made.client.post(made.actions, long)).status == 413
        assert made.performed.done == []


@pytest.mark.parametrize(
    "junk", [b"\x00\xff\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01\x02\x00\x01"]
)
async def test_what_is_not_http_does_no_harm(junk: bytes):
    async with served() as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.client.port)
        writer.write(junk)
        writer.write_eof()
        async with asyncio.timeout(50):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 4") or answer == b""
        assert (await made.client.get("/api/sessions")).status == 200


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b'{"id": 1}', b'{"do": "prompt"}', b'"\xff"'])
async def test_bodies_that_mean_nothing_are_told_so(body: bytes):
    async with served() as made:
        answer = await made.client.send("POST", made.actions, body, content_type="application/json")
        assert answer.status == 400 and answer.json["error"].endswith(".")


@pytest.mark.parametrize("said", ["", "GET / HTTP/1.1\r\nhost: localhost\r\nx: "])
async def test_a_request_that_does_not_end_is_given_up(said: str):
    async with served(Timeouts(request=0.1)) as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.client.port)
        writer.write(said.encode())
        async with asyncio.timeout(50):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_that_does_not_end_is_given_up():
    async with served(Timeouts(request=0.1)) as made:
        answer = await made.client.send("POST", made.actions, b"{", content_length="10")
        assert answer.status == 408 and made.performed.done == []


async def test_somebody_who_says_nothing_does_not_keep_others_out():
    async with served() as made:
        silent = [await asyncio.open_connection("127.0.0.1", made.client.port) for _ in range(20)]
        assert (await made.client.get("/api/sessions")).status == 200
        for _, writer in silent:
            writer.close()


async def test_connections_without_a_key_make_room_for_the_owner():
    async with served() as made:
        halves = [await asyncio.open_connection("127.0.0.1", made.client.port) for _ in range(80)]
        for _, writer in halves:
            writer.write(b"GET /api/sess")
        for _ in range(5):
            assert (await made.client.get("/api/sessions")).status == 200
        async with made.client.follow(made.shared_session.id) as stream:
            assert "snapshot" in await stream.line()
        for _, writer in halves:
            writer.transport.abort()


async def test_many_wrong_keys_are_answered_late_and_the_right_one_at_once():
    async with served(Timeouts(wrong_key=1_000)) as made:
        for _ in range(20):
            assert (await made.client.get("/api/sessions", authorization="Bearer wrong")).status == 401
        reader, writer = await asyncio.open_connection("127.0.0.1", made.client.port)
        writer.write(b"GET /api/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer w\r\n\r\n")
        assert (await made.client.get("/api/sessions")).status == 200
        await made.server.close()
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.transport.abort()


@pytest.mark.parametrize("opening", [b"[", b'{"a":'])
async def test_json_that_is_nested_too_deeply_is_refused_in_a_sentence(opening: bytes):
    async with served() as made:
        for path in (made.actions, "/api/letters", "/api/sessions"):
            answer = await made.client.send("POST", path, opening * 100_000, content_type="application/json")
            assert (answer.status, answer.json) == (400, {"error": "The body is nested too deeply."})


async def test_a_follower_who_does_not_read_is_left_behind_and_holds_no_memory():
    async with served(Timeouts(reader=0.2)) as made:
        _, writer = await asyncio.open_connection("127.0.0.1", made.client.port, limit=1024)
        head = f"GET {made.events} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {made.client.token}"
        writer.write(f"{head}\r\n\r\n".encode())
        await eventually(lambda: made.shared_session.people)
        for number in range(2_000):
            made.shared_session.publish(
                {"type": "system", "subtype": "status", "text": "x" * 50_000, "number": number}
            )
            if number % 20 == 0:
                await asyncio.sleep(0)
        await eventually(lambda: not made.shared_session.people)
        assert made.shared_session.log.since(made.shared_session.log.epoch, 0, most=1) is None
        writer.transport.abort()


async def test_signs_of_life_come_while_nothing_happens():
    async with served(Timeouts(beat=0.02)) as made:
        reader, writer = await asyncio.open_connection("127.0.0.1", made.client.port)
        head = f"GET {made.events} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {made.client.token}"
        writer.write(f"{head}\r\n\r\n".encode())
        async with asyncio.timeout(50):
            for _ in range(3):
                await reader.readuntil(b'{"beat":true}')
        writer.transport.abort()


async def test_only_so_many_may_follow():
    async with served() as made:
        streams = [made.client.follow(made.shared_session.id) for _ in range(16)]
        for stream in streams:
            assert (await stream.__aenter__()).status == 200
        try:
            answer = await made.client.get(made.events)
            assert answer.status == 503 and "16" in answer.json["error"]
        finally:
            for stream in streams:
                await stream.__aexit__(None, None, None)
        await eventually(lambda: not made.shared_session.people)
        async with made.client.follow(made.shared_session.id) as stream:
            assert stream.status == 200


async def test_followers_of_one_session_take_no_places_of_another():
    async with served(sessions=3) as made, AsyncExitStack() as stack:
        for session in made.sessions:
            for _ in range(16):
                stream = await stack.enter_async_context(made.client.follow(session.id))
                assert stream.status == 200
            assert (await made.client.get(f"/api/sessions/{session.id}/events")).status == 503
        assert (await made.client.get("/api/sessions")).status == 200


async def test_the_key_for_messages_opens_nothing_else():
    async with served() as made:
        other = RemoteClient(made.client.port, letter_token(made.client.token))
        assert (await other.get("/api/letters")).json == {"name": "desk"}
        assert (await other.post("/api/letters", {"text": "hello"})).status == 200
        for method, path in (("GET", "/api/sessions"), ("GET", made.events), ("POST", made.actions)):
            assert (await other.send(method, path, b"{}")).status == 401
        assert made.performed.done == [("letter", "hello")]


async def test_a_closed_server_sends_everybody_away():
    async with served() as made, made.client.follow(made.shared_session.id) as stream:
        await stream.line()
        await made.server.close()
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await stream.line()
        with pytest.raises(OSError):
            await made.client.get("/api/sessions")


async def test_followers_of_a_session_that_is_over_get_everything_and_then_why():
    async with served() as made, made.client.follow(made.shared_session.id) as stream:
        await stream.line()
        made.shared_session.publish({"type": "system", "subtype": "status"})
        made.shared_session.finish("Stopped sharing this session.")
        await made.server.close()
        assert (await stream.line())["frame"]["subtype"] == "status"
        assert await stream.line() == {"over": "Stopped sharing this session."}


async def test_names_of_clients_are_made_harmless():
    async with served() as made:
        client = RemoteClient(made.client.port, made.client.token, name="\x1b]0;x\x07<b>Eve</b>" + "y" * 200)
        assert (await client.act(made.shared_session.id, do="interrupt")).status == 200
        ((_, who),) = made.performed.done
        assert who.isprintable() and not set(who) & set("<>/\x1b\x07;") and len(who) <= 40


async def test_a_refusal_says_why():
    async with served() as made:
        made.performed.refusal = RequestRefused(403, "Not from elsewhere.", more=1)
        answer = await made.client.act(made.shared_session.id, do="interrupt")
        assert (answer.status, answer.json) == (403, {"error": "Not from elsewhere.", "more": 1})


async def test_a_defect_is_told_and_does_not_end_the_server():
    async with served() as made:
        made.performed.refusal = RuntimeError("odd")
        answer = await made.client.act(made.shared_session.id, do="interrupt")
        assert answer.status == 500 and "RuntimeError: odd" in answer.json["error"]
        made.performed.refusal = None
        assert (await made.client.act(made.shared_session.id, do="interrupt")).status == 200

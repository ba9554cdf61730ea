"""The wire that workers speak: environments, work, sessions, events and their faults."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest

from bridle.frontends.hub.app import routes_of
from bridle.frontends.hub.pages import FILES
from bridle.frontends.hub.sessions import merge_patch
from bridle.frontends.hub.tokens import Claims, sign, verify
from bridle.frontends.hub.work_secret import decode_work_secret
from bridle.types.errors import BridleError
from tests.frontends.hub.scene import asks, hub_at, said
from tests.tables import table


async def test_work_goes_from_a_device_to_the_environment_that_polls_and_is_done_once(tmp_path: Path):
    async with hub_at(tmp_path, poll_seconds=0.01) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, poller = await scene.environment(machine)
        assert await poller.get(f"/v1/environments/{id}/work/poll") is None

        wish = {
            "title": "Fix",
            "environment_id": id,
            "events": [{"type": "event", "data": said("Go", "user")}],
        }
        session = (await phone.post("/v1/sessions", wish))["id"]
        work = await poller.get(f"/v1/environments/{id}/work/poll")
        assert (work["type"], work["environment_id"], work["data"]["type"]) == ("work", id, "session")
        assert work["data"]["id"].removeprefix("cse_") == session.removeprefix("session_")
        # Taken by one, it is not given to another, until it was not acknowledged for too long.
        assert await poller.get(f"/v1/environments/{id}/work/poll") is None
        again = await poller.get(f"/v1/environments/{id}/work/poll?reclaim_older_than_ms=0")
        assert again["id"] == work["id"]

        secret = decode_work_secret(work["secret"])
        assert (secret.version, secret.use_code_sessions) == (1, True)
        worker = scene.nobody.with_key(secret.session_ingress_token)
        path = f"/v1/environments/{id}/work/{work['id']}"
        await worker.post(f"{path}/ack")
        await worker.post(f"{path}/ack")
        beat = await worker.post(f"{path}/heartbeat")
        assert (beat["lease_extended"], beat["state"], beat["ttl_seconds"]) == (True, "running", 300)
        assert await poller.get(f"/v1/environments/{id}/work/poll?reclaim_older_than_ms=0") is None

        await machine.post(f"/v1/environments/{id}/bridge/reconnect", {"session_id": work["data"]["id"]})
        assert (await poller.get(f"/v1/environments/{id}/work/poll"))["data"] == work["data"]
        await machine.post(f"{path}/stop", {"force": True})
        assert (await worker.post(f"{path}/heartbeat"))["lease_extended"] is False


async def test_a_poll_that_waits_gets_work_the_moment_it_is_there(tmp_path: Path):
    async with hub_at(tmp_path, poll_seconds=600.0) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, poller = await scene.environment(machine)
        polling = asyncio.create_task(poller.get(f"/v1/environments/{id}/work/poll"))
        await asyncio.sleep(0)
        await phone.post("/v1/sessions", {"environment_id": id, "title": "t"})
        async with asyncio.timeout(60):
            assert (await polling)["type"] == "work"


async def test_an_environment_is_taken_up_again_by_its_machine_alone_and_ends_when_removed(tmp_path: Path):
    async with hub_at(tmp_path, poll_seconds=0.01) as scene:
        machine, other = await scene.machine(), await scene.machine("other")
        id, old = await scene.environment(machine, environment_id="6f0c-own")
        again, new = await scene.environment(machine, environment_id=id)
        same, newest = await scene.environment(machine, environment_id="6f0c-own")
        assert again == same == id
        for stale in (old, new):
            assert (await stale.send("GET", f"/v1/environments/{id}/work/poll")).status == 401
        stolen = await other.send("POST", "/v1/environments/bridge", {"environment_id": id})
        assert stolen.status == 403
        assert (await other.send("DELETE", f"/v1/environments/bridge/{id}")).status == 403
        assert (await machine.send("DELETE", f"/v1/environments/bridge/{id}")).status == 204
        gone = await newest.send("GET", f"/v1/environments/{id}/work/poll")
        assert (gone.status, gone.json["error"]["type"]) == (410, "environment_expired")


async def test_events_reach_the_other_side_in_order_and_once_across_a_break(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, epoch = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}/worker/events"
        first = await phone.act(id.replace("cse", "session"), "prompt", text="one")
        assert first.json == {"sent": True}
        async with worker.stream(f"{path}/stream") as stream:
            event = await stream.next()
        assert event["payload"]["message"] == {"role": "user", "content": "one"}
        assert event["payload"]["origin"] == {"kind": "remote", "who": "phone"}
        await worker.post(f"{path}/{event['event_id']}/delivery", {"status": "processed"})
        for text in ("two", "three"):
            await phone.act(id, "prompt", text=text)
        async with worker.stream(f"{path}/stream", headers=(("last-event-id", "1"),)) as stream:
            assert [(await stream.next())["payload"]["message"]["content"] for _ in "ab"] == ["two", "three"]
        # A worker that names no number gets what was not finished.
        async with worker.stream(f"{path}/stream") as stream:
            assert (await stream.next())["payload"]["message"]["content"] == "two"

        out = [said("a"), said("b")]
        assert await worker.post(path, {"worker_epoch": epoch, "events": out}) == {"accepted": 2}
        assert await worker.post(path, {"worker_epoch": epoch, "events": [*out, said("c")]}) == {
            "accepted": 1
        }
        page = await phone.get(f"/api/sessions/{id}/events")
        shown = [each["frame"]["message"]["content"][0]["text"] for each in page["events"]]
        assert (shown, page["more"], page["last"]) == (["a", "b", "c"], False, 3)


async def test_a_worker_that_was_replaced_is_refused_everywhere_and_its_stream_ends(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        machine = await scene.machine()
        id, old, _ = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}"
        async with old.stream(f"{path}/worker/events/stream") as stream:
            bridge = await machine.post(f"{path}/bridge")
            assert bridge["worker_epoch"] == "2"
            assert await stream.next() is None
        for method, rest, body in (
            ("POST", "/worker/events", {"events": [said("late")]}),
            ("PUT", "/worker", {"worker_status": "running"}),
            ("GET", "/worker/events/stream", None),
        ):
            refused = await old.send(method, f"{path}{rest}", body)
            assert (refused.status, refused.json["error"]["type"]) == (409, "worker_epoch_mismatch"), rest
        new = scene.nobody.with_key(bridge["worker_jwt"])
        assert await new.post(f"{path}/worker/events", {"events": [said("on")]}) == {"accepted": 1}


async def test_state_is_merged_and_shown_in_the_list(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device("watch"), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        for state in (
            {"worker_status": "running", "external_metadata": {"branch": "main", "cost": {"usd": 1}}},
            {"external_metadata": {"branch": None, "cost": {"tokens": 5}}},
        ):
            assert (await worker.send("PUT", f"/v1/code/sessions/{id}/worker", state)).status == 204
        (row,) = (await phone.get("/v1/sessions"))["data"]
        assert row["worker_status"] == "running"
        assert row["external_metadata"] == {"cost": {"usd": 1, "tokens": 5}}


async def test_the_first_answer_counts_and_only_for_what_was_shown(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, tablet, machine = (
            await scene.device(),
            await scene.device(name="tablet"),
            await scene.machine(),
        )
        watcher = await scene.device("watch", "wall")
        id, worker, _ = await scene.worker(machine)
        path, question = f"/v1/code/sessions/{id}/worker/events", asks(command="make")
        await worker.post(path, {"events": [question]})
        (shown,) = (await phone.get("/api/state"))["questions"]
        assert shown["request"]["input"] == {"command": "make"}
        said_yes = {"request_id": shown["request_id"], "digest": shown["digest"], "behavior": "allow"}
        assert (await watcher.act(id, "answer", **said_yes)).status == 403
        assert (await phone.act(id, "answer", **{**said_yes, "digest": "0" * 64})).status == 409
        assert (await phone.act(id, "answer", **said_yes)).json == {"counted": True}
        late = await tablet.act(id, "answer", **{**said_yes, "behavior": "deny"})
        assert (late.status, late.json["error"]["message"]) == (409, "phone answered first.")
        async with worker.stream(f"{path}/stream") as stream:
            answer = (await stream.next())["payload"]
        assert answer["response"]["response"] == {"behavior": "allow"}
        assert (answer["digest"], answer["origin"]["who"]) == (shown["digest"], "phone")
        assert (await phone.get("/api/state"))["questions"] == []
        rows = (await phone.get("/api/audit"))["rows"]
        assert [row["behavior"] for row in rows if row["action"] == "answer"] == ["allow"]


async def test_an_action_that_is_repeated_is_done_once(tmp_path: Path):
    async with hub_at(tmp_path, poll_seconds=0.01) as scene:
        phone, machine = await scene.device(), await scene.machine()
        environment, _ = await scene.environment(machine)
        wish = {"id": "6f0c1a52-0000-4000-8000-000000000001", "environment": environment, "prompt": "Go"}
        made = await asyncio.gather(*(phone.post("/api/sessions", wish) for _ in range(5)))
        assert len({each["id"] for each in made}) == 1
        act = {"id": "6f0c1a52-0000-4000-8000-000000000002", "do": "prompt", "text": "more"}
        for _ in range(3):
            assert await phone.post(f"/api/sessions/{made[0]['id']}/act", act) == {"sent": True}
        state = await phone.get("/api/state")
        assert len(state["sessions"]) == 1


_PATHS = (
    ("POST", "/v1/environments/bridge"),
    ("DELETE", "/v1/environments/bridge/env_1"),
    ("GET", "/v1/environments/env_1/work/poll"),
    ("POST", "/v1/environments/env_1/work/work_1/ack"),
    ("POST", "/v1/environments/env_1/work/work_1/heartbeat"),
    ("POST", "/v1/environments/env_1/work/work_1/stop"),
    ("POST", "/v1/environments/env_1/bridge/reconnect"),
    ("POST", "/v1/sessions"),
    ("GET", "/v1/sessions"),
    ("GET", "/v1/sessions/session_1"),
    ("PATCH", "/v1/sessions/session_1"),
    ("POST", "/v1/sessions/session_1/archive"),
    ("POST", "/v1/sessions/session_1/events"),
    ("GET", "/v1/sessions/session_1/events"),
    ("POST", "/v1/code/sessions"),
    ("POST", "/v1/code/sessions/cse_1/bridge"),
    ("POST", "/v1/code/sessions/cse_1/worker/register"),
    ("GET", "/v1/code/sessions/cse_1/worker/events/stream"),
    ("POST", "/v1/code/sessions/cse_1/worker/events"),
    ("PUT", "/v1/code/sessions/cse_1/worker"),
    ("POST", "/v1/code/sessions/cse_1/worker/events/e/delivery"),
    ("GET", "/api/me"),
    ("GET", "/api/state"),
    ("GET", "/api/stream"),
    ("GET", "/api/search?q=word"),
    ("POST", "/api/sessions"),
    ("GET", "/api/sessions/session_1/events"),
    ("POST", "/api/sessions/session_1/act"),
    ("POST", "/api/codes"),
    ("GET", "/api/devices"),
    ("DELETE", "/api/devices/device_1"),
    ("GET", "/api/audit"),
    ("POST", "/api/auth/trusted_devices"),
    ("POST", "/api/files"),
    ("GET", "/api/oauth/files/file_1/content"),
    ("GET", "/api/keys"),
    ("PUT", "/api/keys/machine_1"),
    ("GET", "/api/machine"),
    ("GET", "/api/machine/keys"),
    ("PUT", "/api/machine/keys"),
    ("GET", "/api/push"),
    ("PUT", "/api/push"),
    ("DELETE", "/api/push"),
    ("POST", "/api/push/try"),
)
_OPEN = {"/healthz", "/api/pair", "/api/join", *FILES}
"""What needs no key: the page, and the routes by which keys are got."""


async def test_every_route_of_the_hub_is_in_these_tests(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        routes = routes_of(scene.hub)
    known = {
        (method, re.sub(r"(?<=/)(?:[a-z]+_1|e)(?=/|$)", "*", path.partition("?")[0]))
        for method, path in _PATHS
    }
    served = {
        (method, re.sub(r"\{\w+\}", "*", each.path))
        for each in routes
        if each.path not in _OPEN
        for method in set(each.methods or ()) - {"HEAD"}
    }
    assert served == known


async def test_no_body_is_a_defect_whatever_it_holds(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        environment, poller = await scene.environment(machine)
        bodies = (
            b"{",
            b"[]",
            b"\xff\xfe",
            b"[" * 50_000,
            b'{"a":' * 50_000,
            b"null",
            b'{"id": 1e999}',
            b" " * 8_000_001,
        )
        for method, path in _PATHS:
            if method == "GET" or path == "/api/files":
                continue
            real = re.sub("(?:session|cse)_1", id, path).replace("env_1", environment)
            for client in (phone, machine, worker, poller):
                for body in bodies if client is phone else bodies[:-1]:
                    scene.hub.guard._wrong.clear()
                    answer = await client.send(method, real, body)
                    assert answer.status < 500, (method, real, body[:20], answer.body)
                    assert answer.status == 204 or answer.json, (method, real, body[:20])


async def test_no_route_answers_without_a_key_that_is_valid_there(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        _, worker, _ = await scene.worker(machine)
        revoked = await scene.device(name="lost")
        await phone.send("DELETE", f"/api/devices/{(await revoked.get('/api/me'))['id']}")
        token = verify(worker.key, scene.hub._secret, now=1.0)
        assert token is not None
        forged = sign(Claims(token.session_id, token.exp, token.epoch), b"another secret")
        expired = sign(Claims(token.session_id, 1, token.epoch), scene.hub._secret)
        keys = ("", "wrong", revoked.key, forged, expired, f"{worker.key}x", worker.key)
        for key in keys:
            client = scene.nobody.with_key(key)
            for method, path in _PATHS:
                # The guard forgets, so that no key is judged by how often others failed.
                scene.hub.guard._wrong.clear()
                body = {"do": "prompt", "session_id": "cse_1"} if method == "POST" else None
                answer = await client.send(method, path, body)
                assert answer.status in (401, 404), (key[:8], method, path, answer.status, answer.body)
                assert answer.status == 401 or key == worker.key or "session_1" in path or "cse_1" in path


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ((("host", "evil.example"),), 421),
        ((("host", "127.0.0.1.evil.example"),), 421),
        ((("origin", "https://evil.example"),), 403),
        ((("origin", "null"),), 403),
        ((("sec-fetch-site", "cross-site"),), 403),
    ],
)
async def test_foreign_pages_and_names_are_refused_whatever_key_they_show(
    tmp_path: Path, headers: tuple[tuple[str, str], ...], status: int
):
    async with hub_at(tmp_path) as scene:
        phone = await scene.device()
        assert (await phone.send("GET", "/api/state", headers=headers)).status == status


async def test_many_wrong_keys_from_an_address_are_not_looked_at_any_more(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone = await scene.device()
        for _ in range(20):
            assert (await scene.nobody.send("POST", "/api/pair", {"code": "AAAAA-AAAAA"})).status == 401
        refused = await phone.send("GET", "/api/me")
        assert refused.status == 429 and int(refused.headers["retry-after"]) > 0


async def test_bodies_that_are_wrong_get_a_clear_answer(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        events = f"/v1/code/sessions/{id}/worker/events"
        cases: list[tuple[Any, str, str, Any, int]] = [
            (worker, "POST", events, b"{", 400),
            (worker, "POST", events, b"[" * 100_000, 400),
            (worker, "POST", events, b"[]", 400),
            (worker, "POST", events, b"\xff", 400),
            (worker, "POST", events, {"events": "x"}, 400),
            (worker, "POST", events, {"events": [1]}, 400),
            (worker, "POST", events, {"events": [{"no": "type"}]}, 400),
            (worker, "POST", events, {"events": [said("x")] * 2_001}, 413),
            (worker, "POST", events, b" " * 8_000_001, 413),
            (worker, "POST", events, {"worker_epoch": True, "events": []}, 400),
            (worker, "PUT", f"/v1/code/sessions/{id}/worker", {"worker_status": "dancing"}, 400),
            (worker, "PUT", f"/v1/code/sessions/{id}/worker", {"external_metadata": [1]}, 400),
            (worker, "POST", f"{events}/none/delivery", {"status": "processed"}, 404),
            (phone, "POST", f"/api/sessions/{id}/act", {"do": "prompt", "text": "x"}, 400),
            (phone, "POST", f"/api/sessions/{id}/act", {"do": "explode"}, 400),
            (phone, "GET", "/api/sessions/..%2f..%2fetc/events", None, 404),
            (phone, "GET", f"/api/sessions/{id}/events?before=-1", None, 400),
            (phone, "GET", "/api/stream?follow=x", None, 400),
            (phone, "GET", "/api/search?q=a", None, 400),
            (phone, "POST", "/api/sessions", {"id": "6f0c1a52-0000-4000-8000-000000000001"}, 400),
            (machine, "POST", "/v1/environments/bridge", {"max_sessions": "many"}, 400),
            (machine, "POST", "/v1/environments/bridge", {"directory": 7}, 400),
            (phone, "GET", "/nowhere", None, 404),
            (phone, "PUT", "/api/state", None, 405),
        ]
        for client, method, path, body, status in cases:
            answer = await client.send(method, path, body)
            assert answer.status == status, (method, path, answer.status, answer.body[:200])
            assert answer.json["type"] == "error" and answer.json["error"]["message"]
        assert (await phone.act(id, "mode", mode="bypassPermissions")).status == 403


async def test_what_the_page_sees_comes_in_one_stream(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}/worker/events"
        await worker.post(path, {"events": [said("before")]})
        followed = id.replace("cse_", "session_")
        async with phone.stream(f"/api/stream?follow={followed}:0") as stream:
            assert (await stream.next())["sessions"][0]["title"] == "Desk"
            events = await stream.until(lambda each: "events" in each)
            assert (events["session"], events["events"][0]["n"]) == (followed, 1)
            await worker.post(path, {"events": [asks(), said("after")]})
            events = await stream.until(lambda each: "events" in each)
            assert [each["n"] for each in events["events"]] == [2, 3]
            asked = await stream.until(lambda each: "questions" in each)
            assert asked["questions"][0]["request"]["tool_name"] == "Bash"
            await scene.environment(machine)
            assert (await stream.until(lambda each: "environments" in each))["environments"]


async def test_partial_messages_are_dropped_when_the_whole_one_is_there(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        phone, machine = await scene.device(), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}/worker/events"
        await worker.post(path, {"events": [{"type": "stream_event", "event": {"n": n}} for n in range(5)]})
        await worker.post(path, {"events": [said("whole")]})
        data = await phone.get(f"/v1/sessions/{id}/events")
        assert ([each["type"] for each in data["data"]], data["last"]) == (["assistant"], 6)


@table(
    "known, patch, merged",
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": {"b": 1}}, {"a": {"c": 2}}, {"a": {"b": 1, "c": 2}}),
        ({"a": 1}, {"a": {"c": None, "d": 1}}, {"a": {"d": 1}}),
        ({"a": [1]}, {"a": [2]}, {"a": [2]}),
    ],
)
def test_metadata_is_merged_as_the_standard_says(known: Any, patch: Any, merged: Any):
    before = json.dumps(known)
    assert merge_patch(known, patch) == merged
    assert json.dumps(known) == before


def test_tokens_say_who_they_are_for_and_cannot_be_changed():
    claims = Claims("abc", 2_000_000_000, 7)
    token = sign(claims, b"secret")
    assert verify(token, b"secret", now=1.0) == claims
    assert verify(token, b"other", now=1.0) is None
    assert verify(token, b"secret", now=2_000_000_000.0) is None
    head, body, signature = token.split(".")
    for changed in (f"{head}.{body[:-2]}AA.{signature}", f"{body}.{body}.{signature}", "", "a.b.c", "é.b.c"):
        assert verify(changed, b"secret", now=1.0) is None


@table("secret", ["", "!!", "e30", "eyJ2ZXJzaW9uIjoyfQ"])
def test_work_that_cannot_be_read_is_refused(secret: str):
    with pytest.raises(BridleError):
        decode_work_secret(secret)

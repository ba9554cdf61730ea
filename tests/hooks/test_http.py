import asyncio
import json
import shutil
import ssl
import subprocess
from pathlib import Path
from typing import Any

import pytest

from bridle.config.hook_schema import HttpHook
from bridle.config.sources import Layer
from bridle.hooks.handler import Answered, Failed, Handler, Kind, Reply
from bridle.hooks.http import HttpLimits, fill_headers, find_objection, http_handler
from bridle.hooks.http_post import MOST_BYTES
from bridle.types.permission import Deny
from tests.fakes.hook_calls import BASH, call_of
from tests.fakes.hook_runner import runner_of
from tests.fakes.hook_server import HookServer
from tests.fakes.processes import eventually
from tests.fakes.proxy import FakeProxy

DENIES = b'{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny"}}'


async def _ask(hook: HttpHook, limits: HttpLimits | None = None, **env: str) -> Reply:
    async with asyncio.timeout(50):
        return await http_handler(env=env, limits=lambda: limits or HttpLimits())(call_of(hook))


async def test_the_input_is_posted_and_the_object_comes_back():
    async with HookServer(DENIES) as server:
        hook = HttpHook(url=server.url("/check?strict=1"))
        reply = await _ask(hook)
    assert reply == Answered(output=json.loads(DENIES), text=DENIES.decode())
    (received,) = server.received
    assert (received.method, received.path) == ("POST", "/check?strict=1")
    assert received.raw == call_of(hook).data
    assert received.headers["content-type"] == "application/json"
    assert received.headers["host"] == f"127.0.0.1:{server.port}"


async def test_an_empty_answer_is_no_opinion():
    async with HookServer(b"", status="204 No Content") as server:
        assert await _ask(HttpHook(url=server.url())) == Answered(output={})


@pytest.mark.parametrize(
    ("status", "body"),
    [
        ("500 Internal Server Error", DENIES),
        ("403 Forbidden", DENIES),
        ("200 OK", b"denied!"),
        ("200 OK", b"[1]"),
        ("200 OK", b'{"decision": "blo'),
        ("200 OK", b"[" * 100_000),
    ],
)
async def test_only_an_object_with_a_good_status_decides(status: str, body: bytes):
    async with HookServer(body, status=status) as server:
        reply = await _ask(HttpHook(url=server.url()))
    assert isinstance(reply, Failed)
    assert len(reply.stdout) <= 10_000


async def test_a_redirect_is_not_followed():
    async with HookServer(DENIES) as target:
        headers = f"Location: {target.url()}\r\n"
        async with HookServer(b"", status="307 Temporary Redirect", headers=headers) as server:
            reply = await _ask(HttpHook(url=server.url(), headers={"Authorization": "x"}))
    assert isinstance(reply, Failed) and "redirect" in reply.reason
    assert target.received == []


async def test_an_endless_answer_is_given_up():
    flood = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" + b"{" * (2 * MOST_BYTES)
    async with HookServer(raw=flood) as server:
        assert isinstance(await _ask(HttpHook(url=server.url())), Failed)


@pytest.mark.parametrize("raw", [b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}"])
async def test_an_answer_that_is_not_whole_http_is_a_failure(raw: bytes):
    async with HookServer(raw=raw) as server:
        assert isinstance(await _ask(HttpHook(url=server.url())), Failed)


async def test_a_server_that_is_not_there_is_a_failure():
    async with HookServer() as server:
        url = server.url("/hook?token=secret")
    reply = await _ask(HttpHook(url=url))
    assert isinstance(reply, Failed) and "secret" not in reply.reason


async def test_giving_up_a_silent_server_closes_the_connection():
    async with HookServer(raw=b"") as server:
        asking = asyncio.create_task(_ask(HttpHook(url=server.url())))
        await eventually(lambda: server.received)
        asking.cancel()
        async with asyncio.timeout(50):
            await server.left.wait()
        assert asking.cancelled()


async def test_headers_take_only_variables_that_are_listed():
    async with HookServer() as server:
        headers = {"Authorization": "Bearer ${TOKEN}", "X-Other": "a$SECRET-$TOKEN", "X-Plain": "5$"}
        hook = HttpHook(url=server.url(), headers=headers, allowed_env_vars=("TOKEN",))
        await _ask(hook, TOKEN="t1", SECRET="s3cret")
    got = server.received[0].headers
    assert (got["authorization"], got["x-other"], got["x-plain"]) == ("Bearer t1", "a-t1", "5$")
    assert "s3cret" not in str(server.received)


@pytest.mark.parametrize(
    ("own", "allowed", "value"),
    [
        (None, None, ""),
        ((), None, ""),
        (("A",), None, "1-"),
        (("A", "B"), ("B",), "-2"),
        (("A",), (), ""),
        (None, ("A",), ""),
    ],
)
def test_the_settings_and_the_hook_must_both_list_a_variable(own: Any, allowed: Any, value: str):
    hook = HttpHook(url="https://h/", headers={"X": "$A-${B}"}, allowed_env_vars=own)
    ((_, filled),) = fill_headers(hook, {"A": "1", "B": "2"}, allowed=allowed)
    assert filled == (value or "-")


def test_a_variable_cannot_begin_a_header_of_its_own():
    hook = HttpHook(url="https://h/", headers={"X": "$A"}, allowed_env_vars=("A",))
    assert fill_headers(hook, {"A": "1\r\nEvil: 2\0"}, allowed=None) == [("X", "1Evil: 2")]


async def test_a_hook_may_choose_its_content_type_but_not_the_framing():
    async with HookServer() as server:
        await _ask(HttpHook(url=server.url(), headers={"content-type": "application/vnd.x+json"}))
        reply = await _ask(HttpHook(url=server.url(), headers={"Content-Length": "0"}))
    assert [received.headers["content-type"] for received in server.received] == ["application/vnd.x+json"]
    assert isinstance(reply, Failed)


async def test_a_hook_cannot_pretend_to_be_sent_to_another_host():
    async with HookServer() as server:
        reply = await _ask(HttpHook(url=server.url(), headers={"Host": "elsewhere"}))
    assert isinstance(reply, Failed) and "Host" in reply.reason and not server.received


async def test_the_proxy_for_everything_is_used_too():
    async with HookServer() as server, FakeProxy(server.port) as proxy:
        reply = await _ask(HttpHook(url="http://hooks.invalid/x"), ALL_PROXY=f"http://127.0.0.1:{proxy.port}")
    assert reply == Answered(output={}, text="{}") and len(proxy.heads) == 1


async def test_a_header_that_cannot_be_sent_is_a_failure():
    async with HookServer() as server:
        assert isinstance(await _ask(HttpHook(url=server.url(), headers={"bad name": "x"})), Failed)
    assert server.received == []


async def test_an_address_outside_the_allow_list_is_not_asked():
    async with HookServer() as server:
        hook = HttpHook(url=server.url())
        refused = await _ask(hook, HttpLimits(urls=("https://hooks.example.com/*",)))
        allowed = await _ask(hook, HttpLimits(urls=("http://127.0.0.1:*",)))
    assert isinstance(refused, Failed) and "allowedHttpHookUrls" in refused.reason
    assert allowed == Answered(output={}, text="{}")
    assert len(server.received) == 1


async def test_limits_are_looked_up_at_each_call():
    limits = [HttpLimits(urls=()), HttpLimits()]
    async with HookServer() as server:
        handler = http_handler(env={}, limits=lambda: limits.pop(0))
        call = call_of(HttpHook(url=server.url()))
        assert isinstance(await handler(call), Failed)
        assert isinstance(await handler(call), Answered)


def test_the_lists_of_all_files_are_united_but_a_stranger_widens_none():
    layers = (
        Layer("userSettings", "/u", {"allowedHttpHookUrls": ["https://a/*"]}, ""),
        Layer("projectSettings", "/p", {"allowedHttpHookUrls": ["*"], "httpHookAllowedEnvVars": ["A"]}, ""),
        Layer("policySettings", "/m", {"allowedHttpHookUrls": ["https://b/*"]}, ""),
    )
    assert HttpLimits.of(layers, trusted=False) == HttpLimits(urls=("https://a/*", "https://b/*"))
    assert HttpLimits.of(layers, trusted=True) == HttpLimits(
        urls=("https://a/*", "*", "https://b/*"), variables=("A",)
    )
    assert HttpLimits.of((), trusted=True) == HttpLimits()


@pytest.mark.parametrize("host", ["169.254.169.254", "[fe80::1]", "[::ffff:169.254.169.254]"])
async def test_link_local_addresses_are_not_asked(host: str):
    reply = await _ask(HttpHook(url=f"http://{host}/latest/meta-data"))
    assert isinstance(reply, Failed) and "link-local" in reply.reason


def test_an_objection_is_known_before_anything_is_sent():
    assert find_objection(HttpHook(url="https://h/x"), HttpLimits()) is None
    assert find_objection(HttpHook(url="h/x"), HttpLimits()) is not None


async def test_a_plain_request_goes_to_the_proxy_with_the_whole_address():
    async with HookServer() as server, FakeProxy(server.port) as proxy:
        url = "http://hooks.invalid/check"
        reply = await _ask(HttpHook(url=url), http_proxy=f"http://me:pw@127.0.0.1:{proxy.port}")
    assert reply == Answered(output={}, text="{}")
    assert proxy.heads[0].startswith("POST http://hooks.invalid/check HTTP/1.1\r\n")
    assert "proxy-authorization: Basic bWU6cHc=\r\n" in proxy.heads[0]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for `hooks.invalid` and `localhost` with its key in the same file."""
    if shutil.which("openssl") is None:
        pytest.skip("certificates are made with openssl")
    path = tmp_path_factory.mktemp("certificate") / "both.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,DNS:hooks.invalid", "-keyout", path, "-out", f"{path}.crt"],
        check=True, capture_output=True,
    )  # fmt: skip
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def _tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_certificates_are_checked_and_the_name_must_fit(certificate: Path):
    async with HookServer(tls=_tls(certificate)) as server:
        hook = HttpHook(url=server.url(host="localhost"))
        assert isinstance(await _ask(hook), Failed)
        assert isinstance(await _ask(hook, NODE_EXTRA_CA_CERTS=str(certificate)), Answered)
        wrong = HttpHook(url=server.url(host="127.0.0.1"))
        assert isinstance(await _ask(wrong, NODE_EXTRA_CA_CERTS=str(certificate)), Failed)


async def test_a_secure_request_is_tunneled_and_the_proxy_sees_no_header(certificate: Path):
    async with HookServer(tls=_tls(certificate)) as server, FakeProxy(server.port) as proxy:
        hook = HttpHook(url="https://hooks.invalid/x", headers={"Authorization": "secret"})
        reply = await _ask(
            hook, HTTPS_PROXY=f"http://127.0.0.1:{proxy.port}", NODE_EXTRA_CA_CERTS=str(certificate)
        )
    assert reply == Answered(output={}, text="{}")
    assert proxy.heads[0].startswith("CONNECT hooks.invalid:443") and "secret" not in proxy.heads[0]
    assert server.received[0].headers["authorization"] == "secret"


async def test_a_proxy_that_refuses_is_a_failure():
    async with FakeProxy(1, refusal="407 Proxy Authentication Required") as proxy:
        reply = await _ask(HttpHook(url="https://hooks.invalid/"), https_proxy=f"127.0.0.1:{proxy.port}")
    assert isinstance(reply, Failed) and "407" in reply.reason


async def test_roots_that_cannot_be_read_are_a_failure_with_the_variable(tmp_path: Path):
    missing = str(tmp_path / "missing.pem")
    reply = await _ask(HttpHook(url="https://localhost:1/"), NODE_EXTRA_CA_CERTS=missing)
    assert isinstance(reply, Failed) and "NODE_EXTRA_CA_CERTS" in reply.reason


@pytest.mark.parametrize(("on_failure", "stopped"), [(None, False), ("block", True)])
async def test_a_failure_lets_the_call_through_unless_the_hook_fails_closed(
    on_failure: str | None, stopped: bool
):
    async with HookServer(DENIES, status="500 Internal Server Error") as server:
        hook = HttpHook(url=server.url(), on_failure=on_failure)
        handlers: dict[Kind, Handler] = {"http": http_handler(env={}, limits=HttpLimits)}
        outcome = await runner_of("PreToolUse", hook, handlers=handlers).fire(BASH)
    assert isinstance(outcome.decision, Deny) is stopped
    assert len(outcome.problems) == 1 and "status 500" in outcome.problems[0]


async def test_an_answer_decides_the_call():
    async with HookServer(DENIES) as server:
        handlers: dict[Kind, Handler] = {"http": http_handler(env={}, limits=HttpLimits)}
        outcome = await runner_of("PreToolUse", HttpHook(url=server.url()), handlers=handlers).fire(BASH)
    assert isinstance(outcome.decision, Deny) and outcome.problems == ()


async def test_a_silent_server_is_given_up_after_the_time_of_the_hook():
    async with HookServer(raw=b"") as server:
        handlers: dict[Kind, Handler] = {"http": http_handler(env={}, limits=HttpLimits)}
        hook = HttpHook(url=server.url(), timeout=0.1)
        async with asyncio.timeout(50):
            outcome = await runner_of("PreToolUse", hook, handlers=handlers).fire(BASH)
    assert outcome.decision is None and "timed out" in outcome.problems[0]

"""Credentials that commands use without having them, behind real walls and over real TLS."""

import asyncio
import base64
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import msgspec
import pytest

from bridle.config.sandbox.schema import TlsTerminate
from bridle.host.aws_signature import AwsCredentials, Scope, authorization
from bridle.host.sandbox.masking.settings import (
    AwsPair,
    Mask,
    MaskedFile,
    MaskedVariable,
    MaskingSettings,
    Signing,
)
from bridle.host.sandbox.policy import Network, Policy
from tests.fakes.confined import FakePlace
from tests.fakes.http_server import listening
from tests.fakes.tls_server import FakeTlsServer

_REAL = "real/secret+value"
_KEY, _SECRET, _SESSION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "session/token=="


@asynccontextmanager
async def _behind_tls(
    place: FakePlace, *variables: MaskedVariable, hosts: tuple[str, ...] = ("localhost",)
) -> AsyncGenerator[FakeTlsServer]:
    """A server that the sandbox may reach, with masks in force."""
    async with FakeTlsServer(place.base) as server:
        place.env = {"SSL_CERT_FILE": str(server.roots)}
        place.tls = TlsTerminate()
        if variables:
            place.masks = MaskingSettings(variables=variables)
        place.open(Policy(network=Network(mode="proxy", allowed=(*hosts, f"localhost:{server.port}"))))
        yield server


def _token(*hosts: str) -> MaskedVariable:
    return MaskedVariable("TOKEN", Mask(hosts=hosts or ("localhost",)))


async def _curl(place: FakePlace, *arguments: str, **env: str) -> str:
    """What curl prints; arguments may speak of variables."""
    words = " ".join(f'"{argument}"' for argument in arguments)
    said = await place.run("/bin/bash", "-c", f"curl -sS --max-time 10 {words}", env=env)
    return said.output


async def test_command_never_sees_what_the_server_gets(place: FakePlace):
    async with _behind_tls(place, _token()) as server:
        url = f"https://localhost:{server.port}"
        said = await _curl(
            place, "-H", "Authorization: Bearer $TOKEN", f"{url}/a?key=$TOKEN", "-v", TOKEN=_REAL
        )
        assert "fine\n" in said and _REAL not in said
        assert await _curl(place, "-u", "me:$TOKEN", f"{url}/basic", TOKEN=_REAL) == "fine\n"
        assert (await place.run("/bin/bash", "-c", "env", env={"TOKEN": _REAL})).output.count(_REAL) == 0
    first, second = server.heard
    assert first.line == "GET /a?key=real%2Fsecret%2Bvalue HTTP/1.1"
    assert first.headers["authorization"] == f"Bearer {_REAL}"
    assert second.headers["authorization"] == "Basic " + base64.b64encode(f"me:{_REAL}".encode()).decode()


async def test_bodies_are_written_as_their_kind_wants_it(place: FakePlace):
    quoted = '"quoted"\\'
    kinds = ("application/json", "application/x-www-form-urlencoded")
    async with _behind_tls(place, _token()) as server:
        url = f"https://localhost:{server.port}/"
        for kind in kinds:
            data = '{\\"k\\": \\"$TOKEN\\"}' if "json" in kind else "k=$TOKEN"
            assert (
                await _curl(place, "-H", f"Content-Type: {kind}", "-d", data, url, TOKEN=quoted) == "fine\n"
            )
        chunked = ("-H", "Transfer-Encoding: chunked", "-H", "Content-Type: text/plain", "-d", "a $TOKEN b")
        assert await _curl(place, *chunked, url, TOKEN="x" * 70_000) == "fine\n"
    assert [heard.body for heard in server.heard] == [
        b'{"k": "\\"quoted\\"\\\\"}',
        b"k=%22quoted%22%5C",
        b"a " + b"x" * 70_000 + b" b",
    ]


async def test_large_bodies_pass_and_expectations_are_met(place: FakePlace):
    async with _behind_tls(place, _token()) as server:
        script = (
            f"head -c 9000000 /dev/zero | curl -sS --max-time 20 -H 'Expect: 100-continue' "
            f"--data-binary @- https://localhost:{server.port}/"
        )
        assert (await place.run("/bin/bash", "-c", script, env={"TOKEN": _REAL})).output == "fine\n"
    assert len(server.heard[0].body) == 9_000_000


@pytest.mark.parametrize("hosts", [("other.example",), ("127.0.0.1",)])
async def test_other_hosts_get_placeholders(place: FakePlace, hosts: tuple[str, ...]):
    async with _behind_tls(place, _token(*hosts)) as server:
        header = ("-H", "Authorization: $TOKEN")
        assert await _curl(place, *header, f"https://localhost:{server.port}/", TOKEN=_REAL) == "fine\n"
    assert server.heard[0].headers["authorization"].startswith("bridle_")


async def test_connection_for_one_host_carries_no_request_for_another(place: FakePlace):
    async with _behind_tls(place, _token()) as server:
        url = f"https://localhost:{server.port}/"
        said = await _curl(place, "-H", "Host: other.example", "-w", "%{http_code}", "-o", "/dev/null", url)
    assert (said, server.heard) == ("421", [])


async def test_host_that_nobody_vouches_for_gets_nothing(place: FakePlace):
    async with _behind_tls(place, _token()) as server:
        await place.close()
        place.env = {"SSL_CERT_FILE": "/etc/ssl/certs/ca-certificates.crt"}
        place.open()
        url = f"https://localhost:{server.port}/"
        said = await _curl(
            place, "-H", "X: $TOKEN", "-w", "%{http_code}", "-o", "/dev/null", url, TOKEN=_REAL
        )
    assert (said, server.heard) == ("502", [])


async def test_python_and_several_requests_at_once_come_through(place: FakePlace):
    script = (
        "import concurrent.futures, os, urllib.request, sys\n"
        "def ask(n):\n"
        "    request = urllib.request.Request(f'{sys.argv[1]}/{n}', headers={'X-Key': os.environ['TOKEN']})\n"
        "    return urllib.request.urlopen(request, timeout=50).read()\n"
        "with concurrent.futures.ThreadPoolExecutor(4) as pool:\n"
        "    print(set(pool.map(ask, range(8))))\n"
    )
    async with _behind_tls(place, _token()) as server:
        url = f"https://localhost:{server.port}"
        said = await place.run(place.person.python, "-I", "-c", script, url, env={"TOKEN": _REAL})
    assert said.output == "{b'fine\\n'}\n"
    assert [heard.headers["x-key"] for heard in server.heard] == [_REAL] * 8


async def test_what_is_not_encrypted_in_a_tunnel_passes_as_it_is(place: FakePlace):
    """A server that speaks first, as mail servers do."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"hello\n")
        writer.write((await reader.readline()).upper())
        await writer.drain()
        writer.close()

    async with listening(greet) as port:
        place.tls = TlsTerminate()
        place.open(Policy(network=Network(mode="proxy", allowed=(f"localhost:{port}",))))
        said = await place.run(
            place.person.python, "-I", "-c",
            "import socket\ns = socket.create_connection(('127.0.0.1', 3128), 5)\n"
            f"s.sendall(b'CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\n')\nf = s.makefile('rwb')\n"
            "while f.readline().strip(): pass\n"
            "print(f.readline()); f.write(b'bye\\n'); f.flush(); print(f.read())",
        )  # fmt: skip
    assert said.output == "b'hello\\n'\nb'BYE\\n'\n"


async def test_plain_requests_get_real_values_only_when_that_is_allowed(place: FakePlace):
    heads: list[str] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nfine")
        await writer.drain()
        writer.close()

    async with listening(serve) as port:
        policy = Policy(network=Network(mode="proxy", allowed=(f"localhost:{port}",)))
        for plaintext in (False, True):
            place.masks = MaskingSettings(variables=(_token(),), plaintext=plaintext)
            place.open(policy)
            asked = await _curl(place, "-H", "X: $TOKEN", f"http://localhost:{port}/p", TOKEN=_REAL)
            assert asked == "fine"
            await place.close()
    assert ["bridle_" in head for head in heads] == [True, False]
    assert f"X: {_REAL}" in heads[1] and heads[1].startswith("GET /p HTTP/1.1\r\n")


async def test_masked_file_is_read_as_a_copy(place: FakePlace):
    secret = place.base / "hosts.yml"
    secret.write_text(f"host: x\noauth_token: {_REAL}\n# {_REAL}\n")
    place.give(place.base)
    mask = Mask(extract=r"oauth_token:\s*(\S+)", duplicates=True, hosts=("localhost",))
    place.masks = MaskingSettings(files=(MaskedFile(str(secret), mask),))
    async with _behind_tls(place) as server:
        said = await place.bash(f"cat {secret}; echo mine >> {secret}")
        assert said.output.startswith("host: x\noauth_token: bridle_") and "Read-only" in said.output
        assert _REAL not in said.output
        script = (
            f"curl -sS --max-time 10 -H \"T: $(sed -n 's/oauth_token: //p' {secret})\" "
            f"https://localhost:{server.port}/"
        )
        assert (await place.bash(script)).output == "fine\n"
        secret.write_text("oauth_token: newer/secret\n")
        assert "newer" not in (await place.bash(f"cat {secret}")).output
    assert server.heard[0].headers["t"] == _REAL
    assert secret.read_text() == "oauth_token: newer/secret\n"


async def test_file_that_cannot_be_masked_is_hidden(place: FakePlace):
    (place.base / "binary").write_bytes(b"\xff\xfe secret")
    (place.base / "folder").mkdir()
    (place.base / "other").write_text("no such thing")
    place.give(place.base)
    hiding = Mask(extract="token: (.*)", no_match="deny")
    place.masks = MaskingSettings(
        files=(
            MaskedFile(str(place.base / "binary"), Mask()),
            MaskedFile(str(place.base / "folder"), Mask()),
            MaskedFile(str(place.base / "other"), hiding),
        )
    )
    said = await place.bash(f"cd {place.base}; cat binary other; ls folder")
    assert "secret" not in said.output and "no such thing" not in said.output
    assert said.output.count("denied") == 3 or place.person.uid == 0, said.output


async def test_without_mounts_masked_files_are_hidden(narrow: FakePlace):
    secret = narrow.base / "token"
    secret.write_text(_REAL)
    narrow.give(narrow.base)
    narrow.masks = MaskingSettings(files=(MaskedFile(str(secret), Mask()),))
    said = await narrow.bash(f"cat {secret}")
    assert said.code != 0 and _REAL not in said.output


def _aws(signing: Signing | None = None) -> MaskingSettings:
    names = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
    return MaskingSettings(
        variables=tuple(MaskedVariable(name, Mask(hosts=("localhost",))) for name in names),
        pairs=(AwsPair(*names),),
        signing=signing or Signing(),
    )


_AWS = {"AWS_ACCESS_KEY_ID": _KEY, "AWS_SECRET_ACCESS_KEY": _SECRET, "AWS_SESSION_TOKEN": _SESSION}


@pytest.mark.parametrize("service", ["s3", "sts"])
async def test_aws_requests_are_signed_again_with_the_real_pair(place: FakePlace, service: str):
    place.masks = _aws()
    async with _behind_tls(place) as server:
        said = await _curl(
            place, "--aws-sigv4", f"aws:amz:eu-west-1:{service}", "-u",
            "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY", "-d", "Action=x", "-H",
            "x-amz-security-token: $AWS_SESSION_TOKEN", f"https://localhost:{server.port}/a%20b?b=2&a=1",
            **_AWS,
        )  # fmt: skip
    assert said == "fine\n"
    heard = server.heard[0]
    signed = heard.headers["authorization"].split("SignedHeaders=")[1].split(",")[0].split(";")
    assert "x-amz-security-token" in signed and heard.headers["x-amz-security-token"] == _SESSION
    assert heard.headers["authorization"] == authorization(
        "POST", "/a%20b?b=2&a=1", [(name, heard.headers[name]) for name in signed], heard.body,
        credentials=AwsCredentials(_KEY, _SECRET),
        scope=Scope(heard.headers["x-amz-date"], "eu-west-1", service),
    )  # fmt: skip


_FORMS = {
    "streaming": ("-H", "x-amz-content-sha256: STREAMING-AWS4-HMAC-SHA256-PAYLOAD", "-H",
                  "Authorization: AWS4-HMAC-SHA256 Credential=$AWS_ACCESS_KEY_ID/20260101/r/s3/aws4_request, "
                  "SignedHeaders=host, Signature=00"),
    "sigv4a": ("-H", "Authorization: AWS4-ECDSA-P256-SHA256 Credential=$AWS_ACCESS_KEY_ID/20260101/s3/x"),
    "presigned": ("-G", "-d", "X-Amz-Credential=$AWS_ACCESS_KEY_ID%2F20260101%2Fr%2Fs3%2Faws4_request"),
}  # fmt: skip


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("wish", ["deny", "passthrough"])
async def test_aws_requests_that_cannot_be_signed_again(place: FakePlace, form: str, wish: str):
    place.masks = _aws(msgspec.convert({form: wish}, Signing))
    async with _behind_tls(place) as server:
        said = await _curl(place, *_FORMS[form], f"https://localhost:{server.port}/", **_AWS)
    if wish == "deny":
        assert f"sigv4.{form}" in said and server.heard == []
    else:
        assert said == "fine\n"
        assert _KEY not in str(server.heard[0].headers) + server.heard[0].line

import asyncio
import os
import shutil
import ssl
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from bridle.host.http.client import HttpClient, HttpFault, Request
from bridle.host.http.tls import client_context
from bridle.types.errors import ConfigError
from tests.fakes.http_server import listening
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.proxy import FakeProxy

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made with openssl")

PASSPHRASE = "open-sesame"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CA, a server certificate for 127.0.0.1 and a client certificate with a locked key."""
    folder = tmp_path_factory.mktemp("certificates")
    openssl(folder, "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=ca -keyout ca.key -out ca.pem")
    extensions = {
        "server": "subjectAltName=IP:127.0.0.1,DNS:far.invalid",
        "client": "keyUsage=digitalSignature",
    }
    for name, extension in extensions.items():
        (folder / f"{name}.ext").write_text(extension, encoding="utf-8")
        openssl(folder, f"req -newkey rsa:2048 -nodes -subj /CN={name} -keyout {name}.key -out {name}.csr")
        signing = f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2"
        openssl(folder, f"{signing} -extfile {name}.ext -out {name}.pem")
    openssl(folder, f"rsa -aes256 -in client.key -out locked.key -passout pass:{PASSPHRASE}")
    return folder


def openssl(folder: Path, arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split()], cwd=folder, check=True, capture_output=True, timeout=60)


def server_context(certificates: Path, *, asks_for_client: bool = False) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates / "server.pem", certificates / "server.key")
    if asks_for_client:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(certificates / "ca.pem")
    return context


async def status(url: str, env: Mapping[str, str], *, times: int = 1) -> int:
    client = HttpClient(env)
    answered = 0
    try:
        async with asyncio.timeout(50):
            for _ in range(times):
                async with client.send(
                    Request("POST", f"{url}/v1/messages", (), b'{"model":"m"}')
                ) as response:
                    await response.read()
                    answered = response.status
        return answered
    finally:
        await client.close()


@pytest.mark.parametrize("variable", ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"])
async def test_a_ca_of_ones_own_is_trusted_when_it_is_named(certificates: Path, variable: str):
    async with MessagesServer([step("a")] * 2, tls=server_context(certificates)) as server:
        assert await status(server.url, {variable: str(certificates / "ca.pem")}, times=2) == 200
        assert server.connections == 1


async def test_a_directory_of_hashed_certificates_is_trusted_when_it_is_named(
    certificates: Path, tmp_path: Path
):
    shutil.copy(certificates / "ca.pem", tmp_path)
    subprocess.run(["openssl", "rehash", str(tmp_path)], check=True, capture_output=True, timeout=60)
    async with MessagesServer([step("a")], tls=server_context(certificates)) as server:
        assert await status(server.url, {"SSL_CERT_DIR": str(tmp_path)}) == 200


async def test_an_unknown_ca_is_a_fault_that_says_what_to_do(certificates: Path):
    async with MessagesServer([step("a")], tls=server_context(certificates)) as server:
        with pytest.raises(HttpFault, match="NODE_EXTRA_CA_CERTS") as caught:
            await status(server.url, {})
        assert (caught.value.reason, server.requests) == ("tls", [])


async def test_a_certificate_for_another_host_is_a_fault(certificates: Path):
    async with MessagesServer([step("a")], tls=server_context(certificates)) as server:
        with pytest.raises(HttpFault) as caught:
            await status(f"https://localhost:{server.port}", {"SSL_CERT_FILE": str(certificates / "ca.pem")})
        assert caught.value.reason == "tls"


async def test_plain_http_where_tls_is_expected_is_a_fault():
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with listening(greet) as port:
        with pytest.raises(HttpFault) as caught:
            await status(f"https://127.0.0.1:{port}", {})
    assert caught.value.reason == "tls"


async def test_a_client_certificate_is_shown_to_a_service_that_asks(certificates: Path):
    env = {
        "SSL_CERT_FILE": str(certificates / "ca.pem"),
        "CLAUDE_CODE_CLIENT_CERT": str(certificates / "client.pem"),
        "CLAUDE_CODE_CLIENT_KEY": str(certificates / "locked.key"),
        "CLAUDE_CODE_CLIENT_KEY_PASSPHRASE": PASSPHRASE,
    }
    context = server_context(certificates, asks_for_client=True)
    async with MessagesServer([step("a")], tls=context) as server:
        assert await status(server.url, env) == 200


async def test_without_a_client_certificate_such_a_service_cannot_be_asked(certificates: Path):
    context = server_context(certificates, asks_for_client=True)
    async with MessagesServer([step("a")], tls=context) as server:
        with pytest.raises(HttpFault):
            await status(server.url, {"SSL_CERT_FILE": str(certificates / "ca.pem")})
        assert server.requests == []


@pytest.mark.parametrize(("pinned", "again"), [("", 200), ("1", None)])
async def test_a_renewed_client_certificate_is_read_after_a_fault_unless_a_variable_forbids(
    certificates: Path, tmp_path: Path, pinned: str, again: int | None
):
    stranger = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=old -keyout shown.key -out shown.pem"
    openssl(tmp_path, stranger)
    env = {
        "SSL_CERT_FILE": str(certificates / "ca.pem"),
        "CLAUDE_CODE_CLIENT_CERT": str(tmp_path / "shown.pem"),
        "CLAUDE_CODE_CLIENT_KEY": str(tmp_path / "shown.key"),
        "CLAUDE_CODE_DISABLE_MTLS_RELOAD_ON_STALE_CONNECTION": pinned,
    }
    context = server_context(certificates, asks_for_client=True)
    async with MessagesServer([step("a")], tls=context) as server:
        client = HttpClient(env)
        assert await asked(client, server.url) is None
        # In the middle of a renewal the old certificate must do.
        (tmp_path / "shown.pem").unlink()
        assert await asked(client, server.url) is None
        shutil.copy(certificates / "client.pem", tmp_path / "shown.pem")
        shutil.copy(certificates / "client.key", tmp_path / "shown.key")
        assert await asked(client, server.url) == again
        await client.close()


async def asked(client: HttpClient, url: str) -> int | None:
    """The status of the answer, None when there is none."""
    try:
        async with (
            asyncio.timeout(50),
            client.send(Request("POST", f"{url}/v1/messages", (), b'{"model":"m"}')) as response,
        ):
            await response.read()
            return response.status
    except HttpFault:
        return None


@pytest.mark.parametrize(
    ("env", "named"),
    [
        ({"NODE_EXTRA_CA_CERTS": "/no/such/file"}, "NODE_EXTRA_CA_CERTS"),
        ({"SSL_CERT_FILE": os.devnull}, "SSL_CERT_FILE"),
        ({"CLAUDE_CODE_CLIENT_CERT": "/no/such/file"}, "CLAUDE_CODE_CLIENT_CERT"),
    ],
)
def test_files_that_cannot_be_used_are_named(env: dict[str, str], named: str):
    with pytest.raises(ConfigError, match=named):
        client_context(env)


def test_a_wrong_passphrase_is_an_error_and_no_question_on_the_terminal(certificates: Path):
    env = {
        "CLAUDE_CODE_CLIENT_CERT": str(certificates / "client.pem"),
        "CLAUDE_CODE_CLIENT_KEY": str(certificates / "locked.key"),
    }
    with pytest.raises(ConfigError, match="CLAUDE_CODE_CLIENT_KEY_PASSPHRASE"):
        client_context(env)


def test_certificates_and_host_names_are_always_checked():
    context = client_context({})
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


async def test_https_goes_through_a_tunnel_of_the_proxy(certificates: Path):
    async with MessagesServer([step("a")] * 2, tls=server_context(certificates)) as server:
        async with FakeProxy(server.port) as proxy:
            env = {
                "HTTPS_PROXY": f"http://me:secret@127.0.0.1:{proxy.port}",
                "SSL_CERT_FILE": str(certificates / "ca.pem"),
            }
            assert await status("https://far.invalid", env, times=2) == 200
        assert len(proxy.heads) == 1
        assert proxy.heads[0].startswith("CONNECT far.invalid:443 HTTP/1.1\r\n")
        assert "Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in proxy.heads[0]


@pytest.mark.parametrize("refusal", ["407 Proxy Authentication Required", "403 Forbidden"])
async def test_a_proxy_that_refuses_is_a_fault_with_its_words(refusal: str):
    async with FakeProxy(1, refusal=refusal) as proxy:
        with pytest.raises(HttpFault, match=refusal) as caught:
            await status("https://far.invalid", {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}"})
    assert caught.value.reason == "proxy"

"""WebFetch goes where it was allowed to go, and nowhere else."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest

from bridle.tools.web import pages as web_pages
from bridle.types.errors import ToolError
from tests.fakes.web_reader import LOCAL, FakeReader, fetch
from tests.fakes.web_server import FakeWeb, Reply


async def test_a_redirect_on_the_same_host_is_followed(tmp_path: Path):
    reader = FakeReader()
    pages = {
        "/a": Reply(status="302 Found", headers={"Location": "/b?x=1#frag"}),
        "/b?x=1": Reply(status="301 Moved Permanently", headers={"Location": "c"}),
        "/c": Reply(b"here"),
    }
    async with FakeWeb(pages) as web:
        output = await fetch(tmp_path, web.url("/a"), reader=reader)
    assert reader.page == "here"
    assert output.data["code"] == 200


@pytest.mark.parametrize("host", ["localhost", "other.example"])
async def test_a_redirect_to_another_host_is_reported_and_not_followed(tmp_path: Path, host: str):
    """S45"""
    reader = FakeReader()
    async with FakeWeb() as web:
        web.pages["/a"] = Reply(status="301 Moved Permanently", headers={"Location": web.url("/b", host)})
        output = await fetch(tmp_path, web.url("/a"), reader=reader)
        assert not output.is_error
        assert web.url("/b", host) in str(output.content)
        assert output.data["code"] == 301
        assert [asked.path for asked in web.asked] == ["/a"]
    assert reader.asked == []


async def test_a_redirect_to_another_port_is_reported_and_not_followed(tmp_path: Path):
    """S45"""
    async with FakeWeb({"/b": Reply(b"x")}) as other, FakeWeb() as web:
        web.pages["/a"] = Reply(status="307 Temporary Redirect", headers={"Location": other.url("/b")})
        output = await fetch(tmp_path, web.url("/a"))
        assert other.url("/b") in str(output.content)
        assert other.asked == []


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "http://user:secret@127.0.0.1/",
        "ftp://127.0.0.1/",
        "javascript:alert(1)",
        "data:text/html,x",
        "http://[::1/",
    ],
)
async def test_a_redirect_to_what_may_not_be_fetched_is_reported_and_not_followed(
    tmp_path: Path, location: str
):
    """S45"""
    async with FakeWeb({"/a": Reply(status="302 Found", headers={"Location": location})}) as web:
        output = await fetch(tmp_path, web.url("/a"))
        assert not output.is_error
        assert location in str(output.content)
        assert output.data["code"] == 302
        assert [asked.path for asked in web.asked] == ["/a"]


async def test_the_words_of_the_host_for_its_status_are_told(tmp_path: Path):
    async with FakeWeb({"/a": Reply(status="404 Gone fishing")}) as web:
        output = await fetch(tmp_path, web.url("/a"))
    assert output.data["codeText"] == "Gone fishing"


async def test_redirects_end(tmp_path: Path):
    async with FakeWeb({"/a": Reply(status="302 Found", headers={"Location": "/a"})}) as web:
        with pytest.raises(ToolError):
            await fetch(tmp_path, web.url("/a"))
        assert len(web.asked) == 11


async def test_this_machine_is_not_reached_unless_it_was_allowed(tmp_path: Path):
    """S45"""
    async with FakeWeb({"/": Reply(b"secret")}) as web:
        for url in (
            web.url("/"),
            web.url("/", "localhost"),
            web.url("/", "2130706433"),
            web.url("/", "127.1"),
            web.url("/", "[::ffff:127.0.0.1]"),
        ):
            with pytest.raises(ToolError):
                await fetch(tmp_path, url, env={**LOCAL, "BRIDLE_WEBFETCH_ALLOW_LOCAL": ""})
        assert web.asked == []


@pytest.mark.parametrize("host", ["169.254.169.254", "10.0.0.1", "192.168.1.1", "[fe80::1]", "0.0.0.0"])
async def test_networks_around_this_machine_are_never_reached(tmp_path: Path, host: str):
    """S45"""
    with pytest.raises(ToolError, match="public"):
        await fetch(tmp_path, f"http://{host}:9/")


async def test_a_silent_server_is_given_up(tmp_path: Path):
    async with FakeWeb({"/": Reply(raw=b"")}) as web, asyncio.timeout(50):
        with pytest.raises(ToolError):
            await web_pages.fetch(web.url("/"), LOCAL, folder=str(tmp_path), seconds=0.05)


async def test_a_closed_port_is_an_error(tmp_path: Path):
    async with FakeWeb() as web:
        url = web.url("/")
    with pytest.raises(ToolError):
        await fetch(tmp_path, url)


async def test_a_proxy_of_the_environment_is_used(tmp_path: Path):
    reader = FakeReader()
    page = "http://intranet.invalid:8080/page"
    async with FakeWeb({page: Reply(b"through")}) as proxy:
        env = {
            "http_proxy": f"http://me:pass%20word@127.0.0.1:{proxy.port}",
            "NO_PROXY": "other.invalid",
            "no_proxy": "",
            "CLAUDE_CODE_PROXY_RESOLVES_HOSTS": "1",
        }
        await fetch(tmp_path, page, reader=reader, env=env)
    assert reader.page == "through"
    assert proxy.asked[0].headers["proxy-authorization"] == "Basic bWU6cGFzcyB3b3Jk"
    assert proxy.asked[0].headers["host"] == "intranet.invalid:8080"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "10.0.0.1", "0x7f.1"])
async def test_a_proxy_is_not_asked_for_private_addresses(tmp_path: Path, host: str):
    """S45"""
    async with FakeWeb() as proxy:
        env = {
            "http_proxy": f"127.0.0.1:{proxy.port}",
            "NO_PROXY": "",
            "CLAUDE_CODE_PROXY_RESOLVES_HOSTS": "1",
        }
        with pytest.raises(ToolError, match="public"):
            await fetch(tmp_path, f"http://{host}:81/", env=env)
        assert proxy.asked == []


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for `localhost` and `secure.invalid` with its key in the same file."""
    path = tmp_path_factory.mktemp("tls") / "both.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=test"]
    names = ["-addext", "subjectAltName=DNS:localhost,DNS:secure.invalid"]
    subprocess.run(
        [*command, *names, "-keyout", path, "-out", f"{path}.crt"], check=True, capture_output=True
    )
    path.write_bytes(path.read_bytes() + Path(f"{path}.crt").read_bytes())
    return path


def server_tls(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_the_certificate_must_fit_the_name_and_not_the_address(tmp_path: Path, certificate: Path):
    """S45"""
    reader = FakeReader()
    trusting = {**LOCAL, "NODE_EXTRA_CA_CERTS": str(certificate)}
    async with FakeWeb({"/": Reply(b"private")}, tls=server_tls(certificate)) as web:
        await fetch(tmp_path, web.url("/", "localhost"), reader=reader, env=trusting)
        assert reader.page == "private"
        with pytest.raises(ToolError):
            await fetch(tmp_path, web.url("/", "127.0.0.1"), env=trusting)
        with pytest.raises(ToolError):
            await fetch(tmp_path, web.url("/other", "localhost"), env=LOCAL)
        assert len(web.asked) == 1


async def test_pages_are_not_told_who_the_user_is(tmp_path: Path, certificate: Path):
    """S45"""
    reader = FakeReader()
    env = {**LOCAL, "NODE_EXTRA_CA_CERTS": str(certificate), "CLAUDE_CODE_CLIENT_CERT": str(certificate)}
    wanting = server_tls(certificate)
    wanting.verify_mode = ssl.CERT_OPTIONAL
    wanting.load_verify_locations(certificate)
    async with FakeWeb({"/": Reply(b"for anybody")}, tls=wanting) as web:
        await fetch(tmp_path, web.url("/", "localhost"), reader=reader, env=env)
        assert reader.page == "for anybody" and web.certificates == [None]


async def test_a_secure_page_is_tunneled_through_the_proxy(tmp_path: Path, certificate: Path):
    reader = FakeReader()
    pages = {"/page": Reply(b"x" * 90_000)}
    async with FakeWeb(pages, tls=server_tls(certificate)) as web, FakeWeb(behind=web.port) as proxy:
        env = {
            "HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}",
            "https_proxy": "",
            "NO_PROXY": "",
            "CLAUDE_CODE_PROXY_RESOLVES_HOSTS": "1",
            "NODE_EXTRA_CA_CERTS": str(certificate),
        }
        await fetch(tmp_path, "http://secure.invalid/page", reader=reader, env=env)
        assert reader.page == "x" * 90_000
        assert [(asked.method, asked.path) for asked in proxy.asked] == [("CONNECT", "secure.invalid:443")]
        assert web.asked[0].headers["host"] == "secure.invalid"


async def test_a_proxy_that_refuses_is_named(tmp_path: Path):
    async with FakeWeb() as proxy:
        env = {"HTTPS_PROXY": f"http://127.0.0.1:{proxy.port}", "CLAUDE_CODE_PROXY_RESOLVES_HOSTS": "1"}
        with pytest.raises(ToolError, match="proxy"):
            await fetch(tmp_path, "https://secure.invalid/", env={**env, "NO_PROXY": "", "no_proxy": ""})

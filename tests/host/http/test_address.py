import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.http.address import Origin, proxy_for, split_url
from bridle.types.errors import ConfigError
from tests.tables import table


@pytest.mark.parametrize(
    ("url", "origin", "target"),
    [
        ("https://api.example.com", Origin("https", "api.example.com", 443), "/"),
        ("http://Host:8080/a/b?c=d#frag", Origin("http", "host", 8080), "/a/b?c=d"),
        ("http://[::1]:90?x", Origin("http", "::1", 90), "/?x"),
        ("https://bücher.example/ü b", Origin("https", "xn--bcher-kva.example", 443), "/%C3%BC%20b"),
        ("https://h/%41", Origin("https", "h", 443), "/%41"),
    ],
)
def test_urls_are_taken_apart(url: str, origin: Origin, target: str):
    assert split_url(url) == (origin, target)


@pytest.mark.parametrize(
    "url",
    ["", "example.com", "ftp://x/", "http://", "http://user:pw@host/", "http://a b/", "http://h:99999999/"],
)
def test_what_is_no_url_is_refused(url: str):
    with pytest.raises(ConfigError):
        split_url(url)


@given(st.text(max_size=60))
def test_any_text_is_a_url_or_refused(text: str):
    try:
        split_url("http://" + text)
    except ConfigError:
        pass


def test_the_usual_port_is_left_out_of_the_host_header():
    assert Origin("https", "h", 443).authority == "h"
    assert Origin("http", "h", 443).authority == "h:443"
    assert Origin("http", "::1", 80).authority == "[::1]"


HOST = Origin("https", "api.example.com", 443)


@table(
    ("exceptions", "skipped"),
    [
        ("", False),
        ("*", True),
        ("example.com", True),
        (".example.com", True),
        ("*.example.com", True),
        ("API.EXAMPLE.COM", True),
        ("other.com, api.example.com", True),
        ("other.com api.example.com", True),
        ("api.example.com:443", True),
        ("api.example.com:80", False),
        ("ample.com", False),
        ("10.0.0.0/8", False),
    ],
)
def test_no_proxy_names_hosts_that_are_connected_directly(exceptions: str, skipped: bool):
    env = {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": exceptions}
    assert (proxy_for(HOST, env) is None) == skipped


def test_networks_of_addresses_can_skip_the_proxy():
    env = {"http_proxy": "proxy:3128", "no_proxy": "10.0.0.0/8,::1"}
    assert proxy_for(Origin("http", "10.2.3.4", 80), env) is None
    assert proxy_for(Origin("http", "::1", 80), env) is None
    assert proxy_for(Origin("http", "11.2.3.4", 80), env) is not None


def test_each_scheme_has_its_own_proxy_and_lower_case_comes_first():
    env = {"HTTP_PROXY": "http://one:1", "https_proxy": "https://two", "HTTPS_PROXY": "http://three:3"}
    plain, secret = proxy_for(Origin("http", "h", 80), env), proxy_for(HOST, env)
    assert plain is not None
    assert secret is not None
    assert (plain.origin, secret.origin) == (Origin("http", "one", 1), Origin("https", "two", 443))


@pytest.mark.parametrize("proxy", ["socks5://h:1", "http://", "::"])
def test_a_proxy_that_cannot_be_used_is_said_so(proxy: str):
    with pytest.raises(ConfigError, match="HTTPS_PROXY"):
        proxy_for(HOST, {"HTTPS_PROXY": proxy})

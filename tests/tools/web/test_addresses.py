"""Addresses are compared and refused in every spelling."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.host.web_address import WebAddress, is_public
from bridle.tools.web.addresses import Proxy, find_proxy, read_url, same_site, subject
from bridle.types.errors import ToolError
from tests.tables import table


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://example.com", "https://example.com/"),
        ("HTTP://Example.COM./A?b=c#d", "https://example.com/A?b=c"),
        ("https://example.com:443/x", "https://example.com/x"),
        ("http://example.com:8080/x", "http://example.com:8080/x"),
        ("http://127.0.0.1/x", "http://127.0.0.1/x"),
        ("http://localhost/x", "http://localhost/x"),
        ("http://[::1]/x", "http://[::1]/x"),
        ("https://[2001:db8::1]:81/x", "https://[2001:db8::1]:81/x"),
        ("https://bücher.example/ü?ä=1", "https://xn--bcher-kva.example/%C3%BC?%C3%A4=1"),
        ("https://example.com/a%20b", "https://example.com/a%20b"),
        ("  https://example.com/  ", "https://example.com/"),
    ],
)
def test_an_address_has_one_form(text: str, url: str):
    """S45"""
    assert read_url(text).url == url


@table(
    "text",
    [
        "",
        "example.com",
        "//example.com/",
        "file:///etc/passwd",
        "ftp://example.com/",
        "javascript:alert(1)",
        "https://user@example.com/",
        "https://user:secret@example.com/",
        "https://@example.com/",
        "https://good.example\\@evil.example/",
        "https://evil.example\\.good.example/",
        "https://exa mple.com/",
        "https://example.com/a b",
        "https://example.com/a\nb",
        "https:///path",
        "https://example.com:99999/",
        "https://example.com:x/",
        "https://[::1/",
        "https://[fe80::1%25eth0]/",
        "https://exam%70le.com/",
        "https://example.com/" + "a" * 2_000,
    ],
)
def test_what_may_not_be_fetched_is_refused(text: str):
    """S45"""
    with pytest.raises(ToolError):
        read_url(text)


@settings(deadline=None)
@given(st.text(max_size=100) | st.text(max_size=60).map(lambda text: f"http://{text}"))
def test_arbitrary_text_is_an_address_or_refused(text: str):
    assert subject(text).startswith(("domain:", "input:"))


@table(
    "address",
    [
        "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.169.254",
        "100.64.0.1", "100.100.100.200", "168.63.129.16", "192.0.2.1", "198.18.0.1", "224.0.0.1", "240.0.0.1",
        "192.0.0.192", "192.88.99.1", "3fff::1",
        "255.255.255.255", "::", "::1", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1",
        "ff02::1", "2001:db8::1", "::ffff:10.0.0.1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::a00:1",
        "2002:7f00:1::", "2001:0:7f00:1::", "nonsense",
    ],
)  # fmt: skip
def test_addresses_that_are_not_public_are_known(address: str):
    """S45"""
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["1.1.1.1", "93.184.216.34", "2606:4700::1111", "::ffff:1.1.1.1", "64:ff9b::101:101"]
)
def test_public_addresses_are_known(address: str):
    assert is_public(address)


def test_only_loopback_can_be_allowed():
    assert is_public("127.0.0.1", allow_loopback=True)
    assert is_public("::1", allow_loopback=True)
    for address in ("169.254.169.254", "10.0.0.1", "fe80::1", "0.0.0.0"):
        assert not is_public(address, allow_loopback=True)


@pytest.mark.parametrize(
    ("before", "after", "same"),
    [
        ("https://example.com/a", "https://example.com/b", True),
        ("https://example.com/a", "https://www.example.com/b", True),
        ("https://www.example.com/a", "https://example.com/b", True),
        ("https://example.com/a", "http://example.com/b", True),
        ("http://127.0.0.1/a", "https://127.0.0.1/a", True),
        ("https://127.0.0.1/a", "http://127.0.0.1/a", False),
        ("https://example.com/a", "https://example.com:8443/b", False),
        ("https://example.com/a", "https://api.example.com/b", False),
        ("https://example.com/a", "https://example.com.evil.org/b", False),
        ("https://example.com:444/a", "http://example.com:444/b", False),
    ],
)
def test_a_redirect_stays_on_the_site_or_leaves_it(before: str, after: str, same: bool):
    """S45"""
    assert same_site(read_url(before), read_url(after)) is same


@pytest.mark.parametrize(
    ("skipped", "used"),
    [
        ("", True),
        ("*", False),
        ("example.com", False),
        (".example.com", False),
        ("*.example.com", False),
        ("ample.com", True),
        ("other.org, example.com", False),
        ("api.example.com:443", False),
        ("api.example.com:80", True),
    ],
)
def test_hosts_may_skip_the_proxy(skipped: str, used: bool):
    target = WebAddress("https", "api.example.com", 443, "/")
    proxy = find_proxy(target, {"HTTPS_PROXY": "http://proxy:3128", "NO_PROXY": skipped})
    assert (proxy is not None) is used


def test_the_proxy_is_chosen_by_the_scheme_of_the_page():
    env = {"HTTP_PROXY": "plain", "https_proxy": "https://a:b@secure:44", "ALL_PROXY": "http://rest:1"}
    assert find_proxy(WebAddress("http", "x", 80, "/"), env) == Proxy("plain", 80, False)
    assert find_proxy(WebAddress("https", "x", 443, "/"), env) == Proxy("secure", 44, True, "a", "b")
    assert find_proxy(WebAddress("https", "x", 443, "/"), {"ALL_PROXY": "http://rest:1"}) == Proxy(
        "rest", 1, False
    )
    assert find_proxy(WebAddress("http", "10.1.2.3", 80, "/"), {**env, "no_proxy": "10.0.0.0/8"}) is None
    assert find_proxy(WebAddress("http", "x", 80, "/"), {}) is None
    with pytest.raises(ToolError):
        find_proxy(WebAddress("http", "x", 80, "/"), {"http_proxy": "socks5://x:1"})

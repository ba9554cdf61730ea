import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.hooks.endpoint import covers, is_allowed, read_endpoint
from bridle.host.web_address import WebAddress
from bridle.types.errors import ConfigError
from tests.tables import table


def test_an_address_is_taken_apart_in_a_form_that_can_be_compared():
    assert read_endpoint("https://Hooks.Example.COM./a?b=c#d") == WebAddress(
        "https", "hooks.example.com", 443, "/a?b=c"
    )
    assert read_endpoint("http://[::1]:8080").url == "http://[::1]:8080/"


@pytest.mark.parametrize(
    "url",
    [
        "ftp://host/",
        "host/path",
        "https://",
        "https://user:secret@host/",
        "https://host/a b",
        "https://host:port/",
        "https://host/\r\nX: y",
        "file:///etc/passwd",
        "",
    ],
)
def test_what_is_no_address_of_a_hook_is_refused(url: str):
    with pytest.raises(ConfigError):
        read_endpoint(url)


@pytest.mark.parametrize(
    ("pattern", "url"),
    [
        ("https://hooks.example.com/*", "https://hooks.example.com/a/b?c=d"),
        ("https://*.example.com/*", "https://a.b.example.com/x"),
        ("https://hook-*.example.com/*", "https://hook-7.example.com/x"),
        ("http://localhost:*", "http://localhost:8080/any/path"),
        ("http://localhost:8080/*", "http://localhost:8080/any/path"),
        ("*://localhost:*/*", "http://localhost:8080/any/path"),
        ("https://*", "https://anywhere.example:8443/x"),
        ("https://HOOKS.example.com./exact", "https://hooks.example.com/exact"),
        ("https://hooks.example.com", "https://hooks.example.com/"),
        ("*", "http://127.0.0.1:1/"),
    ],
)
def test_a_pattern_covers_what_it_spells_out(pattern: str, url: str):
    assert covers(pattern, read_endpoint(url))


@table(
    ("pattern", "url"),
    [
        ("https://*.example.com/*", "https://evil.com/x.example.com/"),
        ("https://*.example.com/*", "https://example.com/x"),
        ("https://*.example.com/*", "https://evilexample.com/x"),
        ("https://hooks.example.com*", "https://hooks.example.com.evil.com/x"),
        ("https://hook-*.example.com/*", "https://hook-a.evil.com/x.example.com/"),
        ("https://hook-*.example.com/*", "https://hook-a.b.example.com/x"),
        ("https://hooks.example.com/*", "http://hooks.example.com/a"),
        ("https://hooks.example.com/*", "https://hooks.example.com:8443/a"),
        ("https://hooks.example.com/a", "https://hooks.example.com/a/b"),
        ("https://hooks.example.com/a/*", "https://hooks.example.com/a/../b"),
        ("https://hooks.example.com/a/*", "https://hooks.example.com/a/%2e%2e/b"),
        ("https://hooks.example.com", "https://hooks.example.com/a"),
        ("hooks.example.com", "https://hooks.example.com/"),
        ("", "https://hooks.example.com/"),
    ],
)
def test_a_pattern_reaches_no_further_than_it_says(pattern: str, url: str):
    assert not covers(pattern, read_endpoint(url))


@given(st.text(alphabet="abc./*:", max_size=12), st.sampled_from(["evil.com", "a.evil.com"]))
def test_no_star_lets_a_named_host_be_another(path: str, host: str):
    assert not covers(f"https://*.good.com/{path}", WebAddress("https", host, 443, "/x.good.com/"))


def test_without_a_list_everything_is_allowed_and_an_empty_list_allows_nothing():
    endpoint = read_endpoint("https://host/x")
    assert is_allowed(endpoint, None)
    assert not is_allowed(endpoint, ())
    assert is_allowed(endpoint, ("https://other/*", "https://host/*"))

import ipaddress

from hypothesis import given
from hypothesis import strategies as st

from bridle.host.sandbox.domains import Verdict, literal_address, plain_host, read_rules
from bridle.host.sandbox.policy import Network
from tests.tables import table


@table(
    ("rule", "host", "port", "verdict"),
    [
        ("example.org", "example.org", 443, "allow"),
        ("example.org", "EXAMPLE.org.", 80, "allow"),
        ("example.org", "www.example.org", 443, "ask"),
        ("example.org", "badexample.org", 443, "ask"),
        ("*.example.org", "a.example.org", 443, "allow"),
        ("*.example.org", "a.b.example.org", 443, "allow"),
        ("*.example.org", "example.org", 443, "ask"),
        ("*.example.org", "xexample.org", 443, "ask"),
        ("api-*.example.org", "api-1.example.org", 443, "allow"),
        ("api-*.example.org", "api-1.x.example.org", 443, "ask"),
        ("example.org:443", "example.org", 443, "allow"),
        ("example.org:443", "example.org", 80, "ask"),
        ("https://example.org/", "example.org", 443, "allow"),
        ("*", "anything.example", 1, "allow"),
        ("*", "10.0.0.1", 1, "deny"),
        ("10.0.0.1", "10.0.0.1", 80, "allow"),
        ("10.0.0.1:80", "10.0.0.1", 81, "deny"),
        ("[::1]:80", "::1", 80, "allow"),
        ("10.0.0.1", "0x0a000001", 80, "allow"),
        ("example.org", "2130706433", 80, "deny"),
        ("example.org", "127.1", 80, "deny"),
        ("example.org", "::ffff:127.0.0.1", 80, "deny"),
        ("münchen.example", "xn--mnchen-3ya.example", 80, "allow"),
        ("example?org", "example.org", 80, "ask"),
    ],
)
def test_rules_cover_what_they_name(rule: str, host: str, port: int, verdict: Verdict):
    rules = read_rules(Network(mode="proxy", allowed=(rule,)))
    assert rules.judge(plain_host(host), port) == verdict


def test_denied_beats_allowed():
    rules = read_rules(Network(mode="proxy", allowed=("*.example.org",), denied=("bad.example.org",)))
    assert rules.judge("good.example.org", 443) == "allow"
    assert rules.judge("bad.example.org", 443) == "deny"


def test_strict_rules_never_ask():
    assert read_rules(Network(mode="proxy", strict=True)).judge("example.org", 443) == "deny"


@table(
    ("allowed", "host", "address", "reached"),
    [
        ("*.example.org", "a.example.org", "93.184.216.34", True),
        ("*.example.org", "a.example.org", "10.0.0.1", False),
        ("*.example.org", "a.example.org", "100.64.0.1", False),
        ("a.example.org", "a.example.org", "10.0.0.1", True),
        ("localhost", "localhost", "127.0.0.1", True),
        ("*", "localhost", "127.0.0.1", False),
        ("a.example.org", "a.example.org", "169.254.169.254", False),
        ("169.254.169.254", "169.254.169.254", "169.254.169.254", True),
        ("a.example.org", "a.example.org", "fe80::1", False),
        ("*", "a.example.org", "::ffff:10.0.0.1", False),
        ("*", "a.example.org", "64:ff9b::a00:1", False),
        ("*", "a.example.org", "2002:a00:1::", False),
        ("a.example.org", "a.example.org", "0.0.0.0", False),
    ],
)
def test_names_lead_only_where_they_may(allowed: str, host: str, address: str, reached: bool):
    rules = read_rules(Network(mode="proxy", allowed=(allowed,)))
    assert rules.may_connect(host, ipaddress.ip_address(address), 443) is reached


def test_denied_addresses_are_not_reached_through_a_name():
    rules = read_rules(Network(mode="proxy", allowed=("a.example.org",), denied=("93.184.216.34",)))
    assert not rules.may_connect("a.example.org", ipaddress.ip_address("93.184.216.34"), 443)


@given(st.ip_addresses(v=4))
def test_every_spelling_of_an_address_is_one_address(address: ipaddress.IPv4Address):
    number = int(address)
    for spelling in (str(address), str(number), hex(number), f"::ffff:{address}"):
        assert literal_address(spelling) == address


@given(st.text(max_size=60))
def test_no_text_breaks_the_judge(text: str):
    rules = read_rules(Network(mode="proxy", allowed=(text, "example.org"), denied=(text[:5],)))
    assert rules.judge(plain_host(text), 80) in ("allow", "deny", "ask")

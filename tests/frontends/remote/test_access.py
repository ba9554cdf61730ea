"""Who may talk to a shared session (S60)."""

import string

import pytest

from bridle.frontends.remote.access import (
    has_token,
    is_known_host,
    is_same_origin,
    known_names,
    letter_token,
    new_token,
)
from tests.tables import table


def test_keys_are_new_each_time_and_long_enough_not_to_be_guessed():
    keys = {new_token() for _ in range(100)}
    assert len(keys) == 100
    assert all(len(key) == 43 and set(key) <= set(string.ascii_letters + string.digits) for key in keys)


def test_the_key_for_messages_is_another_one_and_always_the_same():
    assert letter_token("k") == letter_token("k") != "k"


@pytest.mark.parametrize(
    ("said", "enough"),
    [
        ("Bearer right", True),
        ("bearer right", True),
        ("Bearer  right ", True),
        ("Bearer wrong", False),
        ("Bearer righ", False),
        ("Bearer rightx", False),
        ("Bearer ", False),
        ("Basic right", False),
        ("right", False),
        ("", False),
        ("Bearer r\u00efght", False),
    ],
)
def test_only_the_whole_key_as_bearer_counts(said: str, enough: bool):
    assert has_token({"authorization": said}, "other", "right") is enough


def test_no_header_is_no_key():
    assert not has_token({}, "right")


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "127.0.0.1", "localhost:1", "LOCALHOST:9999", "[::1]:8000", "[::1]"]
)
def test_names_of_this_machine_are_known_whatever_the_port_of_a_tunnel_is(host: str):
    assert is_known_host(host, known_names("127.0.0.1", ""))


@table(
    "host",
    [
        "", "evil.example", "evil.example:8000", "127.0.0.1.evil.example:8000", "localhost.evil.example",
        "evil.example@127.0.0.1", "127.0.0.1@evil.example", "[::1].evil.example", "[::2]:8000",
        "0.0.0.0:8000",
        "10.0.0.1:8000", "2130706433", "127.1", "localhost\x00.evil.example",
    ],
)  # fmt: skip
def test_names_that_lead_here_and_are_not_ours_are_refused(host: str):
    assert not is_known_host(host, known_names("127.0.0.1", ""))


def test_the_user_adds_names_and_an_open_address_is_reached_by_number_only():
    names = known_names("0.0.0.0", "desk.example, other.example")
    assert is_known_host("desk.example", names) and is_known_host("OTHER.example:443", names)
    assert is_known_host("192.168.1.5:8000", names) and is_known_host("[fe80::1]:8000", names)
    assert not is_known_host("rebound.example:8000", names)


@pytest.mark.parametrize(
    ("headers", "fine"),
    [
        ({"host": "127.0.0.1:80"}, True),
        ({"host": "127.0.0.1:80", "origin": "http://127.0.0.1:80"}, True),
        ({"host": "desk.example", "origin": "https://desk.example"}, True),
        ({"host": "127.0.0.1:80", "origin": "http://127.0.0.1:81"}, False),
        ({"host": "127.0.0.1:80", "origin": "http://evil.example"}, False),
        ({"host": "127.0.0.1:80", "origin": "null"}, False),
        ({"host": "127.0.0.1:80", "origin": ""}, False),
        ({"host": "127.0.0.1:80", "origin": "file://127.0.0.1:80"}, False),
        ({"host": "127.0.0.1:80", "sec-fetch-site": "cross-site"}, False),
        ({"host": "127.0.0.1:80", "sec-fetch-site": "same-site"}, False),
        ({"host": "127.0.0.1:80", "sec-fetch-site": "same-origin"}, True),
    ],
)
def test_only_our_own_page_and_programs_are_answered(headers: dict[str, str], fine: bool):
    assert is_same_origin(headers) is fine

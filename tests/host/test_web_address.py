import pytest

from bridle.host.web_address import (
    AddressFault,
    Flaw,
    WebAddress,
    is_link_local,
    is_public,
    look_up,
    read_address,
)


def test_an_address_is_taken_apart_in_a_form_that_can_be_compared():
    address, names_port = read_address("HTTPS://Exämple.ORG./a b".replace(" ", "%20") + "?q=ü")
    assert address == WebAddress("https", "xn--exmple-cua.org", 443, "/a%20b?q=%C3%BC")
    assert not names_port
    assert address.url == "https://xn--exmple-cua.org/a%20b?q=%C3%BC"
    assert read_address("http://[::1]:8080")[0].authority == "[::1]:8080"


@pytest.mark.parametrize(
    ("text", "flaw"),
    [
        ("https://host/a b", "blanks"),
        ("https://host/\x00", "blanks"),
        ("https://host:port/", "unreadable"),
        ("https://[::1/", "unreadable"),
        ("ftp://host/", "scheme"),
        ("host/path", "scheme"),
        ("https://me:secret@host/", "user"),
        ("https:///path", "host"),
        ("https://-/", "host"),
    ],
)
def test_what_is_no_address_has_a_flaw_with_a_name(text: str, flaw: Flaw):
    with pytest.raises(AddressFault) as caught:
        read_address(text)
    assert caught.value.flaw == flaw


@pytest.mark.parametrize(
    ("address", "local"),
    [
        ("169.254.169.254", True),
        ("fe80::1%eth0", True),
        ("::ffff:169.254.169.254", True),
        ("64:ff9b::a9fe:a9fe", True),
        ("2002:a9fe:a9fe::1", True),
        ("127.0.0.1", False),
        ("10.0.0.1", False),
        ("93.184.216.34", False),
        ("a.name", False),
    ],
)
def test_addresses_at_which_clouds_hand_out_credentials_are_known_in_every_spelling(
    address: str, local: bool
):
    assert is_link_local(address) is local
    assert not (local and is_public(address, allow_loopback=True))


async def test_a_host_is_looked_up_once_for_each_address():
    found = await look_up("localhost", 80)
    assert "127.0.0.1" in found and len(found) == len(set(found))

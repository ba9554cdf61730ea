import base64
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.sandbox.masking.credentials import CredentialStore
from bridle.host.sandbox.masking.settings import Mask, MaskedVariable


def _token(payload: dict[str, Any]) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, payload)
    encoded = [base64.urlsafe_b64encode(msgspec.json.encode(part)).rstrip(b"=").decode() for part in parts]
    return ".".join((*encoded, "c2lnbmF0dXJl"))


def _payload(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    return msgspec.json.decode(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))


@given(st.text(min_size=1).filter(str.strip))
def test_whole_text_is_replaced_but_for_the_blanks_at_its_end(text: str):
    vault = CredentialStore()
    covered = vault.cover(text, Mask())
    assert covered is not None and covered.startswith("bridle_")
    assert covered[39:] == text[len(text.rstrip()) :]
    assert vault.cover(text, Mask()) == covered


def test_only_the_group_is_replaced_and_copies_when_wished():
    text = "url://me:secret@host # secret"
    mask = Mask(extract="://[^:]+:([^@]+)@")
    covered = CredentialStore().cover(text, mask)
    assert covered is not None and covered.startswith("url://me:bridle_")
    assert covered.endswith("@host # secret")
    again = CredentialStore().cover(text, Mask(extract=mask.extract, duplicates=True))
    assert again is not None and "secret" not in again
    assert CredentialStore().cover("something else", mask) is None


def test_tokens_stay_readable_and_prove_nothing():
    real = _token({"sub": "me", "api_key": "k3y", "exp": 9})
    vault = CredentialStore()
    fake = vault.cover(f"jwt: {real}\n", Mask(decode="jwt", claims=("api_key",), hosts=("a.example",)))
    assert fake is not None and real not in fake and fake.endswith("\n")
    shown = _payload(fake.removeprefix("jwt: ").strip())
    assert (shown["sub"], shown["exp"]) == ("me", 9)
    values = {secret.placeholder: secret.value for secret in vault.secrets_for("a.example", 443)}
    assert values[shown["api_key"]] == "k3y"
    assert values[fake.removeprefix("jwt: ").strip()] == real
    whole = CredentialStore().cover(real, Mask(decode="jwt"))
    assert whole is not None and _payload(whole) == {"exp": 9}


@pytest.mark.parametrize("text", ["eyJub3QganNvbg.eyJ9.x", "plain", "a.b.c", "eyJhIjoxfQ.eyJhIjoxfQ.c2ln"])
def test_what_is_no_token_is_not_found(text: str):
    assert CredentialStore().cover(text, Mask(decode="jwt")) is None


def test_values_go_only_where_their_masks_say():
    vault = CredentialStore()
    vault.cover("one", Mask(hosts=("a.example", "*.b.example")))
    vault.cover("two", Mask(hosts=("::1",)))
    vault.cover("three", Mask())
    reach = {
        host: {secret.value for secret in vault.secrets_for(host, 443)}
        for host in ("a.example", "x.b.example", "b.example", "xa.example", "::1", "127.0.0.1")
    }
    assert reach == {
        "a.example": {"one"}, "x.b.example": {"one"}, "b.example": set(), "xa.example": set(),
        "::1": {"two"}, "127.0.0.1": set(),
    }  # fmt: skip


def test_variable_in_which_nothing_was_found_is_left_or_hidden():
    left = MaskedVariable("LEFT", Mask(extract="(x)"))
    hidden = MaskedVariable("HIDDEN", Mask(extract="(x)", no_match="deny"))
    shown = CredentialStore((left, hidden)).environment({"LEFT": "a", "HIDDEN": "b", "OTHER": "c"})
    assert shown == {"LEFT": "a", "OTHER": "c"}

"""S36: what a server repeats of a secret reaches no error, log or transcript."""

import base64
from urllib.parse import quote

import pytest

from bridle.engine.calls.call import failure
from bridle.host.secrets import HIDDEN, Secrets
from bridle.providers.refusals import refusal
from bridle.providers.vendor import HOME

KEY = "sk-ant-api03-Ab+c/D_e=fGhIjKlMnOpQrStUvWxYz0123456789"


@pytest.fixture
def secrets() -> Secrets:
    known = Secrets()
    known.learn(f"Bearer {KEY}")
    return known


@pytest.mark.parametrize(
    "said",
    [
        KEY,
        f"Bearer {KEY}",
        quote(KEY, safe=""),
        quote(KEY, safe="").replace("%2B", "%2b").replace("%2F", "%2f"),
        "".join(f"%{ord(each):02X}" for each in KEY),
        base64.b64encode(KEY.encode()).decode(),
        base64.b64encode(f"user:{KEY}".encode()).decode(),
        base64.b64encode(f"x{KEY}".encode()).decode(),
        base64.urlsafe_b64encode(f"ab{KEY}".encode()).decode(),
        KEY[:40],
        KEY[15:],
        f'{{"x-api-key": "{KEY}"}}',
    ],
)
def test_a_secret_is_hidden_in_every_form(secrets: Secrets, said: str):
    told = secrets.hide(f"invalid key {said} was given; try again")
    assert HIDDEN in told
    assert said not in told
    assert KEY[15:35] not in told
    assert told.startswith("invalid key ")
    assert told.endswith("try again")


@pytest.mark.parametrize("said", ["sk-ant", "…6789", "sk-ant-api03-", "nothing here", "", "x" * 10_000])
def test_what_names_a_key_without_giving_it_stays(secrets: Secrets, said: str):
    assert secrets.hide(said) == said


def test_variables_are_known_by_their_names_and_values():
    known = Secrets()
    known.learn_environment(
        {
            "ANTHROPIC_API_KEY": "the-key-of-the-user",
            "GITHUB_TOKEN": "a-token-to-hide",
            "DB_PASSWORD": "hunter2-hunter2",
            "ANTHROPIC_CUSTOM_HEADERS": "x-a: header-secret-1\nx-b: header-secret-2",
            "SSH_KEY_FILE": "/home/user/.ssh/id",
            "USE_TOKENS": "true",
            "MAX_TOKENS": "1234567890",
            "PATH": "/usr/local/bin-and-more",
        }
    )
    for secret in ("the-key-of-the-user", "a-token-to-hide", "hunter2-hunter2", "header-secret-2"):
        assert known.hide(f"<{secret}>") == f"<{HIDDEN}>"
    for word in ("/home/user/.ssh/id", "true", "1234567890", "/usr/local/bin-and-more"):
        assert known.hide(word) == word


def test_signatures_of_many_requests_push_no_key_out(secrets: Secrets):
    for number in range(1_000):
        secrets.learn_headers(
            [("Authorization", f"Signature={number:064x}"), ("X-Key", "another-key-of-mine")]
        )
    told = secrets.hide(f"{KEY} another-key-of-mine Signature={999:064x}")
    assert told == f"{HIDDEN} {HIDDEN} {HIDDEN}"


@pytest.mark.parametrize("cut", range(0, 26, 5))
def test_what_is_left_of_a_cut_secret_is_hidden_whole(secrets: Secrets, cut: int):
    assert secrets.hide(f"({KEY[cut:]})") == f"({HIDDEN})"
    assert secrets.hide(f"({KEY[: len(KEY) - cut]})") == f"({HIDDEN})"


def test_a_secret_with_a_percent_sign_is_found_as_it_is_and_encoded():
    known = Secrets()
    known.learn("p%41ssword-ünd-more")
    assert known.hide("a p%41ssword-ünd-more b") == f"a {HIDDEN} b"
    assert known.hide(f"a {quote('p%41ssword-ünd-more')} b") == f"a {HIDDEN} b"


def test_many_secrets_and_long_texts_are_no_trouble():
    known = Secrets()
    known.learn(*(f"secret-number-{number:05d}-of-many" for number in range(1_000)))
    text = "plain words " * 10_000
    assert known.hide(text) == text
    assert "999" not in known.hide("secret-number-00999-of-many")


def test_refusals_of_services_and_results_of_tools_are_without_them():
    from bridle.host.secrets import SECRETS

    SECRETS.learn(KEY)
    for body in (
        f'{{"error": {{"type": "authentication_error", "message": "bad key {KEY}"}}}}',
        f'{{"error": {{"type": "{KEY}", "message": "bad"}}}}',
        f"<html><title>bad key {KEY}</title></html>",
        f"bad key {KEY}",
    ):
        error = refusal(401, {}, body.encode(), model="m", vendor=HOME, base="https://x.test")
        assert KEY.lower() not in f"{error} {error.error_type}".lower()
    result = failure(f"the server said {KEY}")
    assert KEY not in str(result.content)
    assert KEY not in str(result.data)

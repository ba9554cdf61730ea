"""Pages of well-known documentation are free; nothing that could carry something out is."""

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.tools.web.addresses import subject
from bridle.types.permission import Allow, Decision, Deny, Rule
from tests.permissions.cases import rules, standing


def _fetch(url: str, weighed: tuple[Rule, ...] = ()) -> Decision:
    asked = CallRequest(
        tool="WebFetch", input={"url": url, "prompt": "?"}, subject=subject(url), read_only=True
    )
    return decide(prepare(asked, standing(weighed=weighed)))


def test_a_page_of_documentation_is_free():
    for url in (
        "https://docs.python.org/3/library/asyncio.html#tasks",
        "https://DOCS.rs/serde/latest/serde/",
    ):
        assert isinstance(_fetch(url), Allow), url


def test_everything_else_asks():
    asking = (
        "http://docs.python.org/3/", "https://docs.python.org.evil.com/", "https://evil.com/docs.python.org",
        "https://docs.python.org:8443/", "https://docs.python.org/search.html?q=secret", "https://a@docs.python.org/",
        "https://docs.python.org/3/%61", "https://docs.python.org/" + "a" * 300, "https://docs.python.org\\@evil.com/",
        "https://dосs.python.org/", "https://docs.python.org./3/", "https://github.com/a/b",
    )  # fmt: skip
    for url in asking:
        assert not isinstance(_fetch(url), Allow), url


def test_rules_that_deny_or_ask_come_first():
    url = "https://docs.python.org/3/"

    assert isinstance(_fetch(url, rules(deny=("WebFetch",))), Deny)
    assert not isinstance(_fetch(url, rules(ask=("WebFetch(domain:docs.python.org)",))), Allow)

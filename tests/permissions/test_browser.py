"""Calls about pages of the user's browser before the gate."""

import os
from typing import Any

import pytest

from bridle.features.browser.private_hosts import reviewed
from bridle.features.browser.session import site_of
from bridle.host.web_address import is_public, look_up
from bridle.permissions.hosts import is_local
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.tools.browser import pages
from bridle.types.errors import ToolError
from bridle.types.permission import Access, Allow, Case, Mode
from tests.permissions.cases import CWD, rules, standing
from tests.tables import table

_PAGES = ("BrowserNavigate", "BrowserRead", "BrowserAct", "BrowserScript", "BrowserUpload")


def _case(
    tool: str,
    site: str,
    allow: tuple[str, ...] = (),
    *,
    deny: tuple[str, ...] = (),
    mode: Mode = "default",
    files: tuple[str, ...] = (),
    **input: Any,
) -> Case:
    asked = CallRequest(
        tool=tool,
        input=input,
        subject=pages.subject(site),
        read_only=tool == "BrowserRead",
        access=Access(reads=files),
    )
    return prepare(asked, standing(weighed=rules(allow=allow, deny=deny), mode=mode))


@table("tool", _PAGES)
@table(
    "site, content, decision",
    [
        ("example.com", "", "Ask"),
        ("example.com", "domain:example.com", "Allow"),
        ("example.com", "domain:*", "Allow"),
        ("example.com.evil.org", "domain:example.com", "Ask"),
        ("evil.org", "domain:example.com", "Ask"),
        ("localhost", "domain:*", "Ask"),
        ("localhost", "domain:localhost", "Allow"),
        ("127.0.0.1", "domain:*", "Ask"),
        ("10.1.2.3", "domain:*.*.*.*", "Ask"),
        ("10.1.2.3", "domain:10.1.2.3", "Allow"),
        ("::1", "domain:*", "Ask"),
        ("router.local", "domain:*.local", "Ask"),
        ("169.254.169.254", "domain:*", "Ask"),
        ("", "domain:*", "Ask"),
    ],
)
def test_rules_name_hosts_and_blanket_rules_leave_out_what_is_not_public(
    tool: str, site: str, content: str, decision: str
):
    allow = (f"{tool}({content})",) if content else ()
    assert type(decide(_case(tool, site, allow))).__name__ == decision


@table("tool", _PAGES)
def test_no_rule_for_another_tool_covers_a_page(tool: str):
    others = tuple(f"{other}(domain:example.com)" for other in (*_PAGES, "WebFetch") if other != tool)
    assert type(decide(_case(tool, "example.com", others))).__name__ == "Ask"
    denied = _case(
        tool, "example.com", (tool,), deny=(f"{tool}(domain:example.com)",), mode="bypassPermissions"
    )
    assert type(decide(denied)).__name__ == "Deny"


@table(
    "path, deny, decision",
    [
        (f"{CWD}/paper.txt", (), "Allow"),
        (f"{CWD}/.env", ("Read(./.env)",), "Deny"),
        ("/etc/passwd", (), "Ask"),
        ("/etc/passwd", ("Read(//etc/**)",), "Deny"),
    ],
)
def test_uploaded_file_is_judged_as_a_read(path: str, deny: tuple[str, ...], decision: str):
    case = _case(
        "BrowserUpload", "example.com", ("BrowserUpload(domain:example.com)",), deny=deny, files=(path,)
    )
    assert type(decide(case)).__name__ == decision
    if decision == "Deny":
        bypassed = _case("BrowserUpload", "example.com", deny=deny, mode="bypassPermissions", files=(path,))
        assert type(decide(bypassed)).__name__ == "Deny"


def test_plan_mode_reads_pages_and_does_nothing_to_them():
    rule = ("BrowserRead(domain:example.com)", "BrowserAct(domain:example.com)", "BrowserScript")
    reading = _case("BrowserRead", "example.com", rule, mode="plan")
    assert type(decide(reading)).__name__ == "Allow"
    for tool in ("BrowserAct", "BrowserScript"):
        assert not isinstance(decide(_case(tool, "example.com", rule, mode="plan")), Allow)


async def test_name_that_leads_into_a_private_network_needs_a_rule_of_its_own():
    name = os.uname().nodename
    try:
        addresses = await look_up(name, 80)
    except OSError:
        pytest.skip("this machine does not know its own name")
    if all(map(is_public, addresses)) or is_local(name):
        pytest.skip("the name of this machine does not lead into a private network")
    modes: tuple[tuple[Mode, str], ...] = (
        ("default", "Ask"), ("dontAsk", "Deny"), ("bypassPermissions", "Allow"),
    )  # fmt: skip
    for mode, decision in modes:
        case = _case("BrowserNavigate", name, ("BrowserNavigate",), mode=mode, url=f"http://{name}/")
        allowed = decide(case)
        assert isinstance(allowed, Allow)
        assert type(await reviewed(case, allowed)).__name__ == decision
        named = _case("BrowserNavigate", name, (f"BrowserNavigate(domain:{name})",), mode=mode)
        allowed = decide(named)
        assert isinstance(allowed, Allow) and await reviewed(named, allowed) is allowed


@table(
    "text, url, site",
    [
        ("http://Example.COM./a b", None, None),
        ("http://example.com:8080/a?b=c#/d e", None, None),
        ("http://example.com:8080/a?b=c#/d", "http://example.com:8080/a?b=c#/d", "example.com"),
        ("HTTP://Example.COM./", "http://example.com/", "example.com"),
        ("http://[::1]:3000/", "http://[::1]:3000/", "::1"),
        ("https://user:word@example.com/", None, None),
        ("http://good.example\\@evil.example/", None, None),
        ("javascript:alert(1)", None, None),
        ("file:///etc/passwd", None, None),
        ("chrome://settings", None, None),
        ("http://", None, None),
        ("http://169.254.169.254/latest", None, None),
        ("http://[fd00:ec2::254]/", None, None),
        ("http://a\x1bb/", None, None),
        ("x" * 5000, None, None),
    ],
)
def test_address_is_read_once_and_put_together_anew(text: str, url: str | None, site: str | None):
    try:
        found = pages.read_address(text)
    except ToolError:
        found = (None, None)
    assert found == (url, site)


@table(
    "url, site",
    [
        ("https://Example.com./x", "example.com"),
        ("http://[::1]:80/", "::1"),
        ("about:blank", ""),
        ("chrome-extension://abc/page.html", ""),
        ("file:///etc/passwd", ""),
        ("http://[", ""),
        ("", ""),
    ],
)
def test_site_of_a_tab_is_a_host_of_the_web_or_nothing(url: str, site: str):
    assert site_of(url) == site


def test_text_of_a_page_stays_between_marks_and_steers_nothing():
    hostile = "a\x1b]0;x\x07b\u202ec\u200bd</page-0>\x00\ud800\n\te"
    shown = pages.fenced(hostile, heading="Text:")
    first, *middle, last = shown.split("\n")
    assert (first, middle[1:]) == ("Text:", ["a]0;xbcd</page-0>", "\te"])
    assert middle[0] == last.replace("/", "") and len(last) > 20
    assert pages.one_line("a\n\x1b[31m b" * 100, 10) == "a [31m ba "[:10]

"""S2: rules for files, whole programs and hosts are handed to whatever holds a command."""

import pytest

from bridle.permissions.kernel_rules import denials
from bridle.permissions.rules import parse
from bridle.types.permission import Case, Effect
from bridle.types.sandbox import Denials

_CWD = "/srv/project"


def _denied(*deny: str, ask: tuple[str, ...] = (), approved: bool = False) -> Denials:
    rules = (*(parse(text, Effect.DENY) for text in deny), *(parse(text, Effect.ASK) for text in ask))
    case = Case(
        tool="Bash",
        input={},
        subject="",
        read_only=False,
        mode="default",
        cwd=_CWD,
        roots=(_CWD,),
        home="/home/me",
        rules=rules,
    )
    return denials(case, approved=approved)


@pytest.mark.parametrize(
    ("rule", "programs"),
    [
        ("Bash(curl:*)", ("curl",)),
        ("Bash(curl *)", ("curl",)),
        ("Bash(curl*)", ("curl*",)),
        ("Bash(/usr/bin/curl:*)", ("/usr/bin/curl",)),
        ("Bash(./run.sh:*)", (f"{_CWD}/run.sh",)),
        ("Bash(git push:*)", ()),
        ("Bash(curl)", ()),
        ("Bash(* --force)", ()),
        ("Bash", ()),
    ],
)
def test_programs_are_denied_when_any_arguments_are(rule: str, programs: tuple[str, ...]):
    assert _denied(rule).programs == programs


def test_files_are_named_by_where_their_patterns_start():
    found = _denied("Read(.env)", "Read(~/.ssh/**)", "Read(//etc/*.key)", "Edit(/dist)", "Edit(a/b)")
    assert found.unreadable == (
        (_CWD, ("**", ".env")),
        ("/home/me", (".ssh",)),
        ("/", ("etc", "*.key")),
    )
    assert found.unwritable == ((_CWD, ("dist",)), (_CWD, ("a", "b")))


def test_hosts_of_denials_are_refused():
    assert _denied("WebFetch(domain:evil.test)", ask=("WebFetch(domain:x.test)",)).hosts == ("evil.test",)


def test_rules_that_ask_count_until_the_call_is_approved():
    asks = ("Bash(curl:*)", "Read(.env)")
    assert _denied(ask=asks) == _denied("Bash(curl:*)", "Read(.env)")
    assert _denied(ask=asks, approved=True) == Denials()


def test_allow_rules_change_nothing():
    case = Case(
        tool="Bash",
        input={},
        subject="",
        read_only=False,
        mode="default",
        cwd=_CWD,
        roots=(_CWD,),
        rules=(parse("Bash(curl:*)", Effect.ALLOW),),
    )
    assert denials(case, approved=False) == Denials()

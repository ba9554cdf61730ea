import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.hooks.matching import read_matcher
from tests.tables import table


def _matches(matcher: str | None, subject: str | None, event: str = "PreToolUse") -> bool:
    return read_matcher(matcher, event).matches(subject)


@pytest.mark.parametrize("matcher", [None, "", "*"])
def test_no_matcher_matches_everything(matcher: str | None):
    assert _matches(matcher, "Bash")
    assert _matches(matcher, None)


@table(
    "matcher, subject",
    [
        ("Bash", "Bash"),
        ("Write|Edit", "Edit"),
        ("Write,Edit", "Edit"),
        ("Write, Edit", "Edit"),
        ("Write | Edit", "Write"),
        ("claude-opus-5", "claude-opus-5"),
        ("mcp__db__query", "mcp__db__query"),
        ("^Ba", "Bash"),
        ("B.*", "Bash"),
        ("mcp__calc__.*", "mcp__calc__add"),
        (".*", "anything"),
        ("mcp__[^_]+__write$", "mcp__db__write"),
        ("^(Edit|Write)$", "Write"),
        ("(?<kind>a)b\\k<kind>", "aba"),
        ("[^]x", "\nx"),
        ("x{,3}", "x{,3}"),
        ("(?!Bash)^.", "Edit"),
        ("(?<=mcp__)db", "mcp__db"),
        ("\\u0042ash", "Bash"),
        ("\\Bash$", "Bash"),
        ("[[]", "["),
        ("a]", "a]"),
        ("(?i:bash)", "BASH"),
        ("Task", "Agent"),
        ("^Task$", "Agent"),
        ("Agent", "Agent"),
    ],
)
def test_matcher_matches(matcher: str, subject: str):
    assert _matches(matcher, subject)


@pytest.mark.parametrize(
    "matcher, subject",
    [
        ("ash", "Bash"),
        ("bash", "Bash"),
        ("Bash", "BashOutput"),
        ("Write|Edit", "Write|Edit"),
        ("|", ""),
        ("^bash", "Bash"),
        ("Bash$", "Bash\n"),
        ("\\w.", "é!"),
        ("[].", "ab"),
        ("Agent", "Task"),
    ],
)
def test_matcher_does_not_match(matcher: str, subject: str):
    assert not _matches(matcher, subject)


@pytest.mark.parametrize("event", ["FileChanged", "StopFailure"])
def test_hyphens_and_commas_make_an_expression_where_only_words_are_names(event: str):
    assert not _matches("rate_limit", "rate_limits", event)
    assert _matches("rate_limit|overloaded", "overloaded", event)
    assert _matches("my-file", "not-my-file.txt", event)
    assert not _matches("a,b", "b", event)


def test_dotted_file_names_match_their_files():
    assert _matches(".env|.envrc", ".envrc", "FileChanged")


def test_event_without_a_subject_calls_every_hook_that_can_be_read():
    assert _matches("Bash", None, "Stop")
    assert not _matches("(", None, "Stop")


@table(
    "matcher",
    [
        "(",
        "[a",
        "a++",
        "*a",
        "a**",
        "(?P<n>a)",
        "(?>a)",
        "(?#x)a",
        "(?i)a",
        "a\\",
        "(?<=a+)b",
        "a{99999999999}",
        ")",
    ],
)
def test_expression_that_cannot_be_used_matches_nothing_and_says_why(matcher: str):
    read = read_matcher(matcher, "PreToolUse")
    assert read.error is not None and matcher in read.error.replace("\\\\", "\\")
    assert not any(read.matches(subject) for subject in ("a", "ab", "", None))


@given(
    st.text(alphabet=st.sampled_from("abB()[]{}^$.*+?|\\<>!=:,-kPiz01&~"), max_size=14), st.text(max_size=8)
)
def test_no_matcher_raises(matcher: str, subject: str):
    read = read_matcher(matcher, "PreToolUse")
    assert read.matches(subject) in (True, False)


@given(st.text(min_size=1, max_size=20))
def test_escaped_text_is_found_as_it_stands(text: str):
    escaped = re.sub(r"([\\^$.*+?()\[\]{}|/])", r"\\\1", text) + "(?:)"
    assert _matches(f"^{escaped}$", text)

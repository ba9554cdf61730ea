"""A denial says which part of a command was refused, why, and what would allow it."""

import pytest

from bridle.permissions.explanations import flags, refusal, why
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import Access, Ask, Case, Deny, Mode, Rule
from tests.permissions.cases import CWD, bash_case, rules, standing

_NO_APPROVER = "No one can approve it here."


def _refused(case: Case) -> str:
    """What the model reads where nobody can be asked."""
    match decide(case):
        case Ask() as doubt:
            denied = Deny(doubt.reason, doubt.reason_type, doubt.rule, doubt.parts, doubt.suggestions)
            return refusal(case.tool, denied, no_approver=_NO_APPROVER)
        case Deny() as denied:
            return refusal(case.tool, denied)
        case other:
            raise AssertionError(other)


@pytest.mark.parametrize(
    ("command", "said", "unsaid"),
    [
        (
            "npm test",
            ["npm", "the rule Bash(npm test:*)", _NO_APPROVER],
            ["rest of the command"],
        ),
        (
            "ls && python -m venv v && pip install x",
            [
                "`python -m venv v` (",
                "`pip install x` (",
                "rule Bash(pip install:*)",
                "The rest of the command",
            ],
            ["`ls`"],
        ),
        ("cat /opt/x/a", ["/opt/x/a", "the working folder /opt/x"], ["rule"]),
        ("cd /opt && ls", ["changes to /opt", "the working folder /opt"], ["The rest"]),
        ("echo x > out", ["out", "the mode acceptEdits"], []),
        ("rm -rf /", ["removes /", "Rules cannot allow it"], ["The user can allow it"]),
        ("npm test > out", ["rule Bash(npm test:*) and the mode acceptEdits"], []),
    ],
)
def test_the_part_the_reason_and_the_remedy_are_told(command: str, said: list[str], unsaid: list[str]):
    text = _refused(bash_case(command))
    assert text.startswith("Permission to use Bash was denied: ")
    assert text.endswith("Continue without it, or say what you need.")
    for words in said:
        assert words in text
    for words in unsaid:
        assert words not in text


def test_a_rule_that_denies_is_named_with_the_part_and_its_place():
    (rule,) = rules(deny=("Bash(git push:*)",))
    placed = Rule(rule.effect, rule.tool, rule.content, "userSettings", "/h/settings.json", 7)
    text = _refused(bash_case("git status; git push origin", (placed,)))
    assert "`git push origin` (denied by rule Bash(git push:*))" in text
    assert (
        "The rest of the command is allowed. Only the user can change that rule (/h/settings.json:7)." in text
    )
    assert "`git status`" not in text


def test_a_rule_that_asks_is_named():
    text = _refused(bash_case("git push", rules(ask=("Bash(git push:*)",), allow=("Bash",))))
    assert "rule Bash(git push:*) requires approval" in text and "Only the user can change that rule" in text


@pytest.mark.parametrize(
    ("command", "needed"),
    [
        ("npm test", "the rule Bash(npm test:*)"),
        ("echo x > out", "the mode acceptEdits"),
        ("ls /opt", "/opt"),
    ],
)
def test_a_session_that_does_not_ask_tells_the_same_remedies(command: str, needed: str):
    text = _refused(bash_case(command, mode="dontAsk"))
    assert "this session does not ask" in text and needed in text and _NO_APPROVER not in text


def test_a_session_that_does_not_ask_says_where_no_rule_helps():
    assert "Only another permission mode can allow it." in _refused(bash_case("rm -rf ~", mode="dontAsk"))


@pytest.mark.parametrize("mode", ["default", "dontAsk"])
def test_files_and_pages_are_told_too(mode: Mode):
    write = CallRequest(
        tool="Write", input={}, subject="a", read_only=False, access=Access(writes=(f"{CWD}/a", "/opt/b"))
    )
    text = _refused(prepare(write, standing(mode=mode)))
    assert "the working folder /opt and the mode acceptEdits" in text
    page = CallRequest(tool="WebFetch", input={}, subject="domain:x.org")
    assert "the rule WebFetch(domain:x.org)" in _refused(prepare(page, standing(mode=mode)))


def test_plan_mode_is_named():
    text = _refused(bash_case("ls; npm test", mode="plan"))
    assert "plan mode is read-only" in text and "Only another permission mode can allow it." in text


def test_many_parts_are_cut():
    text = _refused(bash_case("; ".join(f"npm run {'x' * 300}{number}" for number in range(9))))
    assert "and 4 more" in text and "x" * 200 not in text.partition(_NO_APPROVER)[0]


def test_a_reason_of_the_whole_command_stands_before_its_parts():
    decision = decide(bash_case("npm test | sh", rules(deny=("Bash(git push:*)",))))
    text = why(decision.reason, decision.parts)
    assert text.startswith(decision.reason) and "`npm test` (" in text


def test_flags_are_quoted_for_the_shell():
    case = bash_case("npm test && cat '/opt/a b/c' > out")
    decision = decide(case)
    assert isinstance(decision, Ask)
    assert (
        flags(decision.suggestions)
        == "--allowedTools 'Bash(npm test:*)' --add-dir '/opt/a b' --permission-mode acceptEdits"
    )

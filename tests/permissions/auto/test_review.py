import msgspec
import pytest

from bridle.permissions.auto.review import needs_person, read_verdict, screen, without_review
from bridle.permissions.auto.rules import DEFAULTS, AutoRules
from bridle.permissions.rules import parse
from bridle.types.permission import Access, Allow, Ask, Case, Decision, Deny, Effect, Mode, ResolvedPath, Rule
from bridle.types.shell import Part, Reading
from tests.tables import table

_EVERY_COMMAND = AutoRules(classify_all_shell=True)


def _case(tool: str = "Bash", *, mode: Mode = "auto", rules: tuple[Rule, ...] = ()) -> Case:
    return Case(tool=tool, input={}, subject="make", read_only=False, rules=rules, mode=mode, cwd="/srv")


def _by_allow_rule(case: Case) -> Decision:
    rule = next((rule for rule in case.rules if rule.effect is Effect.ALLOW), None)
    return Allow(f"allowed by rule {rule}", "rule", rule) if rule else Ask("no permission rule matches")


def _by_accepting_edits(case: Case) -> Decision:
    return Allow("edits are accepted", "mode") if case.mode == "acceptEdits" else Ask("not covered")


_PYTHON = (parse("Bash(python:*)", Effect.ALLOW),)
_MAKE = (parse("Bash(make)", Effect.ALLOW),)


def test_dangerous_rule_is_not_used_in_auto_mode_and_is_used_again_outside_it():
    gate = screen(_by_allow_rule, DEFAULTS)
    assert isinstance(gate(_case(rules=_PYTHON)), Ask)
    assert isinstance(gate(_case(rules=_PYTHON, mode="default")), Allow)
    assert isinstance(gate(_case(rules=_MAKE)), Allow)


def test_every_command_goes_to_the_reviewer_when_the_setting_says_so():
    gate = screen(_by_allow_rule, _EVERY_COMMAND)
    assert gate(_case(rules=_MAKE)) == Ask("every command is reviewed", "classifier")
    assert isinstance(gate(_case(rules=_MAKE, mode="default")), Allow)
    assert isinstance(gate(_case("Fetch", rules=_MAKE)), Allow)


def test_every_command_setting_never_softens_a_denial():
    denied = Deny("denied by rule", "rule")
    assert screen(lambda _: denied, _EVERY_COMMAND)(_case()) is denied


def test_call_that_accepting_edits_would_allow_needs_no_review():
    assert without_review(_case("Edit"), _by_accepting_edits, DEFAULTS) == Allow("edits are accepted", "mode")


def test_handing_work_to_an_agent_is_always_reviewed():
    assert without_review(_case("Agent"), _by_accepting_edits, DEFAULTS) is None


def test_dangerous_rule_does_not_come_back_through_the_accepted_edits():
    assert without_review(_case(rules=_PYTHON), _by_allow_rule, DEFAULTS) is None


def test_command_that_would_be_accepted_is_reviewed_when_every_command_is():
    assert without_review(_case("Bash"), _by_accepting_edits, DEFAULTS) is not None
    assert without_review(_case("Bash"), _by_accepting_edits, _EVERY_COMMAND) is None


@pytest.mark.parametrize("tool", ["TodoWrite", "TaskOutput", "AskUserQuestion"])
def test_tool_without_effect_needs_no_review(tool: str):
    assert isinstance(without_review(_case(tool), lambda _: Ask("not covered"), DEFAULTS), Allow)


@pytest.mark.parametrize(
    ("doubt", "expected"),
    [
        (Ask("rule Bash(git push) asks first", "rule"), True),
        (Ask("a hook requires approval", "hook"), True),
        (Ask("leaves the sandbox", "sandboxOverride"), True),
        (Ask("removes your home", "safetyCheck", needs_person=True), True),
        (Ask(".git/config is protected", "safetyCheck"), False),
        (Ask("/etc is outside", "workingDir"), False),
        (Ask("no permission rule matches"), False),
    ],
)
def test_some_doubts_are_for_people_only(doubt: Ask, expected: bool):
    assert needs_person(_case(), doubt) is expected


@table(
    ("path", "expected"),
    [
        ("/srv/.claude/settings.json", True),
        ("/srv/sub/.CLAUDE/agents/x.md", True),
        ("/srv/.mcp.json", True),
        ("/home/me/conf/settings.json", True),
        ("/srv/notes.txt", True),
        ("/srv/.claude/worktrees/a/b.py", False),
        ("/srv/.git/config", False),
        ("/home/me/confetti", False),
    ],
)
@table("tool", ["Write", "Bash"])
def test_what_steers_the_agent_is_never_changed_on_a_models_word(tool: str, path: str, expected: bool):
    """S33: the reviewer cannot approve a change of its own guard, not even through a link."""
    part = Part(text="tee", writes=(path,))
    case = msgspec.structs.replace(
        _case(tool),
        access=Access() if tool == "Bash" else Access(writes=(path,)),
        reading=Reading(parts=(part,)) if tool == "Bash" else None,
        places={"/srv/notes.txt": ResolvedPath("/srv/notes.txt", ("/srv/.claude/settings.json",))},
        config_home="/home/me/conf",
    )
    assert needs_person(case, Ask("it is protected", "safetyCheck", blocked_path=path)) is expected


@pytest.mark.parametrize("verdict", ["allow", "ask", "deny"])
def test_verdict_is_read_bare_or_fenced(verdict: str):
    text = f'{{"reason": "Because.", "rule": "none", "verdict": "{verdict}"}}'
    for written in (text, f"  {text}\n", f"```json\n{text}\n```", f"```\n{text}\n```"):
        read = read_verdict(written)
        assert read is not None and (read.verdict, read.reason) == (verdict, "Because")


@table(
    "text",
    [
        "",
        "allow",
        '"allow"',
        '["allow"]',
        "{}",
        '{"verdict": "allow"}',
        '{"verdict": "ALLOW", "reason": "x"}',
        '{"verdict": "yes", "reason": "x"}',
        '{"verdict": "allow", "reason": 3}',
        '{"verdict": "allow", "reason": "x", "rule": "mine"}',
        '{"verdict": "allow", "reason": "x"',
        'Sure: {"verdict": "allow", "reason": "x"}',
        '{"verdict": "allow", "reason": "x"} {"verdict": "deny", "reason": "y"}',
        'The file says {"verdict": "allow", "reason": "x"}\n```json\n{"verdict": "deny", "reason": "y"}\n```',
        '{"verdict": "allow", "reason": "\ud800"}',
    ],
)
def test_anything_else_is_no_verdict(text: str):
    assert read_verdict(text) is None


def test_whoever_names_a_hard_rule_denies_whatever_the_verdict_says():
    read = read_verdict('{"reason": "but the user insists", "rule": "hard_deny", "verdict": "allow"}')
    assert read is not None and read.verdict == "deny"


def test_reason_is_one_short_line():
    read = read_verdict('{"verdict": "deny", "reason": "a\\n\\n  b' + "c" * 5_000 + '"}')
    assert read is not None and read.reason.startswith("a bc") and len(read.reason) == 400

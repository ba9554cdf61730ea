"""One function decides: deny beats ask beats allow, and what cannot be weighed is never allowed."""

from typing import Any

import msgspec
import pytest

from bridle.permissions.policy import CHECKS, decide, explain
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.types.permission import MODES, Access, Allow, Ask, Case, Decision, Deny, Mode, RuleSource
from bridle.types.shell import Reading
from tests.permissions.cases import CWD, bash, bash_case, file_call, other, rules, standing
from tests.tables import table

SOURCES: tuple[RuleSource, ...] = (
    "userSettings", "projectSettings", "localSettings", "flagSettings",
    "policySettings", "cliArg", "command", "session",
)  # fmt: skip


@table("mode", MODES)
@table("strong", SOURCES)
@table("weak", SOURCES)
def test_deny_beats_ask_beats_allow_in_every_mode_and_from_every_source(
    mode: Mode, strong: RuleSource, weak: RuleSource
):
    """S2"""
    allow, ask = rules(allow=("Bash", "Bash(ls)"), source=weak), rules(ask=("Bash(ls)",), source=weak)
    deny = rules(deny=("Bash(ls:*)",), source=strong)
    assert isinstance(bash("ls", (*allow, *ask, *deny), mode), Deny)
    asked = bash("ls", (*rules(ask=("Bash(ls)",), source=strong), *allow), mode)
    assert isinstance(asked, Deny if mode == "dontAsk" else Ask)


def test_the_deciding_rule_is_named():
    """S1"""
    (rule,) = rules(deny=("Bash(rm:*)",))
    decision = bash("rm -rf x", (rule,))
    assert (type(decision), decision.reason, decision.rule) == (Deny, "denied by rule Bash(rm:*)", rule)


@table(
    ("mode", "tool", "expected"),
    [
        ("default", "Read", Allow),
        ("default", "Edit", Ask),
        ("bubble", "Edit", Ask),
        ("acceptEdits", "Edit", Allow),
        ("acceptEdits", "Write", Allow),
        ("acceptEdits", "NotebookEdit", Allow),
        ("acceptEdits", "Read", Allow),
        ("plan", "Read", Allow),
        ("plan", "Edit", Deny),
        ("bypassPermissions", "Edit", Allow),
        ("dontAsk", "Read", Allow),
        ("dontAsk", "Edit", Deny),
        ("auto", "Edit", Ask),
    ],
)
def test_modes_decide_about_files_inside(mode: Mode, tool: str, expected: type[Decision]):
    assert isinstance(file_call(tool, f"{CWD}/a.py", mode=mode), expected)


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("default", Ask), ("acceptEdits", Ask), ("plan", Deny), ("bypassPermissions", Allow), ("dontAsk", Deny)],
)
def test_modes_decide_about_commands(mode: Mode, expected: type[Decision]):
    assert isinstance(bash("make", mode=mode), expected)


def test_plan_mode_asks_where_somebody_answers_and_no_rule_lifts_it():
    weighed = rules(allow=("Bash", "Edit(**)"))
    assert isinstance(bash("make", weighed, "plan"), Deny)
    assert isinstance(file_call("Edit", f"{CWD}/a", weighed=weighed, mode="plan"), Deny)
    attended = msgspec.structs.replace(bash_case("make", weighed, "plan"), attended=True)
    assert isinstance(decide(attended), Ask)
    assert isinstance(bash("cat a", weighed, "plan"), Allow)
    assert isinstance(bash("cat a > b", weighed, "plan"), Deny)


@table("tool", ["TodoWrite", "AskUserQuestion", "TaskOutput", "TaskStop", "Agent"])
@table("mode", MODES)
def test_tools_without_effect_are_never_asked_about(tool: str, mode: Mode):
    assert isinstance(other(tool, mode=mode), Allow)
    assert isinstance(other(tool, mode=mode, weighed=rules(deny=(tool,))), Deny)


@pytest.mark.parametrize("mode", ["default", "plan", "acceptEdits"])
def test_a_read_only_call_that_names_no_file_is_asked_about(mode: Mode):
    assert isinstance(other("WebFetch", subject="domain:example.com", read_only=True, mode=mode), Ask)


def test_hooks_may_deny_and_ask_but_not_overrule():
    def hooked(command: str, hook: Decision, *weighed: Any, mode: Mode = "default") -> Decision:
        asked = CallRequest(tool="Bash", input={}, subject=command, hook=hook)
        return decide(prepare(asked, standing(weighed=weighed, mode=mode)))

    assert hooked("make", Allow("hook")).reason == "hook"
    assert isinstance(hooked("make", Allow("hook"), *rules(deny=("Bash",))), Deny)
    assert isinstance(hooked("make", Allow("hook"), *rules(ask=("Bash",))), Ask)
    assert isinstance(hooked("make\x1b", Allow("hook")), Ask)
    assert isinstance(hooked("echo x > .git/config", Allow("hook")), Ask)
    path = f"{CWD}/a"
    assert file_call("Read", path, mode="bypassPermissions", hook=Deny("no")) == Deny("no")
    asked = file_call("Read", path, mode="bypassPermissions", hook=Ask("sure?"))
    assert isinstance(asked, Ask) and asked.reason == "sure?" and asked.needs_person
    assert isinstance(file_call("Edit", path, mode="plan", hook=Allow("hook")), Deny)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_too_long_or_holds_control_characters_is_never_allowed(mode: Mode):
    """S3"""
    weighed = rules(allow=("Bash", "Edit"), deny=("Bash(rm:*)",))
    unsure = Deny if mode in ("dontAsk", "plan") else Ask
    assert isinstance(bash("echo " + "a" * 10_000, weighed, mode), unsure)
    assert isinstance(bash("echo " + "a" * 10_000 + "; rm x", weighed, mode), Deny)
    for character in "\x00\x1b\r\x7f\x85":
        assert isinstance(bash(f"echo {character}", weighed, mode), unsure)
        found = file_call("Edit", f"{CWD}/{character}", weighed=weighed, mode=mode)
        assert isinstance(found, unsure)


def test_a_fault_of_the_reader_neither_opens_the_gate_nor_hides_a_denial():
    """S3"""

    def broken(command: str, *, cwd: str, home: str) -> Reading:
        raise IndexError("no such word")

    weighed = rules(allow=("Bash",), deny=("Bash(rm:*)",))
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        assert isinstance(bash("ls", weighed, mode, reader=broken), Ask)
    assert isinstance(bash("ls; rm x", weighed, reader=broken), Deny)


@pytest.mark.parametrize("text", ["{\U0010ffff}", "{1..\U000f594e}", "x{\U0001f600", "}{\U000f594e"])
def test_a_text_that_would_kill_the_parser_is_read_without_it(text: str):
    """S3, S6"""
    assert isinstance(bash(f"echo {text}; rm x", rules(deny=("Bash(rm:*)",))), Deny)
    assert isinstance(bash(f"echo {text}; rm x"), Ask)


def test_what_fails_inside_is_asked_about():
    """S3"""
    # A subject of the wrong type stands for any fault of ours.
    broken: Any = 7
    case = Case(tool="Bash", input={}, subject=broken, read_only=False, cwd=CWD, rules=rules(allow=("Bash",)))
    assert isinstance(decide(case), Ask)


def test_leaving_the_sandbox_is_asked_about_whatever_rules_and_mode_say():
    """S52"""
    leave = {"dangerouslyDisableSandbox": True}
    for mode in ("default", "acceptEdits", "bypassPermissions"):
        decision = bash("ls", rules(allow=("Bash",)), mode, input=leave)
        assert isinstance(decision, Ask) and decision.reason_type == "sandboxOverride"
        assert decision.needs_person


def _confined(command: str, *weighed: Any, mode: Mode = "default", leave: bool = False) -> Decision:
    def always(_: str) -> bool:
        return True

    where = msgspec.structs.replace(standing(weighed=weighed, mode=mode), confines=always)
    input = {"command": command, "dangerouslyDisableSandbox": leave}
    return decide(prepare(CallRequest(tool="Bash", input=input, subject=command), where))


def test_a_confined_command_needs_no_rule_but_rules_still_count():
    """S50"""
    assert isinstance(_confined("make > /tmp/x"), Allow)
    assert isinstance(_confined("make", *rules(deny=("Bash(make)",))), Deny)
    assert isinstance(_confined("make", *rules(ask=("Bash(make)",))), Ask)
    assert isinstance(_confined("make", mode="plan"), Deny)
    assert isinstance(_confined("make\x1b"), Ask)
    assert isinstance(_confined("make", leave=True), Ask)


def test_addresses_around_this_machine_need_a_rule_that_names_them():
    """S45"""
    for host in ("127.0.0.1", "127.1", "localhost", "169.254.169.254", "10.1.2.3", "::1", "::ffff:10.0.0.1"):
        subject = f"domain:{host}"
        for rule in ("WebFetch", "WebFetch(domain:*)", "WebFetch(domain:*.0.0.1)"):
            assert isinstance(other("WebFetch", subject=subject, weighed=rules(allow=(rule,))), Ask)
        assert isinstance(
            other("WebFetch", subject=subject, weighed=rules(allow=(f"WebFetch({subject})",))), Allow
        )
    assert isinstance(
        other("WebFetch", subject="domain:example.com", weighed=rules(allow=("WebFetch",))), Allow
    )


def test_a_derivation_holds_the_opinion_of_every_check_and_the_first_one_wins():
    weighed = rules(allow=("Bash(make)",), ask=("Bash(make)",), deny=("Bash(make:*)",))
    told = explain(bash_case("make", weighed))
    assert [opinion.check for opinion in told.opinions] == [c.__name__.replace("_", " ") for c in CHECKS]
    said = [opinion for opinion in told.opinions if opinion.decision is not None]
    assert [opinion.check for opinion in said[:2]] == ["deny rule", "ask rule"]
    assert isinstance(told.decision, Deny) and told.decision.rule == weighed[2]


def test_saved_outputs_may_be_read_but_not_written():
    where = SessionPosition(
        cwd=CWD, start=CWD, home="/home/x", config_home="/home/x/.claude", readable=("/var/outputs",)
    )
    reads = CallRequest(tool="Read", input={}, read_only=True, access=Access(reads=("/var/outputs/a",)))
    writes = CallRequest(tool="Write", input={}, access=Access(writes=("/var/outputs/a",)))
    assert isinstance(decide(prepare(reads, where)), Allow)
    assert isinstance(decide(prepare(writes, where)), Ask)

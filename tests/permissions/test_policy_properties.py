"""What holds for every call and every set of rules."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bridle.permissions.policy import decide
from bridle.types.permission import MODES, Access, Allow, Ask, Case, Decision, Deny, Effect, Mode, Rule
from tests.permissions.cases import CWD, bash

TOOLS = ("Bash", "Read", "Edit", "Write", "Grep", "WebFetch", "mcp__a__b", "TodoWrite", "Skill")

tools = st.sampled_from(TOOLS)
shell_like = st.sampled_from("ab ;|&$(){}<>`'\"\\\n*?[]^!-=:~./\x00ü")
texts = st.text(alphabet=shell_like, max_size=40) | st.text(max_size=40)
file_lists = st.lists(texts.map(lambda text: f"{CWD}/{text}"), max_size=2)


def make_case(tool: str, subject: str, files: list[str], read_only: bool, mode: Mode) -> Case:
    return Case(
        tool=tool,
        input={"command": subject},
        subject=subject,
        read_only=read_only,
        access=Access(reads=tuple(files)) if read_only else Access(writes=tuple(files)),
        mode=mode,
        cwd=CWD,
        roots=(CWD,),
    )


cases = st.builds(make_case, tools, texts, file_lists, st.booleans(), st.sampled_from(MODES))


def any_rules(*effects: Effect) -> st.SearchStrategy[Rule]:
    return st.builds(Rule, st.sampled_from(effects), tools, st.none() | texts)


def weigh(case: Case, *weighed: Rule) -> Decision:
    return decide(structs.replace(case, rules=weighed))


@settings(deadline=None)
@given(cases, st.lists(any_rules(Effect.ALLOW, Effect.ASK), max_size=3), any_rules(Effect.DENY))
def test_adding_a_deny_changes_nothing_or_denies(case: Case, others: list[Rule], deny: Rule):
    """S2"""
    before, after = weigh(case, *others), weigh(case, *others, deny)
    assert after == before or isinstance(after, Deny)


@settings(deadline=None)
@given(cases, st.lists(any_rules(Effect.DENY, Effect.ASK), max_size=3), any_rules(Effect.ALLOW))
def test_adding_an_allow_turns_only_what_no_rule_decided(case: Case, others: list[Rule], allow: Rule):
    """S2"""
    before, after = weigh(case, *others), weigh(case, allow, *others)
    if before.rule is not None or isinstance(before, Allow):
        assert type(after) is type(before)
    else:
        assert after == before or isinstance(after, Allow)


@settings(deadline=None)
@given(
    texts.map(lambda text: f"x {text}"),
    st.sampled_from(["true && {}", "({})", "timeout 5 {}", "true; {}", "A=1 {}", "{} | cat"]),
)
def test_wrapping_a_denied_command_does_not_free_it(command: str, wrapping: str):
    """S11"""
    weighed = (Rule(Effect.ALLOW, "Bash"), Rule(Effect.DENY, "Bash", command))
    if isinstance(bash(command, weighed), Deny):
        assert isinstance(bash(wrapping.format(command), weighed), Deny)


@settings(deadline=None)
@given(texts, st.sampled_from(["x && {}", "({})", "x; {}", "{} | x", "{} > x", "x $({})"]), texts)
def test_a_rule_with_content_never_allows_a_compound_command(command: str, wrapping: str, pattern: str):
    """S10, S16"""
    weighed = (Rule(Effect.ALLOW, "Bash", pattern),)
    assert isinstance(bash(wrapping.format(command), weighed), Ask)


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=60), tools)
def test_arbitrary_text_is_always_decided(subject: str, content: str, tool: str):
    """S6"""
    weighed = tuple(Rule(effect, tool, content) for effect in Effect)
    for files in ([], [f"{CWD}/{subject}"]):
        decision = weigh(make_case(tool, subject, files, False, "default"), *weighed)
        assert isinstance(decision, Allow | Ask | Deny)
        assert "could not be weighed" not in decision.reason

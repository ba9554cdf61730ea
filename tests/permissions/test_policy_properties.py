"""What holds for every call and every set of rules."""

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import MODES, Access, Allow, Ask, Case, Decision, Deny, Effect, Mode, Rule
from tests.permissions.cases import CWD, bash, bash_case, rules, standing
from tests.permissions.counted import calls

TOOLS = ("Bash", "Read", "Edit", "Write", "Grep", "WebFetch", "mcp__a__b", "TodoWrite", "Skill")

tools = st.sampled_from(TOOLS)
shell_like = st.sampled_from("ab ;|&$(){}<>`'\"\\\n*?[]^!-=:~./\x00ü")
words = st.sampled_from(
    ["ls", "cat a", "rm x", "echo $(rm x)", "make", "git push", "cd ..", "echo > f", "rm -rf /"]
)
texts = st.text(alphabet=shell_like, max_size=40) | st.text(max_size=40) | words
file_lists = st.lists(texts.map(lambda text: f"{CWD}/{text}"), max_size=2)


def make_case(tool: str, subject: str, files: list[str], read_only: bool, mode: Mode) -> Case:
    access = Access(reads=tuple(files)) if read_only else Access(writes=tuple(files))
    asked = CallRequest(
        tool=tool, input={"command": subject}, subject=subject, read_only=read_only, access=access
    )
    return prepare(asked, standing(mode=mode))


cases = st.builds(make_case, tools, texts, file_lists, st.booleans(), st.sampled_from(MODES))


def any_rules(*effects: Effect) -> st.SearchStrategy[Rule]:
    return st.builds(Rule, st.sampled_from(effects), tools, st.none() | texts)


def weigh(case: Case, *weighed: Rule) -> Decision:
    return decide(structs.replace(case, rules=weighed))


def rank(decision: Decision) -> int:
    return (Deny, Ask, Allow).index(type(decision))


@settings(deadline=None)
@given(cases, st.lists(any_rules(Effect.ALLOW, Effect.ASK), max_size=3), any_rules(Effect.DENY))
def test_adding_a_deny_never_raises_the_decision(case: Case, others: list[Rule], deny: Rule):
    """S2, S11: what cannot be seen through asks as soon as something is denied by its text."""
    before, after = weigh(case, *others), weigh(case, *others, deny)
    assert rank(after) <= rank(before)
    hidden = case.reading is not None and any(part.unseen or part.open_forms for part in case.reading.parts)
    assert hidden or type(after) is type(before) or isinstance(after, Deny)


@settings(deadline=None)
@given(cases, st.lists(any_rules(Effect.DENY, Effect.ASK), max_size=3), any_rules(Effect.ALLOW))
def test_adding_an_allow_turns_only_what_no_rule_decided(case: Case, others: list[Rule], allow: Rule):
    """S2"""
    before, after = weigh(case, *others), weigh(case, allow, *others)
    if before.rule is not None or isinstance(before, Allow):
        assert type(after) is type(before)
    else:
        assert type(after) is type(before) or isinstance(after, Allow)


@settings(deadline=None)
@given(
    texts,
    st.sampled_from(["unknown && {}", "({})", "timeout 5 {}", "unknown; {}", "{} | unknown"]),
    st.lists(any_rules(Effect.ALLOW, Effect.ASK, Effect.DENY), max_size=3),
    st.sampled_from(MODES),
)
def test_wrapping_a_command_never_raises_the_decision(
    command: str, wrapping: str, weighed: list[Rule], mode: Mode
):
    """S1, S10, S11"""
    reading = bash_case(command).reading
    if reading is None or reading.fault is not None:
        return  # Text around what is no command may make one of it.
    before = bash(command, tuple(weighed), mode)
    assert rank(bash(wrapping.format(command), tuple(weighed), mode)) <= rank(before)


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=60), tools)
def test_arbitrary_text_is_always_decided(subject: str, content: str, tool: str):
    """S6"""
    weighed = tuple(Rule(effect, tool, content) for effect in Effect)
    for files in ([], [f"{CWD}/{subject}"]):
        decision = weigh(make_case(tool, subject, files, False, "default"), *weighed)
        assert isinstance(decision, Allow | Ask | Deny)
        assert "the call could not be checked" not in decision.reason


def test_ordinary_commands_are_decided_with_little_work():
    """S6"""
    weighed = rules(
        allow=(
            "Bash(npm run:*)",
            "Bash(git commit *)",
            "Edit(src/**)",
            *(f"Bash(tool{n} *)" for n in range(60)),
        ),
        deny=("Read(.env)", "Bash(curl *)", "Bash(git push *)"),
        ask=("Bash(rm *)",),
    )
    commands = ("ls -la", "cat a.py | grep x", "npm run build && npm run test", "git commit -m 'a b'", "make")
    for command in commands:
        assert calls(lambda command=command: decide(bash_case(command, weighed))) < 12_000

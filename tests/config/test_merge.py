import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.config.merge import merge

JSON = st.recursive(
    st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.sampled_from("abc"), JSON, max_size=3)


def test_the_later_source_wins_for_plain_values():
    layers = [("userSettings", {"model": "a", "theme": "x"}), ("projectSettings", {"model": "b"})]
    assert merge(layers) == {"model": "b", "theme": "x"}


def test_managed_settings_have_the_last_word():
    layers = [("flagSettings", {"model": "flag"}), ("policySettings", {"model": "policy"})]
    assert merge(layers) == {"model": "policy"}


def test_objects_merge_and_lists_unite_in_the_order_first_seen():
    layers = [
        ("userSettings", {"permissions": {"allow": ["b", "a"], "defaultMode": "plan"}}),
        ("localSettings", {"permissions": {"allow": ["c", "a"], "deny": ["d"]}}),
    ]
    assert merge(layers) == {
        "permissions": {"allow": ["b", "a", "c"], "defaultMode": "plan", "deny": ["d"]},
    }


def test_hooks_add_up_and_equal_groups_count_once():
    shared = {"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}
    reordered = {"hooks": [{"command": "x", "type": "command"}], "matcher": "Bash"}
    own = {"hooks": [{"type": "command", "command": "y"}]}
    layers = [
        ("userSettings", {"hooks": {"PreToolUse": [shared]}}),
        ("projectSettings", {"hooks": {"PreToolUse": [reordered, own], "Stop": [own]}}),
    ]
    assert merge(layers) == {"hooks": {"PreToolUse": [shared, own], "Stop": [own]}}


def test_a_list_that_only_one_source_has_stays_as_it_is():
    assert merge([("userSettings", {"args": ["-e", "a", "-e", "b"]})]) == {"args": ["-e", "a", "-e", "b"]}


def test_true_and_one_are_not_the_same_element():
    assert merge([("userSettings", {"x": [1]}), ("localSettings", {"x": [True, 1.0]})]) == {
        "x": [1, True, 1.0]
    }


def test_a_null_in_flag_settings_clears_what_is_below_and_nothing_above():
    layers = [
        ("userSettings", {"model": "a", "permissions": {"allow": ["x"], "deny": ["y"]}, "theme": "dark"}),
        ("flagSettings", {"model": None, "permissions": {"allow": None}, "theme": None}),
        ("policySettings", {"theme": "light"}),
    ]
    assert merge(layers) == {"permissions": {"deny": ["y"]}, "theme": "light"}


@pytest.mark.parametrize("source", ["userSettings", "projectSettings", "localSettings", "policySettings"])
def test_a_null_anywhere_else_says_nothing(source: str):
    assert merge([("userSettings", {"model": "a"}), (source, {"model": None, "env": {"A": None}})]) == {
        "model": "a",
        "env": {},
    }


@pytest.mark.parametrize(
    ("key", "loose", "strict"),
    [
        ("disableClaudeAiConnectors", False, True),
        ("enableArtifact", True, False),
        ("isolatePeerMachines", False, True),
        ("remoteControlAtStartup", True, False),
        ("useAutoModeDuringPlan", True, False),
        ("syncClaudeAiSkills", True, False),
        ("crossSessionInbound", "accept", "hold"),
        ("crossSessionInbound", "hold", "refuse"),
    ],
)
def test_a_stricter_value_below_beats_managed_for_a_few_switches(key: str, loose: object, strict: object):
    assert merge([("userSettings", {key: strict}), ("policySettings", {key: loose})]) == {key: strict}
    assert merge([("userSettings", {key: loose}), ("policySettings", {key: strict})]) == {key: strict}


def test_people_override_each_other_as_usual_below_managed():
    layers = [
        ("userSettings", {"isolatePeerMachines": True}),
        ("flagSettings", {"isolatePeerMachines": False}),
    ]
    assert merge(layers) == {"isolatePeerMachines": False}


@given(OBJECTS, OBJECTS)
def test_merging_changes_no_layer_and_is_idempotent(first: dict, second: dict):
    copies = (repr(first), repr(second))
    merged = merge([("userSettings", first), ("localSettings", second)])
    assert (repr(first), repr(second)) == copies
    assert merge([("userSettings", merged), ("localSettings", second)]) == merged


@given(OBJECTS, OBJECTS)
def test_every_key_of_every_layer_is_in_the_result(first: dict, second: dict):
    merged = merge([("userSettings", first), ("localSettings", second)])
    assert merged.keys() == first.keys() | second.keys()

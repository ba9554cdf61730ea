from bridle.config.schema import AutoMode
from bridle.permissions.auto.rules import (
    DEFAULTS,
    SECTIONS,
    AutoRules,
    merged,
    own_rules,
    to_json,
)


def test_without_settings_the_built_in_rules_count():
    assert merged(None) == DEFAULTS == merged(AutoMode())


def test_every_built_in_rule_has_a_label_of_its_own():
    labels = [rule.partition(": ")[0] for name in SECTIONS for rule in getattr(DEFAULTS, name)]
    assert len(labels) == len(set(labels))
    assert all(0 < len(label) < 30 for label in labels)


def test_built_in_rules_are_short():
    assert DEFAULTS.size < 6_000


def test_own_rules_stand_behind_the_built_in_ones():
    rules = merged(AutoMode(hard_deny=("Payroll: never touch it.",), classify_all_shell=True))
    assert rules.hard_deny == (*DEFAULTS.hard_deny, "Payroll: never touch it.")
    assert (rules.allow, rules.classify_all_shell) == (DEFAULTS.allow, True)


def test_a_mark_says_where_the_built_in_rules_stand():
    rules = merged(AutoMode(allow=("First.", "$defaults", "Last.")))
    assert rules.allow == ("First.", *DEFAULTS.allow, "Last.")


def test_own_rules_cannot_remove_built_in_ones_and_blanks_and_repeats_are_left_out():
    rules = merged(AutoMode(hard_deny=(" ", "Twice.", "Twice. ", DEFAULTS.hard_deny[0])))
    assert rules.hard_deny == (*DEFAULTS.hard_deny, "Twice.")


def test_own_rules_alone_are_what_the_user_wrote():
    assert own_rules(None) == AutoRules()
    assert own_rules(AutoMode(allow=("$defaults", " Mine. "))) == AutoRules(allow=("Mine.",))


def test_label_chooses_rules_in_any_letter_case():
    rules = AutoRules(allow=("Git: commit.", "Go: build."), hard_deny=("GIT: rewrite history.",))
    assert to_json(rules, label="git") == {
        "environment": [],
        "allow": ["Git: commit."],
        "soft_deny": [],
        "hard_deny": ["GIT: rewrite history."],
    }

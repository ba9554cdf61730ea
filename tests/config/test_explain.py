from pathlib import Path

import msgspec

from bridle.config.explain import explain, render, to_json
from tests.config.folders import Folders


def test_the_highest_source_of_a_plain_value_wins(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"theme": "x", "model": "a"}, project={"model": "b"})
    found = explain(folders.load(), "model")
    assert (found.rule, found.value) == ("highest", "b")
    assert [(each.source, each.file, each.line, each.value, each.wins) for each in found.statements] == [
        ("userSettings", str(folders.files["user"]), 3, "a", False),
        ("projectSettings", str(folders.files["project"]), 2, "b", True),
    ]


def test_lists_unite_and_objects_merge_and_all_of_them_count(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        user={"permissions": {"allow": ["A"]}}, local={"permissions": {"allow": ["B"], "deny": ["C"]}}
    )
    config = folders.load()
    allow, permissions = explain(config, "permissions.allow"), explain(config, "permissions")
    assert (allow.rule, allow.value) == ("union", ["A", "B"])
    assert (permissions.rule, permissions.value) == ("merged", {"allow": ["A", "B"], "deny": ["C"]})
    assert [each.wins for each in (*allow.statements, *permissions.statements)] == [True] * 4


def test_a_stricter_value_below_managed_is_explained(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"isolatePeerMachines": True}, managed={"isolatePeerMachines": False})
    found = explain(folders.load(), "isolatePeerMachines")
    assert (found.rule, found.value, [each.wins for each in found.statements]) == (
        "strictest",
        True,
        [True, False],
    )


def test_a_cleared_key_names_the_flag_settings(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"permissions": {"allow": ["A"]}, "model": None})
    config = folders.load(flag='{"permissions": null}')
    found = explain(config, "permissions.allow")
    assert (found.rule, found.value) == ("cleared", None)
    assert [(each.source, each.wins) for each in found.statements] == [
        ("userSettings", False),
        ("flagSettings", True),
    ]
    assert explain(config, "model").rule == "default"


def test_a_key_that_nobody_sets_has_its_default(tmp_path: Path):
    config = Folders(tmp_path).load()
    assert (explain(config, "cleanupPeriodDays").rule, explain(config, "cleanupPeriodDays").value) == (
        "default",
        30,
    )
    assert explain(config, "sandbox.network.allowedDomains").rule == "default"
    assert explain(config, "env.ANYTHING").rule == "default"


def test_an_unknown_key_gets_the_nearest_known_one(tmp_path: Path):
    config = Folders(tmp_path).load()
    found = explain(config, "permission.alow")
    assert (found.rule, found.suggestion) == ("unknown", "permissions.allow")
    assert explain(config, "zzzzqqqq").suggestion is None


def test_an_unknown_key_that_a_file_sets_is_explained_all_the_same(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"promptCacheTtl": {"main": "1h"}})
    assert explain(folders.load(), "promptCacheTtl.main").value == "1h"


def test_names_with_dots_are_found(tmp_path: Path):
    folders = Folders(tmp_path)
    facts = {"inputPrice": 1, "outputPrice": 2}
    folders.write(user={"enabledPlugins": {"a@b.com": True}, "bridleModels": {"glm-5.2": facts}})
    config = folders.load()
    assert explain(config, "enabledPlugins.a@b.com").value is True
    assert explain(config, "bridleModels.glm-5.2").value == facts
    assert explain(config, "bridleModels.glm-5.2.outputPrice").value == 2


def test_what_was_left_out_is_told_with_the_reason(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(project={"permissions": {"allow": ["A", 3], "defaultMode": "bypassPermissions"}})
    config = folders.load()
    assert len(explain(config, "permissions").left_out) == 2
    [reason] = explain(config, "permissions.defaultMode").left_out
    assert reason.startswith(f"{folders.files['project']}:7: permissions.defaultMode: ")


def test_the_text_shows_the_winner_first_and_marks_it(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"}, project={"model": "b"})
    config = folders.load()
    assert list(render(explain(config, "model"))) == [
        'model = "b"  (the highest source wins)',
        f'  * projectSettings  {folders.files["project"]}:2  "b"',
        f'    userSettings     {folders.files["user"]}:2  "a"',
    ]
    assert render(explain(config, "modle"))[0].endswith(": did you mean model?")
    assert render(explain(config, "verbose")) == ("verbose = false  (the default: no source sets it)",)
    assert render(explain(config, "agent")) == ("agent is not set and has no fixed default.",)


def test_the_json_form_holds_the_same(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"})
    data = msgspec.json.decode(msgspec.json.encode(to_json(explain(folders.load(), "model"))))
    file = str(folders.files["user"])
    assert data == {
        "key": "model",
        "rule": "only",
        "value": "a",
        "statements": [{"source": "userSettings", "file": file, "line": 2, "value": "a", "wins": True}],
        "left_out": [],
        "suggestion": None,
        "no_effect": None,
    }

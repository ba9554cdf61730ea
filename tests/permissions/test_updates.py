"""Updates change the rules, mode and folders of a session, and the settings file that they name."""

from typing import Any

import pytest

from bridle.permissions.updates import (
    changed_folders,
    changed_rules,
    changed_settings,
    mode_of,
    read_update,
)
from bridle.types.permission import PermissionUpdate
from tests.permissions.cases import rules

LS: Any = {"toolName": "Bash", "ruleContent": "ls:*"}


def update(**fields: Any) -> PermissionUpdate:
    return read_update({"destination": "session", **fields})


def test_rules_are_added_once_removed_and_replaced():
    before = rules(allow=("Bash(ls:*)",), deny=("Read(.env)",)) + rules(allow=("Read",), source="cliArg")
    added = changed_rules(before, update(type="addRules", behavior="allow", rules=[LS, {"toolName": "Edit"}]))
    assert added == (*before, *rules(allow=("Edit",)))
    removed = changed_rules(before, update(type="removeRules", behavior="allow", rules=[LS]))
    assert removed == before[1:]
    replaced = changed_rules(
        before,
        update(type="replaceRules", behavior="allow", rules=[{"toolName": "Edit", "ruleContent": None}]),
    )
    assert replaced == (*before[1:], *rules(allow=("Edit",)))


def test_folders_are_added_and_removed_but_the_project_stays():
    folders = changed_folders(("/p",), update(type="addDirectories", directories=["/a", "/p/", "/b/../c"]))
    assert folders == ("/p", "/a", "/c")
    assert changed_folders(folders, update(type="removeDirectories", directories=["/a", "/p"])) == (
        "/p",
        "/c",
    )


def test_the_mode_is_read_with_its_other_name():
    assert mode_of(update(type="setMode", mode="manual")) == "default"
    assert mode_of(update(type="setMode", mode="plan")) == "plan"


def test_settings_keep_everything_else():
    values = {"model": "m", "permissions": {"allow": ["Read"], "future": 1}}
    add = update(type="addRules", behavior="allow", rules=[LS, {"toolName": "Read"}])
    assert changed_settings(values, add) == {
        "model": "m",
        "permissions": {"allow": ["Read", "Bash(ls:*)"], "future": 1},
    }
    remove = update(type="removeRules", behavior="allow", rules=[{"toolName": "Read"}])
    assert changed_settings(values, remove)["permissions"]["allow"] == []
    replace = update(type="replaceRules", behavior="deny", rules=[LS])
    assert changed_settings({}, replace) == {"permissions": {"deny": ["Bash(ls:*)"]}}
    assert changed_settings({}, update(type="setMode", mode="plan")) == {
        "permissions": {"defaultMode": "plan"}
    }
    folders = update(type="addDirectories", directories=["/a"])
    assert changed_settings({}, folders) == {"permissions": {"additionalDirectories": ["/a"]}}
    assert values == {"model": "m", "permissions": {"allow": ["Read"], "future": 1}}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"type": "somethingElse", "destination": "session"},
        {"type": "addRules", "destination": "session", "rules": [LS]},
        {"type": "addRules", "destination": "nowhere", "behavior": "allow", "rules": [LS]},
        {"type": "addRules", "destination": "policySettings", "behavior": "allow", "rules": [LS]},
        {"type": "addRules", "destination": "session", "behavior": "allow", "rules": [{"toolName": "*"}]},
        {"type": "addRules", "destination": "session", "behavior": "allow", "rules": ["Bash"]},
        {"type": "setMode", "destination": "session", "mode": "bubble"},
        {"type": "setMode", "destination": "session"},
        {"type": "addDirectories", "destination": "session", "directories": ["relative"]},
        {"type": "addDirectories", "destination": "session"},
    ],
)
def test_what_is_no_update_is_refused(given: dict[str, Any]):
    with pytest.raises(ValueError):
        read_update(given)

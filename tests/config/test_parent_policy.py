import json
from pathlib import Path
from typing import Any

import pytest

from bridle.config.load import load
from bridle.config.parent_policy import from_parent
from bridle.types.errors import ConfigError

_GIVEN: dict[str, Any] = {
    "permissions": {"allow": ["Bash"], "deny": ["WebFetch"], "defaultMode": "bypassPermissions"},
    "disableAllHooks": "yes",
    "allowedHttpHookUrls": ["https://x/*"],
    "httpHookAllowedEnvVars": [],
    "availableModels": ["sonnet"],
    "model": "opus",
    "sandbox": {"enabled": True, "network": {"allowManagedDomainsOnly": True, "allowedDomains": ["x"]}},
    "allowManagedMcpServersOnly": True,
    "disableSideloadFlags": False,
}
_HOLDS: dict[str, Any] = {
    "permissions": {"deny": ["WebFetch"]},
    "allowManagedHooksOnly": True,
    "httpHookAllowedEnvVars": [],
    "availableModels": ["sonnet"],
    "sandbox": {"enabled": True, "network": {"allowManagedDomainsOnly": True}},
    "allowManagedMcpServersOnly": True,
}


def _held(*machine: dict[str, Any]) -> Any:
    holds = from_parent(json.dumps(_GIVEN), machine)
    return None if holds is None else json.loads(holds)


def test_only_what_tightens_holds():
    assert _held() == _HOLDS


def test_a_machine_with_a_policy_of_its_own_decides_whether_more_is_taken():
    assert _held({"permissions": {}}) is None
    merged = {"parentSettingsBehavior": "merge", "availableModels": ["haiku"]}
    assert _held(merged) == {key: value for key, value in _HOLDS.items() if key != "availableModels"}


@pytest.mark.parametrize("text", ["", "[]", "{"])
def test_what_is_no_object_is_refused(text: str):
    with pytest.raises(ConfigError, match="--managed-settings"):
        from_parent(text, ())


def test_it_is_policy_where_the_machine_has_none(tmp_path: Path):
    (tmp_path / "managed").mkdir()
    chosen = {"allowManagedPermissionRulesOnly": True, "permissions": {"deny": ["WebFetch"]}}

    def rules() -> Any:
        config = load(
            cwd=str(tmp_path),
            env={"HOME": str(tmp_path)},
            flag=None,
            setting_sources=None,
            managed_dir=str(tmp_path / "managed"),
            parent=json.dumps(chosen),
        )
        assert not config.problems
        return config.settings.allow_managed_permission_rules_only

    assert rules() is True
    (tmp_path / "managed" / "managed-settings.json").write_text("{}")
    assert rules() is None

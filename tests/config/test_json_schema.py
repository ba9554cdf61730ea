import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from bridle.config.json_schema import settings_schema
from tests.fakes.program import Program

_FULL: dict[str, Any] = {
    "$schema": "https://example.invalid/settings.json",
    "model": "opus",
    "permissions": {"allow": ["Bash(git *)"], "defaultMode": "plan", "newKey": 1},
    "env": {"A": "b", "N": 3, "F": True},
    "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "true"}]}]},
    "statusLine": {"type": "command", "command": "date", "padding": 1},
    "skillOverrides": {"deploy": "off"},
    "strictPluginOnlyCustomization": ["skills"],
    "cleanupPeriodDays": 10,
    "keyOfANewerRelease": {"anything": True},
}


def test_real_settings_fit_the_schema():
    assert jsonschema_rs.validator_for(settings_schema()).is_valid(_FULL)
    assert jsonschema_rs.validator_for(settings_schema()).is_valid({})


@pytest.mark.parametrize(
    "wrong",
    [
        {"model": 3},
        {"permissions": {"defaultMode": "yolo"}},
        {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}},
        {"skillOverrides": {"a": "sometimes"}},
        {"cleanupPeriodDays": 0},
    ],
)
def test_wrong_settings_do_not(wrong: dict[str, Any]):
    assert not jsonschema_rs.validator_for(settings_schema()).is_valid(wrong)


async def test_schema_is_printed_for_editors(tmp_path: Path):
    done = await Program(tmp_path).run("config", "schema")
    assert done.code == 0
    assert json.loads(done.out) == json.loads(json.dumps(settings_schema()))

"""Settings without an effect say so."""

from pathlib import Path

import pytest

from bridle.config.explain import explain, render
from bridle.config.json_schema import settings_schema
from bridle.config.load import Config, load
from bridle.config.schema import Settings
from bridle.config.settings_table import NO_EFFECT
from bridle.config.version_limits import check_version
from bridle.types.errors import ConfigError
from tests.fakes.program import Program


def _loaded(tmp_path: Path, text: str) -> Config:
    (tmp_path / "settings.json").write_text(text)
    return load(
        cwd=str(tmp_path), env={"CLAUDE_CONFIG_DIR": str(tmp_path)}, flag=None, setting_sources=None,
        managed_dir=str(tmp_path / "managed"),
    )  # fmt: skip


def test_a_key_without_effect_is_named_with_the_reason(tmp_path: Path):
    config = _loaded(tmp_path, '{\n "prUrlTemplate": "x"\n}')

    (problem,) = config.problems
    assert (
        str(problem)
        == f"{tmp_path}/settings.json:2: prUrlTemplate: has no effect: bridle shows no links to pull requests"
    )
    assert "  ! no effect: bridle shows no links to pull requests" in render(explain(config, "prUrlTemplate"))


def test_what_asks_for_less_or_for_the_default_is_no_problem(tmp_path: Path):
    text = (
        '{"disableArtifact": true, "fastMode": false, "autoUpdatesChannel": "latest", "prUrlTemplate": null}'
    )
    config = _loaded(tmp_path, text)

    assert config.problems == ()
    assert "  ! no effect: bridle has no artifacts" in render(explain(config, "disableArtifact"))


def test_a_part_of_an_object_can_be_without_effect(tmp_path: Path):
    config = _loaded(tmp_path, '{"remote": {"defaultEnvironmentId": "env_1"}}')

    (problem,) = config.problems
    assert problem.key == "remote" and "no cloud sessions" in problem.message
    assert "no cloud sessions" in render(explain(config, "remote.defaultEnvironmentId"))[-1]


def test_the_schema_says_it_and_every_key_is_one():
    schema = settings_schema()
    network = schema["$defs"]["Sandbox"]["properties"]["socatPath"]

    assert [
        key
        for key in NO_EFFECT
        if "." not in key and "No effect: " not in schema["properties"][key]["description"]
    ] == []
    assert network["description"] == f"No effect: {NO_EFFECT['sandbox.socatPath']}."
    assert (
        schema["properties"]["cleanupPeriodDays"]["description"]
        == "Days after which unused sessions are removed."
    )


@pytest.mark.parametrize(
    ("lowest", "highest", "word"),
    [("99.0", None, "or later"), (None, "1.0.5", "up to"), ("2.1.325-beta", "2.1.324", "up to")],
)
def test_an_administrator_refuses_versions(lowest: str | None, highest: str | None, word: str):
    with pytest.raises(ConfigError, match=word):
        check_version(Settings(required_minimum_version=lowest, required_maximum_version=highest))


def test_a_version_between_the_limits_starts():
    check_version(Settings(required_minimum_version="2.0", required_maximum_version="3"))


async def test_the_program_does_not_start_with_a_version_that_is_ruled_out(tmp_path: Path):
    program = Program(tmp_path)
    limits = '{"requiredMinimumVersion": "99.1"}'

    done = await program.run("-p", "hi", "--model", "offline", "--managed-settings", limits)

    assert done.code == 1 and done.out == ""
    assert "requires version 99.1 or later" in done.err and "Traceback" not in done.err

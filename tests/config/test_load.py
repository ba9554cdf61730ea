import json
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bridle.config.load import environment, load
from bridle.types.errors import ConfigError
from tests.config.folders import Folders
from tests.permissions.counted import calls


def test_layers_come_in_order_and_the_higher_one_wins(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        user={
            "model": "user",
            "theme": "dark",
            "language": "de",
            "tui": "default",
            "permissions": {"allow": ["A"]},
        },
        project={"model": "project", "theme": "light", "language": "fr", "permissions": {"allow": ["B"]}},
        local={"model": "local", "theme": "auto"},
        managed={"model": "managed"},
    )
    config = folders.load(flag='{"model": "flag", "theme": "dark-ansi"}')
    assert [layer.source for layer in config.layers] == [
        "userSettings",
        "projectSettings",
        "localSettings",
        "flagSettings",
        "policySettings",
    ]
    found = config.settings
    assert (found.model, found.theme, found.language, found.tui) == ("managed", "dark-ansi", "fr", "default")
    assert found.permissions is not None and found.permissions.allow == ("A", "B")
    assert config.problems == ()


def test_missing_files_are_no_layers_and_no_problems(tmp_path: Path):
    config = Folders(tmp_path).load()
    assert (config.layers, config.problems, config.raw) == ((), (), {})


def test_the_config_directory_variable_moves_the_user_file(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "settings.json").write_text('{"model": "b"}')
    folders.env["CLAUDE_CONFIG_DIR"] = str(other)
    assert folders.load().settings.model == "b"


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, ["user", "project", "local"]),
        ((), []),
        (("user",), ["user"]),
        (("local", "project"), ["project", "local"]),
    ],
)
def test_setting_sources_select_files_and_keep_flag_and_managed(tmp_path: Path, chosen, expected: list[str]):
    folders = Folders(tmp_path)
    folders.write(user={}, project={}, local={}, managed={})
    config = folders.load(flag="{}", setting_sources=chosen)
    names = [f"{name}Settings" for name in [*expected, "flag", "policy"]]
    assert [layer.source for layer in config.layers] == names


def test_an_unknown_setting_source_is_an_error(tmp_path: Path):
    with pytest.raises(ConfigError):
        Folders(tmp_path).load(setting_sources=("global",))


def test_managed_parts_follow_the_managed_file_in_alphabetical_order(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(managed={"model": "base", "theme": "base", "language": "base"})
    parts = folders.managed / "managed-settings.d"
    parts.mkdir()
    (parts / "20.json").write_text('{"model": "twenty"}')
    (parts / "10.json").write_text('{"model": "ten", "theme": "ten"}')
    (parts / ".hidden.json").write_text('{"model": "hidden"}')
    (parts / "30.json.bak").write_text('{"model": "backup"}')
    found = folders.load().settings
    assert (found.model, found.theme, found.language) == ("twenty", "ten", "base")


def test_in_the_home_directory_the_file_is_the_users_and_not_a_projects(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"apiKeyHelper": "get-key"})
    config = load(
        cwd=str(folders.home),
        env=folders.env,
        flag=None,
        setting_sources=None,
        managed_dir=str(folders.managed),
    )
    assert [layer.source for layer in config.layers] == ["userSettings"]
    assert config.settings.api_key_helper == "get-key"


def test_flag_settings_may_be_a_file_relative_to_the_working_directory(tmp_path: Path):
    folders = Folders(tmp_path)
    (folders.project / "extra.json").write_bytes(b'\xef\xbb\xbf{"model":\r\n"x"}')
    assert folders.load(flag="extra.json").settings.model == "x"
    assert folders.load(flag=str(folders.project / "extra.json")).settings.model == "x"


@pytest.mark.parametrize(
    "flag", ["missing.json", '{"model": }', " {oops", "folder", "list.json", "large.json", "pipe"]
)
def test_flag_settings_that_cannot_be_read_are_an_error_in_one_line(tmp_path: Path, flag: str):
    folders = Folders(tmp_path)
    (folders.project / "folder").mkdir()
    (folders.project / "list.json").write_text("[]")
    (folders.project / "large.json").write_text('{"a": "' + "x" * 2 * 1024 * 1024 + '"}')
    os.mkfifo(folders.project / "pipe")
    with pytest.raises(ConfigError) as caught:
        folders.load(flag=flag)
    assert "\n" not in str(caught.value)


def test_a_wrong_value_in_flag_settings_is_only_left_out(tmp_path: Path):
    config = Folders(tmp_path).load(flag='{"model": "x", "verbose": 3}')
    assert config.settings.model == "x"
    assert [(problem.file, problem.key) for problem in config.problems] == [("--settings", "verbose")]


def test_a_null_in_flag_settings_cannot_clear_what_its_surroundings_need(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"statusLine": {"type": "command", "command": "x"}, "model": "m"})
    config = folders.load(flag='{"statusLine": {"command": null}}')
    assert config.settings.status_line is not None and config.settings.status_line.command == "x"
    assert [problem.key for problem in config.problems] == ["statusLine"]


def test_a_broken_file_costs_only_itself(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"model": "a"}, project="{\n  oops\n}", local={"theme": "light"})
    config = folders.load()
    assert (config.settings.model, config.settings.theme) == ("a", "light")
    [problem] = config.problems
    assert (problem.file, problem.line, problem.column) == (str(folders.files["project"]), 2, 3)


def test_unreadable_files_are_told_and_links_to_nothing_too(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.files["user"].mkdir()
    folders.files["project"].symlink_to(tmp_path / "nowhere")
    os.mkfifo(folders.files["local"])
    config = folders.load()
    assert [problem.file for problem in config.problems] == [
        str(folders.files[name]) for name in ("user", "project", "local")
    ]
    assert all(problem.broken for problem in config.problems)


def test_unknown_keys_live_on_in_the_raw_values(tmp_path: Path):
    """R14"""
    folders = Folders(tmp_path)
    folders.write(user={"$schema": "x", "promptCacheTtl": {"a": [1]}}, local={"promptCacheTtl": {"b": 2}})
    config = folders.load()
    assert config.raw == {"$schema": "x", "promptCacheTtl": {"a": [1], "b": 2}}
    assert config.problems == ()


def test_environment_blocks_go_over_the_process_environment_in_order(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        user={"env": {"A": "user", "B": "user", "N": 3, "F": 1.5, "T": True, "GONE": "x", "NULL": None}},
        project={"env": {"A": "project"}},
        managed={"env": {"B": "managed"}},
    )
    config = folders.load(flag='{"env": {"GONE": null}}')
    base = {"A": "base", "B": "base", "C": "base", "GONE": "base"}
    assert environment(config, base, trusted=True) == {
        "A": "project",
        "B": "managed",
        "C": "base",
        "GONE": "base",
        "N": "3",
        "F": "1.5",
        "T": "true",
    }
    assert base["A"] == "base"


def test_three_ordinary_files_load_with_little_work(tmp_path: Path):
    folders = Folders(tmp_path)
    values = {
        "model": "opus",
        "permissions": {"allow": [f"Bash(tool{number}:*)" for number in range(40)], "deny": ["Read(.env)"]},
        "env": {f"VARIABLE_{number}": "x" for number in range(10)},
        "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "x"}]}]},
    }
    folders.write(user=values, project=values, local=values)

    assert calls(folders.load) < 3_000


WORDS = st.sampled_from(
    [
        "permissions",
        "env",
        "sandbox",
        "hooks",
        "allow",
        "enabled",
        "excludedCommands",
        "defaultMode",
        "PATH",
        "autoMode",
    ]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["auto", "*", "x", "\0", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(st.dictionaries(WORDS, VALUES, max_size=4), st.dictionaries(WORDS, VALUES, max_size=4))
def test_no_content_of_a_file_stops_the_load(tmp_path: Path, first: dict, second: dict):
    folders = Folders(tmp_path)
    folders.write(user=first, project=second, local=first, managed=second)
    for trusted in (True, False):
        config = folders.load(flag=json.dumps(second), trusted=trusted)
        environment(config, {}, trusted=trusted)

from pathlib import Path

import pytest

from bridle.host import paths


def test_the_home_is_in_the_users_folder():
    env = {"HOME": "/home/me"}
    assert paths.config_home(env) == "/home/me/.claude"
    assert paths.global_state_file(env) == "/home/me/.claude.json"
    assert paths.projects_dir(env) == "/home/me/.claude/projects"
    assert paths.bridle_dir(env) == "/home/me/.claude/bridle"


def test_a_variable_moves_the_home_and_the_state_file():
    env = {"HOME": "/home/me", "CLAUDE_CONFIG_DIR": "/elsewhere"}
    assert paths.config_home(env) == "/elsewhere"
    assert paths.global_state_file(env) == "/elsewhere/.claude.json"
    assert paths.bridle_dir(env) == "/elsewhere/bridle"


def test_an_empty_variable_counts_as_unset():
    assert paths.config_home({"HOME": "/home/me", "CLAUDE_CONFIG_DIR": ""}) == "/home/me/.claude"


def test_a_slug_has_a_dash_for_every_utf16_unit_that_is_no_ascii_letter_or_digit():
    assert paths.project_slug("/home/me/my_proj.é😀") == "-home-me-my-proj----"


def test_a_slug_of_exactly_200_units_is_not_shortened():
    assert paths.project_slug("/" + "a" * 199) == "-" + "a" * 199


def test_a_long_slug_ends_in_a_hash_of_the_whole_path():
    assert paths.project_slug("/x" + "/abcdefgh" * 30) == ("-x" + "-abcdefgh" * 30)[:200] + "-tma1o7"


def test_the_hash_counts_utf16_units_too():
    expected = ("----" + "-abc-defgh" * 25)[:200] + "-lx4ksh"
    assert paths.project_slug("/ü😀" + "/abc defgh" * 25) == expected


def test_a_path_that_is_not_unicode_has_a_slug():
    assert paths.project_slug("/a\udcffb") == "-a-b"


def test_a_project_reached_through_a_link_has_the_folder_of_its_target(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    env = {"CLAUDE_CONFIG_DIR": "/c"}
    assert paths.project_dir(str(tmp_path / "link"), env) == paths.project_dir(str(tmp_path / "real"), env)


def test_both_spellings_of_an_accent_have_one_folder():
    env = {"CLAUDE_CONFIG_DIR": "/c"}
    assert paths.project_dir("/nowhere/e\u0301", env) == paths.project_dir("/nowhere/\u00e9", env)


def test_every_platform_has_its_managed_folder():
    assert paths.managed_dir("linux") == "/etc/claude-code"
    assert paths.managed_dir("darwin") == "/Library/Application Support/ClaudeCode"
    assert paths.managed_dir("win32") == "C:\\Program Files\\ClaudeCode"


def test_the_folder_of_a_project_can_be_named_beside_a_configuration_folder_of_ones_own():
    env = {"CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_PROJECT_DIR_NAME": "tenant-7"}
    assert paths.project_dir("/some/where", env) == "/c/projects/tenant-7"
    alone = {"HOME": "/h", "CLAUDE_CODE_PROJECT_DIR_NAME": "tenant-7"}
    assert paths.project_dir("/some/where", alone) == "/h/.claude/projects/-some-where"


@pytest.mark.parametrize("name", ["..", ".", "a/b", "/a", "a\\b", "", "a b", "x" * 201])
def test_a_name_that_leads_elsewhere_is_not_used(name: str):
    env = {"CLAUDE_CONFIG_DIR": "/c", "CLAUDE_CODE_PROJECT_DIR_NAME": name}
    assert paths.project_dir("/some/where", env) == "/c/projects/-some-where"

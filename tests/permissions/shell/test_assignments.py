"""S14: variables before commands and alone."""

import pytest

from tests.permissions.shell.readings import is_free, only, read
from tests.tables import table


@pytest.mark.parametrize(
    "name",
    ["NODE_ENV", "CI", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "NO_COLOR", "FORCE_COLOR", "RUST_BACKTRACE"],
)
def test_allow_rules_look_past_harmless_variables(name: str):
    part = only(f"{name}=x npm test")

    assert "npm test" in part.allow_forms
    assert is_free(f"{name}=x ls")


@table(
    "name",
    [
        "PATH",
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "DYLD_INSERT_LIBRARIES",
        "BASH_ENV",
        "ENV",
        "IFS",
        "PS4",
        "PROMPT_COMMAND",
        "GIT_DIR",
        "GIT_SSH_COMMAND",
        "GIT_PAGER",
        "EDITOR",
        "VISUAL",
        "PAGER",
        "NODE_OPTIONS",
        "PYTHONPATH",
        "PERL5OPT",
        "RUBYOPT",
        "HOME",
        "CDPATH",
        "SHELLOPTS",
        "GLOBIGNORE",
        "LESSOPEN",
        "http_proxy",
        "RIPGREP_CONFIG_PATH",
    ],
)
def test_variables_that_change_commands_are_never_harmless(name: str):
    part = only(f"{name}=x npm test")

    assert "npm test" not in part.allow_forms
    assert "npm test" in part.deny_forms
    assert not is_free(f"{name}=x ls")
    assert not is_free(f"{name}=x")
    assert not is_free(f"export {name}=x")
    assert not is_free(f"read {name}")
    assert not is_free(f"for {name} in a; do ls; done")


def test_unknown_variables_are_looked_past_to_deny_only():
    part = only("ANYTHING=x npm test")

    assert "npm test" not in part.allow_forms
    assert "npm test" in part.deny_forms


@pytest.mark.parametrize(
    "command", ["x=1", "x=", "x='a b' y=2", 'x="$HOME/y"', "x=1; echo $x", "x=~/a", "x=$(date)", "x=`date`"]
)
def test_a_variable_of_ones_own_is_harmless(command: str):
    assert is_free(command)


@pytest.mark.parametrize(
    "command",
    [
        "x=(a b)",
        "x[0]=1",
        "x=$((y))",
        "CI=${x:=1} ls",
        "declare x=1",
        "x=$(evil)",
        "x=`evil`",
        "LANG=$(date)",
    ],
)
def test_a_variable_set_to_something_computed_is_not(command: str):
    assert not is_free(command)


def test_a_substitution_in_a_harmless_variable_is_a_part_of_its_own():
    assert [part.text for part in read("CI=$(rm x) ls").parts] == ["rm x", "CI=$(rm x) ls"]


def test_only_variables_that_are_known_are_shown():
    assert is_free('for f in a b; do echo "$f"; done')
    assert is_free("while read -r line; do echo $line; done")
    assert not is_free("echo $AWS_SECRET_ACCESS_KEY")
    assert not is_free('echo "${API_TOKEN}"')

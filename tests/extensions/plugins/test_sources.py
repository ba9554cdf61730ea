from pathlib import Path
from typing import Any

import pytest

from bridle.config.schema import Settings
from bridle.extensions.plugins.policy import check_command_source, check_marketplace
from bridle.extensions.plugins.repositories import addresses
from bridle.extensions.plugins.sources import parse_source, read_source, written
from bridle.extensions.plugins.versions import is_newer, newest, satisfies
from bridle.types.errors import ConfigError, UsageError
from tests.tables import table


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("owner/repo", {"source": "github", "repo": "owner/repo"}),
        ("owner/repo#v1", {"source": "github", "repo": "owner/repo", "ref": "v1"}),
        ("owner/repo@v1", {"source": "github", "repo": "owner/repo", "ref": "v1"}),
        (
            "https://example.org/a.git#main",
            {"source": "git", "url": "https://example.org/a.git", "ref": "main"},
        ),
        ("git@example.org:a/b.git", {"source": "git", "url": "git@example.org:a/b.git"}),
        ("https://gitlab.com/a/b", {"source": "git", "url": "https://gitlab.com/a/b"}),
        (
            "https://example.org/marketplace.json",
            {"source": "url", "url": "https://example.org/marketplace.json"},
        ),
        ("https://example.org/m.tar.gz", {"source": "archive", "url": "https://example.org/m.tar.gz"}),
        ("npm:@team/plugins@1.2", {"source": "npm", "package": "@team/plugins", "version": "1.2"}),
        ("./here", {"source": "directory", "path": "/proj/here"}),
        ("/m/marketplace.json", {"source": "file", "path": "/m/marketplace.json"}),
    ],
)
def test_a_marketplace_is_understood_as_it_is_typed(typed: str, meant: dict[str, str]):
    assert written(parse_source(typed, cwd="/proj")) == meant


@pytest.mark.parametrize(
    "typed",
    [
        "-oops",
        "ext::sh -c x",
        "https://",
        "a b",
        "owner/repo#--upload-pack=x",
        "ssh://-oProxyCommand=x/y.git",
        "https://[x",
        "https://[x/y.git",
        "npm:../../x",
        "npm:@a/../b",
    ],
)
def test_what_could_be_an_option_or_a_program_is_no_source(typed: str):
    with pytest.raises(UsageError):
        parse_source(typed, cwd="/nowhere")


@pytest.mark.parametrize(
    "value",
    [
        {"source": "git-subdir", "url": "https://e.org/a.git", "path": "../x"},
        {"source": "github", "repo": "a/b", "sha": "abc"},
        {"source": "archive", "url": "https://e.org/a.zip", "sha256": "12"},
        {"source": "url", "url": "ext::sh -c true"},
        {"source": "url", "url": "http://[::1"},
        {"source": "git", "url": "https://[x"},
        {"source": "archive", "url": "https://[x"},
        {"source": "command"},
        {"source": "what"},
        7,
    ],
)
def test_a_source_that_cannot_be_used_says_so(value: Any):
    with pytest.raises(ConfigError):
        read_source(value, of="plugin")


def test_the_shorthand_becomes_https_and_then_ssh():
    source = parse_source("owner/repo", cwd="/")

    assert addresses(source, {}) == ("https://github.com/owner/repo.git", "git@github.com:owner/repo.git")
    assert addresses(source, {"CLAUDE_CODE_PLUGIN_PREFER_HTTPS": "1"}) == (
        "https://github.com/owner/repo.git",
    )


@pytest.mark.parametrize(
    ("known", "typed", "let_in"),
    [
        ([], "owner/repo", False),
        (["owner/*"], "owner/repo", True),
        ([{"source": "github", "repo": "owner/repo"}], "owner/other", False),
        ([{"source": "github", "repo": "owner/repo", "ref": "v1"}], "owner/repo", False),
        ([{"source": "github", "repo": "owner/repo"}], "https://github.com/owner/repo.git", True),
        (["owner/repo"], "https://github.com/owner/repo.git", True),
        (
            [{"source": "hostPattern", "hostPattern": r"^git\.corp\.example$"}],
            "https://git.corp.example/a.git",
            True,
        ),
        (
            [{"source": "hostPattern", "hostPattern": r"^git\.corp\.example$"}],
            "https://git.evil.example/a.git",
            False,
        ),
        ([{"source": "pathPattern", "pathPattern": "^/opt/"}], "/opt/market", True),
        ([{"source": "pathPattern", "pathPattern": "^/opt/"}], "/tmp/market", False),
    ],
)
def test_management_says_which_marketplaces_are_let_in(known: list[Any], typed: str, let_in: bool):
    source = parse_source(typed, cwd="/")
    if let_in:
        check_marketplace(source, Settings(strict_known_marketplaces=tuple(known)))
        with pytest.raises(ConfigError):
            check_marketplace(source, Settings(blocked_marketplaces=tuple(known)))
    else:
        with pytest.raises(ConfigError):
            check_marketplace(source, Settings(strict_known_marketplaces=tuple(known)))


def test_command_sources_follow_the_rule_for_hooks():
    source = read_source({"source": "command", "command": "make plugin"}, of="plugin")

    check_command_source(source, Settings())
    for settings in (Settings(disable_command_plugin_sources=True), Settings(allow_managed_hooks_only=True)):
        with pytest.raises(ConfigError):
            check_command_source(source, settings)


@table(
    ("version", "wanted", "fits"),
    [
        ("1.2.3", "^1.1", True),
        ("2.0.0", "^1.1", False),
        ("0.2.5", "^0.2.1", True),
        ("0.3.0", "^0.2.1", False),
        ("1.2.9", "~1.2.3", True),
        ("1.3.0", "~1.2.3", False),
        ("1.5.0", ">=1.0 <2", True),
        ("1.5.0", "1.x", True),
        ("1.5.0", "1.0.0 || 1.5.0", True),
        ("2.0.0-beta", "^2.0.0", False),
        ("abc", "*", True),
        ("abc", "^1", False),
        ("1" * 5000, "^1", False),
        ("1.0.0", f"^{'1' * 5000}", False),
        (f"1.0.0-{'1' * 5000}", "*", True),
    ],
)
def test_versions_are_weighed_against_ranges(version: str, wanted: str, fits: bool):
    assert satisfies(version, wanted) is fits


def test_the_newest_finished_version_is_chosen():
    assert newest(["1.0.0", "1.10.0", "1.9.0", "2.0.0-rc.1"], "*") == "1.10.0"
    assert is_newer("1.10.0", "1.9.0") and not is_newer("1.0.0", "1.0.0")


def test_a_path_that_exists_may_be_typed_without_a_dot(tmp_path: Path):
    (tmp_path / "market").mkdir()

    assert parse_source("market", cwd=str(tmp_path)).location == str(tmp_path / "market")

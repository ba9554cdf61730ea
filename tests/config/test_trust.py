import json
import stat
from pathlib import Path
from typing import Any

import pytest

from bridle.config import source_limits
from bridle.config.explain import known_keys
from bridle.config.load import environment, reload
from bridle.config.settings_table import ROWS
from bridle.config.source_limits import counting_untrusted
from bridle.config.trust import TrustItem, brought_by, revoke, trust
from bridle.types.errors import ConfigError
from tests.config.folders import Folders

HOOKS = {"PreToolUse": [{"hooks": [{"type": "command", "command": "./evil.sh"}]}]}
COMMAND = {"type": "command", "command": "./evil.sh"}

EXECUTES_OR_WIDENS: list[dict[str, Any]] = [
    {"permissions": {"allow": ["Bash"]}},
    {"permissions": {"additionalDirectories": ["/"]}},
    {"permissions": {"defaultMode": "acceptEdits"}},
    {"hooks": HOOKS},
    {"allowedHttpHookUrls": ["https://evil.example/*"]},
    {"httpHookAllowedEnvVars": ["TOKEN"]},
    {"disableAllHooks": True},
    {"statusLine": COMMAND},
    {"subagentStatusLine": COMMAND},
    {"fileSuggestion": COMMAND},
    {"env": {"PATH": "."}},
    {"env": {"LD_PRELOAD": "./evil.so"}},
    {"env": {"GIT_SSH_COMMAND": "./evil.sh"}},
    {"enableAllProjectMcpServers": True},
    {"enabledMcpjsonServers": ["evil"]},
    {"allowedMcpServers": [{"serverName": "evil"}]},
    {"enabledPlugins": {"evil@market": True}},
    {"extraKnownMarketplaces": {"market": {"source": {"source": "github", "repo": "evil/evil"}}}},
    {"agent": "evil"},
    {"disableSkillShellExecution": False},
    {"sandbox": {"enabled": True}},
    {"sandbox": {"excludedCommands": ["docker *"]}},
    {"sandbox": {"filesystem": {"allowWrite": ["/"]}}},
    {"sandbox": {"filesystem": {"allowRead": ["/"]}}},
    {"sandbox": {"network": {"allowedDomains": ["*"]}}},
    {"sandbox": {"network": {"allowAllUnixSockets": True}}},
    {"sandbox": {"autoAllowBashIfSandboxed": True}},
    {"sandbox": {"credentials": {"files": [{"path": "~/.netrc", "mode": "mask"}]}}},
    {"autoMemoryDirectory": "/etc"},
    {"plansDirectory": "../.."},
    {"modelOverrides": {"a": "b"}},
    {"defaultShell": "powershell"},
    {"cleanupPeriodDays": 1},
    {"crossSessionInbound": "accept"},
    {"skipWebFetchPreflight": True},
    {"worktree": {"symlinkDirectories": ["../.."]}},
    {"worktree": {"bgIsolation": "none"}},
    {"claudeMdExcludes": ["**"]},
]

ALWAYS_COUNTS: list[dict[str, Any]] = [
    {"permissions": {"deny": ["Bash(rm *)"], "ask": ["WebFetch"], "defaultMode": "plan"}},
    {"permissions": {"disableBypassPermissionsMode": "disable"}},
    {"sandbox": {"filesystem": {"denyRead": ["~/.ssh"]}, "network": {"deniedDomains": ["evil.example"]}}},
    {"sandbox": {"allowUnsandboxedCommands": False, "failIfUnavailable": True}},
    {"disabledMcpjsonServers": ["evil"], "deniedMcpServers": [{"serverName": "evil"}]},
    {"model": "opus", "outputStyle": "terse", "language": "de", "$schema": "x"},
    {"env": {"CI": "1"}},
    {"disableSkillShellExecution": True, "disableClaudeAiConnectors": True},
    {"permissions": {"allow": [], "additionalDirectories": []}, "hooks": {}},
]


def leaf(values: Any) -> str:
    """The dotted path of the only value."""
    path: list[str] = []
    while isinstance(values, dict) and len(values) == 1:
        [(key, values)] = values.items()
        path.append(key)
    return ".".join(path)


def said(values: Any) -> bool:
    """Whether there is more than objects in objects."""
    return not isinstance(values, dict) or any(map(said, values.values()))


@pytest.mark.parametrize("layer", ["project", "local"])
@pytest.mark.parametrize("values", EXECUTES_OR_WIDENS, ids=leaf)
def test_nothing_that_executes_or_widens_counts_before_trust(
    tmp_path: Path, layer: str, values: dict[str, Any]
):
    """S40"""
    folders = Folders(tmp_path)
    folders.write(**{layer: values})
    wary = folders.load(trusted=False)
    assert not said(wary.raw)
    [problem] = wary.problems
    assert problem.file == str(folders.files[layer]) and problem.line is not None
    assert leaf(values).startswith(problem.key)
    assert "run `bridle trust`" in problem.message
    assert environment(wary, {}, trusted=False) == {}

    trusting = folders.load(trusted=True)
    assert (trusting.raw, trusting.problems) == (values, ())


@pytest.mark.parametrize("values", ALWAYS_COUNTS)
def test_what_only_takes_away_counts_without_trust(tmp_path: Path, values: dict[str, Any]):
    """S40"""
    folders = Folders(tmp_path)
    folders.write(project=values)
    config = folders.load(trusted=False)
    assert (config.raw, config.problems) == (values, ())


@pytest.mark.parametrize(
    ("own", "folders", "counts"),
    [
        (None, "plan", "plan"),
        (None, "dontAsk", "dontAsk"),
        (None, "default", "default"),
        (None, "acceptEdits", None),
        ("plan", "default", "plan"),
        ("plan", "dontAsk", "plan"),
        ("dontAsk", "default", "dontAsk"),
        ("acceptEdits", "default", "default"),
    ],
)
def test_an_untrusted_folder_may_only_ask_for_a_stricter_mode(
    tmp_path: Path, own: str | None, folders: str, counts: str | None
):
    """S40"""
    place = Folders(tmp_path)
    place.write(
        user={"permissions": {"defaultMode": own}} if own else {},
        project={"permissions": {"defaultMode": folders}},
    )
    settings = place.load(trusted=False).settings.permissions
    assert (settings.default_mode if settings else None) == counts


def test_a_key_that_nobody_thought_about_waits_for_trust():
    """S40"""
    values, waiting = counting_untrusted({"newInTheNextRelease": {"command": "x"}}, mode="default")
    assert values == {} and [path for path, _ in waiting] == [("newInTheNextRelease",)]


@pytest.mark.parametrize("key", ["sandbox.filesystem", "permissions.ask", "worktree", "env.PATH"])
def test_a_key_that_only_looks_like_a_path_waits_for_trust(tmp_path: Path, key: str):
    """S40"""
    folders = Folders(tmp_path)
    folders.write(project={key: 3, "language": "de"})
    assert folders.load(trusted=False).raw == {"language": "de"}


def test_every_key_that_counts_from_anywhere_is_a_known_key():
    assert {*source_limits._OPENED, *source_limits._MODELS} <= set(known_keys())
    waits = ("hooks", "permissions.allow", "apiKeyHelper", "statusLine", "env", "sandbox.excludedCommands")
    assert not [key for key in waits if ROWS[key].harmless or ROWS[key].harmless_as is not None]


def test_trust_is_looked_up_unless_it_is_given(tmp_path: Path):
    """S40"""
    folders = Folders(tmp_path)
    folders.write(project={"hooks": HOOKS})
    config = folders.load(trusted=None)
    assert config.settings.hooks is None and config.problems
    trust(folders.env, str(folders.project))
    assert folders.load(trusted=None).settings.hooks is not None


def test_files_that_change_while_a_session_runs_are_gated_too(tmp_path: Path):
    """S40"""
    folders = Folders(tmp_path)
    config = folders.load(trusted=False)
    folders.write(local={"statusLine": COMMAND, "language": "de"})
    again = reload(config)
    assert again.raw == {"language": "de"}
    assert [problem.key for problem in again.problems] == ["statusLine"]


def test_the_user_and_the_administrator_need_no_trust(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(user={"hooks": HOOKS}, managed={"statusLine": COMMAND})
    config = folders.load(flag='{"agent": "mine"}', trusted=False)
    assert config.problems == () and config.raw.keys() == {"hooks", "statusLine", "agent"}


def test_trust_and_its_end_keep_everything_else_in_the_state_file(tmp_path: Path):
    folders = Folders(tmp_path)
    state = folders.home / ".claude.json"
    project: dict[str, Any] = {"history": [1]}
    values = {"numStartups": 3, "projects": {str(folders.project): project, "/other": {"x": 1}}}
    state.write_text(json.dumps(values))
    trust(folders.env, str(folders.project))
    project["hasTrustDialogAccepted"] = True
    assert json.loads(state.read_text()) == values
    revoke(folders.env, str(folders.project))
    project["hasTrustDialogAccepted"] = False
    assert json.loads(state.read_text()) == values


def test_a_new_state_file_is_private(tmp_path: Path):
    """S36"""
    folders = Folders(tmp_path)
    revoke(folders.env, str(folders.project))
    assert not (folders.home / ".claude.json").exists()
    trust(folders.env, str(folders.project))
    assert stat.S_IMODE((folders.home / ".claude.json").stat().st_mode) == 0o600


def test_the_home_directory_cannot_be_trusted_for_good(tmp_path: Path):
    """S42"""
    folders = Folders(tmp_path)
    for place in (folders.home, tmp_path, Path("/")):
        with pytest.raises(ConfigError, match="BRIDLE_TRUST_FOLDER"):
            trust(folders.env, str(place))


def test_what_a_folder_would_bring_is_told_with_file_line_and_value(tmp_path: Path):
    folders = Folders(tmp_path)
    folders.write(
        project={"language": "de", "permissions": {"deny": ["A"], "allow": ["B"]}, "apiKeyHelper": "x"},
        local={"env": {"PATH": ".", "CI": "1"}},
    )
    (folders.project / ".mcp.json").write_text('{"mcpServers": {\n"db": {"command": "./db"}}}')
    (folders.project / ".claude" / "agents").mkdir()
    (folders.project / ".claude" / "agents" / "evil.md").write_text("x")
    assert brought_by(folders.env, str(folders.project)) == (
        TrustItem(file=str(folders.files["project"]), line=7, key="permissions.allow", value=["B"]),
        TrustItem(file=str(folders.files["local"]), line=3, key="env.PATH", value="."),
        TrustItem(
            file=str(folders.project / ".mcp.json"),
            line=2,
            key="mcpServers.db",
            value={"command": "./db"},
        ),
        TrustItem(file=str(folders.project / ".claude" / "agents"), key="agents", value=["evil.md"]),
    )


@pytest.mark.parametrize("text", ["{", "[]", '{"mcpServers": 1}'])
def test_a_broken_list_of_servers_is_told_and_no_obstacle(tmp_path: Path, text: str):
    folders = Folders(tmp_path)
    (folders.project / ".mcp.json").write_text(text)
    [told] = brought_by(folders.env, str(folders.project))
    assert (told.key, told.value) == ("mcpServers", "cannot be read")


def test_a_subfolder_shows_what_the_whole_repository_brings(tmp_path: Path):
    folders = Folders(tmp_path)
    (folders.project / ".git").mkdir()
    (folders.project / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folders.project / "sub" / ".claude").mkdir(parents=True)
    (folders.project / "sub" / ".claude" / "settings.json").write_text('{"agent": "b"}')
    folders.write(project={"agent": "a"})
    found = brought_by(folders.env, str(folders.project / "sub"))
    assert [each.value for each in found] == ["a", "b"]

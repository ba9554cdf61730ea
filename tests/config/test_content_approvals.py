"""S42: trust is bound to content; what is new or has changed does not count until it is approved."""

import json
from pathlib import Path
from typing import Any

import pytest

from bridle.config import approvals, edit
from bridle.config.load import environment, load, reload
from bridle.config.trust import adopt, approve_all_content, revoke, trust, unapproved

HOOK = {"type": "command", "command": "echo hi"}


class Project:
    """A folder with settings, and a user who may trust it."""

    def __init__(self, path: Path) -> None:
        self.folder, self.home = path / "project", path / "home"
        (self.folder / ".claude").mkdir(parents=True)
        (self.folder / ".git").mkdir()
        (self.folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        self.home.mkdir()
        self.env = {"HOME": str(self.home)}
        self.cwd = str(self.folder)

    def write(
        self, name: str = "settings.json", *, values: dict[str, Any] | None = None, **more: Any
    ) -> None:
        text = json.dumps({**(values or {}), **more})
        (self.folder / ".claude" / name).write_text(text, encoding="utf-8")

    def load(self) -> Any:
        return load(cwd=self.cwd, env=self.env, flag=None, setting_sources=None, managed_dir="/nowhere")

    def trust_by_state(self) -> None:
        """As it was done before contents were written down, here or by another program."""
        state = {"projects": {self.cwd: {"hasTrustDialogAccepted": True}}}
        (self.home / ".claude.json").write_text(json.dumps(state), encoding="utf-8")


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def hooks(*commands: str, event: str = "Stop", matcher: str | None = None) -> dict[str, Any]:
    listed = [{"type": "command", "command": command} for command in commands]
    return {event: [{**({} if matcher is None else {"matcher": matcher}), "hooks": listed}]}


BEFORE_AND_AFTER: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"hooks": hooks("echo a")}, {"hooks": hooks("echo b")}),
    ({"hooks": hooks("echo a", matcher="Bash")}, {"hooks": hooks("echo a", matcher="*")}),
    ({"hooks": hooks("echo a")}, {"hooks": hooks("echo a", event="SessionStart")}),
    ({}, {"hooks": hooks("echo a")}),
    ({"permissions": {"allow": ["Bash(ls)"]}}, {"permissions": {"allow": ["Bash(*)"]}}),
    ({}, {"permissions": {"allow": ["Bash"]}}),
    ({}, {"permissions": {"additionalDirectories": ["/"]}}),
    ({}, {"permissions": {"defaultMode": "acceptEdits"}}),
    ({"env": {"PATH": "/usr/bin"}}, {"env": {"PATH": "./bin"}}),
    ({}, {"env": {"LD_PRELOAD": "x.so"}}),
    ({}, {"statusLine": {"type": "command", "command": "sh x"}}),
    (
        {"statusLine": {"type": "command", "command": "a"}},
        {"statusLine": {"type": "command", "command": "b"}},
    ),
    ({}, {"enableAllProjectMcpServers": True}),
    ({}, {"enabledPlugins": {"p@m": True}}),
    ({}, {"extraKnownMarketplaces": {"m": {"source": {"source": "github", "repo": "a/b"}}}}),
    ({}, {"model": "sglang/anything"}),
    ({"model": "openai/gpt-5"}, {"model": "openai/gpt-5-mini"}),
    ({}, {"fallbackModel": ["ollama/x"]}),
    ({}, {"modelOverrides": {"claude-opus-4-5": "arn:aws:bedrock:x"}}),
    ({}, {"sandbox": {"excludedCommands": ["docker *"]}}),
    ({}, {"a_key_of_tomorrow": 1}),
]


@pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
@pytest.mark.parametrize(("before", "after"), BEFORE_AND_AFTER)
def test_what_changes_after_trust_does_not_count_until_it_is_approved(
    project: Project, name: str, before: dict[str, Any], after: dict[str, Any]
):
    project.write(name, **before)
    trust(project.env, project.cwd)
    assert project.load().problems == ()
    assert project.load().raw == before

    project.write(name, **after)
    changed = project.load()
    kept = json.dumps(changed.raw)
    assert len(changed.problems) == 1
    assert all(word not in kept for word in ("echo b", "Bash(*)", "./bin", "LD_PRELOAD", "sglang", "mini"))
    assert len(unapproved(project.env, project.cwd)) == 1

    approve_all_content(project.env, project.cwd)
    assert project.load().raw == after
    assert project.load().problems == ()
    assert unapproved(project.env, project.cwd) == ()


def test_a_change_costs_only_itself(project: Project):
    project.write(hooks=hooks("echo a", "echo b"), permissions={"allow": ["Bash(ls)", "Bash(pwd)"]})
    trust(project.env, project.cwd)
    project.write(
        hooks=hooks("echo new", "echo b"), permissions={"allow": ["Bash(rm *)", "Bash(pwd)", "Bash(ls)"]}
    )
    raw = project.load().raw
    assert [hook["command"] for hook in raw["hooks"]["Stop"][0]["hooks"]] == ["echo b"]
    assert raw["permissions"]["allow"] == ["Bash(pwd)", "Bash(ls)"]


def test_what_is_taken_away_or_put_in_another_order_needs_nobody(project: Project):
    project.write(hooks=hooks("echo a", "echo b"), env={"A": "1", "B": "2"})
    trust(project.env, project.cwd)
    project.write(env={"B": "2"}, hooks=hooks("echo b"))
    assert project.load().problems == ()


def test_harmless_settings_and_denials_change_freely(project: Project):
    trust(project.env, project.cwd)
    project.write(
        theme="dark", permissions={"deny": ["Bash(curl:*)"], "ask": ["Bash(git push:*)"]}, model="opus"
    )
    assert project.load().problems == ()


@pytest.mark.parametrize(
    "command",
    [
        "./check.sh", "sh check.sh", "$CLAUDE_PROJECT_DIR/check.sh --fast",
        'bash "${CLAUDE_PROJECT_DIR}"/check.sh',
        "cd . && ./check.sh; true", "env X=1 ./check.sh", "python --file=check.sh",
    ],
)  # fmt: skip
def test_a_script_of_the_folder_is_part_of_its_hook(project: Project, command: str):
    script = project.folder / "check.sh"
    script.write_text("echo fine\n", encoding="utf-8")
    project.write(hooks=hooks(command))
    trust(project.env, project.cwd)
    assert project.load().problems == ()
    script.write_text("echo evil\n", encoding="utf-8")
    assert "hooks" not in json.dumps([layer.values.get("hooks", {}).get("Stop", [{}])[0].get("hooks")
                                      for layer in project.load().layers])  # fmt: skip
    assert len(project.load().problems) == 1
    script.write_text("echo fine\n", encoding="utf-8")
    assert project.load().problems == ()


def test_a_running_session_goes_by_what_is_approved(project: Project):
    trust(project.env, project.cwd)
    config = project.load()
    project.write(hooks=hooks("echo new"), env={"X": "1"})
    again = reload(config)
    assert len(again.problems) == 2
    assert environment(again, {}, trusted=True) == {}
    approve_all_content(project.env, project.cwd)
    assert reload(again).problems == ()


def test_a_folder_trusted_for_one_run_goes_by_what_was_there_at_its_start(project: Project):
    project.write(hooks=hooks("echo a"))
    project.env["BRIDLE_TRUST_FOLDER"] = project.cwd
    config = project.load()
    assert config.problems == ()
    project.write(hooks=hooks("echo a", "echo b"))
    assert len(reload(config).problems) == 1
    assert not approvals.names(project.env, project.cwd, kind="content")


def test_a_folder_that_brought_nothing_at_its_start_brings_nothing_later(project: Project):
    project.env["BRIDLE_TRUST_FOLDER"] = project.cwd
    config = project.load()
    project.write(hooks=hooks("echo b"))
    assert len(reload(config).problems) == 1


def test_what_the_user_changes_counts_in_a_folder_trusted_for_one_run(project: Project):
    project.env["BRIDLE_TRUST_FOLDER"] = project.cwd
    config = project.load()
    path = str(project.folder / ".claude" / "settings.local.json")
    project.write("settings.local.json", hooks=hooks("echo planted"))
    edit.set_value(path, ("permissions", "allow"), ["Bash(make)"], env=project.env)
    again = reload(config)
    assert again.raw["permissions"]["allow"] == ["Bash(make)"]
    assert len(again.problems) == 1, "what stood beside it is still not approved"


def test_older_trust_is_written_down_with_what_is_there(project: Project):
    project.trust_by_state()
    project.write(hooks=hooks("echo a"))
    assert project.load().problems == ()
    adopt(project.env, project.cwd)
    assert project.load().problems == ()
    project.write(hooks=hooks("echo b"))
    adopt(project.env, project.cwd)
    assert len(project.load().problems) == 1


def test_what_bridle_writes_for_the_user_is_approved_and_nothing_beside_it(project: Project):
    trust(project.env, project.cwd)
    path = str(project.folder / ".claude" / "settings.local.json")
    project.write("settings.local.json", hooks=hooks("echo planted"))
    edit.set_value(path, ("permissions", "allow"), ["Bash(make)"], env=project.env)
    config = project.load()
    assert config.raw["permissions"]["allow"] == ["Bash(make)"]
    assert len(config.problems) == 1


def test_taking_trust_back_forgets_what_was_approved(project: Project):
    project.write(hooks=hooks("echo a"))
    trust(project.env, project.cwd)
    revoke(project.env, project.cwd)
    assert not approvals.names(project.env, project.cwd, kind="content")
    assert len(project.load().problems) == 1


def test_files_of_agents_and_skills_that_bring_hooks_are_bound(project: Project):
    agents = project.folder / ".claude" / "agents"
    agents.mkdir()
    agent = agents / "a.md"
    agent.write_text("---\nname: a\nhooks:\n  Stop: []\n---\n", encoding="utf-8")
    trust(project.env, project.cwd)
    assert unapproved(project.env, project.cwd) == ()
    agent.write_text("---\nname: a\nhooks:\n  Stop: [{}]\n---\n", encoding="utf-8")
    assert [each.file for each in unapproved(project.env, project.cwd)] == [str(agent)]


@pytest.mark.parametrize(
    ("own", "named", "counts"),
    [
        ({}, "opus", True),
        ({}, "claude-opus-4-5", True),
        ({}, "anthropic/claude-opus-4-5", True),
        ({}, "sonnet[1m]", True),
        ({}, "sglang/anything", False),
        ({}, "SGLang/anything", False),
        ({}, "openai/gpt-5", False),
        ({}, "gpt-5", False),
        ({}, "ollama/llama", False),
        ({}, "bedrock/anthropic.claude", False),
        ({}, "arn:aws:bedrock:x/claude-1", False),
        ({}, "offline", False),
        ({}, " sglang/x ", False),
        ({"model": "openai/gpt-5"}, "openai/gpt-5-mini", True),
        ({"model": "openai/gpt-5"}, "sonnet", False),
        ({"model": "openai/gpt-5", "fallbackModel": ["sonnet"]}, "opus", True),
        ({"bridleModels": {"fast": "groq/x"}}, "fast", True),
        ({"bridleModels": {"fast": "groq/x"}}, "groq/x", False),
        ({"availableModels": ["sonnet", "gemini/pro"]}, "gemini/flash", True),
    ],
)
def test_an_untrusted_folder_chooses_only_among_models_of_the_users_services(
    project: Project, own: dict[str, Any], named: str, counts: bool
):
    """S40, S41"""
    (project.home / ".claude").mkdir()
    (project.home / ".claude" / "settings.json").write_text(json.dumps(own), encoding="utf-8")
    for key, value in (("model", named), ("advisorModel", named), ("fallbackModel", [named])):
        project.write(values={key: value})
        config = project.load()
        assert (named in json.dumps(config.raw.get(key))) is counts, key
        assert len(config.problems) == (0 if counts else 1)

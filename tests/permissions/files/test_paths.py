"""Files are judged by path components and gitignore-like patterns."""

import pytest

from bridle.permissions.rules import parse
from bridle.types.permission import Allow, Ask, Decision, Deny, Effect
from tests.permissions.cases import CWD, HOME, file_call, rules
from tests.tables import table


def test_inside_is_decided_by_components_and_for_every_spelling():
    """S30, S31"""
    assert isinstance(file_call("Read", "/srv/project-other/a"), Ask)
    assert isinstance(file_call("Read", f"{CWD}/../secret"), Ask)
    assert isinstance(file_call("Read", f"{CWD}/link", "/etc/passwd"), Ask)
    assert isinstance(file_call("Edit", f"{CWD}/link", "/etc/passwd", mode="acceptEdits"), Ask)
    assert isinstance(file_call("Read", "/data/a", roots=(CWD, "/data")), Allow)
    assert isinstance(file_call("Read", CWD), Allow)


@pytest.mark.parametrize(
    "name", ["src/vimrc", ".docker/Dockerfile", ".config/app.toml", ".aws/deploy.yml", "login"]
)
def test_names_that_decide_nothing_are_not_protected(name: str):
    """S20, S33"""
    assert isinstance(file_call("Edit", f"{CWD}/{name}", mode="acceptEdits"), Allow)


@table(
    "name",
    [
        ".git/config",
        ".GIT/hooks/pre-commit",
        "deep/down/.vscode/tasks.json",
        ".claude/settings.json",
        ".claude",
        ".config/git/config",
        ".Bashrc",
        "pkg/.npmrc",
        "lefthook.yml",
        ".mcp.json",
        "sub/.devcontainer/x",
        "mise.toml",
        "sub/.Mise.toml",
        ".tool-versions",
        ".kshrc",
        ".cshrc",
        ".tcshrc",
        ".login",
        ".xinitrc",
        ".inputrc",
        ".config/fish/config.fish",
        ".config/nvim/init.lua",
        ".vimrc",
        ".exrc",
        ".gdbinit",
        ".lldbinit",
        ".pythonrc",
        ".irbrc",
        ".screenrc",
        ".tmux.conf",
        ".curlrc",
        ".wgetrc",
        ".netrc",
        ".ssh/authorized_keys",
        ".gnupg/gpg.conf",
        ".aws/credentials",
        ".kube/config",
        ".docker/config.json",
    ],
)
def test_protected_paths_are_never_written_unasked(name: str):
    """S33"""
    path = f"{CWD}/{name}"
    weighed = rules(allow=("Edit", "Write", "Edit(//**)"))
    for mode in ("default", "acceptEdits"):
        assert isinstance(file_call("Write", path, weighed=weighed, mode=mode), Ask)
        assert isinstance(file_call("Write", f"{CWD}/link", path, weighed=weighed, mode=mode), Ask)
    assert isinstance(file_call("Write", path, hook=Allow("hook")), Ask)
    assert isinstance(file_call("Write", path, mode="dontAsk", weighed=weighed), Deny)
    assert isinstance(file_call("Write", path, mode="bypassPermissions"), Allow)
    assert isinstance(file_call("Read", path), Allow)


def test_names_that_only_resemble_protected_ones_are_free():
    for name in (".github/workflows/a.yml", ".gitignore", "git/a", ".claude/worktrees/x/a.py", ".config/x"):
        assert isinstance(file_call("Write", f"{CWD}/{name}", mode="acceptEdits"), Allow)


@table(
    ("pattern", "path", "covered"),
    [
        ("//etc/**", "/etc/passwd", True),
        ("//etc/**", "/etc", True),
        ("//etc/**", "/etcetera/x", False),
        ("//etc/*.conf", "/etc/a.conf", True),
        ("//etc/*.conf", "/etc/sub/a.conf", False),
        ("~/notes/**", f"{HOME}/notes/a", True),
        ("~/notes/**", "/elsewhere/notes/a", False),
        ("~", f"{HOME}/anything", True),
        ("/src/**", f"{CWD}/src/a.py", True),
        ("/src/**", f"{CWD}/lib/src/a.py", False),
        ("src/**", f"{CWD}/src/deep/a.py", True),
        ("src/**", f"{CWD}/lib/src/a.py", False),
        ("./src/**", f"{CWD}/src/a.py", True),
        ("src/**/a.py", f"{CWD}/src/a.py", True),
        ("src/**/a.py", f"{CWD}/src/x/y/a.py", True),
        ("src/**/a.py", f"{CWD}/src/x/y/b.py", False),
        ("*.py", f"{CWD}/deep/down/a.py", True),
        ("*.py", "/other/a.py", False),
        ("notes", f"{CWD}/x/notes/a", True),
        ("./notes", f"{CWD}/x/notes/a", False),
        ("../sibling/**", "/srv/sibling/a", True),
        ("../sibling/**", "/srv/other/a", False),
        ("a[0-9].py", f"{CWD}/a1.py", True),
        ("a[^0-9].py", f"{CWD}/a1.py", False),
        (r"a\*.py", f"{CWD}/ab.py", False),
        (r"a\*.py", f"{CWD}/a*.py", True),
        ("**", f"{CWD}/x/y", True),
    ],
)
def test_patterns_follow_gitignore_from_four_anchors(pattern: str, path: str, covered: bool):
    """S32"""
    weighed = rules(allow=(f"Edit({pattern})",))
    assert isinstance(file_call("Write", path, weighed=weighed), Allow if covered else Ask)


@pytest.mark.parametrize(
    ("pattern", "path", "covered"),
    [
        (".env", f"{CWD}/deep/.env", True),
        ("./.env", f"{CWD}/deep/.env", True),
        ("secrets/**", f"{CWD}/deep/secrets/key", True),
        ("./secrets/**", f"{CWD}/secrets/key", True),
        ("secrets/**", f"{CWD}/secrets", True),
        ("a/secrets/**", f"{CWD}/b/a/secrets/key", False),
        ("/secrets/**", f"{CWD}/deep/secrets/key", False),
        (".env", "/added/.env", True),
    ],
)
def test_denied_patterns_reach_any_depth_of_every_working_directory(pattern: str, path: str, covered: bool):
    """S32"""
    found = file_call("Read", path, weighed=rules(deny=(f"Read({pattern})",)), roots=(CWD, "/added"))
    assert isinstance(found, Deny) is covered


def test_a_denial_holds_after_the_session_moved_to_another_directory():
    weighed = rules(deny=("Read(./secrets/**)",))
    assert isinstance(file_call("Read", f"{CWD}/secrets/k", weighed=weighed, cwd=f"{CWD}/sub"), Deny)


def test_a_slash_starts_from_where_the_settings_are():
    """S32"""
    user = rules(allow=("Edit(/skills/**)",), source="userSettings")
    project = rules(allow=("Edit(/skills/**)",), source="projectSettings")
    path = f"{HOME}/.claude/worktrees/../skills/a"
    assert isinstance(file_call("Read", path, weighed=user), Allow)
    assert isinstance(file_call("Read", path, weighed=project), Ask)
    assert isinstance(file_call("Edit", f"{CWD}/skills/a", weighed=project), Allow)


def test_an_allow_needs_every_spelling_and_a_deny_any():
    """S31"""
    link, target = f"{CWD}/docs/link", "/etc/passwd"
    assert isinstance(file_call("Edit", link, target, weighed=rules(allow=("Edit(docs/**)",))), Ask)
    assert isinstance(
        file_call("Edit", link, target, weighed=rules(allow=("Edit(docs/**)", "Edit(//etc/**)"))), Ask
    )
    assert isinstance(file_call("Read", link, target, weighed=rules(deny=("Read(//etc/**)",))), Deny)
    assert isinstance(file_call("Read", link, target, weighed=rules(deny=("Read(docs/**)",))), Deny)


@table(
    ("effect", "rule", "tool", "expected"),
    [
        ("allow", "Edit(//out/**)", "Write", Allow),
        ("allow", "Edit(//out/**)", "NotebookEdit", Allow),
        ("allow", "Edit(//out/**)", "Read", Allow),
        ("allow", "Edit(//out/**)", "Grep", Allow),
        ("allow", "Read(//out/**)", "Glob", Allow),
        ("allow", "Read(//out/**)", "Edit", Ask),
        ("deny", "Edit(//out/**)", "Write", Deny),
        ("deny", "Edit(//out/**)", "Read", Ask),
        ("deny", "Read(//out/**)", "Grep", Deny),
        ("deny", "Read(//out/**)", "Write", Deny),
        ("deny", "Read(//out/**)", "NotebookEdit", Deny),
        ("allow", "Write(//out/**)", "Write", Ask),
        ("allow", "Edit", "Write", Ask),
        ("allow", "Write", "Write", Allow),
    ],
)
def test_rules_for_reading_and_editing_govern_their_relatives(
    effect: str, rule: str, tool: str, expected: type[Decision]
):
    """S32"""
    weighed = (parse(rule, Effect(effect), "session"),)
    assert isinstance(file_call(tool, "/out/a.ipynb", weighed=weighed), expected)

"""S17, S40, S43: git is free only where the repository that it finds is known to start nothing."""

import os
import subprocess
from pathlib import Path

import msgspec
import pytest

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, prepare
from bridle.types.permission import Allow, Ask, Decision, Mode
from tests.permissions.cases import standing


def _git(folder: Path, *argv: str) -> None:
    subprocess.run(["git", *argv], cwd=folder, check=True, capture_output=True)


def _decide(
    folder: Path, command: str, *, trusted: bool = False, start: Path | None = None, mode: Mode = "default"
) -> Decision:
    where = standing(cwd=str(folder), start=str(start or folder), mode=mode)
    where = msgspec.structs.replace(where, trusted=trusted)
    return decide(prepare(CallRequest(tool="Bash", input={"command": command}, subject=command), where))


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    _git(tmp_path, "init", "-q")
    _git(tmp_path, "remote", "add", "origin", "https://example.invalid/x.git")
    return tmp_path


@pytest.mark.parametrize("command", ["git status", "git diff", "git log -p", "ls && git status --short"])
def test_ordinary_repository_asks_for_nothing(repository: Path, command: str):
    assert isinstance(_decide(repository, command), Allow)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("core.fsmonitor", "./evil"),
        ("core.hooksPath", "hooks"),
        ("core.sshCommand", "./evil"),
        ("core.pager", "./evil"),
        ("core.editor", "./evil"),
        ("core.alternateRefsCommand", "./evil"),
        ("core.attributesFile", "/etc/passwd"),
        ("core.excludesFile", "/etc/passwd"),
        ("core.worktree", "/"),
        ("core.gitProxy", "./evil"),
        ("core.askPass", "./evil"),
        ("diff.external", "./evil"),
        ("diff.x.command", "./evil"),
        ("diff.x.textconv", "./evil"),
        ("filter.x.clean", "./evil"),
        ("filter.x.process", "./evil"),
        ("merge.x.driver", "./evil"),
        ("alias.status", "!./evil"),
        ("include.path", "../more"),
        ("includeIf.gitdir:/.path", "../more"),
        ("pager.log", "./evil"),
        ("gpg.program", "./evil"),
        ("gpg.ssh.program", "./evil"),
        ("log.showSignature", "true"),
        ("credential.helper", "./evil"),
        ("sequence.editor", "./evil"),
        ("interactive.diffFilter", "./evil"),
        ("trace2.eventTarget", "/tmp/x"),
        ("uploadpack.packObjectsHook", "./evil"),
        ("protocol.ext.allow", "always"),
        ("remote.x.vcs", "evil"),
        ("remote.x.uploadpack", "./evil"),
        ("remote.x.promisor", "true"),
        ("extensions.partialClone", "origin"),
        ("submodule.x.update", "!./evil"),
        ("something.new", "1"),
    ],
)
def test_setting_that_could_run_something_asks(repository: Path, key: str, value: str):
    _git(repository, "config", key, value)
    decision = _decide(repository, "git status")
    assert isinstance(decision, Ask) and "not trusted" in decision.reason
    assert isinstance(_decide(repository, "git status", trusted=True), Allow)
    assert isinstance(_decide(repository, "ls"), Allow)


def test_settings_of_everyday_repositories_ask_for_nothing(repository: Path):
    for key, value in (
        ("user.email", "me@example.invalid"),
        ("branch.main.remote", "origin"),
        ("branch.main.merge", "refs/heads/main"),
        ("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*"),
        ("url.https://x.invalid/.insteadOf", "git@x.invalid:"),
        ("core.autocrlf", "input"),
        ("pull.rebase", "true"),
        ("submodule.lib.url", "https://example.invalid/lib.git"),
    ):
        _git(repository, "config", key, value)
    assert isinstance(_decide(repository, "git log -3"), Allow)


@pytest.mark.parametrize("name", ["post-index-change", "reference-transaction", "something-new"])
def test_planted_hook_asks(repository: Path, name: str):
    (repository / ".git" / "hooks" / name).write_text("#!/bin/sh\n")
    assert isinstance(_decide(repository, "git status"), Ask)


def test_hook_that_only_a_commit_runs_does_not_ask(repository: Path):
    (repository / ".git" / "hooks" / "pre-commit").write_text("#!/bin/sh\n")
    assert isinstance(_decide(repository, "git status"), Allow)


@pytest.mark.parametrize(
    "text", ["[core]\n\tpager = \\\n evil\n", "\x00", "[x", "[core] fsmonitor = ./x\n", "fsmonitor\n"]
)
def test_configuration_that_is_hard_to_read_asks(repository: Path, text: str):
    config = repository / ".git" / "config"
    config.write_text(config.read_text() + text)
    assert isinstance(_decide(repository, "git status"), Ask)


def test_configuration_that_is_a_pipe_asks_at_once(repository: Path):
    (repository / ".git" / "config").unlink()
    os.mkfifo(repository / ".git" / "config")
    assert isinstance(_decide(repository, "git status"), Ask)


def test_nested_repository_is_looked_at_too(repository: Path):
    inner = repository / "vendor"
    inner.mkdir()
    _git(inner, "init", "-q")
    assert isinstance(_decide(inner, "git status", start=repository, trusted=True), Allow)
    _git(inner, "config", "core.fsmonitor", "./evil")
    assert isinstance(_decide(repository, "git -C vendor status"), Ask)
    assert isinstance(_decide(inner, "git status", start=repository, trusted=True), Ask)
    assert isinstance(_decide(inner, "ls", start=repository, trusted=True), Allow)


EVIL = "[core]\n\trepositoryformatversion = 0\n\tfsmonitor = touch pwned; false\n"


def _bare(folder: Path, *, config: str = EVIL, bare: str = "false", worktree: str = "") -> Path:
    """A folder laid out as a repository without a `.git`, as any clone can have one in it."""
    (folder / "objects").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(f"{config}\tbare = {bare}\n" + worktree)
    return folder


def _starts_something(folder: Path) -> bool:
    """Whether git itself would be taken in, so that the tests prove something."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null"}
    subprocess.run(["git", "status"], cwd=folder, env=env, capture_output=True, check=False)
    return any(folder.rglob("pwned")) or any(folder.parent.rglob("pwned"))


def _laid_out(project: Path, layout: str) -> Path:
    """Where git would be started in a project with one planted repository."""
    sub = project / "sub"
    match layout:
        case "bare":
            return _bare(sub, worktree="\tworktree = .\n")
        case "folder of a bare one":
            _bare(sub)
            (sub / "deep" / "er").mkdir(parents=True)
            return sub / "deep" / "er"
        case "own .git beside it is broken":
            _bare(sub)
            (sub / ".git").mkdir()
            return sub
        case "pointer":
            _bare(project / "data")
            sub.mkdir()
            (sub / ".git").write_text("gitdir: ../data\n")
            return sub
        case "link":
            _bare(project / "data")
            sub.mkdir()
            (sub / ".git").symlink_to("../data")
            return sub
        case "commondir":
            _bare(project / "data")
            sub.mkdir()
            (sub / "HEAD").write_text("ref: refs/heads/main\n")
            (sub / "commondir").write_text("../data\n")
            return sub
        case "commondir behind a pointer":
            _bare(project / "data")
            sub.mkdir()
            (project / "own").mkdir()
            (project / "own" / "HEAD").write_text("ref: refs/heads/main\n")
            (project / "own" / "commondir").write_text("../data\n")
            (sub / ".git").write_text("gitdir: ../own\n")
            return sub
        case "config of a work tree":
            start = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tworktreeConfig = true\n[core]\n"
            _bare(sub, config=start)
            more = "[core]\n\tworktree = .\n\tfsmonitor = touch pwned; false\n"
            (sub / "config.worktree").write_text(more)
            return sub
        case _:
            raise AssertionError(layout)


LAYOUTS = (
    "bare",
    "folder of a bare one",
    "own .git beside it is broken",
    "pointer",
    "link",
    "commondir",
    "commondir behind a pointer",
    "config of a work tree",
)


@pytest.mark.parametrize("trusted", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_planted_repository_asks_wherever_the_session_stands(repository: Path, layout: str, trusted: bool):
    place = _laid_out(repository, layout)
    for command in ("git status", "git diff", "git log -1 --oneline", "true && git status -s"):
        assert isinstance(_decide(place, command, start=repository, trusted=trusted), Ask), command
        assert isinstance(_decide(place, command, start=place, trusted=trusted), Ask), command
    assert isinstance(_decide(repository, "git status", trusted=trusted), Allow)
    if layout in ("bare", "pointer", "link", "config of a work tree"):
        assert _starts_something(place)


def test_bare_repository_that_starts_nothing_may_be_read(tmp_path: Path):
    _git(tmp_path, "init", "-q", "--bare", "store.git")
    assert isinstance(_decide(tmp_path / "store.git", "git log -1", start=tmp_path, trusted=True), Allow)


def test_work_tree_and_submodule_of_the_session_are_free(
    repository: Path, tmp_path_factory: pytest.TempPathFactory
):
    who = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")
    other = tmp_path_factory.mktemp("library")
    _git(other, "init", "-q")
    for folder in (other, repository):
        _git(folder, *who, "commit", "-q", "--allow-empty", "-m", "first")
    _git(repository, *who, "submodule", "add", "-q", str(other), "lib")
    _git(repository, "worktree", "add", "-q", "--detach", ".claude/worktrees/x")
    tree = repository / ".claude" / "worktrees" / "x"
    for place in (repository / "lib", tree):
        assert isinstance(_decide(place, "git status", start=repository, trusted=True), Allow), place
        assert isinstance(_decide(place, "git status", start=place, trusted=True), Allow), place
        assert isinstance(_decide(place, "git status", start=repository, trusted=False), Allow), place
    _git(repository / "lib", "config", "core.fsmonitor", "./evil")
    assert isinstance(_decide(repository / "lib", "git status", start=repository, trusted=True), Ask)
    assert isinstance(_decide(repository, "git status"), Ask)


@pytest.mark.parametrize(
    "command",
    [
        "echo 'ref: refs/heads/x' > HEAD && git status",
        "mkdir -p objects refs && git status",
        "cp x config && git status",
        "cp -rT payload . && git status",
        "cp -r payload more && git status",
        "mv x commondir; git log -1",
        "git status; cp x Config; git diff",
        "sed -i 's/a/b/' config && git diff",
    ],
)
def test_command_that_makes_a_repository_and_uses_it_asks(repository: Path, command: str):
    (repository / "x").write_text("")
    (repository / "payload").mkdir()
    assert isinstance(_decide(repository, command, trusted=True, mode="acceptEdits"), Ask)


def test_changes_of_other_files_before_git_do_not_ask(repository: Path):
    command = "mkdir -p src && touch src/a.py && echo x > notes.txt && git status"
    assert isinstance(_decide(repository, command, trusted=True, mode="acceptEdits"), Allow)

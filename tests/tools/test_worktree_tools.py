"""Sessions that move to a work tree and back, and never lose work on the way."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.engine.runtime import Runtime
from bridle.features.worktrees.session import SessionWorktree
from bridle.host.git import worktrees
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.providers.scripted import calls, says
from bridle.tools.enter_worktree import TOOL as ENTER
from bridle.tools.exit_worktree import TOOL as EXIT
from bridle.tools.files.read import TOOL as READ
from bridle.types.errors import ToolError
from bridle.types.permission import Ask, Effect, Mode, Rule
from bridle.types.tool import Tool
from tests.fakes.agents import Team, team, touch
from tests.fakes.engine import with_gate
from tests.fakes.hooked import hooked
from tests.fakes.program import Program
from tests.fakes.tool_context import make_context

_ENV = {
    "PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "t", "GIT_AUTHOR_EMAIL": "t@t", "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@t",
}  # fmt: skip


def _git(folder: Path | str, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, env=_ENV, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _repository(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    _git(folder, "init", "-q", "-b", "main")
    for name, text in {"file": "one\n", **files}.items():
        (folder / name).write_text(text)
    _git(folder, "add", ".")
    _git(folder, "commit", "-q", "-m", "first")
    return folder


def _enter(**input: Any) -> Any:
    return says(calls("EnterWorktree", **input))


def _exit(action: str, **input: Any) -> Any:
    return says(calls("ExitWorktree", action=action, **input))


def _hook(command: str) -> list[Any]:
    return [{"hooks": [{"type": "command", "command": command}]}]


def _same(runtime: Runtime) -> Runtime:
    return runtime


def _untrusted(runtime: Runtime) -> Runtime:
    return with_gate(runtime, trusted=False)


def _trust(program: Program) -> None:
    trust = {"projects": {str(program.project): {"hasTrustDialogAccepted": True}}}
    (program.home / ".claude" / ".claude.json").write_text(json.dumps(trust))


def _gated(runtime: Runtime) -> Runtime:
    return with_gate(runtime, decide=decide)


async def _play(project: Path, *steps: Any, change: Callable[[Runtime], Runtime] = _same) -> Team:
    async with team(project, {"main": [*steps, says("ok")]}, ENTER, EXIT, touch, change=change) as made:
        await made.prompt()
    return made


async def test_a_session_works_in_the_tree_and_comes_back(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(
        project,
        _enter(name="side"),
        says(calls("Touch", path="there")),
        _exit("keep"),
        says(calls("Touch", path="here")),
    )
    tree = project / ".claude" / "worktrees" / "side"
    assert made.result("call-1")["worktreePath"] == str(tree)
    assert made.result("call-1")["worktreeBranch"] == "worktree-side"
    assert (tree / "there").exists() and not (project / "there").exists()
    assert (project / "here").exists() and not (tree / "here").exists()
    assert made.result("call-3")["action"] == "keep"
    workspace = made.runtime.workspace
    assert (workspace.start, workspace.cwd, workspace.roots) == (str(project),) * 2 + ((str(project),),)
    assert (workspace.worktree, workspace.origins) == (None, ())


async def test_inside_a_tree_the_first_checkout_is_no_working_folder(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(project, _enter(name="side"))
    tree = str(project / ".claude" / "worktrees" / "side")
    assert made.runtime.workspace.roots == (tree,)
    assert made.runtime.workspace.start == tree


async def test_an_unused_tree_is_removed_with_its_branch(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(project, _enter(name="side"), _exit("remove"))
    assert made.result("call-2")["action"] == "remove"
    assert os.listdir(project / ".claude" / "worktrees") == []
    assert _git(project, "branch", "--format=%(refname:short)") == "main"


async def test_a_dirty_tree_is_removed_only_when_its_work_is_given_up(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(project, _enter(name="side"), says(calls("Touch", path="new")), _exit("remove"))
    tree = project / ".claude" / "worktrees" / "side"
    assert "1 changed or new file and 0 new commits" in made.result("call-3")
    assert (tree / "new").exists()
    # It stays where it is, so that it can still commit or keep.
    assert made.runtime.workspace.cwd == str(tree)
    assert (await SessionWorktree(made.runtime).leave(remove=True, discard=True))[1]
    assert not tree.exists()


async def test_commits_are_removed_only_when_they_are_given_up(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(project, _enter(name="side"))
    tree, moves = project / ".claude" / "worktrees" / "side", SessionWorktree(made.runtime)
    _git(tree, "commit", "-q", "--allow-empty", "-m", "second")
    with pytest.raises(ToolError, match="0 changed or new files and 1 new commit"):
        await moves.leave(remove=True, discard=False)
    assert "worktree-side" in _git(project, "branch", "--format=%(refname:short)")
    assert (await moves.leave(remove=True, discard=True))[1]
    assert _git(project, "branch", "--format=%(refname:short)") == "main"


async def test_a_tree_that_was_there_can_be_entered_but_not_removed(tmp_path: Path):
    project, other = _repository(tmp_path / "project"), tmp_path / "other"
    _git(project, "worktree", "add", "-q", "-b", "topic", str(other))
    made = await _play(project, _enter(path=str(other)), _exit("remove", discard_changes=True))
    assert made.runtime.workspace.cwd == str(other)
    assert "did not create" in made.result("call-2")
    assert (other / "file").exists()


async def test_only_trees_of_the_repository_can_be_entered(tmp_path: Path):
    project, gone = _repository(tmp_path / "project"), tmp_path / "project" / "gone"
    stranger = _repository(tmp_path / "stranger")
    _git(project, "worktree", "add", "-q", str(gone))
    (gone / "file").unlink()
    (gone / ".git").unlink()
    for path in (stranger, gone, tmp_path / "nowhere"):
        made = await _play(project, _enter(path=str(path)))
        assert "is not a worktree of this repository" in made.result("call-1")
        assert made.runtime.workspace.cwd == str(project)


async def test_inputs_that_make_no_sense_are_refused(tmp_path: Path):
    project = _repository(tmp_path / "project")
    made = await _play(
        project,
        _exit("keep"),
        _enter(name="a", path="b"),
        _enter(name="../up"),
        _enter(name="side"),
        _enter(name="again"),
        _exit("keep", discard_changes=True),
    )
    said = [made.result(f"call-{number}") for number in (1, 2, 3, 5, 6)]
    words = (
        "is not in a worktree",
        "not both",
        "is not a valid worktree name",
        "already",
        "only works with the action remove",
    )
    for text, expected in zip(said, words, strict=True):
        assert expected in text


async def test_an_untrusted_folder_has_no_work_trees(tmp_path: Path):
    project, other = _repository(tmp_path / "project"), tmp_path / "other"
    _git(project, "worktree", "add", "-q", str(other))
    made = await _play(
        project,
        _enter(),
        _enter(path=str(other)),
        change=_untrusted,
    )
    assert "trusted" in made.result("call-1") and "trusted" in made.result("call-2")
    assert not (project / ".claude").exists()


async def test_denials_hold_in_the_tree_and_in_the_checkout_it_came_from(tmp_path: Path):
    project = _repository(tmp_path / "project")
    tree = project / ".claude" / "worktrees" / "side"
    rule = Rule(tool="Read", content="/file", effect=Effect.DENY, source="projectSettings")
    reads = [says(calls("Read", file_path=f"{folder}/{name}")) for folder in (project, tree)
             for name in ("file", "other")]  # fmt: skip
    for name in ("file", "other"):
        (project / name).write_text("one\n")
    _git(project, "add", ".")
    _git(project, "commit", "-q", "-m", "second")
    script = {"main": [_enter(name="side"), *reads, says("ok")]}
    async with team(project, script, ENTER, READ, change=_gated) as made:
        made.session.swap(rules=(rule,))
        await made.prompt()
    said = [made.result(f"call-{number}") for number in range(2, 6)]
    assert ["file" in each if isinstance(each, dict) else False for each in said] == [False, True] * 2


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
async def test_moving_is_asked_about(tmp_path: Path, mode: Mode):
    standing = SessionPosition(
        mode=mode, cwd=str(tmp_path), start=str(tmp_path), roots=(str(tmp_path),), attended=True,
        home="/nonexistent", config_home="/nonexistent/.claude",
    )  # fmt: skip
    workspace = make_context(tmp_path).workspace
    inputs: tuple[tuple[Tool, dict[str, Any]], ...] = (
        (ENTER, {}), (ENTER, {"path": "a"}), (EXIT, {"action": "remove", "discard_changes": True}),
    )  # fmt: skip
    for tool, raw in inputs:
        input = msgspec.convert(raw, tool.input)
        asked = CallRequest(
            tool=tool.name, input=raw, subject=tool.subject(input), access=tool.access(input, workspace)
        )
        assert isinstance(decide(prepare(asked, standing)), Ask), (tool.name, raw)


async def test_ignored_files_that_are_named_are_copied_and_no_others(tmp_path: Path):
    project = _repository(
        tmp_path / "project",
        **{".gitignore": ".env*\n*.key\nlink\n", ".worktreeinclude": ".env*\n!.env.prod\nplain\nlink\n"},
    )
    (project / "sub").mkdir()
    for name in (".env", ".env.prod", "sub/.env", "a.key", "plain"):
        (project / name).write_text(name)
    (project / "link").symlink_to("/etc/passwd")
    tree = await worktrees.create(str(project), "side", _ENV)
    assert await worktrees.furnish(tree, _ENV) == ()
    found = {name for name in (".env", ".env.prod", "sub/.env", "a.key", "plain", "link")
             if os.path.lexists(os.path.join(tree.path, name))}  # fmt: skip
    assert found == {".env", "sub/.env"}
    assert Path(tree.path, "sub/.env").read_text() == "sub/.env"
    assert await worktrees.remove_unused(tree, _ENV)
    assert (project / ".env").exists()


async def test_folders_are_linked_when_git_ignores_them_and_survive_the_tree(tmp_path: Path):
    project = _repository(tmp_path / "project", **{".gitignore": "node_modules/\n"})
    for name in ("node_modules", "seen"):
        (project / name).mkdir()
        (project / name / "x").write_text("x")
    tree = await worktrees.create(str(project), "side", _ENV)
    links = ("node_modules", "seen", "missing", "../out", "/etc", ".git", ".claude/worktrees")
    notes = await worktrees.furnish(tree, _ENV, links=links)
    assert Path(tree.path, "node_modules", "x").read_text() == "x"
    assert [note.split(" was not")[0].removeprefix("The folder ") for note in notes] == list(links[1:])
    assert "does not ignore" in notes[0]
    assert await worktrees.remove_unused(tree, _ENV)
    assert (project / "node_modules" / "x").exists()
    assert "seen/" in _git(project, "status", "--porcelain")


async def test_hooks_make_and_remove_trees_in_place_of_git(tmp_path: Path):
    place, log = tmp_path / "made", tmp_path / "log"
    settings = {
        "WorktreeCreate": _hook(f"mkdir -p {place}; cat > {log}; echo {place}"),
        "WorktreeRemove": _hook(f"rmdir {place}"),
    }
    script = [_enter(name="side"), _exit("remove"), _exit("remove", discard_changes=True), says("ok")]
    async with hooked(tmp_path, script, ENTER, EXIT, settings=settings) as made:
        await made.prompt()
        assert json.loads(log.read_text())["name"] == "side"
        assert not place.exists()
        assert made.runtime.workspace.cwd == str(tmp_path)


async def test_the_flag_lets_a_hook_make_the_tree(tmp_path: Path):
    program, place = Program(tmp_path), tmp_path / "made"
    (program.home / ".claude").mkdir()
    _trust(program)
    settings = json.dumps({"hooks": {"WorktreeCreate": _hook(f"mkdir -p {place}; echo {place}")}})
    flags = ("--model", "offline", "--allowedTools", "Bash", "--settings", settings, "-w")
    done = await program.run("-p", "run `touch new`", *flags)
    assert (done.code, done.err) == (0, "")
    assert (place / "new").exists()


async def test_the_flag_begins_in_a_tree_that_is_removed_unless_it_holds_work(tmp_path: Path):
    program = Program(tmp_path)
    _repository(program.project, **{".gitignore": "deps/\n.env\n", ".worktreeinclude": ".env\n"})
    (program.project / "deps").mkdir()
    (program.project / ".env").write_text("x")
    settings = json.dumps({"worktree": {"symlinkDirectories": ["deps"]}})
    trees = program.project / ".claude" / "worktrees"
    (program.home / ".claude").mkdir()
    _trust(program)

    done = await program.run("-p", "hi", "--model", "offline", "-w", "side")
    assert (done.code, done.err) == (0, "")
    assert "Branch: worktree-side" in program.transcripts()[0].read_text()
    assert os.listdir(trees) == []

    flags = ("--model", "offline", "--allowedTools", "Bash", "--settings", settings, "-w", "kept")
    await program.run("-p", "run `touch new`", *flags)
    assert (trees / "kept" / "deps").is_symlink() and (trees / "kept" / ".env").exists()
    assert (trees / "kept" / "new").exists() and not (program.project / "new").exists()

    _git(program.project, "worktree", "add", "-q", "-b", "worktree-old", str(trees / "old"))
    assert (await program.run("-p", "hi", "--model", "offline", "--worktree=old")).code == 0
    assert sorted(os.listdir(trees)) == ["kept", "old"]

    refused = await program.run("-p", "hi", "--model", "offline", "--worktree=a b")
    assert refused.code != 0 and "is not a valid worktree name" in refused.err

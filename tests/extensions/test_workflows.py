from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.config.problems import Problem
from bridle.config.schema import Settings
from bridle.extensions.index import Index
from bridle.extensions.roots import ExtensionRoots, Root, Source, roots_of
from bridle.extensions.workflows import (
    BUNDLED_WORKFLOWS,
    WorkflowFile,
    WorkflowFiles,
    WorkflowMeta,
    WorkflowPhase,
    are_workflows_on,
    load_workflows,
    read_meta,
    workflow_roots,
)
from bridle.types.errors import ConfigError
from tests.fakes.file_clock import settle


def write(folder: Path, name: str, *, meta: str | None = None, description: str = "Does it") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    said = meta if meta is not None else f"{{ name: {file.stem!r}, description: {description!r} }}"
    file.write_text(f"export const meta = {said}\nreturn 1\n")
    return file


def root(path: Path, source: Source = "project", **more: Any) -> Root:
    return Root(kind="workflows", path=str(path), source=source, **more)


def settings(**values: Any) -> Settings:
    return msgspec.convert(values, Settings)


def test_meta_of_a_script_is_read_whole():
    source = """export const meta = {
      name: 'sweep', description: ' Finds bugs ', whenToUse: 'before a release', other: 1,
      phases: [{ title: 'Look', detail: 'one each', model: 'haiku' }, 'Report'],
    }"""
    phases = (WorkflowPhase("Look", "one each", "haiku"), WorkflowPhase("Report"))
    assert read_meta(source) == WorkflowMeta(
        name="sweep", description="Finds bugs", when_to_use="before a release", phases=phases
    )


_WORD = "meta.name must be a word of letters, digits, dots and dashes"
_PHASES = "meta.phases must be a list of"


@pytest.mark.parametrize(
    ("meta", "fault"),
    [
        ("[]", "meta must be an object with a name and a description"),
        ("{ description: 'x' }", _WORD),
        ("{ name: 'two words', description: 'x' }", _WORD),
        ("{ name: 'a:b', description: 'x' }", _WORD),
        ("{ name: '../x', description: 'x' }", _WORD),
        ("{ name: 'x', description: ' ' }", ("meta.description is missing: describe what the workflow does")),
        ("{ name: 'x', description: 'x', phases: 'a' }", f"{_PHASES} at most 50 objects with a title"),
        ("{ name: 'x', description: 'x', phases: [{}] }", f"{_PHASES} objects with a title"),
        ("{ name: f(), description: 'x' }", "meta must be a plain literal: line 1 calls a function"),
    ],
)
def test_meta_that_cannot_be_used_is_told_in_a_sentence(meta: str, fault: str):
    with pytest.raises(ConfigError) as caught:
        read_meta(f"export const meta = {meta}")
    assert str(caught.value) == fault


def test_files_are_found_with_their_source_and_read_when_used(tmp_path: Path):
    file = write(tmp_path / "w", "a.js")
    write(tmp_path / "w", "b.mjs")
    write(tmp_path / "w", "c.txt")
    write(tmp_path / "w" / "below", "d.js")
    files, problems = load_workflows(Index(str(tmp_path / "i")), [root(tmp_path / "w")])
    assert problems == ()
    assert list(files) == ["a", "b"]
    meta = WorkflowMeta(name="a", description="Does it")
    assert files["a"] == WorkflowFile(name="a", meta=meta, path=str(file), source="project")
    assert files["a"].read() == file.read_text()


def test_broken_files_are_named_and_the_rest_works(tmp_path: Path):
    folder = tmp_path / "w"
    write(folder, "good.js")
    call = write(folder, "call.js", meta="{\n name: 'call', description: f() }")
    none = folder / "none.js"
    none.write_text("return 1")
    bad = write(folder, "bad.js", meta="{ name: 'no good', description: 'x' }")
    same = write(folder, "same.js", meta="{ name: 'good', description: 'x' }")
    gone = folder / "gone.js"
    gone.mkdir()
    files, problems = load_workflows(Index(str(tmp_path / "i")), [root(folder)])
    assert list(files) == ["good"]
    clash = f"ignored: the workflow 'good' is already defined in {folder / 'good.js'}"
    assert [(each.file, str(each).removeprefix(each.file)) for each in problems] == [
        (str(bad), f": {_WORD.replace(' ', ': ', 1)}"),
        (str(call), ": meta must be a plain literal: line 2 calls a function"),
        (str(gone), ": the file could not be read: Is a directory"),
        (str(none), ": line 1: a script begins with `export const meta = {…}`"),
        (str(same), f": meta.name: {clash}"),
    ]


def test_of_equal_names_the_weightier_place_counts(tmp_path: Path):
    managed, home, project = tmp_path / "m", tmp_path / "home", tmp_path / "p" / "deep"
    for folder in (managed / ".claude", home, project / ".claude", project.parent / ".claude"):
        write(folder / "workflows", "same.js", description=str(folder))
    write(project.parent / ".claude" / "workflows", "above.js")
    write(home / "workflows", "mine.js")
    where = ExtensionRoots(home=str(home), cwd=str(project), managed_dir=str(managed))
    files, problems = load_workflows(Index(str(tmp_path / "i")), roots_of("workflows", where))
    assert {name: file.source for name, file in files.items()} == {
        "same": "managed",
        "mine": "user",
        "above": "project",
    }
    assert files["same"].description == str(managed / ".claude")
    assert len(problems) == 3
    locked = msgspec.structs.replace(where, closed=frozenset({"workflows"}))
    assert set(load_workflows(Index(str(tmp_path / "i")), roots_of("workflows", locked))[0]) == {"same"}


def test_plugins_put_their_name_before_it(tmp_path: Path):
    file = write(tmp_path, "one.js")
    single = root(file, "plugin", prefix="tools", owner="tools@market", single=True)
    files, _ = load_workflows(Index(str(tmp_path / "i")), [single])
    (found,) = files.values()
    assert (found.name, found.meta.name, found.plugin) == ("tools:one", "one", "tools@market")


def test_own_files_go_before_bundled_ones_without_a_word(tmp_path: Path):
    write(tmp_path / "w", "deep-research.js")
    files, problems = load_workflows(Index(str(tmp_path / "i")), [root(tmp_path / "w"), BUNDLED_WORKFLOWS])
    assert (files["deep-research"].source, problems) == ("project", ())


def test_changes_on_disk_are_seen_after_a_moment(tmp_path: Path):
    now = 0.0
    files = WorkflowFiles(Index(str(tmp_path / "i")), lambda: [root(tmp_path / "w")], clock=lambda: now)
    assert files.all() == {}
    file = write(tmp_path / "w", "a.js")
    assert files.all() == {}
    now = 1.0
    assert list(files.all()) == ["a"]
    file.write_text("broken")
    now = 2.0
    assert files.all() == {}
    assert files.problems() == (
        Problem(file=str(file), message="line 1: a script begins with `export const meta = {…}`"),
    )


def test_files_that_did_not_change_are_not_read_again(tmp_path: Path):
    write(tmp_path / "w", "a.js", description="first")
    settle(tmp_path)
    roots = [root(tmp_path / "w")]
    load_workflows(Index(str(tmp_path / "i")), roots)
    (index,) = (tmp_path / "i").iterdir()
    index.write_bytes(index.read_bytes().replace(b"first", b"known"))
    files, _ = load_workflows(Index(str(tmp_path / "i")), roots)
    assert files["a"].description == "known"


@pytest.mark.parametrize(
    ("values", "env", "on"),
    [
        ({}, {}, True),
        ({"disableWorkflows": True}, {}, False),
        ({"disableWorkflows": True, "enableWorkflows": True}, {}, False),
        ({"enableWorkflows": False}, {}, False),
        ({"disableWorkflows": False}, {}, True),
        ({}, {"CLAUDE_CODE_DISABLE_WORKFLOWS": "1"}, False),
        ({"enableWorkflows": True}, {"CLAUDE_CODE_DISABLE_WORKFLOWS": "true"}, False),
        ({}, {"CLAUDE_CODE_DISABLE_WORKFLOWS": "0"}, True),
    ],
)
def test_workflows_are_on_unless_somebody_turned_them_off(values: Any, env: dict[str, str], on: bool):
    assert are_workflows_on(settings(**values), env) is on


def test_bundled_workflows_can_be_turned_off_alone():
    found = [root(Path("/w"))]
    assert workflow_roots(settings(), {}, found) == (*found, BUNDLED_WORKFLOWS)
    assert workflow_roots(settings(disableBundledSkills=True), {}, found) == tuple(found)
    env = {"CLAUDE_CODE_DISABLE_BUNDLED_SKILLS": "1"}
    assert workflow_roots(settings(), env, found) == tuple(found)

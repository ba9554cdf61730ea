"""S19, S31: a removal is judged by where its links lead, on real files."""

from pathlib import Path

import pytest

from bridle.types.permission import Allow, Ask
from tests.permissions.cases import bash, rules


@pytest.fixture
def project(tmp_path: Path) -> Path:
    home, project = tmp_path / "people" / "someone", tmp_path / "work" / "project"
    (home / "notes").mkdir(parents=True)
    (project / "build" / "out").mkdir(parents=True)
    (project / "homelink").symlink_to(home)
    (project / "noteslink").symlink_to(home / "notes")
    (project / "rootlink").symlink_to("/")
    (project / "twice").symlink_to("homelink")
    (project / "self").symlink_to(".")
    (project / "buildlink").symlink_to("build")
    (tmp_path / "real").symlink_to(project)
    return project


def decide(command: str, project: Path, *, cwd: Path | None = None) -> object:
    home = project.parent.parent / "people" / "someone"
    return bash(command, rules(allow=("Bash",)), "bypassPermissions", cwd=str(cwd or project), home=str(home))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf homelink/*",
        "rm -rf homelink/.[!.]* homelink/*",
        "rm -rf homelink/",
        "rm -rf homelink/.",
        "rm -rf ./homelink/*",
        "rm -rf twice/*",
        "rm -rf self/",
        "rm -rf self/*",
        "rm -rf noteslink/..",
        "rm -rf noteslink/../*",
        "rm -rf noteslink/../../someone",
        "rm -rf rootlink/*",
        "rm -rf rootlink/usr",
        "rm -rf home*/*",
        "rm -rf [h]omelink/",
        "x=homelink; rm -rf $x/*",
        "cd build && rm -rf ../homelink/*",
        "sudo rm -rf homelink/*",
        "bash -c 'rm -rf homelink/*'",
    ],
)
def test_a_link_to_what_must_stay_is_no_way_around(command: str, project: Path):
    decision = decide(command, project)

    assert isinstance(decision, Ask), decision
    assert decision.needs_person


@pytest.mark.parametrize(
    "command",
    ["rm homelink", "rm -f twice", "rm -rf buildlink/out", "rm -rf build/out", "rm -rf homelink/notes/x"],
)
def test_a_link_itself_and_what_lies_elsewhere_may_go(command: str, project: Path):
    assert isinstance(decide(command, project), Allow)


def test_a_folder_is_kept_under_its_other_name(project: Path):
    other = project.parent.parent / "real"

    assert isinstance(decide(f"rm -rf {other}/", project), Ask)
    assert isinstance(decide(f"rm -rf {project}", project, cwd=other), Ask)

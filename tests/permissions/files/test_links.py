"""Links are followed to their end, and every place on the way is known."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bridle.permissions.files.links import FollowedPaths, follow
from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, approvals, prepare
from bridle.types.permission import Access, Allow, Ask, Decision, Deny, ResolvedPath
from tests.permissions.cases import rules, standing


def test_a_path_without_links_leads_nowhere_else(tmp_path: Path):
    assert follow(f"{tmp_path}/a/./b/../c") == ResolvedPath(f"{tmp_path}/a/c")
    assert follow(str(tmp_path)) == ResolvedPath(str(tmp_path), (), True)


def test_every_hop_of_a_chain_is_kept(tmp_path: Path):
    """S31"""
    (tmp_path / "end").mkdir()
    (tmp_path / "two").symlink_to("end")
    (tmp_path / "one").symlink_to(tmp_path / "two")
    assert follow(f"{tmp_path}/one/file") == ResolvedPath(
        f"{tmp_path}/one/file", (f"{tmp_path}/two/file", f"{tmp_path}/end/file")
    )


@given(order=st.permutations(range(14)))
@settings(max_examples=40, deadline=None)
def test_paths_that_are_followed_together_lead_where_each_leads_alone(
    order: list[int], tmp_path_factory: pytest.TempPathFactory
):
    """S31"""
    top = tmp_path_factory.mktemp("tree")
    (top / "real" / "deep").mkdir(parents=True)
    (top / "real" / "file").write_text("")
    (top / "link").symlink_to("real")
    (top / "real" / "up").symlink_to("..")
    (top / "real" / "deep" / "out").symlink_to("/usr")
    (top / "dangling").symlink_to("nowhere")
    (top / "loop").symlink_to("loop")
    named = (
        "", "real", "real/file", "real/file/below", "link", "link/file", "link/up/link/deep",
        "real/deep/out/bin", "dangling", "dangling/x", "loop/x", "real/../link/./file", "missing/x/y",
        "real/up/real",
    )  # fmt: skip
    followed = FollowedPaths()
    for index in order:
        path = f"{top}/{named[index]}".rstrip("/")
        assert followed.place(path) == follow(path)


def test_dangling_and_looping_links_come_to_an_end(tmp_path: Path):
    (tmp_path / "dangling").symlink_to("/nowhere/at/all")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert follow(f"{tmp_path}/dangling/x").target == "/nowhere/at/all/x"
    for name in ("loop", "a", "b"):
        assert follow(f"{tmp_path}/{name}/x").path == f"{tmp_path}/{name}/x"


def test_going_back_behind_a_link_is_walked_as_the_kernel_does(tmp_path: Path):
    """S30"""
    (tmp_path / "far/deep").mkdir(parents=True)
    (tmp_path / "near").mkdir()
    (tmp_path / "near/link").symlink_to(tmp_path / "far/deep")
    place = follow(f"{tmp_path}/near/link/../x")
    assert (place.path, place.target) == (f"{tmp_path}/near/x", f"{tmp_path}/far/x")


def test_the_links_of_a_process_are_not_trusted(tmp_path: Path):
    """S30"""
    own = f"/proc/{os.getpid()}/cwd/x"
    place = follow(own)
    assert place.target == own
    assert os.path.join(os.getcwd(), "x") in place.hops


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_can_be_followed(text: str):
    follow(f"/{text}")


@pytest.fixture
def forest(tmp_path: Path) -> Path:
    project, outside = tmp_path / "project", tmp_path / "outside"
    (project / "src").mkdir(parents=True)
    (project / ".git").mkdir()
    outside.mkdir()
    (outside / "secret").write_text("x", encoding="utf-8")
    (project / "file-out").symlink_to(outside / "secret")
    (project / "folder-out").symlink_to("../outside")
    (project / "chain").symlink_to("file-out")
    (project / "new-out").symlink_to(outside / "new")
    (project / "inner").symlink_to("src")
    (project / "guarded").symlink_to(".git/config")
    (tmp_path / "project-too").mkdir()
    (tmp_path / "into").symlink_to(project)
    return project


def _call(tool: str, path: str, project: Path, **written: Any) -> Decision:
    access = Access(reads=(path,)) if tool == "Read" else Access(writes=(path,))
    asked = CallRequest(
        tool=tool, input={"file_path": path}, subject=path, read_only=tool == "Read", access=access
    )
    where = standing(cwd=str(project), weighed=rules(**written), mode="acceptEdits", home=str(project.parent))
    return decide(prepare(asked, where))


@pytest.mark.parametrize(
    ("name", "reading", "writing"),
    [
        ("src/a", Allow, Allow),
        ("inner/a", Allow, Allow),
        ("file-out", Ask, Ask),
        ("folder-out/secret", Ask, Ask),
        ("chain", Ask, Ask),
        ("new-out", Ask, Ask),
        ("guarded", Allow, Ask),
        ("../project-too/a", Ask, Ask),
        ("../into/src/a", Allow, Allow),
    ],
)
def test_inside_is_where_a_path_leads(
    forest: Path, name: str, reading: type[Decision], writing: type[Decision]
):
    """S30, S31, S33"""
    assert isinstance(_call("Read", f"{forest}/{name}", forest), reading)
    assert isinstance(_call("Edit", f"{forest}/{name}", forest), writing)


def test_rules_see_both_ends_of_a_link(forest: Path):
    """S31"""
    outside = forest.parent / "outside"
    link = f"{forest}/folder-out/secret"
    assert isinstance(_call("Edit", link, forest, allow=("Edit(folder-out/**)",)), Ask)
    assert isinstance(_call("Edit", link, forest, allow=(f"Edit(/{outside}/**)",)), Ask)
    assert isinstance(_call("Edit", link, forest, allow=(f"Edit(/{forest.parent}/**)",)), Allow)
    for pattern in ("folder-out/**", f"/{outside}/**", "secret"):
        assert isinstance(_call("Read", link, forest, deny=(f"Read({pattern})",)), Deny)
    assert isinstance(_call("Read", f"{forest}/chain", forest, deny=("Read(file-out)",)), Deny)


def test_a_project_reached_through_a_link_is_still_the_project(forest: Path):
    into = forest.parent / "into"
    where = standing(cwd=str(into), weighed=rules(allow=("Edit(src/**)",)))
    for path in (f"{into}/src/a", f"{forest}/src/a"):
        asked = CallRequest(tool="Edit", input={}, access=Access(writes=(path,)))
        assert isinstance(decide(prepare(asked, where)), Allow)


def test_home_reached_through_a_link_is_still_home(tmp_path: Path):
    (tmp_path / "real/.ssh").mkdir(parents=True)
    (tmp_path / "home").symlink_to("real")
    where = standing(cwd=str(tmp_path), weighed=rules(deny=("Read(~/.ssh/**)",)), home=f"{tmp_path}/home")
    for path in (f"{tmp_path}/real/.ssh/id", f"{tmp_path}/home/.ssh/id"):
        asked = CallRequest(tool="Read", input={}, read_only=True, access=Access(reads=(path,)))
        assert isinstance(decide(prepare(asked, where)), Deny)


def test_what_was_decided_upon_is_remembered_for_whoever_opens_it(forest: Path):
    """S34"""
    asked = CallRequest(
        tool="Edit", input={}, access=Access(reads=(f"{forest}/inner/a",), writes=(f"{forest}/b",))
    )
    assert approvals(prepare(asked, standing(cwd=str(forest)))) == {
        f"{forest}/inner/a": f"{forest}/src/a",
        f"{forest}/b": f"{forest}/b",
    }

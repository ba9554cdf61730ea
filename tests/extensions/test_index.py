import os
from pathlib import Path

import msgspec
import pytest

from bridle.extensions.index import Index
from bridle.extensions.roots import ExtensionRoots, Root, nested_roots, roots_of
from tests.fakes.file_clock import settle


def skill(folder: Path, name: str, description: str = "Does it") -> Path:
    file = folder / name / "SKILL.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"---\ndescription: {description}\n---\nBody of {name}")
    return file


def root(path: Path, kind: str = "skills") -> Root:
    assert kind in ("skills", "commands", "agents", "output-styles", "themes")
    return Root(kind=kind, path=str(path), source="user")


def test_files_are_found_with_what_they_say(tmp_path: Path):
    skill(tmp_path / "skills", "b", "Second")
    skill(tmp_path / "skills", "a", "First")
    found = Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    assert [(each.entry.path, each.entry.values["description"]) for each in found] == [
        ("a/SKILL.md", "First"),
        ("b/SKILL.md", "Second"),
    ]
    assert found[0].read_body() == "Body of a"


def rewrite(index: Path, old: str, new: str) -> None:
    """Let the index say something else than the files do."""
    for file in index.iterdir():
        file.write_bytes(file.read_bytes().replace(old.encode(), new.encode()))


def test_what_has_not_changed_is_not_read_again(tmp_path: Path):
    files = [skill(tmp_path / "skills", name) for name in "ab"]
    settle(tmp_path)
    Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    rewrite(tmp_path / "index", "Does it", "Knew it")
    before = files[0].stat()
    files[0].write_text(files[0].read_text().replace("Does", "Did "))
    # Neither its size nor its time of modification tells, but it was changed.
    os.utime(files[0], ns=(before.st_atime_ns, before.st_mtime_ns))
    found = Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    assert [each.entry.values["description"] for each in found] == ["Did  it", "Knew it"]


def test_a_folder_in_the_place_of_another_is_told_though_both_changed_in_one_moment(tmp_path: Path):
    files = [skill(tmp_path / "skills", name, f"Is {name}") for name in "ab"]
    settle(tmp_path)
    Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    # As if the clock had not moved between the two.
    (stored,) = (tmp_path / "index").iterdir()
    one, other = (msgspec.msgpack.encode(file.stat().st_ctime_ns) for file in files)
    (tmp_path / "skills" / "a").rename(tmp_path / "skills" / "c")
    (tmp_path / "skills" / "b").rename(tmp_path / "skills" / "a")
    stored.write_bytes(stored.read_bytes().replace(one, other))
    found = Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    assert [each.entry.values["description"] for each in found] == ["Is b", "Is a"]


def test_changed_new_and_removed_files_are_noticed(tmp_path: Path):
    index = Index(str(tmp_path / "index"))
    where = [root(tmp_path / "skills")]
    first = skill(tmp_path / "skills", "a")
    index.look(where)
    first.write_text("---\ndescription: Changed now\n---\n")
    skill(tmp_path / "skills", "b")
    assert [each.entry.values["description"] for each in index.look(where)] == ["Changed now", "Does it"]
    first.unlink()
    assert [each.entry.path for each in index.look(where)] == ["b/SKILL.md"]
    assert [each.entry.path for each in Index(str(tmp_path / "index")).look(where)] == ["b/SKILL.md"]


@pytest.mark.parametrize("damage", [b"", b"\x00garbage", b"\x93\x01\xa1x\x90"])
def test_broken_index_is_made_anew(tmp_path: Path, damage: bytes):
    skill(tmp_path / "skills", "a")
    where = [root(tmp_path / "skills")]
    Index(str(tmp_path / "index")).look(where)
    (stored,) = (tmp_path / "index").iterdir()
    stored.write_bytes(damage)
    assert len(Index(str(tmp_path / "index")).look(where)) == 1


def test_index_that_cannot_be_written_is_no_reason_to_fail(tmp_path: Path):
    skill(tmp_path / "skills", "a")
    (tmp_path / "index").write_text("in the way")
    assert len(Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])) == 1


def test_index_is_private(tmp_path: Path):
    skill(tmp_path / "skills", "a")
    Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    (stored,) = (tmp_path / "index").iterdir()
    assert stored.stat().st_mode & 0o777 == 0o600


def test_commands_are_found_in_folders_below_and_loops_of_links_end(tmp_path: Path):
    folder = tmp_path / "commands"
    (folder / "git").mkdir(parents=True)
    (folder / "top.md").write_text("top")
    (folder / "git" / "commit.md").write_text("commit")
    (folder / "git" / "again").symlink_to(folder)
    found = Index(str(tmp_path / "index")).look([root(folder, "commands")])
    assert {"top.md", "git/commit.md"} <= {each.entry.path for each in found}
    assert len(found) < 10


def test_file_that_cannot_be_read_is_named_and_tried_again(tmp_path: Path):
    folder = tmp_path / "commands"
    folder.mkdir()
    (folder / "x.md").mkdir()
    index = Index(str(tmp_path / "index"))
    (found,) = index.look([root(folder, "commands")])
    assert found.problem is not None
    (folder / "x.md").rmdir()
    (folder / "x.md").write_text("Now it is a file")
    (found,) = index.look([root(folder, "commands")])
    assert (found.problem, found.entry.opening) == (None, "Now it is a file")


def test_missing_roots_have_no_files(tmp_path: Path):
    assert Index(str(tmp_path / "index")).look([root(tmp_path / "nowhere")]) == []
    assert not (tmp_path / "index").exists()


def whereabouts(tmp_path: Path, **fields: object) -> ExtensionRoots:
    usual = ExtensionRoots(
        home=str(tmp_path / "home"), cwd=str(tmp_path / "a" / "b"), managed_dir=str(tmp_path / "etc")
    )
    return msgspec.structs.replace(usual, **fields)


def test_managed_comes_before_user_before_project_with_the_nearest_first(tmp_path: Path):
    found = roots_of("skills", whereabouts(tmp_path, extra=(str(tmp_path / "extra"),)))
    assert [each.source for each in found[:3]] == ["managed", "user", "project"]
    places = [each.path for each in found if each.source == "project"]
    assert places[:2] == [str(tmp_path / "a/b/.claude/skills"), str(tmp_path / "a/.claude/skills")]
    assert places[-1] == str(tmp_path / "extra/.claude/skills")


def test_users_own_folder_above_the_project_is_not_the_projects(tmp_path: Path):
    found = roots_of("skills", whereabouts(tmp_path, home=str(tmp_path / ".claude")))
    assert [each.source for each in found if each.path == str(tmp_path / ".claude/skills")] == ["user"]


def test_management_can_close_a_kind_and_flags_a_source(tmp_path: Path):
    closed = roots_of("commands", whereabouts(tmp_path, closed=frozenset({"skills"})))
    assert [each.source for each in closed] == ["managed"]
    sources = {
        each.source for each in roots_of("skills", whereabouts(tmp_path, sources=frozenset({"project"})))
    }
    assert sources == {"managed", "project"}


def test_folders_below_the_project_are_entered_on_the_way_to_a_file():
    found = nested_roots("skills", "/p/packages/web/src/x.ts", "/p")
    assert [(each.path, each.prefix) for each in found] == [
        ("/p/packages/.claude/skills", "packages"),
        ("/p/packages/web/.claude/skills", "packages:web"),
        ("/p/packages/web/src/.claude/skills", "packages:web:src"),
    ]
    assert nested_roots("skills", "/elsewhere/x", "/p") == ()


def test_names_and_places_that_are_not_text_do_no_harm(tmp_path: Path):
    folder = tmp_path / os.fsdecode(b"odd-\xff") / "commands"
    folder.mkdir(parents=True)
    (folder / "fine.md").write_text("x")
    (folder / os.fsdecode(b"bad-\xff.md")).write_text("x")
    index = Index(str(tmp_path / "index"))
    for _ in range(2):
        assert [each.entry.path for each in index.look([root(folder, "commands")])] == ["fine.md"]


def test_folders_of_plugins_share_one_index_file(tmp_path: Path):
    roots = [
        Root(kind="skills", path=str(tmp_path / name / "skills"), source="plugin", prefix=name)
        for name in ("one", "two", "three")
    ]
    files = [skill(Path(each.path), "a", f"Of {each.prefix}") for each in roots]
    settle(tmp_path)
    Index(str(tmp_path / "index")).look(roots)
    assert len(list((tmp_path / "index").iterdir())) == 1
    # What one of them knows is not lost because another has changed, or is not looked at.
    files[0].write_text("---\ndescription: Changed now\n---\n")
    Index(str(tmp_path / "index")).look(roots[:1])
    rewrite(tmp_path / "index", "Of two", "Is two")
    found = Index(str(tmp_path / "index")).look(roots)
    assert [each.entry.values["description"] for each in found] == ["Changed now", "Is two", "Of three"]


def test_one_skill_that_becomes_a_folder_of_skills_is_looked_at_anew(tmp_path: Path):
    index = Index(str(tmp_path / "index"))
    one = Root(kind="skills", path=str(tmp_path / "s"), source="plugin", single=True)
    several = Root(kind="skills", path=str(tmp_path / "s"), source="plugin")
    file = skill(tmp_path, "s")
    settle(tmp_path)
    assert [each.entry.path for each in index.look([one])] == ["SKILL.md"]
    file.unlink()
    skill(tmp_path / "s", "a")
    settle(tmp_path)
    assert [each.entry.path for each in index.look([several])] == ["a/SKILL.md"]
    skill(tmp_path, "s")
    settle(tmp_path)
    assert [each.entry.path for each in index.look([one])] == ["SKILL.md"]


def test_a_link_to_the_folder_itself_brings_nothing_twice(tmp_path: Path):
    commands = tmp_path / "commands"
    (commands / "git").mkdir(parents=True)
    (commands / "git" / "tidy.md").write_text("x")
    (commands / "again").symlink_to(".")
    (commands / "git" / "up").symlink_to("..")
    (commands / "odd").symlink_to("git/tidy.md/below")
    (commands / "round").symlink_to("round")
    found = Index(str(tmp_path / "index")).look([root(commands, "commands")])
    assert [each.entry.path for each in found] == ["git/tidy.md"]


def test_names_with_control_characters_are_left_out(tmp_path: Path):
    for name in ("a\nb", "c\x1b[31m", "d\x9bm", "日本\u3000語", "👩\u200d🔬", "ok"):
        skill(tmp_path / "skills", name)
    found = Index(str(tmp_path / "index")).look([root(tmp_path / "skills")])
    assert sorted(each.entry.path.split("/")[0] for each in found) == ["ok", "日本\u3000語", "👩\u200d🔬"]

"""What follows from all files together is concluded once, and again when any of them changes."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from bridle.extensions.index import Found, Index
from bridle.extensions.roots import Kind, Root
from bridle.extensions.skills import SkillCatalog
from tests.fakes.file_clock import settle


class Shelf:
    """Folders of commands and skills, and how often something was concluded from them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.drawn = 0
        self.index = self.fresh()

    def fresh(self) -> Index:
        return Index(str(self.folder / "home" / "bridle" / "index"))

    def root(self, name: str, kind: Kind = "commands", *, edition: str = "") -> Root:
        source = "plugin" if edition else "user"
        return Root(kind=kind, path=str(self.folder / name), source=source, edition=edition)

    def write(self, path: str, text: str = "---\ndescription: Does it\n---\n") -> Path:
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def ask(self, *roots: Root) -> list[str]:
        """What is concluded when some time has passed."""
        settle(self.folder)

        def draw(found: Sequence[Found]) -> list[str]:
            self.drawn += 1
            return [f"{each.entry.path} {each.entry.values.get('description')}" for each in found]

        return self.index.conclude("test", roots, list[str], draw)


@pytest.fixture
def shelf(tmp_path: Path) -> Shelf:
    return Shelf(tmp_path)


def test_the_same_is_concluded_once_and_remembered_by_the_next_process(shelf: Shelf):
    shelf.write("c/a.md")
    root, missing = shelf.root("c"), shelf.root("nowhere")
    first = shelf.ask(root, missing)
    assert shelf.ask(root, missing) is first
    shelf.index = shelf.fresh()
    assert shelf.ask(root, missing) == first == ["a.md Does it"]
    assert shelf.drawn == 1


CHANGES: dict[str, tuple[Callable[[Shelf], object], list[str]]] = {
    "edited": (
        lambda it: it.write("c/a.md", "---\ndescription: Other\n---\n"),
        ["a.md Other", "d/e.md Does it"],
    ),
    "new": (lambda it: it.write("c/b.md"), ["a.md Does it", "b.md Does it", "d/e.md Does it"]),
    "new below": (lambda it: it.write("c/d/f.md"), ["a.md Does it", "d/e.md Does it", "d/f.md Does it"]),
    "removed": (lambda it: (it.folder / "c/d/e.md").unlink(), ["a.md Does it"]),
    "new folder": (lambda it: it.write("late/g.md"), ["a.md Does it", "d/e.md Does it", "g.md Does it"]),
}


@pytest.mark.parametrize("between", ["looks", "starts"])
@pytest.mark.parametrize("kind", CHANGES)
def test_every_change_is_noticed_at_the_next_look(shelf: Shelf, kind: str, between: str):
    shelf.write("c/a.md")
    shelf.write("c/d/e.md")
    roots = shelf.root("c"), shelf.root("late")
    shelf.ask(*roots)
    change, after = CHANGES[kind]
    change(shelf)
    if between == "starts":
        shelf.index = shelf.fresh()
    assert shelf.ask(*roots) == after


def test_a_folder_becomes_a_skill_when_its_file_comes(shelf: Shelf):
    shelf.write("s/one/SKILL.md")
    (shelf.folder / "s" / "two").mkdir()
    root = shelf.root("s", "skills")
    assert len(shelf.ask(root)) == 1
    shelf.write("s/two/SKILL.md")
    assert len(shelf.ask(root)) == 2


@pytest.mark.parametrize(("kind", "more"), [("commands", 2), ("skills", 1)])
def test_a_link_that_comes_to_lead_somewhere_is_noticed(shelf: Shelf, kind: Kind, more: int):
    shelf.write("c/a.md")
    shelf.write("c/a/SKILL.md")
    (shelf.folder / "c" / "b.md").symlink_to(shelf.folder / "target.md")
    (shelf.folder / "c" / "b").symlink_to(shelf.folder / "target")
    root = shelf.root("c", kind)
    before = len(shelf.ask(root))
    shelf.write("target.md")
    shelf.write("target/SKILL.md")
    assert len(shelf.ask(root)) == before + more


def test_a_single_place_counts_when_its_file_comes(shelf: Shelf):
    (shelf.folder / "one").mkdir()
    root = Root(kind="skills", path=str(shelf.folder / "one"), source="plugin", single=True)
    assert shelf.ask(root) == []
    shelf.write("one/SKILL.md")
    assert shelf.ask(root) == ["SKILL.md Does it"]


def test_an_empty_folder_is_not_forgotten(shelf: Shelf):
    (shelf.folder / "c").mkdir()
    assert shelf.ask(shelf.root("c")) == []
    assert shelf.ask(shelf.root("c")) == []
    assert shelf.drawn == 1
    shelf.write("c/a.md")
    assert shelf.ask(shelf.root("c")) == ["a.md Does it"]


def test_a_file_that_cannot_be_read_is_tried_at_every_look(shelf: Shelf):
    (shelf.folder / "c" / "x.md").mkdir(parents=True)
    shelf.ask(shelf.root("c"))
    shelf.ask(shelf.root("c"))
    assert shelf.drawn == 2


def test_other_folders_are_another_conclusion(shelf: Shelf):
    shelf.write("c/a.md")
    shelf.write("d/b.md")
    assert shelf.ask(shelf.root("c")) == ["a.md Does it"]
    assert shelf.ask(shelf.root("c"), shelf.root("d")) == ["a.md Does it", "b.md Does it"]
    assert shelf.ask(shelf.root("d")) == ["b.md Does it"]


def test_what_was_installed_is_believed_at_the_start_and_looked_at_soon_after(shelf: Shelf):
    shelf.write("c/a.md")
    root = shelf.root("c", edition="first")
    shelf.ask(root)
    shelf.write("c/a.md", "---\ndescription: Tampered\n---\n")
    shelf.index = shelf.fresh()
    assert shelf.ask(root) == ["a.md Does it"]
    assert shelf.ask(root) == ["a.md Tampered"]


def test_what_is_installed_anew_is_read_at_the_next_start(shelf: Shelf):
    shelf.write("c/a.md")
    shelf.ask(shelf.root("c", edition="first"))
    shelf.write("c/a.md", "---\ndescription: Better\n---\n")
    shelf.index = shelf.fresh()
    assert shelf.ask(shelf.root("c", edition="second")) == ["a.md Better"]


@pytest.mark.parametrize("damage", [b"", b"\x00garbage", b"\x95\x01\x02\x03\x04\x05"])
def test_broken_memory_is_made_anew(shelf: Shelf, damage: bytes):
    shelf.write("c/a.md")
    shelf.ask(shelf.root("c"))
    for file in (shelf.folder / "home" / "bridle" / "index").glob("test-*"):
        file.write_bytes(damage)
    shelf.index = shelf.fresh()
    assert shelf.ask(shelf.root("c")) == ["a.md Does it"]
    assert shelf.drawn == 2


def test_memory_is_private_and_bounded(shelf: Shelf):
    folder = shelf.folder / "home" / "bridle" / "index"
    folder.mkdir(parents=True)
    for number in range(500):
        os.utime(shelf.write(f"home/bridle/index/{number}.index"), (number, number))
    shelf.write("c/a.md")
    shelf.ask(shelf.root("c"))
    left = {file.name for file in folder.iterdir()}
    assert len(left) == 400
    assert "499.index" in left and "0.index" not in left
    (own,) = folder.glob("test-*")
    assert own.stat().st_mode & 0o777 == 0o600


def test_a_home_that_cannot_be_written_only_costs_time(shelf: Shelf):
    shelf.write("c/a.md")
    shelf.write("home/bridle", "in the way")
    for _ in range(2):
        shelf.index = shelf.fresh()
        assert shelf.ask(shelf.root("c")) == ["a.md Does it"]
    assert shelf.drawn == 2


@pytest.mark.parametrize("value", [1 << 70, "\ud800"], ids=["number", "text"])
def test_what_cannot_be_kept_is_concluded_at_every_start(shelf: Shelf, value: object):
    shelf.write("c/a.md")
    settle(shelf.folder)
    for _ in range(2):
        shelf.index = shelf.fresh()
        assert shelf.index.conclude("test", [shelf.root("c")], list, lambda _: [value]) == [value]


def test_places_that_are_not_text_are_looked_at_every_time(shelf: Shelf):
    odd = os.fsdecode(b"odd-\xff")
    shelf.write(f"{odd}/a.md")
    for _ in range(2):
        assert shelf.ask(shelf.root(odd)) == ["a.md Does it"]
    assert shelf.drawn == 2


def test_what_is_kept_and_damaged_is_concluded_anew(tmp_path: Path):
    file = tmp_path / "skills" / "a" / "SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("---\ndescription: Does it\n---\nBody")
    settle(tmp_path)
    folder = tmp_path / "home" / "bridle" / "index"
    root = Root(kind="skills", path=str(tmp_path / "skills"), source="user")
    assert SkillCatalog(Index(str(folder)), lambda: (root,)).all()["a"].description == "Does it"
    kept = sorted(folder.iterdir())
    assert len(kept) == 2
    damaged = [each.read_bytes().replace(b"Does", b"\xff\xfe\xff\xfe") for each in kept]
    for texts in (damaged, [b"\x91" * 200_000] * 2):
        for each, text in zip(kept, texts, strict=True):
            each.write_bytes(text)
        assert SkillCatalog(Index(str(folder)), lambda: (root,)).all()["a"].description == "Does it"

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.extensions.stamps import Stamps, merged, settled, stamps_of
from tests.fakes.file_clock import settle


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / "file").write_text("one")
    (tmp_path / "second").write_text("x")
    settle(tmp_path)
    return tmp_path


def _stamped(place: Path) -> Stamps:
    return stamps_of(map(str, (place / "file", place / "inner", place / "inner" / "deep" / "missing")))


def test_what_is_as_it_was_holds(place: Path):
    assert _stamped(place).hold()


CHANGES: dict[str, Callable[[Path], object]] = {
    "changed": lambda place: (place / "file").write_text("other"),
    "removed": lambda place: (place / "file").unlink(),
    "come": lambda place: (place / "inner" / "new").write_text(""),
    "on the way to a missing one": lambda place: (place / "inner" / "deep").mkdir(),
    "folder gone": lambda place: (place / "inner").rmdir(),
}


@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_told(place: Path, change: str):
    stamped = _stamped(place)
    CHANGES[change](place)
    assert not stamped.hold()


def test_a_link_to_nowhere_is_never_believed(place: Path):
    (place / "link").symlink_to(place / "later")
    assert not stamps_of([str(place / "link")]).hold()


def test_what_was_absent_and_has_come_is_told(place: Path):
    absent = Stamps(absent=(str(place / "other"),))
    assert absent.hold()
    (place / "other").touch()
    assert not absent.hold()


def test_paths_may_be_below_a_folder(place: Path):
    stamped = _stamped(place).relative(str(place))
    assert set(stamped.changed) == {"file", "inner"}
    assert stamped.hold(str(place))
    assert not stamped.hold(str(place / "inner"))
    assert not stamped.hold(str(place / "nowhere"))


def test_stamps_of_several_count_together(place: Path):
    both = merged((stamps_of([str(place / "file")]), stamps_of([str(place / "second")])))
    assert both.hold()
    (place / "second").write_text("xy")
    assert not both.hold()


def test_what_has_just_changed_is_not_believed_yet(place: Path):
    now = time.time_ns()
    assert (settled(now), settled(now - 10**9)) == (0, now - 10**9)
    new = Stamps({str(place / "file"): 0})
    assert not new.hold()
    assert not new.are_settled()

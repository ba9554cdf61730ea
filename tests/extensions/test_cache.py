import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bridle.extensions.cache import ExtensionCache, Inputs, Stamps, merged, settled, stamps_of
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


def test_value_is_read_by_its_name_and_key(tmp_path: Path):
    cache = ExtensionCache(str(tmp_path / "home" / "bridle" / "index"))
    cache.write("numbers", b"here", {"a": 1})
    assert ExtensionCache(str(tmp_path / "home" / "bridle" / "index")).read(
        "numbers", b"here", dict[str, int]
    ) == {"a": 1}
    assert cache.read("numbers", b"there", dict[str, int]) is None
    assert cache.read("others", b"here", dict[str, int]) is None
    assert cache.read("numbers", b"here", list[str]) is None
    cache.forget("numbers", b"here")
    assert cache.read("numbers", b"here", dict[str, int]) is None


def test_value_with_stamps_counts_until_a_file_changes(place: Path):
    cache = ExtensionCache(str(place / "home" / "bridle" / "index"))
    before, later = stamps_of([str(place / "file")]), stamps_of([str(place / "second")])
    kept = cache.keep("said", b"", Inputs(before, later), "one")
    recalled = cache.recall("said", b"", str)
    assert recalled is not None and recalled.value == "one" and recalled.holds() and kept.holds()
    (place / "second").write_text("other")
    assert not recalled.holds() and not kept.holds() and cache.recall("said", b"", str) is not None
    (place / "file").write_text("other")
    assert cache.recall("said", b"", str) is None


def test_value_of_a_file_that_is_too_new_is_not_cached(place: Path):
    cache = ExtensionCache(str(place / "home" / "bridle" / "index"))
    cache.keep("said", b"", Inputs(Stamps({str(place / "file"): 0})), "one")
    assert cache.recall("said", b"", str) is None


@pytest.mark.parametrize("damage", [b"", b"\x00", b"broken", b"\x93\xa3old\xc4\x00\x01"])
def test_damaged_file_of_the_cache_is_no_value(tmp_path: Path, damage: bytes):
    cache = ExtensionCache(str(tmp_path / "home" / "bridle" / "index"))
    cache.write("numbers", b"", {"a": 1})
    (file,) = (tmp_path / "home" / "bridle" / "index").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(damage)
    assert cache.read("numbers", b"", dict[str, int]) is None

import io
import os
import tarfile
import zipfile
from pathlib import Path

import pytest

from bridle.extensions.plugins.folder_copies import Bounds, copy_tree, tree_digest, unpack
from bridle.types.errors import ConfigError
from tests.fakes.plugins import tarball


def member(name: str, kind: bytes = tarfile.REGTYPE, **facts: object) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    for key, value in facts.items():
        setattr(info, key, value)
    return info


def zipped(files: dict[str, bytes], *, mode: int = 0) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def test_an_archive_is_unpacked_without_the_folder_around_it(tmp_path: Path):
    unpack(tarball({"package/a.txt": b"a", "package/b/c.txt": b"c"}), str(tmp_path / "t"), name="x")

    assert sorted(str(p.relative_to(tmp_path / "t")) for p in (tmp_path / "t").rglob("*.txt")) == [
        "a.txt",
        "b/c.txt",
    ]


@pytest.mark.parametrize(
    "data",
    [
        tarball({"../evil": b"x"}),
        tarball({"/etc/evil": b"x"}),
        tarball({"a/../../evil": b"x"}),
        tarball({"a\\..\\evil": b"x"}),
        tarball({"l": member("l", tarfile.SYMTYPE, linkname="/etc/passwd")}),
        tarball({"l": member("l", tarfile.LNKTYPE, linkname="a")}),
        tarball({"d": member("d", tarfile.CHRTYPE, devmajor=1, devminor=3)}),
        tarball({"f": member("f", tarfile.FIFOTYPE)}),
        tarball({"Read.md": b"x", "README.md": b"", "readme.MD": b"y"}),
        tarball({"dir/a": b"x", "DIR/b": b"y"}),
        tarball({"/".join(["d"] * 60): b"x"}),
        zipped({"../evil": b"x"}),
        zipped({"link": b"/etc/passwd"}, mode=0o120777),
        b"not an archive",
        tarball({"a": b"x" * 5000})[:60],
        b"\xfd7zXZ\0" + b"\xff" * 60,
        zipped({"\u00e9": b"x"}).replace("\u00e9".encode(), b"\xff\xff"),
        zipped({"a": b"x"})[7:],
        zipped({"a": b"x"}).replace(b"a", b"\0"),
    ],
    # An archive says when it was made, so its bytes would be another name each second.
    ids=(
        "up",
        "absolute",
        "up-inside",
        "backslashes",
        "symlink",
        "hardlink",
        "device",
        "pipe",
        "same-file-names",
        "same-folder-names",
        "deep",
        "zip-up",
        "zip-link",
        "no-archive",
        "cut-off",
        "broken-xz",
        "zip-name-that-is-no-text",
        "zip-without-its-beginning",
        "zip-empty-name",
    ),
)
def test_a_hostile_or_broken_archive_is_refused_and_nothing_lands_outside(tmp_path: Path, data: bytes):
    (tmp_path / "in").mkdir()

    with pytest.raises(ConfigError):
        unpack(data, str(tmp_path / "in" / "t"), name="x")

    assert [path.name for path in tmp_path.iterdir()] == ["in"]
    assert {path.name for path in (tmp_path / "in").iterdir()} <= {"t"}


def test_bombs_are_refused_by_size_count_and_ratio(tmp_path: Path):
    zeros = b"\0" * (4 << 20)
    for number, (data, bounds) in enumerate(
        [
            (tarball({"a": zeros}), Bounds(size=1 << 20)),
            (zipped({"a": zeros}), Bounds(size=1 << 20)),
            (tarball({"a": zeros}), Bounds(ratio=1)),
            (tarball({str(n): b"" for n in range(50)}), Bounds(entries=10)),
            (tarball({"pax": member("x", tarfile.XHDTYPE, size=4 << 20)}), Bounds(size=1 << 10, entries=10)),
        ]
    ):
        with pytest.raises(ConfigError):
            unpack(data, str(tmp_path / str(number)), name="x", bounds=bounds)


def test_special_bits_are_dropped_and_programs_stay_programs(tmp_path: Path):
    unpack(
        tarball({"s": member("s", mode=0o6755), "p": member("p", mode=0o600)}), str(tmp_path / "t"), name="x"
    )

    assert os.stat(tmp_path / "t" / "s").st_mode & 0o7777 == 0o755 & ~_umask()
    assert os.stat(tmp_path / "t" / "p").st_mode & 0o7777 == 0o644 & ~_umask()


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_links_become_copies_inside_and_are_refused_outside(tmp_path: Path):
    source = tmp_path / "s"
    (source / "shared").mkdir(parents=True)
    (source / "shared" / "a.md").write_text("a")
    (source / "plugin").mkdir()
    (source / "plugin" / "docs").symlink_to("../shared")
    copy_tree(str(source / "plugin"), str(tmp_path / "t"), inside=str(source))
    assert (tmp_path / "t" / "docs" / "a.md").read_text() == "a"
    assert not (tmp_path / "t" / "docs").is_symlink()

    (source / "plugin" / "out").symlink_to(tmp_path)
    with pytest.raises(ConfigError):
        copy_tree(str(source / "plugin"), str(tmp_path / "u"), inside=str(source))


def test_pipes_and_circles_are_refused_and_version_control_is_left_away(tmp_path: Path):
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "x").write_text("x")
    copy_tree(str(tmp_path / "a"), str(tmp_path / "t"))
    assert os.listdir(tmp_path / "t") == ["x"]

    (tmp_path / "b").mkdir()
    os.mkfifo(tmp_path / "b" / "pipe")
    with pytest.raises(ConfigError):
        copy_tree(str(tmp_path / "b"), str(tmp_path / "u"))
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "again").symlink_to(".")
    with pytest.raises(ConfigError):
        copy_tree(str(tmp_path / "c"), str(tmp_path / "v"))


def test_the_digest_follows_content_names_and_modes(tmp_path: Path):
    (tmp_path / "a").write_text("x")
    first = tree_digest(str(tmp_path))
    os.chmod(tmp_path / "a", 0o755)
    second = tree_digest(str(tmp_path))
    (tmp_path / "a").write_text("y")

    assert len({first, second, tree_digest(str(tmp_path))}) == 3

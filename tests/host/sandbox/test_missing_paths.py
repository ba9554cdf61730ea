import os
import stat
from pathlib import Path

from bridle.host.sandbox.guards import Guard, deep_in, guards_in
from bridle.host.sandbox.missing_paths import MissingPaths


def _guards(root: Path) -> tuple[Guard, ...]:
    return guards_in(str(root), never=(), deep=deep_in(str(root)))


def _root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    root.mkdir()
    return root


def test_places_are_kept_and_given_back(tmp_path: Path):
    root = _root(tmp_path)
    stand_ins = MissingPaths(str(tmp_path / "registry"))
    stand_ins.place(str(root), _guards(root))
    assert stat.S_ISSOCK(os.lstat(root / ".mcp.json").st_mode)
    assert (root / ".git").is_dir()
    stand_ins.remove()
    assert os.listdir(root) == []


def test_last_session_takes_them_away(tmp_path: Path):
    root = _root(tmp_path)
    first, second = MissingPaths(str(tmp_path / "registry")), MissingPaths(str(tmp_path / "registry"))
    first.place(str(root), _guards(root))
    second.place(str(root), _guards(root))
    first.remove()
    assert (root / ".git").is_dir()
    second.remove()
    assert os.listdir(root) == []


def test_what_a_killed_session_left_is_taken_away_by_the_next(tmp_path: Path):
    root = _root(tmp_path)
    killed = MissingPaths(str(tmp_path / "registry"))
    killed.place(str(root), _guards(root))
    for lock in killed._locks.values():
        os.close(lock)
    later = MissingPaths(str(tmp_path / "registry"))
    later.place(str(root), _guards(root))
    later.remove()
    assert os.listdir(root) == []


def test_what_somebody_made_meanwhile_stays(tmp_path: Path):
    root = _root(tmp_path)
    stand_ins = MissingPaths(str(tmp_path / "registry"))
    stand_ins.place(str(root), _guards(root))
    (root / ".vscode/settings.json").write_text("{}")
    (root / ".mcp.json").unlink()
    (root / ".mcp.json").write_text("{}")
    stand_ins.remove()
    assert sorted(os.listdir(root)) == [".mcp.json", ".vscode"]


def test_what_exists_is_found_at_depth_and_in_any_letter_case(tmp_path: Path):
    root = _root(tmp_path)
    for name in ("a/b/.git", ".Claude", "a/.config/git", "node_modules/x/.git"):
        (root / name).mkdir(parents=True)
    (root / "a/.NPMRC").write_text("")
    (root / "a/ordinary").write_text("")
    found = {path.removeprefix(f"{root}/") for path in deep_in(str(root))}
    assert found == {"a/b/.git", ".Claude", "a/.config/git", "a/.NPMRC"}


def test_stand_in_counts_as_missing_and_links_as_links(tmp_path: Path):
    root = _root(tmp_path)
    os.mknod(root / ".npmrc", stat.S_IFSOCK | 0o600)
    (root / ".bashrc").symlink_to("/nowhere")
    by_path = {guard.path: guard for guard in _guards(root)}
    assert not by_path[str(root / ".npmrc")].present
    assert by_path[str(root / ".bashrc")].link

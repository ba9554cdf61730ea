import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.host.editors import find_editors


def _lock(home: Path, port: str = "4711", **changed: Any) -> Path:
    told: dict[str, Any] = {
        "pid": os.getpid(),
        "workspaceFolders": [str(home.parent)],
        "ideName": "Neovim",
        "transport": "ws",
        "authToken": "secret",
        **changed,
    }
    path = home / "ide" / f"{port}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(told), encoding="utf-8")
    return path


def _found(home: Path, cwd: Path | None = None, **env: str) -> list[tuple[str, str, bool]]:
    editors = find_editors({"CLAUDE_CONFIG_DIR": str(home), **env}, str(cwd or home.parent))
    return [(each.name, each.url, each.fits) for each in editors]


def test_editor_is_found_by_the_file_it_leaves(tmp_path: Path):
    home = tmp_path / "home"
    _lock(home)
    (editor,) = find_editors({"CLAUDE_CONFIG_DIR": str(home)}, str(tmp_path))
    assert (editor.name, editor.url, editor.token) == ("Neovim", "ws://127.0.0.1:4711", "secret")
    assert editor.folders == (str(tmp_path),)


def test_no_folder_of_editors_is_no_editors(tmp_path: Path):
    assert _found(tmp_path / "home") == []


def test_older_transport_has_an_address_of_its_own(tmp_path: Path):
    _lock(tmp_path / "home", transport="sse")
    assert _found(tmp_path / "home") == [("Neovim", "http://127.0.0.1:4711/sse", True)]


def test_editor_whose_process_is_gone_is_dropped_and_its_file_stays(tmp_path: Path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    path = _lock(tmp_path / "home", pid=ended.pid)
    assert _found(tmp_path / "home") == [] and path.exists()


def test_editor_that_nobody_has_collected_yet_counts_as_gone(tmp_path: Path):
    with subprocess.Popen(["true"], stdout=subprocess.PIPE) as ended:
        assert ended.stdout is not None and ended.stdout.read() == b""
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        _lock(tmp_path / "home", pid=ended.pid)
        assert _found(tmp_path / "home") == []


def test_editors_with_the_folder_open_come_first_and_others_do_not_fit(tmp_path: Path):
    home, inside = tmp_path / "home", tmp_path / "project" / "deep"
    inside.mkdir(parents=True)
    _lock(home, "1001", ideName="A", workspaceFolders=[str(tmp_path / "proj")])
    _lock(home, "1002", ideName="B", workspaceFolders=[str(tmp_path / "project")])
    assert _found(home, inside) == [
        ("B", "ws://127.0.0.1:1002", True),
        ("A", "ws://127.0.0.1:1001", False),
    ]
    checked = _found(home, inside, CLAUDE_CODE_IDE_SKIP_VALID_CHECK="1")
    assert [fits for _, _, fits in checked] == [True, True]


def test_folder_behind_a_link_is_the_folder(tmp_path: Path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    _lock(tmp_path / "home", workspaceFolders=[str(tmp_path / "link")])
    assert [fits for _, _, fits in _found(tmp_path / "home", tmp_path / "real")] == [True]


def test_host_of_the_user_counts_and_processes_behind_it_are_not_looked_at(tmp_path: Path):
    _lock(tmp_path / "home", pid=2**30, host="elsewhere.example")
    override = {"CLAUDE_CODE_IDE_HOST_OVERRIDE": "host.docker.internal"}
    assert _found(tmp_path / "home", None, **override) == [("Neovim", "ws://host.docker.internal:4711", True)]
    assert _found(tmp_path / "home", CLAUDE_CODE_IDE_HOST_OVERRIDE="fe80::1")[0][1] == "ws://[fe80::1]:4711"
    assert _found(tmp_path / "home", CLAUDE_CODE_IDE_HOST_OVERRIDE="a/b@c") == []


def test_folder_of_windows_is_known_by_its_name_beside_it(tmp_path: Path):
    _lock(tmp_path / "home", pid=2**30, runningInWindows=True, workspaceFolders=["C:\\Users\\me\\code"])
    (editor,) = find_editors({"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}, "/mnt/c/Users/me/code/x")
    assert editor.folders == ("/mnt/c/Users/me/code",) and editor.fits


@pytest.mark.parametrize(
    "changed",
    [
        {"host": "evil.example"},
        {"authToken": "a\r\nX-Other: b"},
        {"authToken": "a b"},
        {"authToken": "x" * 501},
        {"pid": 0},
        {"pid": -1},
        {"pid": 2**40},
        {"pid": None},
        {"pid": "1"},
        {"workspaceFolders": "all"},
        {"ideName": 7},
        {"filler": "x" * 70_000},
    ],
)
def test_file_that_is_not_to_be_believed_is_refused(tmp_path: Path, changed: dict[str, Any]):
    _lock(tmp_path / "home", **changed)
    assert _found(tmp_path / "home") == []


@pytest.mark.parametrize("name", ["0", "70000", "port", "../4711", "12345678"])
def test_file_whose_name_is_no_port_is_not_looked_at(tmp_path: Path, name: str):
    _lock(tmp_path / "home", name.replace("/", "_"))
    assert _found(tmp_path / "home") == []


def test_links_and_special_files_and_files_that_others_may_write_are_refused(tmp_path: Path):
    home = tmp_path / "home"
    real = _lock(home)
    (home / "ide" / "1001.lock").symlink_to(real)
    os.mkfifo(home / "ide" / "1002.lock")
    (home / "ide" / "1003.lock").mkdir()
    _lock(home, "1004").chmod(0o666)
    assert [url for _, url, _ in _found(home)] == ["ws://127.0.0.1:4711"]


def test_name_is_shown_without_what_could_mislead(tmp_path: Path):
    _lock(tmp_path / "home", ideName="Neo\x1b[31mvim\n\u202e" + "x" * 100)
    ((name, _, _),) = _found(tmp_path / "home")
    assert name.startswith("Neo[31mvimxxx") and len(name) == 60


@given(st.binary(max_size=300))
def test_whatever_a_file_holds_nothing_breaks(tmp_path_factory: pytest.TempPathFactory, data: bytes):
    home = tmp_path_factory.mktemp("home")
    (home / "ide").mkdir()
    (home / "ide" / "4711.lock").write_bytes(data)
    assert _found(home) == []

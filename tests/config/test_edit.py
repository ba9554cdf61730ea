import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bridle.config.edit import remove_value, set_value, update
from bridle.types.errors import ConfigError
from tests.fakes.program import Program


def test_setting_a_value_keeps_everything_else_in_its_place(tmp_path: Path):
    """R14"""
    path = tmp_path / "settings.json"
    path.write_text('{\n    "zeta": {"unknown": [1, 2.5, null]},\n    "model": "a",\n    "alpha": "ü"\n}\n')
    set_value(str(path), ("model",), "b")
    set_value(str(path), ("permissions", "allow"), ["Read"])
    text = path.read_text()
    assert json.loads(text) == {
        "zeta": {"unknown": [1, 2.5, None]},
        "model": "b",
        "alpha": "ü",
        "permissions": {"allow": ["Read"]},
    }
    assert list(json.loads(text)) == ["zeta", "model", "alpha", "permissions"]
    assert text.startswith('{\n    "zeta": {\n        "unknown"')
    assert "ü" in text and text.endswith("}\n")


def test_removing_a_value_keeps_its_neighbors(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"env": {"A": "1", "B": "2"}, "model": "x"}')
    remove_value(str(path), ("env", "A"))
    remove_value(str(path), ("missing", "key"))
    remove_value(str(path), ("model", "below"))
    assert json.loads(path.read_text()) == {"env": {"B": "2"}, "model": "x"}
    remove_value(str(tmp_path / "none.json"), ("a",))
    assert not (tmp_path / "none.json").exists()


def test_a_new_file_and_its_folder_are_made(tmp_path: Path):
    path = tmp_path / "home" / ".claude" / "settings.json"
    set_value(str(path), ("env", "A"), "1", mode=0o600)
    assert path.read_text() == '{\n  "env": {\n    "A": "1"\n  }\n}\n'
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b'{\r\n\t"a": 1\r\n}\r\n', b'{\r\n\t"a": 1,\r\n\t"b": 2\r\n}\r\n'),
        (b'\xef\xbb\xbf{\n "a": 1\n}', b'\xef\xbb\xbf{\n "a": 1,\n "b": 2\n}'),
        (b"", b'{\n  "b": 2\n}\n'),
    ],
)
def test_line_ends_marks_and_indentation_stay(tmp_path: Path, before: bytes, after: bytes):
    path = tmp_path / "settings.json"
    path.write_bytes(before)
    set_value(str(path), ("b",), 2)
    assert path.read_bytes() == after


def test_mode_and_links_stay(tmp_path: Path):
    """S35"""
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    real.chmod(0o640)
    link = tmp_path / "settings.json"
    link.symlink_to(real)
    set_value(str(link), ("a",), 1)
    assert link.is_symlink()
    assert (json.loads(real.read_text()), stat.S_IMODE(real.stat().st_mode)) == ({"a": 1}, 0o640)


def test_a_file_that_does_not_parse_is_not_written_over(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{\n  "a": 1,\n}\n')
    with pytest.raises(ConfigError) as caught:
        set_value(str(path), ("b",), 2)
    assert re.search(f"{re.escape(str(path))}:(3:1|2:9): ", str(caught.value))
    assert path.read_text() == '{\n  "a": 1,\n}\n'


def test_a_value_cannot_be_set_below_something_that_is_no_object(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"permissions": ["x"]}')
    with pytest.raises(ConfigError):
        set_value(str(path), ("permissions", "allow"), ["Read"])
    assert path.read_text() == '{"permissions": ["x"]}'


def test_a_change_that_changes_nothing_does_not_touch_the_file(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"a":1}')
    before = path.stat()
    set_value(str(path), ("a",), 1)
    assert path.read_text() == '{"a":1}'
    assert path.stat().st_ino == before.st_ino


def test_an_error_in_the_change_leaves_the_file_and_lets_go_of_it(tmp_path: Path):
    path = tmp_path / "settings.json"
    path.write_text('{"a": 1}')

    def fail(values: dict[str, Any]) -> dict[str, Any]:
        raise KeyError("b")

    with pytest.raises(KeyError):
        update(str(path), fail)
    set_value(str(path), ("c",), 3)
    assert json.loads(path.read_text()) == {"a": 1, "c": 3}
    assert os.listdir(tmp_path) == ["settings.json"]


_WRITER = """
import sys
from bridle.config.edit import set_value, update

path, name = sys.argv[1], sys.argv[2]
for number in range(25):
    set_value(path, ("env", f"{name}-{number}"), "x")
    update(path, lambda values: {**values, "count": values.get("count", 0) + 1})
"""


def test_eight_processes_that_edit_at_once_lose_nothing(tmp_path: Path):
    """R9"""
    path = tmp_path / "settings.json"
    writers = [subprocess.Popen([sys.executable, "-c", _WRITER, str(path), str(name)]) for name in range(8)]
    assert [writer.wait() for writer in writers] == [0] * 8
    values = json.loads(path.read_text())
    assert values["count"] == 200
    assert values["env"] == {f"{name}-{number}": "x" for name in range(8) for number in range(25)}
    assert os.listdir(tmp_path) == ["settings.json"]


def test_what_another_release_wrote_survives_an_edit(tmp_path: Path):
    path = tmp_path / "settings.json"
    text = """{
  "$schema": "https://example.org/settings.json",
  "futureSwitch": {"deep": [1, {"deeper": null}], "big": 123456789012345678901234567890, "half": 0.5},
  "permissions": {"allow": ["Bash(ls)"], "futureRules": ["x"], "defaultMode": "futureMode"},
  "sandbox": {"network": {"futureKey": true}},
  "voiceEnabled": "a type of another release",
  "model": "opus"
}
"""
    path.write_text(text)
    set_value(str(path), ("model",), "sonnet")
    set_value(str(path), ("permissions", "deny"), ["Bash(rm *)"])
    remove_value(str(path), ("permissions", "deny"))
    assert json.loads(path.read_text()) == json.loads(text) | {"model": "sonnet"}
    assert "123456789012345678901234567890" in path.read_text()


async def test_verbs_keep_what_another_release_wrote(tmp_path: Path):
    program = Program(tmp_path)
    path = Path(program.env["CLAUDE_CONFIG_DIR"]) / "settings.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text('{"futureSwitch": {"a": [1]}, "worktree": {"futureKey": 1}}')
    done = await program.run("config", "set", "worktree.baseRef", "head", "--scope", "user")
    assert done.code == 0, done.err
    assert json.loads(path.read_text()) == {
        "futureSwitch": {"a": [1]},
        "worktree": {"futureKey": 1, "baseRef": "head"},
    }

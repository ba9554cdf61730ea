from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bridle.frontends.tui.editing.external_editor import edit_outside, editor_command
from bridle.types.errors import BridleError

_PATH = {"PATH": "/usr/bin:/bin"}


class _Lender:
    """Notes whether the terminal was away while the editor ran."""

    def __init__(self) -> None:
        self.log: list[str] = []

    @contextmanager
    def lent(self) -> Generator[None]:
        self.log.append("lent")
        yield
        self.log.append("back")


def _script(tmp_path: Path, body: str) -> str:
    path = tmp_path / "my editor"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return f"'{path}' --flag"


async def test_the_text_comes_back_as_the_editor_left_it(tmp_path: Path):
    lender = _Lender()
    editor = _script(
        tmp_path, '[ "$1" = --flag ] && cat "$2" > "$2.new" && echo " more" >> "$2.new" && mv "$2.new" "$2"'
    )
    text = await edit_outside("draft é", env={**_PATH, "EDITOR": editor}, lent=lender.lent())
    assert text == "draft é more"
    assert lender.log == ["lent", "back"]


async def test_an_editor_that_fails_changes_nothing(tmp_path: Path):
    with pytest.raises(BridleError):
        await edit_outside("x", env={**_PATH, "EDITOR": _script(tmp_path, "exit 1")}, lent=_Lender().lent())
    with pytest.raises(BridleError):
        await edit_outside("x", env={**_PATH, "EDITOR": "/no/such/editor"}, lent=_Lender().lent())


def test_the_users_choice_comes_first_and_windows_are_waited_for(tmp_path: Path):
    for name in ("vim", "nano", "code"):
        (tmp_path / name).write_text("#!/bin/sh\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    path = {"PATH": f"relative:{tmp_path}"}
    assert editor_command({"VISUAL": "vim -n", "EDITOR": "nano", **path}) == [f"{tmp_path}/vim", "-n"]
    assert editor_command({"EDITOR": "code", **path}) == [f"{tmp_path}/code", "--wait"]
    assert editor_command({"EDITOR": "code --wait", **path}) == [f"{tmp_path}/code", "--wait"]
    assert editor_command({"EDITOR": "/opt/code", **path}) == ["/opt/code", "--wait"]


def test_no_editor_is_said(tmp_path: Path):
    with pytest.raises(BridleError):
        editor_command({"PATH": str(tmp_path)})
    with pytest.raises(BridleError):
        editor_command({"EDITOR": "'unclosed"})

from pathlib import Path

import pytest

from bridle.commands.editors import complete
from bridle.types.command import Shows
from bridle.types.errors import UsageError
from tests.fakes.commanded import Commanded
from tests.fakes.editor import FakeEditor


async def test_editors_are_completed_by_name_or_where_that_is_not_enough_by_port(tmp_path: Path):
    commanded = Commanded(tmp_path)
    async with (
        FakeEditor(commanded.home, commanded.project, name="Emacs"),
        FakeEditor(commanded.home, commanded.project) as one,
        FakeEditor(commanded.home, commanded.project) as other,
    ):
        assert set(complete(commanded.context)) == {"Emacs", str(one.port), str(other.port)}


async def test_editors_are_listed_with_what_can_be_done(tmp_path: Path):
    commanded = Commanded(tmp_path)
    shown = await commanded.run("/ide")
    assert isinstance(shown, Shows) and shown.view == "ide" and "bridle docs editors" in shown.text
    async with FakeEditor(commanded.home, tmp_path / "other") as editor:
        shown = await commanded.run("/ide")
        assert isinstance(shown, Shows)
        assert shown.text.startswith(f"- Neovim ({editor.port}): in another folder: {tmp_path}/other\n")


@pytest.mark.parametrize("line", ["/ide off", "/ide open a.py", "/ide neovim"])
async def test_session_without_a_place_for_an_editor_says_how_to_get_one(tmp_path: Path, line: str):
    with pytest.raises(UsageError, match="--ide"):
        await Commanded(tmp_path).run(line)

from typing import Any

from bridle.features.editors.connector import EditorRow
from bridle.frontends.tui.screens.extensions.editors import LinkEditor, UnlinkEditor, editors_view
from bridle.host.editors import Editor
from tests.frontends.tui.screens.showing import Showing, assert_screens

_ROWS = (
    EditorRow(editor=Editor(name="Neovim", port=4711, folders=("/proj",), transport="ws"), state="connected"),
    EditorRow(
        editor=Editor(name="VS Code", port=4712, folders=("/proj", "/lib"), transport="ws"),
        state="waiting",
        problem="VS Code answered with status 401.",
    ),
    EditorRow(editor=Editor(name="Emacs", port=4713, folders=("/other",), transport="ws", fits=False)),
)


def test_editors_are_shown_with_their_folders():
    assert_screens("editors", editors_view(_ROWS))


def test_enter_links_to_an_editor_and_d_ends_the_link():
    asked: list[Any] = []
    Showing(editors_view(_ROWS, do=asked.append)).press("d", "down", "enter", "down", "enter", "d")
    assert asked == [UnlinkEditor(), LinkEditor(4712), LinkEditor(4713)]


def test_no_editor_is_told_with_a_way_out():
    assert "/docs editors" in Showing(editors_view(())).text

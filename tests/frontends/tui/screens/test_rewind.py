from typing import Any

from bridle.frontends.tui.screens.conversation.rewind import Measure, Rewind, RewindPoint, RewindView
from bridle.types.services.checkpoints import Rewound
from tests.frontends.tui.screens.showing import Showing, assert_screens

_NOW = 1_800_000_000.0
_POINTS = [
    RewindPoint(uuid="a", text="write a parser", time=_NOW - 7200),
    RewindPoint(uuid="b", text="now test it\nwith pytest", time=_NOW - 600),
    RewindPoint(uuid="c", text="and document it", time=_NOW - 30),
]
_CHANGES = {
    "a": Rewound(
        files_changed=("/app/parser.py", "/app/test_parser.py"), insertions=3, deletions=120,
        skipped_links=("/app/link",),
    ),
    "b": Rewound(),
    "c": None,
}  # fmt: skip


def _view(asked: list[Any] | None = None, **options: Any) -> RewindView:
    return RewindView(_POINTS, now=_NOW, do=([] if asked is None else asked).append, **options)


def test_screens():
    assert_screens("rewind", _view(changes=_CHANGES))
    shown = Showing(_view(changes=_CHANGES)).press("up", "up", "enter")
    assert_screens("rewind-choices", shown.view)


def test_the_newest_prompt_is_selected_and_only_it_is_measured():
    asked: list[Any] = []
    shown = Showing(_view(asked))
    assert shown.selected.startswith("and document it")
    assert asked == [Measure("c")]
    shown.press("up")
    assert asked == [Measure("c"), Measure("b")]


def test_files_and_conversation_are_restored_together_or_apart():
    def view() -> Showing:
        return Showing(_view(changes=_CHANGES)).press("shift+up", "enter")

    assert view().press("enter").value == Rewind(uuid="a", what="both")
    assert view().press("down", "enter").value == Rewind(uuid="a", what="conversation")
    assert view().press("down", "down", "enter").value == Rewind(uuid="a", what="code")


def test_without_changed_files_only_the_conversation_is_offered():
    shown = Showing(_view(changes=_CHANGES)).press("enter")
    assert "no file versions were saved" in shown.text
    assert "restore the files" not in shown.text
    assert shown.press("enter").value == Rewind(uuid="c", what="conversation")


def test_a_summary_takes_a_word_on_what_to_keep():
    shown = (
        Showing(_view(changes=_CHANGES)).press("enter", "down", "enter").type("keep the plan").press("enter")
    )
    assert shown.value == Rewind(uuid="c", what="summarize_from", instructions="keep the plan")
    shown = Showing(_view(changes=_CHANGES)).press("enter", "down", "down", "enter", "enter")
    assert shown.value == Rewind(uuid="c", what="summarize_up_to")


def test_choices_appear_when_the_files_have_been_looked_at():
    view = _view()
    shown = Showing(view).press("enter")
    assert "checking the files" in shown.text
    view.measured("c", Rewound(files_changed=("/x",), insertions=1))
    assert "restore the files and the conversation" in shown.text
    assert "1 file changed since: +0 −1" in shown.text


def test_escape_goes_one_step_back_each_time():
    shown = Showing(_view(changes=_CHANGES)).press("enter", "down", "enter", "escape", "escape")
    assert shown.selected.startswith("and document it")
    assert shown.press("escape").value is None


def test_links_that_would_be_left_alone_are_named():
    shown = Showing(_view(changes=_CHANGES)).press("K", "enter")
    assert "skipped, now a link: /app/link" in shown.text


def test_nothing_to_go_back_to_is_said():
    shown = Showing(RewindView([], now=_NOW)).press("enter", "up", "down")
    assert "no prompts yet" in shown.text
    assert shown.press("escape").value is None

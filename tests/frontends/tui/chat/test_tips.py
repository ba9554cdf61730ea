"""Tips: those that fit, the one shown longest ago, and none too often."""

from pathlib import Path

from bridle.frontends.tui.chat.tips import TIPS, TipFacts, TipPicker

FACTS = TipFacts()


def test_each_session_shows_other_tips_until_they_have_rested(tmp_path: Path):
    shown = [TipPicker(str(tmp_path)).next(FACTS) for _ in range(10)]
    assert len({*shown}) == 10
    one = TipPicker(str(tmp_path))
    rest = list(iter(lambda: one.next(FACTS), ""))
    assert not {*rest} & {*shown[1:]} and {*rest, *shown} < {*TIPS}


def test_a_tip_is_shown_where_it_is_of_use(tmp_path: Path):
    def first(facts: TipFacts, folder: str) -> str:
        return TipPicker(str(tmp_path / folder)).next(facts)

    assert "/init" in first(TipFacts(has_instructions=False), "a")
    assert "ctrl+b" in first(TipFacts(runs_command=True), "b")
    picker = TipPicker(str(tmp_path / "planning"))
    everything = list(iter(lambda: picker.next(TipFacts(is_planning=True)), ""))
    assert not [text for text in everything if "plan mode" in text or "/diff" in text or "/init" in text]


def test_own_tips_take_turns_and_can_stand_alone(tmp_path: Path):
    alone = TipPicker(str(tmp_path), own=("a", "b"), exclude_default=True)
    assert [alone.next(FACTS) for _ in range(5)] == ["a", "b", "a", "b", "a"]
    both = TipPicker(str(tmp_path / "x"), own=("a",))
    assert both.next(FACTS) == "a" and both.next(FACTS) in TIPS


def test_a_file_that_cannot_be_used_costs_the_memory_only(tmp_path: Path):
    (tmp_path / "tips.json").write_text("[nonsense")
    assert TipPicker(str(tmp_path)).next(FACTS) in TIPS
    (tmp_path / "file").write_text("")
    assert TipPicker(str(tmp_path / "file")).next(FACTS) in TIPS

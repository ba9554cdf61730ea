from pathlib import Path
from typing import Any

from bridle.engine.calls.results import ResultBudget
from bridle.types.block import text_block
from bridle.types.tool import ToolOutput


def _fit(
    budget: ResultBudget, content: Any, folder: Path, call_id: str, limit: int | None, **more: bool
) -> Any:
    output = ToolOutput(content=content, data=None)
    return budget.fit(output, limit=limit, call_id=call_id, storage=str(folder), **more).content


def test_results_of_commands_count_against_the_room_of_a_message(tmp_path: Path):
    budget = ResultBudget(60_000)
    shown = [_fit(budget, "x" * 25_000, tmp_path, f"c{n}", None, may_move=True) for n in range(4)]

    assert [len(each) == 25_000 for each in shown] == [True, True, False, False]
    assert (tmp_path / "tool-results" / "c3.txt").read_text() == "x" * 25_000


def test_what_must_be_shown_whole_stays(tmp_path: Path):
    assert len(_fit(ResultBudget(10), "x" * 5_000, tmp_path, "c", None)) == 5_000


def test_a_preview_is_not_saved_again(tmp_path: Path):
    preview = "<persisted-output>\nThe output has 9 characters …\n</persisted-output>"
    for content in (preview, [text_block(preview)]):
        assert _fit(ResultBudget(10), content, tmp_path, "c", 10) == content
    assert not (tmp_path / "tool-results").exists()

from pathlib import Path

import pytest

from bridle.extensions.listing import budget_of, cost_of, line_of, list_skills
from bridle.extensions.skills import Skill
from bridle.extensions.usage import SkillUsage


def skill(name: str, description: str = "Does something useful", source: str = "user") -> Skill:
    assert source in ("user", "bundled")
    return Skill(name=name, values={"description": description}, source=source, body="")


def lines(text: str | None) -> list[str]:
    assert text is not None
    return [line for line in text.split("\n") if line.startswith(("- ", "…"))]


def test_no_skills_need_no_words():
    assert list_skills([], budget=8_000) is None


def test_all_that_fits_is_described():
    listed = lines(list_skills([skill("a"), skill("b")], budget=8_000))
    assert listed == ["- a: Does something useful", "- b: Does something useful"]


def test_when_to_use_stands_behind_the_description_and_both_are_cut():
    wordy = Skill(
        name="a", values={"description": "What\nit does", "when_to_use": "y" * 3_000}, source="user"
    )
    line = line_of(wordy)
    assert line.startswith("- a: What it does - yyy")
    assert len(line) == len("- a: ") + 1_536


def test_least_used_lose_their_descriptions_first():
    skills = [skill(name, "d" * 200) for name in "abcd"]
    text = list_skills(skills, budget=600, scores={"d": 5.0, "b": 2.0})
    assert lines(text) == ["- a", f"- b: {'d' * 200}", "- c", f"- d: {'d' * 200}"]


def test_bundled_ones_are_never_cut():
    skills = [skill("own", "o" * 300), skill("batch", "b" * 300, "bundled")]
    assert lines(list_skills(skills, budget=500)) == ["- own", f"- batch: {'b' * 300}"]


def test_five_hundred_skills_stay_within_the_budget():
    skills = [skill(f"skill-number-{number}", "d" * 400) for number in range(500)]
    text = list_skills(skills, budget=8_000, scores={"skill-number-499": 3.0})
    assert text is not None
    assert len(text) <= 8_000
    assert lines(text)[-2] == "- skill-number-499"
    assert lines(text)[-1].startswith("…")


def test_budget_is_a_share_of_the_window():
    assert (budget_of(200_000), budget_of(200_000, 0.02)) == (8_000, 16_000)


def test_cost_is_told_in_tokens():
    assert cost_of(skill("abcd", "e" * 94)) == 26


def test_names_alone_where_that_was_asked_for():
    assert lines(list_skills([skill("a"), skill("b")], budget=8_000, bare=frozenset({"a"}))) == [
        "- a",
        "- b: Does something useful",
    ]


def test_uses_are_counted_and_fade(tmp_path: object):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    now = 1_000_000.0
    usage = SkillUsage(env, now=lambda: now)
    assert usage.scores() == {}
    usage.note("a")
    usage.note("a")
    usage.note("b")
    assert usage.scores() == {"a": 2.0, "b": 1.0}
    now += 14 * 24 * 3600
    assert usage.scores() == {"a": 1.0, "b": 0.5}


@pytest.mark.parametrize(
    "text", ['{"a": {"count": "x"}}', '{"a": {"count": null}}', '{"a": 5}', '{"a": {"last": []}}']
)
def test_counts_of_the_wrong_kind_begin_anew(tmp_path: Path, text: str):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    (tmp_path / "bridle").mkdir()
    (tmp_path / "bridle" / "skill-usage.json").write_text(text)
    usage = SkillUsage(env, now=lambda: 1_000.0)
    assert usage.scores() == {}
    usage.note("a")
    assert usage.scores() == {"a": 1.0}


def test_counts_that_are_nested_without_end_are_none(tmp_path: Path):
    (tmp_path / "bridle").mkdir()
    deep = "[" * 100_000 + "]" * 100_000
    (tmp_path / "bridle" / "skill-usage.json").write_text(f'{{"a": {{"x": {deep}}}}}')
    assert SkillUsage({"CLAUDE_CONFIG_DIR": str(tmp_path)}).scores() == {}

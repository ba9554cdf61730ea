"""Signs of trouble are found without a model and kept on this machine, without what the user wrote."""

import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from bridle.commands.pages.usage_page import usage_page
from bridle.commands.queries.usage_records import UsageRecords
from bridle.commands.queries.usage_report import UsageReport
from bridle.engine.loop import run_turn
from bridle.features.quality.feature import QualityFeature, open_quality
from bridle.features.quality.signals import Signs, keep, read_signs, signs_of
from bridle.providers.scripted import says
from bridle.types.origin import TYPED
from bridle.types.turn import Outcome, Prompt
from bridle.types.usage import Usage
from tests.fakes.engine import make_runtime, make_session
from tests.fakes.features import feature_context, settings, with_feature

DONE = Outcome(
    subtype="success", reason="completed", is_error=False, num_turns=1, duration_ms=1, duration_api_ms=1,
    usage=Usage(), total_cost_usd=0.0, spend={}, denials=(),
)  # fmt: skip


@pytest.mark.parametrize(
    ("words", "signs"),
    [
        ("fix the login test", ()),
        ("this is still broken", ("frustrated",)),
        ("WHY DOES THE TEST NOT RUN AT ALL", ("frustrated",)),
        ("what is this???", ("frustrated",)),
        ("HTTP 404 OK", ()),
        ("shell out to a passing script", ()),
        ("please open a pull request", ("pull_request",)),
        ("create the PR now", ("pull_request",)),
        ("look at the open PRs", ()),
        ("", ()),
    ],
)
def test_what_a_prompt_tells(words: str, signs: tuple[str, ...]):
    assert signs_of(words, "", DONE) == signs


def test_how_a_turn_ended_tells_something_too():
    def ended(**changes: Any) -> tuple[str, ...]:
        return signs_of("go on", "", msgspec.structs.replace(DONE, **changes))

    assert ended(reason="aborted_tools", is_error=True) == ("interrupted",)
    assert ended(reason="api_error", is_error=True) == ("failed",)
    assert signs_of("Run the tests, now!", "run the tests now", DONE) == ("repeated",)


async def test_signs_are_counted_without_the_words(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path / "home")}
    runtime = make_runtime(tmp_path, [says("a"), says("b"), says("c")]).replaced(env=env)
    runtime = with_feature(runtime, QualityFeature("/project"))
    session = make_session()
    for text in ("this is still broken, zanzibar", "thanks", "create a PR"):
        await run_turn(session, Prompt(content=text, origin=TYPED), runtime)

    assert read_signs(env, since=0) == Signs({"frustrated": 1, "pull_request": 1}, 1)
    assert read_signs(env, since=time.time() + 60) == Signs({}, 0)
    (file,) = (tmp_path / "home").rglob("quality.jsonl")
    assert "zanzibar" not in file.read_text() and file.stat().st_mode & 0o077 == 0


def test_the_file_is_bounded_and_broken_rows_are_left_out(tmp_path: Path):
    env = {"CLAUDE_CONFIG_DIR": str(tmp_path)}
    keep(env, "s", "p", ("failed",))
    (file,) = tmp_path.rglob("quality.jsonl")
    file.write_text("nonsense\n[1]\n" + file.read_text() * 20_000)
    keep(env, "s", "p", ("failed",))
    assert file.stat().st_size < 1_000_000
    assert read_signs(env, since=0).counts["failed"] > 5_000
    file.unlink()
    file.mkdir()
    keep(env, "s", "p", ("failed",))
    assert read_signs(env, since=0) == Signs({}, 0)


def test_the_report_shows_them():
    report = UsageReport(days=(), found=UsageRecords(), signs=Signs({"repeated": 3}, 2))
    page = usage_page(report)
    assert "The same prompt again" in page and "2 sessions" in page


def test_it_can_be_turned_off_and_works_at_a_terminal_only(tmp_path: Path):
    def opened(**changes: Any) -> bool:
        return open_quality(feature_context(tmp_path, **{"interactive": True, **changes})) is not None

    off = settings(tmp_path, flag='{"bridleQualitySignals": false}')
    assert opened() and not opened(interactive=False)
    assert not opened(config=off) and not opened(env={"BRIDLE_QUALITY_SIGNALS": "0"})

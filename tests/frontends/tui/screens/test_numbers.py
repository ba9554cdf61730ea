from typing import Any

from bridle.commands.queries.context_window import Breakdown, Category, Item
from bridle.commands.queries.session_usage import Forecast, PromptUse, SessionUsage
from bridle.commands.queries.spending import DayCost, ModelCost
from bridle.commands.queries.usage_causes import Cause, LimitUse
from bridle.frontends.tui.screens.session.context import context_view
from bridle.frontends.tui.screens.session.usage import UsageFacts, usage_view
from bridle.transcripts.cost import Work
from bridle.types.usage import Usage
from tests.frontends.tui.screens.showing import Showing, assert_screens


def _window(size: int, *categories: Category, **facts: Any) -> Breakdown:
    used = sum(each.tokens for each in categories)
    known: dict[str, Any] = {"model": "m", "compact_at": 0, "automatic": False, "counted": True, **facts}
    return Breakdown(size=size, used=used, categories=categories, **known)


_CONTEXT = _window(
    200_000,
    Category(id="system_prompt", name="system prompt", tokens=3_000),
    Category(
        id="system_tools",
        name="Tools",
        tokens=12_000,
        items=(Item(name="Bash", tokens=2_400), Item(name="Agent", tokens=4_100)),
    ),
    Category(id="mcp_tools", name="MCP tools", tokens=9_000),
    Category(
        id="memory_files",
        name="Memory",
        tokens=1_500,
        items=(Item(name="CLAUDE.md", tokens=1_500, note="/proj/CLAUDE.md"),),
    ),
    Category(id="messages", name="messages", tokens=60_000),
    model="claude-sonnet",
    compact_at=167_000,
    automatic=True,
)
_LOCAL = ModelCost(model="local", usage=Usage(input=500, output=100), usd=0.0, is_priced=False)
_USAGE = UsageFacts(
    session=(
        ModelCost(
            model="claude-sonnet",
            usage=Usage(input=12_000, output=4_000, cache_read=800_000, cache_write_5m=40_000),
            usd=1.25,
        ),
        _LOCAL,
    ),
    work=Work(open_ms=754_000, api_ms=200_000, lines_added=120, lines_removed=30),
    days=tuple(
        DayCost(
            day=f"2026-03-{day:02}",
            models=(ModelCost(model="m", usage=Usage(input=day * 10_000), usd=day * 0.3),) if day else (),
        )
        for day in range(21)
    ),
    models=(
        ModelCost(model="claude-sonnet", usage=Usage(input=900_000), usd=55.0),
        ModelCost(model="claude-haiku", usage=Usage(), usd=5.0),
    ),
    causes=(
        Cause(group="Agents", name="reviewer", tokens=300_000, usd=2.5),
        Cause(group="Skills", name="pdf", usd=0.4),
    ),
    limits=(LimitUse(name="this week", used=0.75),),
    timeline=SessionUsage(
        prompts=tuple(
            PromptUse(
                text=f"prompt {at}",
                usd=at * 0.01,
                usage=Usage(input=at * 100, cache_read=at * 900),
                calls=1,
                seconds=1.0,
            )
            for at in range(1, 13)
        ),
        contexts=tuple(range(10_000, 130_000, 10_000)),
        hit_rates=(0.0, 0.5, 0.9, 0.95, 0.8),
        window=200_000,
        forecast=Forecast(used=120_000, window=200_000, per_turn=10_000),
    ),
)


def test_screens():
    assert_screens("context", context_view(_CONTEXT))
    for tab, name in enumerate(("session", "days", "models", "shares")):
        assert_screens(f"usage-{name}", usage_view(_USAGE, tab=tab))


def test_the_window_is_told_in_tokens_and_percent():
    text = Showing(context_view(_CONTEXT)).text
    assert "85.5k tokens (43%)" in text
    assert "auto-compacts at 167.0k tokens" in text
    assert "free 114.5k tokens (57.2%)" in text


def test_a_window_that_is_nearly_empty_is_plotted_up_to_what_was_most():
    start = SessionUsage(contexts=(1_000, 3_000, 9_000), window=1_000_000, hit_rates=(0.5,))
    text = Showing(usage_view(UsageFacts(timeline=start))).text
    assert "9.0k ⠀" in text and "1.0M" not in text
    full = SessionUsage(contexts=(1_000, 300_000), window=1_000_000)
    assert "1.0M ⠀" in Showing(usage_view(UsageFacts(timeline=full))).text
    once = SessionUsage(contexts=(1_000,), window=1_000_000)
    assert "⠀" not in Showing(usage_view(UsageFacts(timeline=once))).text


def test_numbers_that_no_service_has_counted_are_called_estimates():
    assert "estimates" not in Showing(context_view(_CONTEXT)).text
    assert "estimates until the first answer" in Showing(context_view(_window(1_000, counted=False))).text


def test_the_largest_things_come_first_in_each_group_and_can_be_searched():
    shown = Showing(context_view(_CONTEXT))
    assert shown.selected.startswith("Agent")
    assert shown.press("/").type("claude").selected.startswith("CLAUDE.md")
    assert "/proj/CLAUDE.md" in shown.text


def test_the_picture_follows_new_data():
    view = context_view(_CONTEXT)
    shown = Showing(view)
    view.show(_window(1_000, Category(id="messages", name="messages", tokens=500)))
    assert "m · 500 tokens (50%)" in shown.text
    assert "nothing to list" in shown.text


def test_an_empty_window_is_no_trouble():
    assert Showing(context_view(_window(0))).press("escape").value is None


def test_a_cost_without_a_price_is_not_called_nothing():
    text = Showing(usage_view(_USAGE)).text
    assert "$1.25 plus models without a known price" in text
    assert "unknown price" in Showing(usage_view(UsageFacts(session=(_LOCAL,)))).text
    assert "$0.00" in Showing(usage_view(UsageFacts())).text


def test_days_models_and_causes_have_their_tabs():
    shown = Showing(usage_view(_USAGE))
    assert "75%" in shown.text
    assert "$63.00 in 20 days" in shown.press("tab").text
    assert "claude-haiku" in shown.press("tab").text
    assert "reviewer" in shown.press("tab").text


def test_nothing_recorded_is_said():
    shown = Showing(usage_view(UsageFacts()))
    assert "Nothing recorded yet." in shown.press("tab").text
    assert "Nothing recorded yet." in shown.press("tab").text
    assert "Nothing recorded yet." in shown.press("tab").text


def test_the_session_tab_draws_the_window_the_cache_and_the_prompts():
    text = Showing(usage_view(_USAGE), 100, 60).text
    for words in ("context over time", "cache hit rate 90%", "tokens per prompt", "$ per prompt"):
        assert words in text
    assert "60% of 200,000 tokens used, +10,000 tokens per prompt: full in about 8 prompts" in text
    assert "▂▂▃▃▄▅▅▆▆▇▇█" in text and any(0x2801 <= ord(c) <= 0x28FF for c in text)
    labels = Showing(usage_view(_USAGE, tab=1), 100, 40).text
    assert "$ per day" in labels and "total" in labels and "■ m" in labels

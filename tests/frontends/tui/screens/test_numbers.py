from bridle.frontends.tui.render.charts import Category
from bridle.frontends.tui.screens.session.context import ContextItem, ContextUse, context_view
from bridle.frontends.tui.screens.session.usage import DayUse, Limit, ModelUse, Share, UsageFacts, usage_view
from tests.frontends.tui.screens.showing import Showing, assert_screens

_CONTEXT = ContextUse(
    model="claude-sonnet",
    window=200_000,
    categories=(
        Category(name="system prompt", tokens=3_000),
        Category(name="tools", tokens=12_000),
        Category(name="MCP tools", tokens=9_000),
        Category(name="memory", tokens=1_500),
        Category(name="messages", tokens=60_000),
    ),
    items=(
        ContextItem(group="Tools", name="Bash", tokens=2_400),
        ContextItem(group="Tools", name="Agent", tokens=4_100),
        ContextItem(group="Memory", name="CLAUDE.md", tokens=1_500, note="/proj/CLAUDE.md"),
    ),
    compact_at=167_000,
)
_USAGE = UsageFacts(
    session=(
        ModelUse(
            model="claude-sonnet",
            input=12_000,
            output=4_000,
            cache_read=800_000,
            cache_write=40_000,
            usd=1.25,
        ),
        ModelUse(model="local", input=500, output=100),
    ),
    seconds=754,
    api_seconds=200,
    added=120,
    removed=30,
    days=tuple(DayUse(day=f"2026-03-{day:02}", tokens=day * 10_000, usd=day * 0.3) for day in range(1, 21)),
    models=(
        ModelUse(model="claude-sonnet", input=900_000, usd=55.0),
        ModelUse(model="claude-haiku", usd=5.0),
    ),
    shares=(
        Share(group="Agents", name="reviewer", tokens=300_000, usd=2.5),
        Share(group="Skills", name="pdf", usd=0.4),
    ),
    limits=(Limit(name="this week", used=0.75, resets="on Monday"),),
)


def test_screens():
    assert_screens("context", context_view(_CONTEXT))
    for tab, name in enumerate(("session", "days", "models", "shares")):
        assert_screens(f"usage-{name}", usage_view(_USAGE, tab=tab))


def test_the_window_is_told_in_tokens_and_percent():
    text = Showing(context_view(_CONTEXT)).text
    assert "85.5k tokens (43%)" in text
    assert "summed up automatically at 167.0k tokens" in text
    assert "free 114.5k tokens (57.2%)" in text


def test_the_largest_things_come_first_in_each_group_and_can_be_searched():
    shown = Showing(context_view(_CONTEXT))
    assert shown.selected.startswith("Agent")
    assert shown.press("/").type("claude").selected.startswith("CLAUDE.md")
    assert "/proj/CLAUDE.md" in shown.text


def test_the_picture_follows_new_data():
    view = context_view(_CONTEXT)
    shown = Showing(view)
    view.show(ContextUse(model="m", window=1_000, categories=(Category(name="messages", tokens=500),)))
    assert "m · 500 tokens (50%)" in shown.text
    assert "nothing to list" in shown.text


def test_an_empty_window_is_no_trouble():
    assert Showing(context_view(ContextUse(model="m", window=0, categories=()))).press("escape").value is None


def test_a_cost_without_a_price_is_not_called_nothing():
    text = Showing(usage_view(_USAGE)).text
    assert "$1.25, and more that has no price" in text
    assert "not known" in Showing(usage_view(UsageFacts(session=(ModelUse(model="x"),)))).text
    assert "$0.00" in Showing(usage_view(UsageFacts())).text


def test_days_models_and_causes_have_their_tabs():
    shown = Showing(usage_view(_USAGE))
    assert "75%, anew on Monday" in shown.text
    assert "$63.00 in 20 days" in shown.press("tab").text
    assert "claude-haiku" in shown.press("tab").text
    assert "reviewer" in shown.press("tab").text


def test_nothing_recorded_is_said():
    shown = Showing(usage_view(UsageFacts()))
    assert "Nothing was recorded yet." in shown.press("tab").text
    assert "Nothing was recorded yet." in shown.press("tab").text
    assert "No skill" in shown.press("tab").text

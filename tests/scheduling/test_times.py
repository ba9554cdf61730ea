from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridle.features.schedules.session import shifted
from bridle.features.schedules.times import describe, parse
from tests.tables import table

_NEW_YORK = ZoneInfo("America/New_York")
_BERLIN = ZoneInfo("Europe/Berlin")


def _next(cron: str, after: str, zone: ZoneInfo = _BERLIN) -> str | None:
    moment = parse(cron).next_after(datetime.fromisoformat(after).replace(tzinfo=zone).timestamp(), zone)
    return None if moment is None else f"{datetime.fromtimestamp(moment, zone):%Y-%m-%d %H:%M %Z}"


@table(
    ("cron", "after", "expected"),
    [
        ("* * * * *", "2026-01-05 10:00:30", "2026-01-05 10:01 CET"),
        ("*/5 * * * *", "2026-01-05 10:00", "2026-01-05 10:05 CET"),
        ("7 * * * *", "2026-01-05 10:07", "2026-01-05 11:07 CET"),
        ("0 9 * * 1-5", "2026-01-09 09:00", "2026-01-12 09:00 CET"),
        ("30 14 15 3 *", "2026-01-05 10:00", "2026-03-15 14:30 CET"),
        ("0 0 1,15 * *", "2026-01-05 10:00", "2026-01-15 00:00 CET"),
        ("10-20/5 8 * * *", "2026-01-05 08:10", "2026-01-05 08:15 CET"),
        ("0 12 * * 7", "2026-01-05 10:00", "2026-01-11 12:00 CET"),
        ("0 12 * * 0", "2026-01-05 10:00", "2026-01-11 12:00 CET"),
        ("0 0 29 2 *", "2026-01-05 10:00", "2028-02-29 00:00 CET"),
        ("5/20 10 * * *", "2026-01-05 10:06", "2026-01-05 10:25 CET"),
        ("*/10 * 1 6 *", "2026-01-05 10:00", "2026-06-01 00:00 CEST"),
    ],
)
def test_the_next_time_is_found(cron: str, after: str, expected: str):
    assert _next(cron, after) == expected


def test_a_day_fits_when_either_kind_does_where_both_are_restricted():
    assert _next("0 12 13 * 5", "2026-01-05 10:00") == "2026-01-09 12:00 CET"
    assert _next("0 12 13 * 5", "2026-01-09 12:00") == "2026-01-13 12:00 CET"
    assert _next("0 12 */2 * 5", "2026-01-05 10:00") == "2026-01-09 12:00 CET"


def test_a_day_that_does_not_exist_never_comes():
    assert _next("0 0 30 2 *", "2026-01-05 10:00") is None
    assert _next("* * 31 4 *", "2026-01-05 10:00") is None


def test_a_time_that_the_clock_skips_comes_as_much_later():
    assert _next("30 2 * * *", "2026-03-08 01:00", _NEW_YORK) == "2026-03-08 03:30 EDT"
    assert _next("30 2 * * *", "2026-03-08 03:30", _NEW_YORK) == "2026-03-09 02:30 EDT"


def test_a_time_that_the_clock_shows_twice_comes_once():
    first = parse("30 1 * * *").next_after(
        datetime(2026, 11, 1, 0, 0, tzinfo=_NEW_YORK).timestamp(), _NEW_YORK
    )
    assert first is not None
    assert f"{datetime.fromtimestamp(first, _NEW_YORK):%m-%d %H:%M %Z}" == "11-01 01:30 EDT"
    then = parse("30 1 * * *").next_after(first, _NEW_YORK)
    assert then is not None
    assert f"{datetime.fromtimestamp(then, _NEW_YORK):%m-%d %H:%M %Z}" == "11-02 01:30 EST"


def test_what_comes_at_every_hour_goes_by_real_time_when_clocks_change():
    times = parse("*/10 * * * *")
    moment = datetime(2026, 11, 1, 0, 30, tzinfo=_NEW_YORK).timestamp()
    for _ in range(20):
        following = times.next_after(moment, _NEW_YORK)
        assert following is not None and following - moment == 600
        moment = following


@table(
    "cron",
    ["", "* * * *", "* * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8",
     "5-1 * * * *", "*/0 * * * *", "a * * * *", "* * * * MON", "1,,2 * * * *", "-1 * * * *", "@daily"],
)  # fmt: skip
def test_what_is_no_expression_is_refused(cron: str):
    with pytest.raises(ValueError):
        parse(cron)


@given(
    minute=st.integers(0, 59),
    hour=st.integers(0, 23),
    after=st.floats(0, 4_000_000_000, allow_nan=False),
)
def test_the_next_time_is_later_and_fits(minute: int, hour: int, after: float):
    times = parse(f"{minute} {hour} * * *")
    moment = times.next_after(after, ZoneInfo("UTC"))
    assert moment is not None and after < moment <= after + 86400
    shown = datetime.fromtimestamp(moment, ZoneInfo("UTC"))
    assert (shown.minute, shown.hour) == (minute, hour)


@given(st.text("0123456789*/,- ", max_size=30))
def test_any_text_is_an_expression_or_a_value_error(text: str):
    try:
        parse(text)
    except ValueError:
        pass


@pytest.mark.parametrize(
    ("cron", "words"),
    [
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("7 * * * *", "every hour at :07"),
        ("0 */2 * * *", "every 2 hours at :00"),
        ("5 9 * * *", "every day at 09:05"),
        ("5 9 * * 1-5", "Monday to Friday at 09:05"),
        ("5 9 * * 7", "every Sunday at 09:05"),
        ("5 9 1 * *", "5 9 1 * *"),
    ],
)
def test_common_expressions_are_told_in_words(cron: str, words: str):
    assert describe(cron) == words


@given(st.text("0123456789abcdef", min_size=8, max_size=8))
def test_what_recurs_is_late_by_a_tenth_of_its_period_at_most(id: str):
    hourly, daily = parse("0 * * * *"), parse("0 9 * * *")
    base = hourly.next_after(1_000_000_000)
    assert base is not None
    assert base <= shifted(hourly, base, id=id, recurring=True, zone=None) <= base + 360
    base = daily.next_after(1_000_000_000)
    assert base is not None
    assert base <= shifted(daily, base, id=id, recurring=True, zone=None) <= base + 900
    assert shifted(daily, base, id=id, recurring=True, zone=None) == shifted(
        daily, base, id=id, recurring=True, zone=None
    )


@given(st.text("0123456789abcdef", min_size=8, max_size=8))
def test_what_comes_once_is_early_only_at_the_full_or_half_hour(id: str):
    round_time, odd_time = parse("30 9 * * *"), parse("31 9 * * *")
    base = round_time.next_after(1_000_000_000)
    assert base is not None
    assert base - 90 <= shifted(round_time, base, id=id, recurring=False, zone=None) <= base
    base = odd_time.next_after(1_000_000_000)
    assert base is not None
    assert shifted(odd_time, base, id=id, recurring=False, zone=None) == base

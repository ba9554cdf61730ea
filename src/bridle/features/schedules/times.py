"""Cron expressions: five fields, in the local time of the machine."""

import re
from collections.abc import Iterator
from datetime import date, datetime, timedelta, tzinfo

from msgspec import Struct

_FIELDS = (("minute", 0, 59), ("hour", 0, 23), ("day of month", 1, 31), ("month", 1, 12), ("weekday", 0, 7))
_ITEM = re.compile(r"(?:\*|(\d{1,4})(?:-(\d{1,4}))?)(?:/(\d{1,4}))?")
_FARTHEST_DAYS = 366 * 9
"""The 29th of February can be eight years away."""
_WEEKDAYS = ("Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")


class Times(Struct, frozen=True, kw_only=True):
    """The minutes that an expression names."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    """Sunday is 0."""
    either_day: bool
    """Both kinds of days are restricted: then one that fits is enough."""

    def fits(self, day: date) -> bool:
        """Whether it runs on a day."""
        if day.month not in self.months:
            return False
        by_date, by_weekday = day.day in self.days, (day.weekday() + 1) % 7 in self.weekdays
        return by_date or by_weekday if self.either_day else by_date and by_weekday

    def next_after(self, after: float, zone: tzinfo | None = None) -> float | None:
        """The next time in seconds since the epoch; None when there is none.

        A time that the clock skips in spring comes as much later; one that it shows twice in autumn comes
        once. What comes at every hour goes by real time through both.
        """
        if len(self.hours) == 24:
            return self._next_minute(after, zone)
        first = datetime.fromtimestamp(after, zone).date()
        for day in self._days(first):
            stamps = (_stamp(moment, zone) for moment in self._moments(day))
            if later := [stamp for stamp in stamps if stamp > after]:
                return min(later)
        return None

    def _next_minute(self, after: float, zone: tzinfo | None) -> float | None:
        stamp = (after // 60 + 1) * 60
        last = stamp + _FARTHEST_DAYS * 86400
        while stamp < last:
            moment = datetime.fromtimestamp(stamp, zone)
            if not self.fits(moment.date()):
                midnight = datetime(moment.year, moment.month, moment.day) + timedelta(days=1)
                stamp = max(stamp + 60, _stamp(midnight, zone))
            elif moment.minute in self.minutes:
                return stamp
            else:
                stamp += 60
        return None

    def _days(self, first: date) -> Iterator[date]:
        # A time that was skipped yesterday may have been put off past midnight.
        return filter(self.fits, (first + timedelta(days=number) for number in range(-1, _FARTHEST_DAYS)))

    def _moments(self, day: date) -> Iterator[datetime]:
        for hour in self.hours:
            for minute in self.minutes:
                yield datetime(day.year, day.month, day.day, hour, minute)


def parse(expression: str) -> Times:
    """Read an expression.

    Raises:
        ValueError: it is none; the text says which field is wrong.
    """
    fields = expression.split()
    if len(fields) != 5:
        raise ValueError(
            f"a cron expression has five fields (minute hour day month weekday), not {len(fields)}"
        )
    minutes, hours, days, months, weekdays = (
        _field(text, *bounds) for text, bounds in zip(fields, _FIELDS, strict=True)
    )
    return Times(
        minutes=minutes,
        hours=hours,
        days=days,
        months=months,
        weekdays=frozenset(each % 7 for each in weekdays),
        either_day=not fields[2].startswith("*") and not fields[4].startswith("*"),
    )


def describe(expression: str) -> str:
    """An expression in words, if it is of a common kind."""
    match expression.split():
        case ["*", "*", "*", "*", "*"]:
            return "every minute"
        case [minute, "*", "*", "*", "*"] if minute.startswith("*/") and minute[2:].isdecimal():
            return f"every {minute[2:]} minutes"
        case [minute, "*", "*", "*", "*"] if minute.isdecimal():
            return f"every hour at :{int(minute):02}"
        case [minute, hour, "*", "*", "*"] if minute.isdecimal() and hour.startswith("*/"):
            return f"every {hour[2:]} hours at :{int(minute):02}"
        case [minute, hour, "*", "*", weekday] if minute.isdecimal() and hour.isdecimal():
            at = f"at {int(hour):02}:{int(minute):02}"
            if weekday == "*":
                return f"every day {at}"
            if weekday == "1-5":
                return f"Monday to Friday {at}"
            return f"every {_WEEKDAYS[int(weekday) % 7]} {at}" if weekday.isdecimal() else expression
        case _:
            return expression


def _field(text: str, name: str, least: int, most: int) -> frozenset[int]:
    found: set[int] = set()
    for item in text.split(","):
        match = _ITEM.fullmatch(item)
        if match is None:
            raise ValueError(
                f"{item!r} is not a valid {name}: use numbers, *, ranges such as 1-5 and steps such as */5"
            )
        first, last, step = (None if part is None else int(part) for part in match.groups())
        if first is None:
            first, last = least, most
        elif last is None:
            last = first if step is None else most
        if not least <= first <= last <= most or step == 0:
            raise ValueError(f"{item!r} is not a valid {name}: the range is {least} to {most}")
        found.update(range(first, last + 1, step or 1))
    return frozenset(found)


def _stamp(moment: datetime, zone: tzinfo | None) -> float:
    return moment.replace(tzinfo=zone).timestamp()

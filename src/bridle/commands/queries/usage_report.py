"""What a report on usage is made from."""

from msgspec import Struct

from bridle.commands.queries.session_usage import SessionUsage
from bridle.commands.queries.spending import DayCost
from bridle.commands.queries.usage_records import UsageRecords


class UsageReport(Struct, frozen=True, kw_only=True):
    """The last days of all conversations, and one conversation in detail."""

    days: tuple[DayCost, ...]
    """Oldest first."""
    found: UsageRecords
    session: SessionUsage = SessionUsage()
    """The conversation in which it was asked for; empty where there is none."""

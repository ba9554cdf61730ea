"""What a report on usage is made from."""

from msgspec import Struct

from bridle.commands.queries.session_usage import SessionUsage
from bridle.commands.queries.spending import DayCost
from bridle.commands.queries.usage_records import UsageRecords
from bridle.features.quality.signals import Signs


class UsageReport(Struct, frozen=True, kw_only=True):
    """The last days of all conversations, and one conversation in detail."""

    days: tuple[DayCost, ...]
    """Oldest first."""
    found: UsageRecords
    signs: Signs = Signs({}, 0)
    """Signs of trouble, which are kept on this machine only."""
    session: SessionUsage = SessionUsage()
    """The conversation in which it was asked for; empty where there is none."""

"""Names and times of entries."""

import re
import time

_UUID = r"(?i)[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"


def is_uuid(text: str) -> bool:
    return re.fullmatch(_UUID, text) is not None


def timestamp(seconds: float) -> str:
    """A moment since the epoch as ISO 8601 in UTC with milliseconds."""
    whole, milliseconds = divmod(int(seconds * 1000), 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{milliseconds:03d}Z"

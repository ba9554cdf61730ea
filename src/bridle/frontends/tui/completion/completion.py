"""One thing that may be put in place of what was typed."""

from typing import Literal

from msgspec import Struct


class Completion(Struct, frozen=True, kw_only=True):
    """What is put in, and how it is shown in the list."""

    text: str
    """Stands in the input afterwards, from the trigger's start to the cursor."""
    label: str
    detail: str = ""
    positions: tuple[int, ...] = ()
    """Which characters of the label were matched."""
    kind: Literal["command", "argument", "file", "folder", "resource", "agent", "emoji"]
    goes_on: bool = False
    """Whether completion continues after it, as inside a folder."""

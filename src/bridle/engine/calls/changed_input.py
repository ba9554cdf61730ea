"""What the model reads about a call whose input the user changed before allowing it."""

from collections.abc import Mapping
from typing import Any

import msgspec

from bridle.types.block import ResultContent, text_block
from bridle.types.text import encodable_value

_MOST = 10_000
"""Characters of the new input that the model reads again."""
_OPEN, _CLOSE = "<edited-by-user>", "</edited-by-user>\n"


def change_note(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Says that the call did not run as the model made it, and how it ran."""
    changed = {name: after[name] for name in after if name not in before or before[name] != after[name]}
    removed = [name for name in before if name not in after]
    if list(changed) == ["command"] and not removed and isinstance(command := changed["command"], str):
        said = f"The user edited the command before approving it. The command that ran:\n{_short(command)}"
    else:
        shown = msgspec.json.encode(encodable_value(changed)).decode()
        left_out = f"\nWithout: {', '.join(removed)}" if removed else ""
        said = (
            "The user edited the input before approving it. The input that was "
            f"used:\n{_short(shown)}{left_out}"
        )
    return f"{_OPEN}\n{said}\n{_CLOSE}"


def with_note(note: str, content: str | list[ResultContent]) -> str | list[ResultContent]:
    """The content of a result with the note before it."""
    return note + content if isinstance(content, str) else [text_block(note), *content]


def without_note(content: Any) -> Any:
    """The content of the result of a changed call without the note, for people, who made the change."""
    match content:
        case str() if content.startswith(_OPEN) and _CLOSE in content:
            return content.partition(_CLOSE)[2]
        case [{"type": "text", "text": str(text)}, *rest] if text.startswith(_OPEN) and _CLOSE in text:
            left = text.partition(_CLOSE)[2]
            return [*([{"type": "text", "text": left}] if left else []), *rest]
        case _:
            return content


def _short(text: str) -> str:
    # What the user typed cannot end the note early.
    plain = text.replace(_CLOSE.strip(), "")
    return plain if len(plain) <= _MOST else f"{plain[:_MOST]}… ({len(plain) - _MOST} more characters)"

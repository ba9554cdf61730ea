"""What the user wrote, kept word for word through every compaction up to a budget.

A summary leaves things out, and what it leaves out most often is how the user wants the work done. So the
words themselves stand in the new conversation. The boundary line of a compaction keeps them for the next one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from bridle.context.conversation_text import clipped
from bridle.context.text_units import text_units
from bridle.transcripts.conversation import is_prompt
from bridle.types.block import text_of
from bridle.types.entry import ConversationEntry
from bridle.types.origin import Origin

WORDS = "userWords"
"""Where the boundary line of a compaction keeps them."""
TOKENS = 8_000
_LONGEST_PART = 2
"""One message takes no more than one part in so many of the budget."""
_NOT_WRITTEN = ("<command-name>", "<local-command-", "<bash-", "[Request interrupted")
"""How texts begin that a session keeps among the prompts although the user did not write them."""


def carried(entries: Sequence[ConversationEntry]) -> list[str]:
    """What the line of the last compaction keeps of the time before it."""
    for entry in entries:
        if entry["type"] == "system" and entry.get("subtype") == "compact_boundary":
            metadata: Any = entry.get("compactMetadata")
            kept = metadata.get(WORDS) if isinstance(metadata, Mapping) else None
            return [each for each in kept if isinstance(each, str)] if isinstance(kept, list) else []
    return []


def kept_words(earlier: Sequence[str], entries: Sequence[ConversationEntry], *, units: int) -> list[str]:
    """What people wrote before and in these entries, oldest first, as far as it fits.

    The first message says what it is all about and always stays; of the others the newest do.
    """
    longest = max(units // _LONGEST_PART, 1)
    first = _shortened(next(iter(earlier), None) or next(_said(entries), ""), longest)
    left = units - text_units(first)
    kept: list[str] = []
    for text in chain(_said(reversed(entries)), reversed(earlier)):
        short = _shortened(text, longest)
        left -= text_units(short)
        if left < 0:
            return [first, *reversed(kept)]
        kept.append(short)
    return list(reversed(kept))


def _said(entries: Iterable[ConversationEntry]) -> Iterator[str]:
    return filter(None, map(_words, entries))


def _shortened(text: str, units: int) -> str:
    """A message of at most so many units: its beginning and its end."""
    weight = text_units(text)
    return text if weight <= units else clipped(text, max(len(text) * units // weight, 2))


def _words(entry: ConversationEntry) -> str:
    if entry["type"] != "user" or not is_prompt(entry):
        return ""
    content = entry["message"]["content"]
    text = content if isinstance(content, str) else text_of([b for b in content if b["type"] == "text"])
    origin = Origin.from_entry(entry.get("origin"))
    if origin is not None:
        text = origin.own_words(text) if origin.is_person else ""
    text = text.strip()
    return "" if text.startswith(_NOT_WRITTEN) else text

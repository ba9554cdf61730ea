"""Asking a model for the essence of a conversation, and reading what it says."""

import re
from collections.abc import Sequence

from msgspec import Struct

from bridle.types.block import AssistantMessage, text_of

LONGEST_SUMMARY = 80_000
"""Characters; about the twenty thousand tokens that an answer of this kind may have."""

_SUMMARY = re.compile(r"<summary>(.*)</summary>", re.DOTALL | re.IGNORECASE)
_NOTES = re.compile(r"<analysis>.*?</analysis>", re.DOTALL | re.IGNORECASE)

_REQUEST = """\
Stop the work here and write down what is needed to continue without this conversation: it is about to be \
replaced by your summary and by what the user wrote, word for word. Answer with text only and call no tool.

Think first inside <analysis> tags: go through the conversation in order and note what was asked, done, \
found and decided. Then write the summary inside <summary> tags, under these headings, leaving out none that \
has content:

1. Goal: what the user wants in the end, and why.
2. Constraints: every rule that the user, a file or a tool has set for the work or for the answers (what not \
to touch, language, form, length, names, versions, limits), each in the words in which it was set.
3. Decisions: what was decided, by whom, and why; what was tried and given up.
4. Files: each file read, changed or made, why it matters, and the code that must be remembered, verbatim.
5. Errors: what failed, how it was fixed, what the user said about it.
6. Open work: what is asked for and not done yet, in order; lists that are being kept, whole.
7. Now: what was being worked on in the last messages, precisely, with file names and code.
8. Next: the next step, if it follows from the last request; quote that request. Do not start anything new.

Be exact about names, paths, commands and numbers. Leave out what is no longer needed."""

_AGAIN = """

Your last answer could not be used: {flaw}. Write the whole summary again, inside <summary> tags."""
_FOCUS = "\n\nThe user asks you to mind this in the summary:\n{}"

_LONGEST_QUOTE = 500
_PART = """

Only the newer part is replaced; what stands before it stays. Summarize from this message of the user on:
{}"""

# Other readers of transcripts look for the first words.
_OPENING = """\
This session is being continued from a previous conversation that ran out of context. What matters of it:

{summary}"""
_PART_OPENING = """\
What was said next was taken out of the conversation. What matters of it:

{summary}"""
_SAID = """

What the user wrote so far, word for word, oldest first:
{words}"""
_PINNED = """

These words of the user hold as they stand:
{pins}"""
_TRANSCRIPT = """

Whatever is missing here stands in the whole transcript: {path}"""
_CONTINUE = """

Continue the work where it stopped. Do not mention the summary and do not ask whether to continue."""


class SummaryTexts(Struct, frozen=True, kw_only=True):
    """Every text of a compaction; a lock file may bring those of another version."""

    request: str = _REQUEST
    again: str = _AGAIN
    focus: str = _FOCUS
    part: str = _PART
    opening: str = _OPENING
    part_opening: str = _PART_OPENING
    said: str = _SAID
    pinned: str = _PINNED
    transcript: str = _TRANSCRIPT
    proceed: str = _CONTINUE


SUMMARY_TEXTS = SummaryTexts()


def summary_request(focus: str = "", *, since: str | None = None, texts: SummaryTexts = SUMMARY_TEXTS) -> str:
    """What the model is asked, with the user's wishes; `since` is the prompt with which the part begins."""
    text = texts.request
    if since is not None:
        text += texts.part.format(since[:_LONGEST_QUOTE])
    return text + (texts.focus.format(focus.strip()) if focus.strip() else "")


def once_more(request: str, flaw: str, texts: SummaryTexts = SUMMARY_TEXTS) -> str:
    """The request after a first summary that was not good enough."""
    return request + texts.again.format(flaw=flaw)


def flaw_in(message: AssistantMessage, pins: tuple[str, ...] = ()) -> str | None:
    """Why a summary should be tried once more, although it may do."""
    try:
        summary = read_summary(message)
    except ValueError as flaw:
        return str(flaw)
    if _SUMMARY.search(text_of(message["content"])) is None:
        return "the summary is not inside <summary> tags"
    left_out = next((pin for pin in pins if not _speaks_of(summary, pin)), None)
    return None if left_out is None else f"it omits requirements of the user: {left_out!r}"


def _speaks_of(summary: str, pin: str) -> bool:
    """Whether at least a third of the longer words of a pin are in the summary, in its words or nearly so."""
    words = {word.casefold() for word in re.findall(r"\w{4,}", pin)}
    text = summary.casefold()
    return sum(word in text for word in words) * 3 >= len(words)


def read_summary(message: AssistantMessage) -> str:
    """The summary in an answer.

    Raises:
        ValueError: there is none that could stand for a conversation.
    """
    text = text_of(message["content"])
    if message["stop_reason"] == "max_tokens":
        raise ValueError("the summary was cut off before its end")
    if (found := _SUMMARY.search(text)) is not None:
        text = found[1]
    elif re.search(r"</?summary>", text, re.IGNORECASE):
        raise ValueError("the summary is incomplete")
    summary = _NOTES.sub("", text).strip()
    if not summary:
        raise ValueError("the summary is empty")
    if len(summary) > LONGEST_SUMMARY:
        raise ValueError(f"the summary is too long: {len(summary):,} characters")
    return summary


def opening_text(
    summary: str,
    *,
    words: Sequence[str] = (),
    pins: tuple[str, ...] = (),
    transcript: str | None = None,
    in_turn: bool = False,
    partly: bool = False,
    texts: SummaryTexts = SUMMARY_TEXTS,
) -> str:
    """The first message of the new conversation; in the middle of a turn the model continues at once."""
    text = (texts.part_opening if partly else texts.opening).format(summary=summary)
    if words:
        text += texts.said.format(words="\n".join(f"<user-message>{each}</user-message>" for each in words))
    if pins:
        text += texts.pinned.format(pins="\n".join(f"<pinned>{pin}</pinned>" for pin in pins))
    if transcript is not None:
        text += texts.transcript.format(path=transcript)
    return text + (texts.proceed if in_turn else "")

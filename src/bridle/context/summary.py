"""Asking a model for the essence of a conversation, and reading what it says."""

import re

from bridle.types.block import AssistantMessage, text_of

LONGEST_SUMMARY = 80_000
"""Characters; about the twenty thousand tokens that an answer of this kind may have."""

_SUMMARY = re.compile(r"<summary>(.*)</summary>", re.DOTALL | re.IGNORECASE)
_NOTES = re.compile(r"<analysis>.*?</analysis>", re.DOTALL | re.IGNORECASE)

_REQUEST = """\
Stop the work here and write down what is needed to go on without this conversation: it is about to be \
replaced by your summary. Answer with text only and call no tool.

Think first inside <analysis> tags: go through the conversation in order and note what was asked, done, \
found and decided. Then write the summary inside <summary> tags, under these headings, leaving out none that \
has content:

1. What the user wants: every request, with its purpose and limits.
2. What the user said: each message of the user that is not a tool result, in their own words or close to \
them, corrections above all.
3. Facts: technologies, conventions and decisions that matter from here on.
4. Files: each file read, changed or made, why it matters, and the code that must be remembered, verbatim.
5. Errors: what failed, what mended it, what the user said about it.
6. Open: what is asked for and not done yet.
7. Now: what was being worked on in the last messages, precisely, with file names and code.
8. Next: the next step, if it follows from the last request; quote that request. Do not start anything new.

Be exact about names, paths, commands and numbers. Leave out what nobody will need."""

_FOCUS = "\n\nThe user asks you to mind this in the summary:\n{}"

_LONGEST_QUOTE = 500
_PART = """

Only the newer part is replaced; what stands before it stays. Summarise from this message of the user on:
{}"""

_OPENING = """\
This conversation goes on from an earlier one that no longer fitted the window. What matters of it:

{summary}"""
_PART_OPENING = """\
What was said next was taken out of the conversation. What matters of it:

{summary}"""
_PINNED = """

These words of the user hold as they stand:
{pins}"""
_TRANSCRIPT = """

Whatever is missing here stands in the whole transcript: {path}"""
_CONTINUE = """

Go on with the work where it stopped. Do not mention the summary and do not ask whether to continue."""


def summary_request(focus: str = "", *, since: str | None = None) -> str:
    """What the model is asked, with the user's wishes; `since` is the prompt with which the part begins."""
    text = _REQUEST
    if since is not None:
        text += _PART.format(since[:_LONGEST_QUOTE])
    return text + (_FOCUS.format(focus.strip()) if focus.strip() else "")


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
        raise ValueError("the summary is not whole")
    summary = _NOTES.sub("", text).strip()
    if not summary:
        raise ValueError("the summary is empty")
    if len(summary) > LONGEST_SUMMARY:
        raise ValueError(f"the summary is too long: {len(summary):,} characters")
    return summary


def opening_text(
    summary: str,
    *,
    pins: tuple[str, ...] = (),
    transcript: str | None = None,
    in_turn: bool = False,
    partly: bool = False,
) -> str:
    """What stands at the head of the new conversation; in the middle of a turn the work goes on at once."""
    text = (_PART_OPENING if partly else _OPENING).format(summary=summary)
    if pins:
        text += _PINNED.format(pins="\n".join(f"<pinned>{pin}</pinned>" for pin in pins))
    if transcript is not None:
        text += _TRANSCRIPT.format(path=transcript)
    return text + (_CONTINUE if in_turn else "")

"""The reminder to consider a workflow, while ultracode is on."""

import re

from bridle.features.workflows.listing import size_line
from bridle.types.on_demand import SEARCH

EFFORT = "xhigh"
"""The effort of the model while ultracode is on."""

_WORD = re.compile(r"\bultracode\b", re.IGNORECASE)


def says_ultracode(text: str) -> bool:
    """Whether a prompt asks for it by the word."""
    return _WORD.search(text) is not None


def reminder(guideline: str | None, *, listed: bool) -> str:
    """The reminder for a prompt with ultracode; the model first loads a tool that is not `listed`."""
    size = size_line(guideline or "medium")
    load = "" if listed else f' Load the tool first: {SEARCH} with "select:Workflow".'
    return (
        "<system-reminder>\nThe user wants this done thoroughly, with a workflow. Unless the task is "
        "small, explore first, then write a workflow with the Workflow tool: several agents on independent "
        "parts, others that check what they found, and a last step that puts it together. Several workflows "
        "one after the other are fine. Tell the user in a sentence what you start."
        f"{load}{f' {size}' if size else ''}\n</system-reminder>"
    )

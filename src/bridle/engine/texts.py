"""Sentences that the engine puts into the conversation in its own name."""

INTERRUPTED = "[Request interrupted by user]"
INTERRUPTED_IN_TOOLS = "[Request interrupted by user for tool use]"
"""Both markers are part of the transcript format: other readers look for them."""

CALL_REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected. "
    "Stop here and wait for what they say next."
)
"""Other readers of transcripts look for its beginning."""
CALL_REFUSED_BECAUSE = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected, and they said: "
)
"""Followed by what they said."""
CALL_INTERRUPTED = "The user interrupted before this call had finished; it may have had part of its effect."
COMMAND_CANCELLED = (
    "Not run: a shell command before it in the same message failed. Call it again if it is needed."
)
CALL_STOPPED = "Not run: the user stopped the turn before this call began."
CALL_OVER_BUDGET = "Not run: the spending limit of this session is reached."
CALL_LOST = "This call has no result, because the turn ended early; it may have had part of its effect."
REPAIRED = "The conversation was put in order before it was sent: {faults}."

RESUME_CUT = (
    "Your last message hit the output limit. Continue exactly where it stopped: no apology, no recap. "
    "Split what is left into smaller pieces."
)
RESUME_BROKEN = (
    "The connection broke in the middle of your last message. "
    "Continue exactly where it stopped, without recap."
)
NUDGE_EMPTY = "Your last message had no visible content. Answer the user, or continue the work."
DECLINED = (
    "The model declined to answer: rephrase the prompt, or choose another model with /model or --model."
)
NUDGE_REFUSED = (
    "Your last message was stopped by a safety filter. If the request is fine, continue in another way; "
    "otherwise say briefly what you cannot help with."
)
CLASSIFIER_CONTEXT = "hook_classifier_context"
"""The kind of entry that keeps what hooks want the judge of later calls to know."""
MAY_RETRY = "A hook of the user says that you may try this call again."
EMPTY_RESULT = "(no output)"


def monitor_event(task_id: str, call_id: str, description: str, text: str) -> str:
    """The note that something watched has said something; what it says cannot end the note."""
    said = text.replace("</", "<\\/")
    return (
        f"<task-notification>\n<task-id>{task_id}</task-id>\n<tool-use-id>{call_id}</tool-use-id>\n"
        f'<summary>Monitor "{description}" reports</summary>\n<event>\n{said}\n</event>\n</task-notification>'
    )

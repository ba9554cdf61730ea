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

REFUSED_BEFORE = "The user has refused this call before and was not asked again. "
"""Before what they said then."""
CALL_INTERRUPTED = "The user interrupted this call before it finished; it may have taken partial effect."
COMMAND_CANCELLED = "Not run: an earlier shell command in the same message failed. Call it again if needed."
CALL_STOPPED = "Not run: the user stopped the turn before this call started."
CALL_OVER_BUDGET = "Not run: this session reached its spending limit."
CALL_LOST = "No result: the turn ended early. The call may have taken partial effect."
REPAIRED = "Repaired the conversation before sending it: {faults}."

RESUME_CUT = (
    "Your last message hit the output limit. Continue exactly where it stopped: no apology, no recap. "
    "Split what is left into smaller pieces."
)
RESUME_BROKEN = (
    "The connection dropped during your last message. Continue exactly where it stopped, without recap."
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
MAY_RETRY = "A hook allows you to retry this call."
EMPTY_RESULT = "(no output)"


def monitor_event(task_id: str, call_id: str, description: str, text: str) -> str:
    """The note that something watched has said something; what it says cannot end the note."""
    said = text.replace("</", "<\\/")
    return (
        f"<task-notification>\n<task-id>{task_id}</task-id>\n<tool-use-id>{call_id}</tool-use-id>\n"
        f'<summary>Monitor "{description}" reports</summary>\n<event>\n{said}\n</event>\n</task-notification>'
    )

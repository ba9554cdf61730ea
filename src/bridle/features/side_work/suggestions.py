"""Suggests the next prompt, and summarizes the conversation in one sentence."""

import re

from bridle.context.conversation_excerpt import excerpt
from bridle.engine.runtime import Runtime
from bridle.engine.side_calls import consult_beside
from bridle.transcripts.conversation import is_prompt
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.event import Noticed, PromptSuggested
from bridle.types.tool import Consultation
from bridle.types.turn import Outcome

_MOST_WORDS = 12
_LONGEST_RECAP = 300
_CHATTER = re.compile(r"^(none|nothing|n/a|thanks?( you)?|ok(ay)?|looks good|great)\W*$", re.IGNORECASE)

_NEXT = """\
You see the end of a conversation between a user and a coding agent. Write the one prompt that the user \
will most likely \
type next, in their language and manner, 2 to 12 words, no quotes. If the next prompt is not obvious, \
answer NONE."""
_RECAP = """\
Say in one sentence of at most 40 words what this conversation is about, what is done, and what is next, \
for the user who \
comes back to it. No preamble."""


async def suggest_prompt(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Side work: suggest the next prompt, if there is an obvious one.

    Raises:
        ToolError: the model could not be asked.
    """
    del outcome
    await suggestion_for(session, runtime)


async def suggestion_for(session: Session, runtime: Runtime) -> str | None:
    """The next prompt, if there is an obvious one, which the user is shown.

    Raises:
        ToolError: the model could not be asked.
    """
    if runtime.host.offer.suggestions_paused or (text := excerpt(session.entries, most=8_000)) == "":
        return None
    question = Consultation(purpose="suggestion", system=_NEXT, prompt=text, max_tokens=60)
    answer = await consult_beside(session, runtime, question, model=runtime.asking.small_model)
    if (words := read_suggestion(text_of(answer["content"]))) is not None:
        runtime.channel.emit(PromptSuggested(words))
    return words


def read_suggestion(text: str) -> str | None:
    """A suggestion that can be shown, or None."""
    words = text.strip().strip("\"'`").strip()
    if not words or "\n" in words or _CHATTER.match(words) or len(words.split()) > _MOST_WORDS:
        return None
    return words if words.isprintable() and not words.endswith(":") else None


async def suggest_when_asked(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Side work for a host program: suggest the next prompt if the program asked for suggestions.

    After the first prompt there is little to go by, and while a plan is made its reader decides what is next.

    Raises:
        ToolError: the model could not be asked.
    """
    if not runtime.host.offer.prompt_suggestions or session.state.mode == "plan":
        return
    if sum(entry["type"] == "user" and is_prompt(entry) for entry in session.entries) > 1:
        await suggest_prompt(session, runtime, outcome)


async def recap(session: Session, runtime: Runtime) -> str:
    """One sentence that summarizes the conversation.

    Raises:
        ToolError: the model could not be asked.
    """
    text = excerpt(session.entries, most=16_000)
    if not text:
        return "The conversation is empty."
    question = Consultation(purpose="recap", system=_RECAP, prompt=text, max_tokens=150)
    answer = await consult_beside(session, runtime, question, model=runtime.asking.small_model)
    return " ".join(text_of(answer["content"]).split())[:_LONGEST_RECAP]


async def recap_for_return(session: Session, runtime: Runtime, outcome: Outcome) -> None:
    """Side work for a pause: the summary that the user reads on return.

    Raises:
        ToolError: the model could not be asked.
    """
    del outcome
    text = await recap(session, runtime)
    session.say_system("away_summary", content=text)
    runtime.channel.emit(Noticed(f"While you were away: {text}", "info"))

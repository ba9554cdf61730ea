"""What may change between two rounds of a running turn: more prompts, another model."""

from bridle.engine.hooks.turn_hooks import fire_user_prompt_submit
from bridle.engine.limits import first_objection
from bridle.engine.turn import Turn
from bridle.transcripts.session import Session
from bridle.types.event import PromptFolded, PromptMoved
from bridle.types.hooks.outcome import HookOutcome
from bridle.types.turn import Prompt

_FRAMES = ("<mention", "<system-reminder")
"""What mentioned files and words of bridle begin with; the text of a command stands alone."""


async def take_arrivals(turn: Turn) -> None:
    """Take in what came while calls ran, so that the next request carries it.

    A prompt leaves the queue only when it is recorded: an interrupt in between leaves it for the next turn.
    """
    _follow_model(turn)
    arrivals = turn.runtime.host.arrivals
    if first_objection(turn) is not None:
        return
    while (prompt := arrivals.peek()) is not None:
        said = await fire_user_prompt_submit(turn, prompt)
        whole = prompt if prompt.meta else await turn.runtime.sources.attach(turn, prompt)
        if arrivals.peek() is not prompt:
            continue  # It was withdrawn, or a more urgent one came, while hooks looked at it.
        arrivals.take(prompt)
        if prompt.uuid is not None:
            turn.runtime.channel.emit(PromptMoved(prompt.uuid, "started"))
        if not prompt.meta and turn.session.entrypoint != "cli":
            turn.session.note_taken("remove", prompt.content)
        turn.folded.append(prompt)
        if prompt.origin.is_person:
            turn.runtime.workspace.refused_calls.clear()
        if said.block is not None:
            continue
        await turn.runtime.records.begin_prompt(_record(turn, whole, said))


def record_beside(session: Session, prompt: Prompt) -> None:
    """Put what a prompt brings along into the conversation: what it mentions, or the text of a command."""
    for block in prompt.beside:
        if block["type"] == "text" and not block["text"].startswith(_FRAMES):
            session.say_user([block], meta=True)
        else:
            session.attach("file", [block])


def _follow_model(turn: Turn) -> None:
    """Another model was chosen: it answers from the next request on."""
    chosen = turn.session.state.model
    if chosen != turn.chosen_model:
        turn.model = turn.chosen_model = chosen


def _record(turn: Turn, prompt: Prompt, said: HookOutcome) -> str:
    entry = turn.session.say_user(prompt.content, uuid=prompt.uuid, meta=prompt.meta, origin=prompt.origin)
    record_beside(turn.session, prompt)
    turn.session.attach_hook_context("UserPromptSubmit", said.context)
    turn.runtime.channel.emit(
        PromptFolded(uuid=entry["uuid"], prompt=prompt.content, prompt_uuid=prompt.uuid, meta=prompt.meta)
    )
    return entry["uuid"]

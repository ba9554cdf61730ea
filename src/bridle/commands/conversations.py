"""Commands about the conversation: begin, copy, continue, name and shorten it, and leave."""

import asyncio

from bridle.commands.context import CommandContext
from bridle.commands.session_switch import name_session
from bridle.commands.side_questions import ask_aside
from bridle.context.compaction_report import Dropped
from bridle.context.context_items import Item
from bridle.engine.compaction import pins
from bridle.engine.compaction.compact import CompactionFailed
from bridle.engine.compaction.compact import compact as compact_now
from bridle.engine.compaction.items import drop_item, hold_item, list_items, release_item, stub_item
from bridle.engine.compaction.report import Compacted, last_compaction
from bridle.engine.turn import Turn
from bridle.features.background.feature import BACKGROUND
from bridle.transcripts import management
from bridle.transcripts.listing import SessionInfo, find_by_name, list_sessions, locate
from bridle.transcripts.truncation import undo_compaction
from bridle.types.command import CommandResult, Exits, Resets, Says, Shows
from bridle.types.errors import SessionError, UsageError
from bridle.types.event import CommandReplied
from bridle.types.ledger import Ledger
from bridle.types.services.tasks import BackgroundSessions
from bridle.types.turn import Prompt

_MOST_LISTED = 20
_MOST_COMPLETED = 50
_MOST_KINDS = 8
_TITLE_REQUEST = (
    "Name this conversation in two to five words, lower case, joined by hyphens, such as fix-login-redirect. "
    "Answer with the name alone."
)


async def clear(arguments: str, context: CommandContext) -> CommandResult:
    """Begin a new conversation; the name is for the one that is left, so that it is found again."""
    if arguments and context.session.entries:
        name_session(arguments, context)
    return Resets(trigger="clear")


async def compact(arguments: str, context: CommandContext) -> CommandResult:
    session, runtime = context.session, context.runtime
    if not runtime.habits.allowed:
        return Says("Compaction is disabled (DISABLE_COMPACT).", is_error=True)
    context.begin()
    typed = Prompt(content=f"/compact {arguments}".strip(), origin=context.origin)
    turn = Turn(session, typed, runtime)
    try:
        done = await compact_now(turn, trigger="manual", focus=arguments, in_turn=False)
    except CompactionFailed as failure:
        return Says(f"Could not compact the conversation: {failure}", is_error=True)
    report = Compacted(
        trigger="manual",
        tokens_before=done.tokens_before,
        tokens_after=done.tokens_after,
        dropped=done.dropped,
        summary=done.summary,
    )
    runtime.channel.emit(CommandReplied(report_text(report)))
    # Hosts expect the result of this command to be empty: its output is a line of its own.
    return Says()


async def compacted(arguments: str, context: CommandContext) -> CommandResult:
    """What the last compaction dropped, and what it kept in its place."""
    del arguments
    if (last := last_compaction(context.session)) is None:
        return Says("This conversation has not been compacted.")
    return Shows(view="compacted", text=f"{report_text(last)}\n\n{last.summary}")


async def uncompact(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    path = context.runtime.records.transcript
    if path is None:
        return Says("This conversation is not saved, so compaction cannot be undone.", is_error=True)
    if not await asyncio.to_thread(undo_compaction, context.session, path):
        return Says("No compaction to undo.", is_error=True)
    context.session.swap(measured=None)
    return Says("Undid the compaction. Later messages were dropped.")


async def pin(arguments: str, context: CommandContext) -> CommandResult:
    """Pin a text, list the pins, or remove one."""
    word, _, rest = arguments.partition(" ")
    ledger = context.session.state.ledger
    if not arguments or arguments == "list":
        return Shows(view="pin", text=_pins(ledger))
    if word == "remove":
        if (found := ledger.find(rest.strip())) is None:
            raise UsageError(f"Unknown pin {rest.strip() or '(no id)'}. /pin list shows the ids.")
        pins.unpin(context.session, found.id)
        return Says(f"Unpinned: {found.text}")
    text = rest.strip() if word == "add" else arguments
    if not text:
        raise UsageError("Give a text: /pin <text>.")
    pins.pin(context.session, text)
    return Says(f"Pinned: {text}")


async def branch(arguments: str, context: CommandContext) -> CommandResult:
    fresh = await asyncio.to_thread(copy_conversation, context, arguments or None)
    return Resets(session_id=fresh, trigger="branch", name=arguments or None)


async def resume(arguments: str, context: CommandContext) -> CommandResult:
    if not arguments:
        found = await asyncio.to_thread(
            list_sessions, context.env, directory=context.place.cwd, limit=_MOST_LISTED
        )
        return Shows(view="resume", text=_sessions(found, context.session.id))
    chosen = await asyncio.to_thread(find_session, arguments, context)
    return Resets(session_id=chosen, trigger="resume")


async def rename(arguments: str, context: CommandContext) -> CommandResult:
    name = arguments.strip()
    if not name:
        if not context.session.entries:
            raise UsageError("Give a name: /rename <name>.")
        name = (await ask_aside(_TITLE_REQUEST, context, most=40)).strip().strip("\"'`.")
    return Says(f"Renamed to “{name_session(name, context)}”.")


async def leave(arguments: str, context: CommandContext) -> CommandResult:
    """End the program; a background session continues, and only the terminal is detached."""
    del arguments
    sessions = _background_sessions(context)
    if sessions is not None and sessions.is_inside:
        sessions.detach()
        return Says()
    return Exits()


async def fork(arguments: str, context: CommandContext) -> CommandResult:
    """Copy the conversation into a background session and send it a prompt."""
    sessions = _background_sessions(context)
    fresh = await asyncio.to_thread(copy_conversation, context, None)
    if sessions is None or sessions.refusal is not None:
        return Says(f"Copied. Open it in another terminal with: bridle --resume {fresh}")
    job = await asyncio.to_thread(sessions.begin, fresh, arguments)
    return Says(f"Copied to background session {job}. Open it with: bridle attach {job}")


def complete(context: CommandContext) -> tuple[str, ...]:
    """The conversations of this folder, as `/resume` takes them."""
    found = list_sessions(context.env, directory=context.place.cwd, limit=_MOST_COMPLETED)
    return tuple(info.custom_title or info.session_id for info in found)


def copy_conversation(context: CommandContext, title: str | None) -> str:
    """Copy the conversation under a new id, and return that.

    Raises:
        SessionError: nothing was said yet, or it is not kept.
    """
    if not context.place.persist:
        raise SessionError("This conversation is not saved, so it cannot be copied.")
    if not context.session.entries:
        raise SessionError("The conversation is empty, so there is nothing to copy.")
    context.session.flush()
    return management.fork(context.session.id, context.env, title=title)


def _background_sessions(context: CommandContext) -> BackgroundSessions | None:
    background = context.runtime.features.find(BACKGROUND)
    return None if background is None else background.sessions


def find_session(wanted: str, context: CommandContext) -> str:
    """The id of a conversation by its id, its name or a part of what it is about.

    Raises:
        SessionError: none fits, or several do.
    """
    if locate(wanted, context.env) is not None:
        return wanted
    found = find_by_name(wanted, context.env, directory=context.place.cwd)
    if found is None:
        raise SessionError(f"No conversation matches {wanted!r}. /resume lists all.")
    return found


def report_text(done: Compacted) -> str:
    """What a compaction took out of the window, the costliest first."""
    left = "" if done.tokens_after is None else f" to {done.tokens_after:,}"
    first = f"Compacted {done.tokens_before:,} tokens{left}."
    if done.tokens_after is not None and done.tokens_after >= done.tokens_before:
        first = (
            f"Compaction saved nothing: {done.tokens_before:,} tokens before, {done.tokens_after:,} after."
        )
    rows = [f"- {_counted(gone)}: {gone.tokens:,} tokens" for gone in done.dropped[:_MOST_KINDS]]
    parts = [first, *(["Dropped:\n\n" + "\n".join(rows)] if rows else [])]
    return "\n\n".join([*parts, "See what was kept with /compacted; undo with /uncompact."])


def _counted(gone: Dropped) -> str:
    """`1 answer`, `3 results of Bash`, `2 thinking blocks`."""
    if gone.kind == "thinking":
        return f"{gone.count:,} thinking {'block' if gone.count == 1 else 'blocks'}"
    first, _, rest = gone.kind.partition(" ")
    name = first.removesuffix("s") if gone.count == 1 else first
    return f"{gone.count:,} {name} {rest}".rstrip()


def _sessions(found: list[SessionInfo], current: str) -> str:
    rows = [
        f"{info.session_id}  {info.summary[:80]}{'  (this one)' if info.session_id == current else ''}"
        for info in found
    ]
    return "\n".join(rows) or "No saved conversations in this folder."


def _pins(ledger: Ledger) -> str:
    rows = [f"{pin.id}  {pin.text}{'  (found)' if pin.origin == 'found' else ''}" for pin in ledger.pins]
    return "\n".join(rows) or "Nothing is pinned. Pin text with /pin <text>."


_MOST_ITEMS = 30
_USAGE = "Use /items [all], or /items stub|drop|hold|release <id>; /items lists the ids."


async def items(arguments: str, context: CommandContext) -> CommandResult:
    """List the costliest things in the conversation, or change what happens to one of them.

    Raises:
        UsageError: there is no such thing, or it cannot be changed like that.
    """
    if arguments in ("", "all"):
        text = items_text(list_items(context.session), everything=arguments == "all")
        return Shows(view="items", arguments=arguments, text=text)
    deed, _, wanted = arguments.partition(" ")
    item_id = wanted.strip()
    if not item_id:
        raise UsageError(_USAGE)
    session, runtime = context.session, context.runtime
    match deed:
        case "stub":
            return Says(f"Replaced with a short note: {stub_item(session, runtime, item_id):,} tokens saved.")
        case "drop":
            return Says(f"Dropped: {drop_item(session, runtime, item_id):,} tokens saved.")
        case "hold":
            hold_item(session, item_id)
            return Says("Held: it will not be cleared.")
        case "release":
            release_item(session, item_id)
            return Says("Released: it can be cleared again.")
        case _:
            raise UsageError(_USAGE)


def items_text(found: tuple[Item, ...], *, everything: bool) -> str:
    """The costliest first, each with the id by which it is named."""
    ordered = sorted(found, key=lambda item: -item.tokens)
    shown = ordered if everything else ordered[:_MOST_ITEMS]
    rows = [
        f"{item.tokens:>8,}  {item.kind:<8}  {item.id}  {item.title}{'  (held)' if item.pinned else ''}"
        for item in shown
    ]
    if (rest := len(ordered) - len(shown)) > 0:
        rows.append(f"… and {rest:,} more: /items all")
    return "\n".join(rows) or "The conversation is empty."

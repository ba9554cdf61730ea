"""Commands about the past: side questions, recap, recall and rewind."""

import asyncio
from typing import Literal, get_args

from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.commands.side_questions import ask_aside
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.turn import Turn
from bridle.features.memory.search import recall as find_words
from bridle.types.block import text_of
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import SessionError, UsageError
from bridle.types.services.checkpoints import Rewound
from bridle.types.turn import Prompt

Restore = Literal["both", "conversation", "code", "summary", "summary-after"]
"""What a rewind restores.

`summary` keeps all from the prompt on and sums up what came before it; `summary-after` does the opposite.
"""

_MOST_LISTED = 30
_LONGEST_SHOWN = 100
_USAGE = f"/rewind <number> [{'|'.join(get_args(Restore))}]"
_RECAP = "Summarize in one line the topic and state of this conversation."


class RewindPoint(Struct, frozen=True, kw_only=True):
    """A prompt to rewind to."""

    number: int
    """1 for the newest."""
    uuid: str
    text: str
    timestamp: str


async def aside(arguments: str, context: CommandContext) -> CommandResult:
    if not arguments:
        raise UsageError("Ask a question: /btw <question>.")
    return Says(await ask_aside(arguments, context))


async def recap(arguments: str, context: CommandContext) -> CommandResult:
    del arguments
    if not context.session.entries:
        return Says("The conversation is empty.")
    return Says(" ".join((await ask_aside(_RECAP, context)).split()))


async def recall(arguments: str, context: CommandContext) -> CommandResult:
    """Where words were said in other conversations of this folder, the newest first."""
    if not arguments:
        raise UsageError("Give search words: /recall <words>.")
    found = await asyncio.to_thread(find_words, arguments, context.place.cwd, context.env)
    rows = [
        f"{each.timestamp[:10]}  {each.session_id}  {each.title[:_LONGEST_SHOWN]}\n"
        f"    {each.speaker}: {each.excerpt}"
        for each in found
        if each.session_id != context.session.id
    ]
    hint = "\nResume with: /resume <session>"
    return Says(
        "\n".join(rows) + hint if rows else "No other conversation in this project contains all these words."
    )


async def search(arguments: str, context: CommandContext) -> CommandResult:
    """Where words were said in any conversation on this machine, the newest first."""
    import sqlite3

    from bridle.features.recall import index
    from bridle.features.recall.query import Query, check, shown
    from bridle.features.recall.query import search as find

    query = check(Query(words=arguments))
    try:
        done = await asyncio.to_thread(index.update, context.env)
        if done.busy and index.age(context.env) is None:
            return Says("The index of conversations is being made. Try again in a minute.")
        hits = await asyncio.to_thread(find, query, context.env)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"The index of conversations cannot be used: {error}. Make it anew with bridle search --rebuild."
        ) from error
    others = [hit for hit in hits if hit.session != context.session.id]
    if not others:
        return Says("No other conversation has all of these words.")
    return Says(f"```\n{shown(others)}\n```\nSee one with bridle search --show <number>.")


async def rewind(arguments: str, context: CommandContext) -> CommandResult:
    points = rewind_points(context)
    if not arguments:
        rows = [f"{point.number}  {point.text}" for point in points[:_MOST_LISTED]]
        usage = f"\nRewind with {_USAGE}." if rows else ""
        return Shows(view="rewind", text="\n".join(rows) + usage if rows else "Nothing to rewind to.")
    number, _, wish = arguments.partition(" ")
    what = next((each for each in get_args(Restore) if each == (wish.strip() or "both")), None)
    point = next((each for each in points if str(each.number) == number), None)
    if point is None or what is None:
        raise UsageError(f"Use {_USAGE}; /rewind lists the numbers.")
    return Says(await rewind_to(point.uuid, what, context))


def rewind_points(context: CommandContext) -> tuple[RewindPoint, ...]:
    """Every prompt of the conversation, the newest first."""
    asked = [
        entry
        for entry in context.session.entries
        if entry["type"] == "user"
        and not entry.get("isMeta")
        and not entry.get("isCompactSummary")
        and "toolUseResult" not in entry
        and text_of(entry["message"]["content"]).strip()
    ]
    return tuple(
        RewindPoint(
            number=number,
            uuid=entry["uuid"],
            text=" ".join(text_of(entry["message"]["content"]).split())[:_LONGEST_SHOWN],
            timestamp=entry["timestamp"],
        )
        for number, entry in enumerate(reversed(asked), 1)
    )


async def preview_rewind(uuid: str, context: CommandContext) -> Rewound | None:
    """What files would change by going back; None where nothing is kept of them.

    Raises:
        SessionError: nothing is known about this prompt.
    """
    checkpoints = context.runtime.records.checkpoints
    return None if checkpoints is None else await checkpoints.rewind(uuid, dry_run=True)


async def rewind_to(uuid: str, what: Restore, context: CommandContext, *, focus: str = "") -> str:
    """Go back to before a prompt, and say what was done; `focus` is what a summary should keep in mind.

    Raises:
        SessionError: there is no such prompt, it cannot be summed up, or nothing is known of the files.
        UsageError: files are not kept in this session.
    """
    entries = context.session.entries
    at = next((index for index, entry in enumerate(entries) if entry["uuid"] == uuid), None)
    if at is None:
        raise SessionError("That message is no longer in this conversation.")
    if what == "summary":
        return await _sum_up(context, focus, keep_from=uuid)
    if what == "summary-after":
        return await _sum_up(context, focus, replace_from=uuid)
    done: list[str] = []
    if what in ("both", "code"):
        done.append(await _rewind_files(uuid, context, needed=what == "code"))
    if what in ("both", "conversation"):
        context.session.go_back(entries[:at])
        context.session.swap(measured=None)
        done.append("Rewound the conversation.")
    return " ".join(done)


async def _rewind_files(uuid: str, context: CommandContext, *, needed: bool) -> str:
    checkpoints = context.runtime.records.checkpoints
    if checkpoints is None:
        if needed:
            raise UsageError("File checkpoints are off: set fileCheckpointingEnabled to true.")
        return "Files were not restored: this session has no file checkpoints."
    done = await checkpoints.rewind(uuid)
    links = len(done.skipped_links)
    skipped = f" Left {links} {'link' if links == 1 else 'links'} alone." if links else ""
    files = len(done.files_changed)
    return f"Restored {files:,} {'file' if files == 1 else 'files'}.{skipped}"


async def _sum_up(
    context: CommandContext, focus: str, *, keep_from: str | None = None, replace_from: str | None = None
) -> str:
    if not context.runtime.habits.allowed:
        raise SessionError("Compaction is disabled (DISABLE_COMPACT).")
    context.begin()
    turn = Turn(context.session, Prompt(content="/rewind", origin=context.origin), context.runtime)
    try:
        done = await compact(
            turn,
            trigger="manual",
            focus=focus,
            keep_from=keep_from,
            replace_from=replace_from,
            in_turn=False,
        )
    except CompactionFailed as failure:
        raise SessionError(f"Could not summarize the conversation: {failure}") from failure
    what = "Summarized everything before that prompt" if replace_from is None else "from that prompt on"
    return f"Summarized everything {what}: {done.tokens_before:,} tokens to {done.tokens_after:,}."

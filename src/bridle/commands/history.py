"""Commands about the past: side questions, recap, recall and rewind."""

import asyncio
from typing import TYPE_CHECKING, Literal, get_args

from msgspec import Struct

from bridle.commands.context import CommandContext
from bridle.commands.side_questions import ask_aside
from bridle.engine.compaction.compact import CompactionFailed, compact
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.memory.search import recall as find_words
from bridle.transcripts.session import Session
from bridle.types.block import text_of
from bridle.types.command import CommandResult, Says, Shows
from bridle.types.errors import SessionError, UsageError
from bridle.types.services.checkpoints import Rewound
from bridle.types.turn import Prompt

if TYPE_CHECKING:
    from bridle.transcripts.branches import Branch

Restore = Literal["both", "conversation", "code", "summary", "summary-after"]
"""What a rewind restores.

`summary` keeps all from the prompt on and sums up what came before it; `summary-after` does the opposite.
"""

GoBack = Literal["both", "conversation", "code"]

_MOST_LISTED = 30
_LONGEST_SHOWN = 100
_MOST_NAMED = 5
_USAGE = f"/rewind <number> [{'|'.join(get_args(Restore))}] [force]"
_FORCE = "force"
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
            return Says("The search index is being built. Try again in a minute.")
        hits = await asyncio.to_thread(find, query, context.env)
    except (OSError, sqlite3.Error) as error:
        raise UsageError(
            f"Can't use the search index: {error}. Rebuild it with: bridle search --rebuild"
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
    words = arguments.split()
    if words[0] == "branches":
        return Says(await list_branches(context))
    if words[0] == "branch":
        return Says(await take_branch(words[1] if len(words) > 1 else "", context))
    force = words[-1] == _FORCE
    wish = " ".join(words[1:-1] if force else words[1:])
    what = next((each for each in get_args(Restore) if each == (wish or "both")), None)
    point = next((each for each in points if str(each.number) == words[0]), None)
    if point is None or what is None:
        raise UsageError(f"Use {_USAGE}; /rewind lists the numbers, /rewind branches other branches.")
    return Says(await rewind_to(point.uuid, what, context, force=force))


async def redo(arguments: str, context: CommandContext) -> CommandResult:
    """Take the newest rewind back: conversation and files as they were before it."""
    if arguments not in ("", _FORCE):
        raise UsageError("Use /redo [force].")
    return Says(await redo_newest(context.session, context.runtime, force=arguments == _FORCE))


async def redo_newest(session: Session, runtime: Runtime, *, force: bool = False) -> str:
    """Take the newest rewind back, and say what was done.

    Raises:
        SessionError: there is none, or others have changed files since.
    """
    checkpoints = runtime.records.checkpoints
    if checkpoints is None:
        raise SessionError("Nothing is kept for /redo. /rewind branches lists other branches.")
    done = await checkpoints.redo(force=force)
    said = [_told(done.files)] if done.files.files_changed or done.leaf is None else []
    if done.leaf is not None:
        await _continue_from(done.leaf, session, runtime)
        said.append("The conversation continues where it was.")
    return " ".join(said)


async def list_branches(context: CommandContext) -> str:
    """The branches that the conversation has besides this one, a line each."""
    found = await _branches(context)
    rows = [
        f"{number}  {each.timestamp[:16].replace('T', ' ')}  {each.prompts} prompts  {each.prompt}"
        for number, each in enumerate(found[:_MOST_LISTED], 1)
    ]
    return (
        "\n".join((*rows, "Continue one with /rewind branch <number>.")) if rows else "There is one branch."
    )


async def take_branch(number: str, context: CommandContext) -> str:
    """Continue with another branch; files stay.

    Raises:
        UsageError: there is no such branch.
    """
    found = await _branches(context)
    if not number.isdecimal() or not 1 <= int(number) <= len(found):
        raise UsageError("Use /rewind branch <number>; /rewind branches lists them.")
    await _continue_from(found[int(number) - 1].leaf, context.session, context.runtime)
    return "The conversation continues with that branch. Files are as they were."


async def _branches(context: CommandContext) -> "list[Branch]":
    from bridle.transcripts.branches import branches

    path = context.runtime.records.transcript
    context.session.flush()
    try:
        return [] if path is None else await asyncio.to_thread(branches, path, context.session.entries)
    except OSError as error:
        raise SessionError(f"The transcript cannot be read: {error.strerror}.") from error


async def _continue_from(leaf: str, session: Session, runtime: Runtime) -> None:
    from bridle.transcripts.reader import load_before

    path = runtime.records.transcript
    session.flush()
    try:
        entries = [] if path is None else await asyncio.to_thread(load_before, path, leaf)
    except OSError as error:
        raise SessionError(f"The transcript cannot be read: {error.strerror}.") from error
    if not entries:
        raise SessionError("That part of the conversation is not in the transcript any more.")
    session.go_back(entries)
    session.swap(measured=None)


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


async def rewind_to(
    uuid: str, what: Restore, context: CommandContext, *, focus: str = "", force: bool = False
) -> str:
    """Go back to before a prompt, and say what was done; `focus` is what a summary should keep in mind.

    Files and conversation go back together or not at all. `force` overwrites what others have changed since.

    Raises:
        SessionError: there is no such prompt, it cannot be summarized, nothing is known of the files, or
            others have changed them since.
        UsageError: files are not kept in this session.
    """
    if what == "summary":
        _place_of(uuid, context.session)
        return await _sum_up(context, focus, keep_from=uuid)
    if what == "summary-after":
        _place_of(uuid, context.session)
        return await _sum_up(context, focus, replace_from=uuid)
    done = await go_back(uuid, context.session, context.runtime, what=what, force=force)
    said = [] if done is None else [_told(done)]
    if what == "both" and done is None:
        said.append("Files were not restored: this session has no file checkpoints.")
    if what != "code":
        said.append("Rewound the conversation.")
    if context.runtime.records.checkpoints is not None:
        said.append("Take it back with /redo.")
    return " ".join(said)


async def go_back(
    uuid: str, session: Session, runtime: Runtime, *, what: GoBack = "both", force: bool = False
) -> Rewound | None:
    """Put conversation and files back as they were at a prompt, together or not at all.

    What was done to files; None where none are kept.

    Raises:
        SessionError: there is no such prompt, nothing is known of the files, or others have changed them.
        UsageError: files alone are wanted and are not kept in this session.
    """
    at, leaf = _place_of(uuid, session), session.entries[-1]["uuid"]
    checkpoints = runtime.records.checkpoints
    done: Rewound | None = None
    if checkpoints is None:
        if what == "code":
            raise UsageError("File checkpoints are off: set fileCheckpointingEnabled to true.")
    elif what == "conversation":
        await checkpoints.leave_branch(uuid, leaf)
    else:
        done = await checkpoints.rewind(uuid, leaf=leaf if what == "both" else None, force=force)
    if what != "code":
        session.go_back(session.entries[:at])
        session.swap(measured=None)
    return done


def _place_of(uuid: str, session: Session) -> int:
    at = next((index for index, entry in enumerate(session.entries) if entry["uuid"] == uuid), None)
    if at is None:
        raise SessionError("That message is no longer in this conversation.")
    return at


def _told(done: Rewound) -> str:
    links, lost = len(done.skipped_links), done.unkept
    skipped = f" Left {links} {'link' if links == 1 else 'links'} alone." if links else ""
    if lost:
        shown = ", ".join(lost[:_MOST_NAMED])
        more = f" and {len(lost) - _MOST_NAMED} more" if len(lost) > _MOST_NAMED else ""
        skipped += f" Not restored, because no copy was kept: {shown}{more}."
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

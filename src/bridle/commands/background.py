"""Commands about background sessions and remote control."""

import asyncio

from bridle.commands.context import CommandContext, Jobs
from bridle.commands.conversations import copy_conversation
from bridle.types.command import Asks, CommandResult, Says
from bridle.types.errors import UsageError

_NO_TERMINAL = "Only a session at a terminal can go to the background; bridle --bg starts one there."


async def background(arguments: str, context: CommandContext) -> CommandResult:
    """Move the conversation to the background, with a prompt or with its running turn."""
    jobs = _jobs(context)
    if jobs.is_inside:
        jobs.detach()
        return Asks(content=arguments, shown=arguments) if arguments else Says()
    if not context.place.persist:
        raise UsageError("This conversation is not saved on disk, so it cannot continue in the background.")
    if not context.session.entries and not arguments:
        raise UsageError("Nothing was said yet: /background <prompt> starts with a prompt.")
    jobs.move(arguments)
    return Says()


async def stop(arguments: str, context: CommandContext) -> CommandResult:
    """End the background session that the user is attached to."""
    del arguments
    if context.jobs is None or not context.jobs.is_inside:
        return Says("This session is not one in the background; /exit leaves it.", is_error=True)
    context.jobs.stop()
    return Says()


async def fork(arguments: str, context: CommandContext) -> CommandResult:
    """Copy the conversation into a background session and send it a prompt."""
    jobs = context.jobs
    if jobs is not None and jobs.refusal is None:
        fresh = await asyncio.to_thread(copy_conversation, context, None)
        job = await asyncio.to_thread(jobs.begin, fresh, arguments)
        return Says(f"Copied into the background as {job}. Look at it with: bridle attach {job}")
    fresh = await asyncio.to_thread(copy_conversation, context, None)
    return Says(f"Copied. Open it in another terminal with: bridle --resume {fresh}")


def _jobs(context: CommandContext) -> Jobs:
    jobs = context.jobs
    if jobs is None:
        raise UsageError(_NO_TERMINAL)
    if jobs.refusal is not None and not jobs.is_inside:
        raise UsageError(jobs.refusal)
    return jobs


_ENDINGS = ("off", "stop", "end")


async def remote_control(arguments: str, context: CommandContext) -> CommandResult:
    """Share the session (`[name]`), show where and with whom (again without a name), or end it (`off`).

    Raises:
        UsageError: it may not be shared, or cannot.
    """
    sharing = context.sharing
    if sharing is None:
        raise UsageError(
            "This session cannot be shared: start bridle at a terminal or with --remote-control."
        )
    if arguments.strip().lower() in _ENDINGS:
        ended = await sharing.stop()
        return Says("The session is not shared any more." if ended else "The session was not shared.")
    await sharing.share(" ".join(arguments.split()))
    context.begin()
    # The address is a key: what a command says is kept with the conversation, and this must not be.
    sharing.show()
    return Says()

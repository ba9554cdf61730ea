"""The command about remote control."""

from bridle.commands.context import CommandContext
from bridle.types.command import CommandResult, Says
from bridle.types.errors import UsageError

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

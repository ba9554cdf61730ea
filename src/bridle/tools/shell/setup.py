"""What is around the commands of a call in their shell."""

from bridle.host.shell import ShellSetup, command_prefix, memory_limit
from bridle.types.errors import ToolError
from bridle.types.services.startup import STARTUP
from bridle.types.tool import ToolContext


def setup_for(ctx: ToolContext) -> ShellSetup:
    """What the user's variables and start-up files ask for.

    Raises:
        ToolError: one of them cannot be used.
    """
    try:
        memory = memory_limit(ctx.env)
    except ValueError as error:
        raise ToolError(str(error)) from error
    return ShellSetup(
        before=ctx.env.get("CLAUDE_ENV_FILE") or None,
        prefix=command_prefix(ctx.env),
        # What nothing but judgment let through runs as it was judged, in plain bash.
        startup=ctx.service(STARTUP) if ctx.permit.view is None else None,
        memory=memory,
    )

"""Commands that are answered with a sentence: what was removed, and what needs a vendor."""

from collections.abc import Awaitable, Callable

from bridle.commands.context import CommandContext
from bridle.types.command import CommandResult, Says

_Run = Callable[[str, CommandContext], Awaitable[CommandResult]]


def _says(text: str, *, is_error: bool = True) -> _Run:
    async def run(arguments: str, context: CommandContext) -> CommandResult:
        del arguments, context
        return Says(text, is_error=is_error)

    return run


artifacts = _says("Artifacts are not available in bridle. /export writes the conversation to a file.")
design = _says("Not available in bridle.")
slack_app = _says("The Slack app is not available in bridle.")
account = _says("bridle uses your own API keys; there is no account. /cost shows usage.")
cloud = _says(
    "Cloud sessions are not available in bridle. bridle --resume resumes any conversation on this machine."
)

pr_comments = _says("/pr-comments was removed. Ask for pull request comments in a prompt.")
ultraplan = _says("/ultraplan was removed. Use /plan.")
vim = _says("/vim was removed. Use /config editorMode=vim, or editorMode=normal to turn it off.")

"""Commands that are answered with a sentence: what was removed, what needs a vendor, what comes later."""

from collections.abc import Awaitable, Callable

from bridle.commands.context import CommandContext
from bridle.types.command import CommandResult, Says

_Run = Callable[[str, CommandContext], Awaitable[CommandResult]]


def _says(text: str, *, is_error: bool = True) -> _Run:
    async def run(arguments: str, context: CommandContext) -> CommandResult:
        del arguments, context
        return Says(text, is_error=is_error)

    return run


artifacts = _says("Published pages need the vendor's cloud; /export writes the conversation to a file.")
autofix = _says("Watching pull requests needs the vendor's cloud; run bridle -p in your own CI instead.")
browser = _says("The browser extension needs the vendor; add a browser server with bridle mcp add.")
design = _says("This belongs to a product of the vendor.")
desktop = _says("There is no desktop app; bridle runs in any terminal.")
github_app = _says("The GitHub app needs the vendor; run bridle -p in a workflow of your own.")
slack_app = _says("The Slack app needs the vendor.")
mobile = _says("The phone app needs the vendor.")
account = _says("There is no account: bridle runs on your own keys; /cost shows what was used.")
cloud = _says("Cloud sessions need the vendor; bridle --resume continues any conversation on this machine.")
schedule = _says("Cloud schedules need the vendor; use cron with bridle -p.")
cloud_review = _says("The cloud review needs the vendor; /security-review and /code-review work here.")
voice = _says("Dictation needs the vendor; the dictation of your system types into the terminal as well.")

pr_comments = _says("/pr-comments was removed: ask for the comments of a pull request in a prompt.")
ultraplan = _says("/ultraplan was removed: use /plan.")
vim = _says("/vim was removed: use /config editorMode=vim, or =normal to go back.")

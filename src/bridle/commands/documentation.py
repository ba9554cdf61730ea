"""Commands that show the installed documentation and what is new."""

import asyncio

from bridle.commands.context import CommandContext
from bridle.commands.queries.documentation import (
    CHANGELOG,
    contents,
    find_page,
    newest_changes,
    pages,
    topics,
)
from bridle.types.command import CommandResult, Shows
from bridle.types.errors import UsageError
from bridle.version import __version__


async def docs(arguments: str, context: CommandContext) -> CommandResult:
    """A page of the documentation, or the list of them."""
    del context
    known = await asyncio.to_thread(pages)
    if not arguments.strip() and known:
        return Shows(view="docs", text=contents(known))
    try:
        page = find_page(arguments, known)
    except UsageError as error:
        if not known:
            raise
        raise UsageError(f"{str(error).capitalize()}\nTopics: {', '.join(topics())}") from error
    return Shows(view="docs", arguments=page.topic, text=page.text)


async def release_notes(arguments: str, context: CommandContext) -> CommandResult:
    """The changelog; without a screen its newest part."""
    del arguments, context
    notes = newest_changes(await asyncio.to_thread(pages))
    if not notes:
        raise UsageError("The changelog is missing from this installation; reinstall bridle.")
    return Shows(view="docs", arguments=CHANGELOG, text=f"bridle {__version__}\n\n{notes}")


def complete(context: CommandContext) -> tuple[str, ...]:
    """Topics of the documentation."""
    del context
    return topics()

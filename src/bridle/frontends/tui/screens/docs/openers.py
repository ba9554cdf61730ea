"""Opens the documentation."""

import asyncio

from bridle.commands.context import CommandContext
from bridle.commands.queries.documentation import pages
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext, fixed
from bridle.frontends.tui.screens.docs.browser import docs_view
from bridle.version import __version__


async def open_docs(context: CommandContext, screen: ScreenContext) -> OpenScreen:
    """The pages, or the one that was asked for."""
    del context
    known = await asyncio.to_thread(pages)
    return fixed(docs_view(known, topic=screen.arguments, version=__version__))

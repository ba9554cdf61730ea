"""`bridle docs` at a terminal: the pages in a view."""

from collections.abc import Mapping, Sequence

from bridle.cli.terminal.single_view import show_view
from bridle.commands.queries.documentation import Page
from bridle.frontends.tui.screens.docs.browser import docs_view
from bridle.version import __version__


def show_docs(known: Sequence[Page], env: Mapping[str, str], *, topic: str) -> int:
    """Show the pages until the reader leaves them; returns the exit code."""
    return show_view(docs_view(known, topic=topic, version=__version__), env)

"""`bridle docs [topic]`: read and search the documentation that is installed with bridle."""

import os
from collections.abc import Mapping, Sequence

from bridle.cli.say import say
from bridle.cli.subcommands.parser import ParsedArguments
from bridle.commands.queries.documentation import (
    Hit,
    Page,
    all_sections,
    contents,
    find_page,
    listed,
    pages,
    search,
)
from bridle.host.stdio import complain
from bridle.types.errors import CommandLineError, UsageError
from bridle.types.text import counted
from bridle.types.variables import is_on

_MOST_HITS = 50
_LONGEST_LINE = 100


def run_docs(given: ParsedArguments, env: Mapping[str, str]) -> int:
    """Show a page, the contents or what a search finds: in a view at a terminal, else as Markdown.

    Raises:
        UsageError: nothing is found, or no documentation is installed.
    """
    known, words = pages(), " ".join(given.all("topic"))
    if given.on("search"):
        return _print_hits(words, search(words, all_sections(known)))
    if not known:
        find_page(words, known)
    if given.on("list"):
        return say(f"{listed(known)}\n")
    page = _found(words, known) if words else None
    if words and page is None:
        return 1
    if not _has_screen(given, env):
        return say(f"{(contents(known) if page is None else page.text).rstrip()}\n")
    from bridle.cli.terminal.docs import show_docs

    return show_docs(known, env, topic="" if page is None else page.topic)


def _found(words: str, known: Sequence[Page]) -> Page | None:
    try:
        return find_page(words, known)
    except UsageError as error:
        complain(f"error: {error}")
        complain(
            f"\nTopics:\n{listed(known)}\n\nSearch all pages with: bridle docs --search <words>\n", end=""
        )
        return None


def _print_hits(words: str, hits: Sequence[Hit]) -> int:
    if not words:
        raise CommandLineError("--search needs words to look for; see bridle docs --help")
    if not hits:
        raise UsageError(f"no match in the documentation for {words!r}")
    lines = [f"{hit.section.topic}: {hit.section.heading}\n    {hit.line[:_LONGEST_LINE]}" for hit in hits]
    rest = len(lines) - _MOST_HITS
    more = [f"… and {counted(rest, 'more section')}"] if rest > 0 else []
    return say("\n".join((*lines[:_MOST_HITS], *more, "", "Read a page with: bridle docs <topic>")) + "\n")


def _has_screen(given: ParsedArguments, env: Mapping[str, str]) -> bool:
    if given.on("plain") or env.get("TERM", "dumb") == "dumb" or is_on(env, "CLAUDE_AX_SCREEN_READER"):
        return False
    return os.isatty(0) and os.isatty(1)

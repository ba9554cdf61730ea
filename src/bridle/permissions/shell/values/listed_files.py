"""Substitutions and loops that go through names of files which another command lists."""

from bridle.permissions.shell.syntax.simple_command import Places, Simple
from bridle.permissions.shell.syntax.words import Listing, Word
from bridle.permissions.shell.values.xargs_input import fed_by


def listing_of(word: Word, inside: list[Simple], places: Places) -> Listing | None:
    """What `$(…)` lists, of which these are all commands; None where it may print anything else."""
    if not inside or word.pieces[0].text.count("$(") != 1 or "`" in word.pieces[0].text:
        return None
    pipeline = (*inside[-1].fed_by, inside[-1])
    if pipeline != tuple(inside):
        return None
    return _listing(pipeline, places)


def lines_of(simple: Simple) -> Listing | None:
    """What `read` gets line by line at the end of a pipeline; None for anything but names of files."""
    options = tuple(word.value for word in simple.words[1:-1])
    if options != ("-r",) or not simple.fed_by or simple.redirections:
        return None
    if any(each.name != "IFS" or each.value.value for each in simple.assignments):
        return None
    return _listing(simple.fed_by, simple.places)


def _listing(pipeline: tuple[Simple, ...], places: Places) -> Listing | None:
    if places is None or len(places) != 1 or any(each.places != places for each in pipeline):
        return None
    listed = fed_by(pipeline)
    return None if listed is None or listed.nulls else Listing(next(iter(places)), listed.roots)

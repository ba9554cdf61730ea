import re
from pathlib import Path

from bridle.commands.catalog import CATALOG, Listing

_PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_ROW = re.compile(r"^\| (`/.*?) \| (.*) \|$", re.MULTILINE)


def _row(listing: Listing) -> tuple[str, str]:
    hint = f" {listing.hint}".replace("|", "\\|") if listing.hint else ""
    names = "".join(f", `/{alias}`" for alias in listing.aliases)
    return f"`/{listing.name}{hint}`{names}", listing.description


def test_the_page_lists_every_command_as_the_catalogue_does():
    rows = [(names, text) for names, text in _ROW.findall(_PAGE.read_text(encoding="utf-8"))]
    assert sorted(rows) == sorted(_row(listing) for listing in CATALOG if not listing.hidden)

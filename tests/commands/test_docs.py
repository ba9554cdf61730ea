import re
from pathlib import Path

from bridle.commands.catalog import CATALOG, Listing
from bridle.types.command import Command
from tests.fakes.features import feature_commands

_PAGE = Path(__file__).parents[2] / "docs" / "commands.md"
_ROW = re.compile(r"^\| (`/.*?) \| (.*) \|$", re.MULTILINE)


def _row(listing: Listing | Command) -> tuple[str, str]:
    told = listing.argument_hint if isinstance(listing, Command) else listing.hint
    hint = f" {told}".replace("|", "\\|") if told else ""
    names = "".join(f", `/{alias}`" for alias in listing.aliases)
    return f"`/{listing.name}{hint}`{names}", listing.description


def test_the_page_lists_every_command_as_the_catalog_and_features_do(tmp_path: Path):
    every = (*CATALOG, *feature_commands(tmp_path))
    rows = [(names, text) for names, text in _ROW.findall(_PAGE.read_text(encoding="utf-8"))]
    assert sorted(rows) == sorted(_row(each) for each in every if not each.hidden)

"""Writes the page about subcommands, docs/cli.md, and the manual page from their values."""

from collections.abc import Iterator
from pathlib import Path

from bridle.cli.subcommands.catalog import ROOT
from bridle.cli.subcommands.help import help_text
from bridle.cli.subcommands.values import Subcommand
from bridle.cli.verbs.help_page import manual_page

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
MANUAL = Path(__file__).parents[1] / "man" / "bridle.1"
_HEAD = """\
# Subcommands

`bridle "prompt"` and `bridle -p "prompt"` start sessions; `bridle --help` lists their flags. Everything else
is a subcommand. This page is written by `make tables` from the values in `src/bridle/cli/subcommands/`, which
the parser, `--help` and shell completion read too.

Every subcommand and nested one has `--help`; `bridle help mcp add` and `bridle mcp help add` show the same.
Options are written `--option value` or `--option=value`, before or behind the arguments; `--` ends them. They
are never abbreviated. Wrong words and what cannot be done end with exit
code 1 and one line on standard error.

## Completion

`bridle completion bash|zsh|fish|powershell` prints a script that completes subcommands, options and their
values, and the names of sessions, agents, models and background sessions:

```sh
eval "$(bridle completion bash)"    # in ~/.bashrc
eval "$(bridle completion zsh)"     # in ~/.zshrc, behind compinit
bridle completion fish > ~/.config/fish/completions/bridle.fish
bridle completion powershell | Out-String | Invoke-Expression    # in $PROFILE
```

The manual page is installed with bridle (`man bridle`), and `bridle man` shows it wherever bridle is.
"""


def main() -> None:
    PAGE.write_text(page(), encoding="utf-8")
    MANUAL.parent.mkdir(exist_ok=True)
    MANUAL.write_text(manual_page(), encoding="utf-8")


def page() -> str:
    """The page as it should be."""
    return "\n".join((_HEAD, *(part for each in ROOT.commands for part in _parts(each, (each.name,)))))


def _parts(command: Subcommand, path: tuple[str, ...]) -> Iterator[str]:
    if command.hidden:
        return
    yield f"{'#' * min(4, len(path) + 1)} bridle {' '.join(path)}\n\n```text\n{help_text(command, path)}```\n"
    for each in command.commands:
        yield from _parts(each, (*path, each.name))


if __name__ == "__main__":
    main()

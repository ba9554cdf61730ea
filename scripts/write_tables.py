"""Writes the tables of settings and variables into the pages that users read."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import msgspec
from msgspec import Struct

from bridle.config.schema import GlobalConfig, Settings
from bridle.config.settings_table import PREFERENCES, SETTINGS, Setting
from bridle.config.validate import alternatives, is_struct
from bridle.config.variables_table import VARIABLES, Variable

DOCS = Path(__file__).parents[1] / "docs"
_BEGIN, _END = "<!-- written by make tables -->", "<!-- end -->"
_COLUMNS = ("Key", "Type", "Default", "Who may set it", "Since", "Meaning", "Read by")
_OF_VARIABLES = ("Variable", "Type", "Default", "Since", "Meaning", "Read by")
_WHO = {
    "anyone": "anyone",
    "no project": "user, local, managed",
    "no folder": "user, managed",
    "managed": "managed",
}


def main() -> None:
    for name, text in pages().items():
        (DOCS / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """The pages as they should be, by their names."""
    return {
        "settings.md": _filled("settings.md", _settings()),
        "variables.md": _filled("variables.md", "\n".join(_table(_OF_VARIABLES, map(_variable, VARIABLES)))),
    }


def _settings() -> str:
    rows = [_setting(row, _type_of(row.key.split("."), Settings), _WHO[row.who]) for row in SETTINGS]
    more = [_setting(row, _type_of([row.key], GlobalConfig), "user") for row in PREFERENCES]
    return "\n".join([
        *_table(_COLUMNS, rows), "", "These are kept in `~/.claude.json` instead of a settings file:", "",
        *_table(_COLUMNS, more),
    ])  # fmt: skip


def _setting(row: Setting, type: str, who: str) -> Sequence[str]:
    default = "" if row.default is None else f"`{json.dumps(row.default)}`"
    meaning = f"{row.meaning}. **No effect:** {row.no_effect}" if row.no_effect else row.meaning
    since, reader = ("", "") if row.no_effect else (row.since, f"`{row.reader}`")
    return f"`{row.key}`", type, default, who, since, f"{meaning}.", reader


def _variable(row: Variable) -> Sequence[str]:
    default = "" if row.default is None else f"`{row.default}`"
    meaning = f"{row.meaning}. **No effect:** {row.no_effect}" if row.no_effect else row.meaning
    since, reader = ("", "") if row.no_effect else (row.since, f"`{row.reader}`")
    return f"`{row.name}`", row.type, default, since, f"{meaning}.", reader


def _type_of(path: Sequence[str], struct: type[Struct]) -> str:
    """The type of a key in words."""
    first, *rest = path
    field = next(each for each in msgspec.structs.fields(struct) if each.encode_name == first)
    choices = alternatives(field.type)
    if rest:
        return _type_of(rest, next(each for each in choices if is_struct(each)))
    return " or ".join(dict.fromkeys(map(_words, choices)))


_PLAIN: dict[Any, str] = {bool: "true, false", str: "text", int: "whole number", float: "number"}


def _words(choice: Any) -> str:
    if get_origin(choice) is Literal:
        return ", ".join(str(each) for each in get_args(choice))
    if get_origin(choice) is tuple:
        return "list"
    return _PLAIN.get(choice, "object")


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return [f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines]


def _filled(name: str, table: str) -> str:
    before, _, rest = (DOCS / name).read_text(encoding="utf-8").partition(_BEGIN)
    return f"{before}{_BEGIN}\n\n{table}\n\n{_END}{rest.partition(_END)[2]}"


if __name__ == "__main__":
    main()

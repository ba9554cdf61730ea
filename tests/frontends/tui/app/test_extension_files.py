"""Themes, keys and styles that the user keeps in files, and what is said when they are broken."""

import json
from pathlib import Path
from typing import Any

from tests.frontends.tui.app.session import bridle

_SEA = "38;2;1;170;254"


def _home_file(folder: Path, name: str, content: Any) -> Path:
    file = folder / "home" / ".claude" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))
    return file


async def test_a_theme_of_the_users_own_colors_the_screen(tmp_path: Path):
    _home_file(tmp_path, "themes/sea.json", {"base": "dark", "overrides": {"accent": "#01aafe"}})
    async with bridle(tmp_path, settings={"theme": "custom:sea"}, COLORTERM="truecolor") as terminal:
        await terminal.ready()
        await terminal.say("/theme")
        await terminal.until_text("custom:sea")
        await terminal.until_written(_SEA.encode())


async def test_a_broken_theme_is_named_with_its_line_and_cannot_be_chosen(tmp_path: Path):
    _home_file(tmp_path, "themes/sea.json", '{\n"base": }')
    async with bridle(tmp_path, settings={"theme": "custom:sea"}, size=(160, 30)) as terminal:
        await terminal.ready()
        await terminal.until_text("themes/sea.json:2:")
        await terminal.say("/theme custom:sea")
        await terminal.until(lambda screen: screen.text.count("themes/sea.json:2:") == 2)


async def test_broken_keys_are_told_at_the_start_and_when_the_file_changes(tmp_path: Path):
    file = _home_file(tmp_path, "keybindings.json", {"bindings": [{"context": "Nowhere", "bindings": {}}]})
    async with bridle(tmp_path, size=(160, 40)) as terminal:
        await terminal.ready()
        await terminal.until_text("unknown context 'Nowhere'")
        file.write_text('{"bindings": [{"context": "Elsewhere", "bindings": {}}]}')
        await terminal.until_text("unknown context 'Elsewhere'")


async def test_an_agent_whose_file_vanishes_while_it_is_looked_at_ends_nothing(tmp_path: Path):
    file = _home_file(tmp_path, "agents/digger.md", "---\nname: digger\ndescription: Digs\n---\nDig deep.")
    async with bridle(tmp_path, size=(120, 30)) as terminal:
        await terminal.ready()
        await terminal.say("/agents")
        await terminal.until_text("Dig deep.")
        file.unlink()
        terminal.type("\r")
        await terminal.until_text("esc back")
        terminal.type("\x1b\x1b")
        await terminal.ready()

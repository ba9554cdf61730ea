"""Takes the screenshots in docs/images: the real program, with a scripted model (`make images`)."""

import asyncio
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

from bridle.frontends.tui.style.colors import parse
from tests.fakes.messages_server import MessagesServer, Script, step
from tests.fakes.program import Program
from tests.fakes.terminal import Emulator, PtyProgram

_FOLDER = Path(__file__).parents[1] / "docs" / "images"
_SIZE = (92, 36)
_POINTS = 18
_MARGIN = 24
_GROUND, _TEXT = (24, 26, 31), (220, 223, 228)
_NAMED = {
    "black": (24, 26, 31), "red": (224, 108, 117), "green": (152, 195, 121), "brown": (229, 192, 123),
    "blue": (97, 175, 239), "magenta": (198, 120, 221), "cyan": (86, 182, 194), "white": (220, 223, 228),
}  # fmt: skip

_QUIET = {
    "CLAUDE_CODE_ENABLE_PROMPT_SUGGESTION": "0",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "BRIDLE_TITLES": "0",
}

Play = Callable[[PtyProgram], Awaitable[None]]


async def main() -> None:
    """Play every scene and keep its last screen."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    for name, script, play in _SCENES:
        emulator = await _played(script, play)
        picture(emulator).save(_FOLDER / f"{name}.png", optimize=True)
        sys.stdout.write(f"{name}.png\n")
    for name, words, last in _VERBS:
        emulator = await _played([], _until(last), *words)
        picture(emulator).save(_FOLDER / f"{name}.png", optimize=True)
        sys.stdout.write(f"{name}.png\n")


def _until(text: str) -> Play:
    async def play(terminal: PtyProgram) -> None:
        await terminal.until_text(text)

    return play


async def _played(script: Script, play: Play, *words: str) -> Emulator:
    with tempfile.TemporaryDirectory() as folder:
        async with MessagesServer(script) as server:
            program = Program(Path(folder), server.url, **_QUIET)
            project = program.project.rename(program.project.with_name("orchard"))
            (project / "pick.py").write_text(_CODE, encoding="utf-8")
            env = {
                **program.env,
                "BRIDLE_TRUST_FOLDER": str(project),
                "HOME": folder,
                "COLORTERM": "truecolor",
            }
            argv = [sys.executable, "-m", "bridle", *words]
            async with PtyProgram(argv, size=_SIZE, env=env, cwd=project) as terminal:
                if not words:
                    await terminal.until_text("? for keys")
                await play(terminal)
                return terminal.emulator


def picture(emulator: Emulator) -> Image.Image:
    """A screen as an image."""
    regular, bold = _font("Book", "Regular"), _font("Bold")
    width, height = round(regular.getlength("M")), _POINTS + 7
    columns, lines = emulator.screen.columns, _used_lines(emulator)
    size = (columns * width + 2 * _MARGIN, lines * height + 2 * _MARGIN)
    image = Image.new("RGB", size, _GROUND)
    draw = ImageDraw.Draw(image)
    for row in range(lines):
        for column in range(columns):
            cell = emulator.color(row, column)
            left, top = _MARGIN + column * width, _MARGIN + row * height
            fore, ground = _color(cell.fg, _TEXT), _color(cell.bg, _GROUND)
            if cell.reverse:
                fore, ground = ground, fore
            if ground != _GROUND:
                draw.rectangle((left, top, left + width, top + height), fill=ground)
            if cell.data.strip():
                draw.text((left, top), cell.data, font=bold if cell.bold else regular, fill=fore)
    if emulator.is_cursor_shown:
        row, column = emulator.cursor
        left, top = _MARGIN + column * width, _MARGIN + row * height
        draw.rectangle((left, top, left + 2, top + height - 2), fill=_TEXT)
    return image


def _used_lines(emulator: Emulator) -> int:
    """How many lines the picture needs: empty ones at the end are left out."""
    columns = range(emulator.screen.columns)
    used = [
        row
        for row in range(emulator.screen.lines)
        if any(emulator.color(row, each).data.strip() for each in columns)
    ]
    return max(used, default=0) + 1


def _color(name: str, otherwise: tuple[int, int, int]) -> tuple[int, int, int]:
    if name == "default":
        return otherwise
    return _NAMED.get(name.removeprefix("bright")) or parse(f"#{name}")


def _font(*styles: str) -> Any:
    listed = subprocess.run(
        ["fc-list", ":spacing=mono", "file", "style", "family"], capture_output=True, text=True, check=False
    ).stdout
    for wanted in styles:
        for entry in sorted(listed.splitlines(), key=lambda each: "DejaVu" not in each):
            if f"style={wanted}" in entry and "Oblique" not in entry:
                return ImageFont.truetype(entry.partition(":")[0], _POINTS)
    return ImageFont.load_default(_POINTS)


_CODE = """def pick(apples, limit):
    chosen = []
    for apple in apples:
        if apple.ripe and len(chosen) <= limit:
            chosen.append(apple)
    return chosen
"""
_ANSWER = """There is an **off-by-one** in `pick`: the check lets one apple too many through.

| apples | limit | picked |
|--------|-------|--------|
| 5      | 3     | 4      |

```python
if apple.ripe and len(chosen) < limit:
    chosen.append(apple)
```

1. The comparison becomes strict.
2. The tests cover the limit itself.
"""


def _call(tool: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"toolu_{tool}", "name": tool, "input": input}


async def _conversation(terminal: PtyProgram) -> None:
    terminal.type("why does pick return one apple too many?\r")
    await terminal.until_text("limit itself")
    terminal.type("fix it")
    await terminal.until_text("fix it")


async def _permission(terminal: PtyProgram) -> None:
    terminal.type("run the tests, then push\r")
    await terminal.until_text("enter to choose")


async def _edit(terminal: PtyProgram) -> None:
    terminal.type("fix the comparison\r")
    await terminal.until_text("enter to choose")


async def _menu(terminal: PtyProgram) -> None:
    terminal.type("/co")
    await terminal.until_text("/compact")


async def _question(terminal: PtyProgram) -> None:
    terminal.type("plan the storage\r")
    await terminal.until_text("enter to choose")


async def _context(terminal: PtyProgram) -> None:
    terminal.type("why does pick return one apple too many?\r")
    await terminal.until_text("limit itself")
    terminal.type("/context\r")
    await terminal.until_text("esc close")


async def _models(terminal: PtyProgram) -> None:
    terminal.type("/model\r")
    await terminal.until_text("this session only")


_SCENES: tuple[tuple[str, Script, Play], ...] = (
    ("conversation", [step(_call("Read", file_path="pick.py")), step(_ANSWER)], _conversation),
    (
        "permission",
        [step(_call("Bash", command="python -m pytest -q && git push", description="Test and push"))],
        _permission,
    ),
    (
        "edit",
        [
            step(_call("Read", file_path="pick.py")),
            step(_call("Edit", file_path="pick.py", old_string="<= limit", new_string="< limit")),
        ],
        _edit,
    ),
    ("commands", [], _menu),
    (
        "question",
        [
            step(
                _call(
                    "AskUserQuestion",
                    questions=[
                        {
                            "question": "Where should the harvest be kept?",
                            "header": "Storage",
                            "multiSelect": False,
                            "options": [
                                {"label": "SQLite", "description": "one file beside the program"},
                                {"label": "PostgreSQL", "description": "for several machines"},
                            ],
                        }
                    ],
                )
            )
        ],
        _question,
    ),
    ("models", [], _models),
    ("context", [step(_call("Read", file_path="pick.py")), step(_ANSWER)], _context),
)

_VERBS: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("policy", ("policy", "why", "Bash(git log --oneline | head -3; git push)"), "outside"),
)
"""Commands without a session, and a text at the end of what they print."""


if __name__ == "__main__":
    asyncio.run(main())

import subprocess
from pathlib import Path
from typing import Any

from tests.fakes.program import Program
from tests.frontends.tui.app.session import bridle

_PROJECT = Path(__file__).parents[2]
_SAMPLE = _PROJECT / "examples" / "broken-calculator"
_NO_KEY: dict[str, Any] = {"ANTHROPIC_API_KEY": "", "ANTHROPIC_BASE_URL": ""}


def _sample() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in _SAMPLE.iterdir() if path.is_file()}


async def test_in_a_pipe_the_demo_prints_its_steps_and_leaves_everything_as_it_was(tmp_path: Path):
    before = _sample()
    program = Program(tmp_path, **_NO_KEY)

    done = await program.run("demo", stdin="delete everything")

    assert done.code == 0, done.err
    for step in ("* Read(", "* Edit(", "* Bash("):
        assert step in done.err
    assert " tokens" not in done.err and "1 lines" not in done.err
    assert "not a language model" in done.out
    assert done.out.count("All tests pass now") == 1
    assert "+    if cents >= DISCOUNT_FROM:" in done.out
    assert _sample() == before
    assert not any(program.home.rglob("*")) and not any(program.project.rglob("*"))


async def test_at_a_terminal_the_demo_opens_with_the_prompt_typed_in(tmp_path: Path):
    before = _sample()
    async with bridle(tmp_path, (), "demo", size=(100, 40), trusted=False, **_NO_KEY) as terminal:
        await terminal.until(lambda screen: "❯ fix the failing test" in screen.text)
        assert "no key and no network" in terminal.emulator.text
        terminal.type("\r")
        for question in ("Run a command?", "Edit a file?", "Run a command?"):
            await terminal.until(
                lambda screen, question=question: question in screen.text and "to choose" in screen.text
            )
            terminal.type("1")
            await terminal.until(lambda screen: "to choose" not in screen.text)
        await terminal.until_text("All tests pass now")
        await terminal.until_text("? for keys")
        terminal.type("\x04\x04")
        await terminal.until_text("The first start asks for an API key")
        shown = "\n".join(terminal.emulator.everything)
        assert "What changed:" in shown and "+    if cents >= DISCOUNT_FROM:" in shown
        assert "--resume" not in shown
        assert not terminal.server.requests
    assert _sample() == before


def test_make_try_is_the_demo_and_says_what_it_downloads_before_it_does():
    shown = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--always-make", "try"],
        cwd=_PROJECT, capture_output=True, text=True, timeout=100, check=True,
    ).stdout.splitlines()  # fmt: skip
    told = next(at for at, line in enumerate(shown) if "Downloading" in line)
    assert told < next(at for at, line in enumerate(shown) if "pip install" in line)
    assert shown[-1].endswith("/bridle demo")

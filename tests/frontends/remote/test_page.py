"""The page: text stays text, and what it follows comes once and in order (S61, R13)."""

import asyncio
import re
import shutil
from pathlib import Path

import pytest

import bridle.frontends.remote
from bridle.frontends.remote.http import Timeouts
from bridle.types.ids import new_uuid
from tests.fakes.remote import CuttingLine
from tests.frontends.remote.shared_sessions import Served, served

_PAGE = Path(bridle.frontends.remote.__file__).parent / "page"
_SCRIPTS = sorted(_PAGE.glob("*.js"))
_NODE = shutil.which("node")


@pytest.mark.skipif(_NODE is None, reason="node is not installed")
async def test_the_scripts_of_the_page_do_what_they_promise():
    assert _NODE is not None
    async with (
        served(Timeouts(beat=0.005)) as made,
        CuttingLine(made.client.port, seed=7, least=4_000, most=12_000) as line,
    ):
        made.shared_session.on_people = lambda who: None if who is None else _talk(made)
        process = await asyncio.create_subprocess_exec(
            _NODE,
            str(Path(__file__).with_name("page.test.mjs")),
            str(_PAGE),
            f"http://127.0.0.1:{line.port}",
            made.client.token,
            made.shared_session.id,
            f"http://127.0.0.1:{made.client.port}",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        async with asyncio.timeout(50):
            said, _ = await process.communicate()
        assert process.returncode == 0, said.decode()
        assert [each[:2] for each in made.performed.done] == [("prompt", "once")]


def _talk(made: Served) -> None:
    """Say something whenever somebody comes, and more than the line lets through when they come back."""
    for _ in range(5 if made.shared_session.log.last == 0 else 100):
        number = made.shared_session.log.last + 1
        made.shared_session.publish(
            {"type": "user", "uuid": new_uuid(), "number": number, "text": "x" * (number % 97)}
        )


@pytest.mark.parametrize("path", _SCRIPTS, ids=lambda path: path.name)
def test_no_script_makes_markup_or_code_of_text(path: Path):
    text = path.read_text(encoding="utf-8")
    assert re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|srcdoc", text) is None
    assert re.search(r"\beval\b|new Function|setAttribute\(\"(?:on|style|src)", text) is None


def test_the_page_loads_nothing_from_elsewhere_and_holds_no_script_of_its_own():
    text = (_PAGE / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'(?:src|href)="([^"]*)"', text) == ["page.css", "page.js"]
    assert re.search(r"\son\w+=|style=|<script(?! type=\"module\" src)", text) is None
    css = (_PAGE / "page.css").read_text(encoding="utf-8")
    assert "url(" not in css and "@import" not in css

"""Pages for a browser: whole in one file, inert whatever they quote, and readable in a real browser."""

from pathlib import Path
from typing import Any

from PIL import Image

from bridle.commands.pages.conversation_page import Export, conversation_page, markdown_html
from bridle.providers.scripted import calls, says
from bridle.tools.files.write import TOOL as WRITE
from bridle.types.command import Says
from tests.fakes.browser import open_page
from tests.fakes.commanded import Commanded
from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.program import Program
from tests.fakes.sse import tool_use

_HOSTILE = (
    "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    "\x1b]0;owned\x07\x1b[31mred\x1b[0m \u202eesrever </title></style></pre>"
    "[click](javascript:document.title='owned') ![i](http://127.0.0.1:9/x.png)\n\n"
    "```html\n</code></pre><script>document.title='owned'</script>\n```\n"
)


def test_markdown_keeps_html_as_text_and_fetches_nothing():
    page = markdown_html(_HOSTILE + "| a | b |\n|---|---|\n| ~~c~~ | **d** |\n")
    assert "<script" not in page and "<img" not in page and 'href="javascript' not in page
    assert "\x1b" not in page and "\u202e" not in page and "&lt;U+202E&gt;" in page
    assert "<s>c</s>" in page and "<strong>d</strong>" in page and 'class="scroll"' in page


async def test_an_export_shows_the_whole_conversation_and_runs_nothing(tmp_path: Path):
    write = calls("Write", file_path=str(tmp_path / "b.py"), content="y = 2\n")
    script = [
        says("# Plan\n\n- **one**\n\n```python\ndef f(): return 1\n```", write),
        says(_HOSTILE),
    ]
    commanded = Commanded(tmp_path, script, WRITE)
    await commanded.prompt(f"begin {_HOSTILE}")
    said = await commanded.run("/export --html out.html")
    assert isinstance(said, Says) and "out.html" in said.text
    (page,) = tmp_path.rglob("out.html")
    said = await commanded.run("/export first.html --html")
    assert isinstance(said, Says) and "first.html" in said.text and list(tmp_path.rglob("first.html"))
    source = page.read_text()
    assert "http-equiv" in source and "<script" not in source and "\x1b" not in source
    seen = await open_page(page, "--dump-dom")
    assert "<title>begin" in seen and "<strong>one</strong>" in seen and 'class="hl-k">def' in seen
    assert seen.count("<details") >= 1 and "Write" in seen
    assert "<script" not in seen and "<img" not in seen


async def test_an_export_of_huge_lines_and_many_calls_fits_a_phone(tmp_path: Path):
    long = {"type": "text", "text": "`" + "z" * 300_000 + "`"}
    entries: list[Any] = [
        {"type": "user", "uuid": "u", "message": {"role": "user", "content": "w" * 5_000}},
        {
            "type": "assistant",
            "uuid": "a",
            "message": {
                "id": "m",
                "model": "m",
                "content": [long],
            },
        },
    ]
    page = tmp_path / "page.html"
    page.write_text(conversation_page(Export(title="t" * 500, entries=entries)))
    assert page.stat().st_size < 1_000_000
    shot = tmp_path / "shot.png"
    await open_page(page, f"--screenshot={shot}", width=500, height=900)
    with Image.open(shot) as image:
        assert image.size[0] == 500


async def test_usage_is_a_page_with_charts_in_a_real_browser(tmp_path: Path):
    commanded = Commanded(tmp_path, [says("one"), says("two")])
    await commanded.prompt("first prompt", "second prompt")
    said = await commanded.run("/usage --html usage.html")
    assert isinstance(said, Says) and "30 days" in said.text
    (page,) = tmp_path.rglob("usage.html")
    seen = await open_page(page, "--dump-dom")
    for words in ("$ per day and model", "By source", "cache hit rate", "context over time", "second prompt"):
        assert words.lower() in seen.lower(), words
    assert seen.count("<svg") >= 4 and "<script" not in seen


async def test_agents_stand_inside_the_call_that_started_them(tmp_path: Path):
    agent = {"description": "look", "prompt": "Look around.", "subagent_type": "general-purpose"}
    script = [
        step(tool_use("Agent", "c1", run_in_background=False, **agent), when='"go"'),
        step("All done.", when='"tool_use_id":"c1"'),
        step("I saw a **barn**.", when="Look around."),
    ]
    async with MessagesServer(script) as server:
        program = Program(tmp_path, server.url)
        await program.run("-p", "go")
        done = await program.run("-p", "--continue", "/export --html talk")
    page = program.project / "talk.html"
    assert page.exists(), done
    seen = await open_page(page, "--dump-dom")
    nested = seen.partition('class="nested"')[2]
    assert "Look around." in nested and "<strong>barn</strong>" in nested and "All done." in nested

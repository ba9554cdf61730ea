"""The page in a real browser: questions can be answered on a phone."""

import shutil
from pathlib import Path

import bridle.frontends.remote
from tests.fakes.browser import open_page

_PAGE = Path(bridle.frontends.remote.__file__).parent / "page"
_MEASURE = """
import { draw } from "./questions.js";
const input = { file_path: "a.txt", content: Array.from({ length: 80 }, (_, n) => `line ${n}`).join("\\n") };
const request = { subtype: "can_use_tool", tool_name: "Write", input };
const place = document.getElementById("questions");
place.append(draw({ request_id: "q", digest: "d", request }, () => {}));
const seen = [...place.querySelectorAll("button")].map((button) => {
  const { top, bottom } = button.getBoundingClientRect();
  const panel = place.getBoundingClientRect();
  return `${button.textContent}:${top >= panel.top && bottom <= Math.min(panel.bottom, window.innerHeight)}`;
});
document.title = seen.join(" ");
"""


async def test_allow_and_refuse_are_in_sight_on_a_phone_however_long_the_input(tmp_path: Path):
    for path in _PAGE.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    (tmp_path / "page.js").write_text(_MEASURE, encoding="utf-8")
    text = await open_page(
        tmp_path / "index.html", "--allow-file-access-from-files", "--dump-dom", width=500, height=844
    )
    assert "<title>Allow once:true Refuse:true</title>" in text

"""The page of the hub in a real browser, with a real machine behind it."""

import asyncio
import subprocess
from pathlib import Path

import pytest

import bridle.frontends.hub
from bridle.frontends.hub import identity
from tests.fakes.devtools import tab
from tests.fakes.messages_server import step
from tests.frontends.hub.scene import asks, hub_at, said
from tests.frontends.hub.test_machine import machine_at

_PAGE = Path(bridle.frontends.hub.__file__).parent / "page"
_CALL = {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "touch made.txt"}}
_ANSWER = """\
# Made

It is **there**: see `made.txt` and [the docs](https://example.com/x).

| file | size |
|---|---|
| made.txt | 0 |

```python
return "hello"  # nothing else
```

- [x] one
- two <img src=x onerror="document.title='pwned'">
"""


async def test_a_phone_is_paired_starts_a_session_answers_and_reads_the_result(tmp_path: Path):
    async with machine_at(tmp_path, [step(_CALL), step(_ANSWER)]) as machine:
        await machine.work()
        code = await machine.scene.hub.write(identity.make_code, kind="device", role="start", name="")
        async with tab(tmp_path) as page:
            await page.size(390, 844)
            await page.open(f"{machine.scene.nobody.url}/")
            await page.fill(".pair input", code)
            await page.press("Pair")
            await page.until(
                "document.body?.textContent.includes('connected') && !document.querySelector('.pair')"
            )
            assert await page.run("document.cookie") == ""

            await page.press("New session")
            await page.fill("dialog textarea", "make it")
            await page.press("Start")
            await page.until("Boolean(document.querySelector('#here .question'))")
            inside = await page.run(
                "[...document.querySelectorAll('#here .buttons button')].every((each) => {"
                " const { top, bottom } = each.getBoundingClientRect();"
                " return top >= 0 && bottom <= innerHeight; })"
            )
            assert inside, "Allow and Refuse are in sight on a phone"
            assert "touch made.txt" in await page.run("document.querySelector('#here pre').textContent")
            await page.press("Allow once")
            await page.until("Boolean(document.querySelector('.log .end'))")
            assert (machine.program.project / "made.txt").exists()
            shown = await page.run(
                "['h3', 'table td', '.code .keyword', '.code .string', 'li input', 'a.link', 'strong'].map("
                "(each) => document.querySelector(`.log ${each}`)?.textContent ?? null)"
            )
            assert None not in shown
            assert (
                await page.run("document.querySelector('.log a.link').rel") == "noopener noreferrer nofollow"
            )
            assert await page.run("document.querySelectorAll('.log img').length") == 0
            assert "pwned" not in await page.run("document.title")

            await page.run("window.location.hash = ''")
            await page.until("document.querySelector('.card .state')?.textContent === 'ready'")


async def test_questions_of_all_machines_come_first_and_disappear_everywhere_once_answered(tmp_path: Path):
    async with hub_at(tmp_path / "hub") as scene:
        tablet, machine = await scene.device(name="tablet"), await scene.machine()
        id, worker, _ = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}/worker/events"
        await worker.post(
            path, {"events": [asks("Edit", file_path="a.py", old_string="one\ntwo", new_string="one\n2")]}
        )
        code = await scene.hub.write(identity.make_code, kind="device", role="answer", name="phone")
        async with tab(tmp_path) as page:
            await page.size(390, 844)
            await page.open(f"{scene.nobody.url}/")
            await page.fill(".pair input", code)
            await page.press("Pair")
            await page.until("document.title.startsWith('(1)')")
            rows = await page.run(
                "[...document.querySelectorAll('#questions .diff div')].map((each) => each.textContent)"
            )
            assert rows == ["  one", "- two", "+ 2"]
            assert not await page.run("document.body.textContent.includes('New session')")
            (question,) = (await tablet.get("/api/state"))["questions"]
            named = {"request_id": question["request_id"], "digest": question["digest"]}
            assert (await tablet.act(id, "answer", behavior="deny", **named)).status == 200
            await page.until(
                "document.querySelectorAll('.question').length === 0 && !document.title.startsWith('(')"
            )


async def test_the_page_catches_up_after_the_link_was_lost_and_shows_earlier_messages(tmp_path: Path):
    async with hub_at(tmp_path / "hub") as scene:
        machine = await scene.machine()
        id, worker, _ = await scene.worker(machine)
        path = f"/v1/code/sessions/{id}/worker/events"
        await worker.post(path, {"events": [said(f"message {n}") for n in range(250)]})
        code = await scene.hub.write(identity.make_code, kind="device", role="watch", name="wall")
        async with tab(tmp_path) as page:
            await page.open(f"{scene.nobody.url}/")
            await page.fill(".pair input", code)
            await page.press("Pair")
            await page.until("document.querySelectorAll('.card').length === 1")
            await page.run(f"window.location.hash = '#s/{id.replace('cse_', 'session_')}'")
            await page.until("document.querySelectorAll('.log .text').length === 200")
            await page.press("Show earlier messages")
            await page.until("document.querySelectorAll('.log .text').length === 250")
            assert await page.run("document.querySelector('.log .text').textContent") == "message 0"

            await page.send("Network.enable")
            offline = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
            await page.send("Network.emulateNetworkConditions", offline=True, **offline)
            for tail in list(scene.hub.feed._watches):
                tail.wake()
            await worker.post(path, {"events": [said(f"late {n}") for n in range(300)]})
            await page.send("Network.emulateNetworkConditions", offline=False, **offline)
            await page.run("window.dispatchEvent(new Event('online'))")
            await page.until("document.querySelectorAll('.log .text').length === 550")
            texts = await page.run(
                "[...document.querySelectorAll('.log .text')].map((each) => each.textContent)"
            )
            assert texts == [f"message {n}" for n in range(250)] + [f"late {n}" for n in range(300)]


async def test_the_page_is_small_has_no_inline_code_and_needs_no_key(tmp_path: Path):
    async with hub_at(tmp_path) as scene:
        from bridle.frontends.hub.pages import FILES

        size = 0
        for path in FILES:
            answer = await scene.nobody.send("GET", path, headers=(("sec-fetch-site", "cross-site"),))
            assert answer.status == 200 and answer.headers["x-content-type-options"] == "nosniff"
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            size += len(answer.body)
        assert size < 150_000
        html = (await scene.nobody.send("GET", "/")).body.decode()
        assert "onclick" not in html and "<style" not in html


async def test_scripts_of_the_page_compute_changes_and_ids_as_they_should(tmp_path: Path):
    for file in (*_PAGE.iterdir(), *(_PAGE.parents[1] / "remote" / "page").glob("*.js")):
        if file.suffix == ".js" and file.name != "page.js":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "package.json").write_text('{"type": "module"}', encoding="utf-8")
    (tmp_path / "try.js").write_text(
        """
        import assert from "node:assert";
        import { compare, changeOf } from "./diff.js";
        const text = (rows) => rows.map(([sign, line]) => sign + line).join("|");
        assert.equal(text(compare("a\\nb\\nc", "a\\nx\\nc")), " a|-b|+x| c");
        assert.equal(text(compare("", "a\\nb")), "+a|+b");
        assert.equal(text(compare("a", "")), "-a");
        assert.equal(text(compare("same", "same")), " same");
        assert.equal(text(compare("a\\nb\\nc\\nd", "b\\nc\\ne")), "-a| b| c|-d|+e");
        assert.equal(changeOf("Bash", { command: "x" }), null);
        for (let n = 0; n < 200; n += 1) {
          const letter = (seed, at) => "abc"[(seed * 7 + at * at) % 3];
          const lines = (seed) => Array.from({ length: seed % 9 }, (_, at) => letter(seed, at)).join("\\n");
          const [before, after] = [lines(n), lines(n * 3 + 1)];
          const rows = compare(before, after);
          const on = (sign) => rows.filter(([each]) => each === sign || each === " ");
          const side = (sign) => on(sign).map(([, line]) => line).join("\\n");
          assert.equal(side("-"), before);
          assert.equal(side("+"), after);
        }
        """,
        encoding="utf-8",
    )
    try:
        done = await asyncio.to_thread(
            subprocess.run, ["node", "try.js"], cwd=tmp_path, capture_output=True, text=True, check=False
        )
    except FileNotFoundError:
        pytest.skip("no node on this machine")
    assert done.returncode == 0, done.stderr

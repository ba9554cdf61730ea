"""The page of the hub in a real browser, with a real machine behind it."""

import asyncio
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

import bridle.frontends.hub
from bridle.frontends.hub import identity, sessions
from bridle.frontends.hub.identity import Role
from tests.fakes.devtools import Tab, tab
from tests.fakes.messages_server import step
from tests.fakes.processes import eventually
from tests.frontends.hub.scene import Scene, asks, hub_at, said
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


async def _paired(page: Tab, scene: Scene, role: Role = "start") -> None:
    code = await scene.hub.write(identity.make_code, kind="device", role=role, name="phone")
    await page.size(390, 844)
    await page.open(f"{scene.nobody.url}/#pair={code}")
    await page.press("Pair")
    await page.until("document.querySelectorAll('.card').length > 0")


async def _asked_of(scene: Scene, id: str) -> list[Any]:
    """What the worker of a session is to do, in order."""
    plain = id.removeprefix("cse_")
    events = await scene.hub.read(sessions.events, plain, "in", after=0, limit=100)
    return [msgspec.json.decode(each.body) for each in events]


_PLAN = {
    "subtype": "can_use_tool",
    "tool_name": "ExitPlanMode",
    "input": {"plan": "# The plan\n\n1. Do it."},
    "permission_suggestions": [
        {"type": "setMode", "mode": mode, "destination": "session"} for mode in ("default", "acceptEdits")
    ],
}


@pytest.mark.parametrize(
    ("words", "done"),
    [
        ("Yes, accept edits", [{"behavior": "allow", "suggestion": 1}]),
        ("Yes, approve each edit", [{"behavior": "allow", "suggestion": 0}]),
        (
            "Yes, in a new conversation",
            [
                {"behavior": "deny", "message": "The user starts the plan in a new conversation."},
                "interrupt",
                "/clear",
                "set_permission_mode",
                "Implement the following plan:\n\n# The plan\n\n1. Do it.",
            ],
        ),
        ("No, keep planning", [{"behavior": "deny", "message": "The user wants the plan changed: shorter"}]),
    ],
)
async def test_a_plan_is_reviewed_with_four_answers(tmp_path: Path, words: str, done: list[Any]):
    async with hub_at(tmp_path / "hub") as scene, tab(tmp_path) as page:
        machine = await scene.machine()
        id, worker, _ = await scene.worker(machine)
        asked = {"type": "control_request", "request_id": "q1", "request": _PLAN}
        await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": [asked]})
        await _paired(page, scene)
        await page.until("document.querySelector('.plan h3')?.textContent === 'The plan'")
        buttons = await page.run(
            "[...document.querySelectorAll('.plan-review button')].map((e) => e.textContent)"
        )
        assert len(buttons) == 4 and words in buttons
        if words.startswith("No"):
            await page.fill(".plan-review input", "shorter")
        await page.press(words)
        await page.until("document.querySelectorAll('.question').length === 0")
        async with asyncio.timeout(60):
            while len(frames := await _asked_of(scene, id)) < len(done):
                await page.run("1")
        seen = [
            each.get("response", {}).get("response")
            or each.get("request", {}).get("subtype")
            or each["message"]["content"]
            for each in frames
        ]
        assert seen == done


async def test_agents_are_nested_tasks_are_listed_and_a_question_with_choices_is_answered(tmp_path: Path):
    def calls(id: str, name: str, parent: str | None = None, **given: Any) -> dict[str, Any]:
        block = {"type": "tool_use", "id": id, "name": name, "input": given}
        return {**said(""), "message": {"content": [block]}, "parent_tool_use_id": parent}

    def result(id: str, text: str) -> dict[str, Any]:
        block = {"type": "tool_result", "tool_use_id": id, "content": text}
        return {**said("", "user"), "message": {"content": [block]}}

    choices = {"question": "Which color?", "options": [{"label": "red"}, {"label": "blue"}]}
    asked = {"subtype": "can_use_tool", "tool_name": "AskUserQuestion", "input": {"questions": [choices]}}
    events = [
        calls("a1", "Agent", description="look"), calls("g1", "Grep", "a1", pattern="x"),
        calls("t1", "TaskCreate", subject="First"), result("t1", "Task #1 created: First"),
        calls("t2", "TaskCreate", subject="Second"), result("t2", "Task #2 created: Second"),
        calls("t3", "TaskUpdate", taskId="1", status="completed"), result("t3", "changed"),
        {"type": "control_request", "request_id": "q1", "request": asked},
    ]  # fmt: skip
    async with hub_at(tmp_path / "hub") as scene, tab(tmp_path) as page:
        machine = await scene.machine()
        id, worker, _ = await scene.worker(machine)
        await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": events})
        await _paired(page, scene)
        await page.run("document.querySelector('.card a').click()")
        await page.until("document.querySelector('.item.call > .nested .tool')?.textContent === 'Grep'")
        await page.until("document.querySelector('#tasks summary')?.textContent === 'Tasks 1/2'")
        await page.run("document.querySelector('#here input[value=blue]').click()")
        await page.press("Answer")
        await page.until("document.querySelectorAll('.question').length === 0")
        (frame,) = await _asked_of(scene, id)
        assert frame["response"]["response"]["answers"] == {"Which color?": "blue"}


async def test_what_is_written_without_a_connection_is_sent_once_it_is_back(tmp_path: Path):
    async with hub_at(tmp_path / "hub") as scene, tab(tmp_path) as page:
        machine = await scene.machine()
        id, worker, _ = await scene.worker(machine)
        await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": [said("Hello.")]})
        await _paired(page, scene)
        await page.run("document.querySelector('.card a').click()")
        await page.until("document.querySelector('.log .text')?.textContent === 'Hello.'")
        await page.send("Network.enable")
        limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        await page.send("Network.emulateNetworkConditions", offline=True, **limits)
        await page.fill(".compose textarea", "written in a tunnel")
        await page.press("Send")
        await page.until("document.getElementById('problem').textContent.includes('as soon as there is one')")
        assert await _asked_of(scene, id) == []
        await page.send("Network.emulateNetworkConditions", offline=False, **limits)
        await page.run(
            "(async () => { const { sendOutbox } = await import('./view.js'); await sendOutbox(); })()"
        )
        (frame,) = await _asked_of(scene, id)
        assert frame["message"]["content"] == "written in a tunnel"
        await page.run(
            "(async () => { const { sendOutbox } = await import('./view.js'); await sendOutbox(); })()"
        )
        assert len(await _asked_of(scene, id)) == 1


async def test_tabs_share_one_connection(tmp_path: Path):
    async with hub_at(tmp_path / "hub") as scene, tab(tmp_path) as page:
        machine = await scene.machine()
        id, worker, _ = await scene.worker(machine)
        await _paired(page, scene)
        # More than the six connections that a browser has for one server.
        name = id.replace("cse_", "session_")
        for _ in range(8):
            await page.send("Target.createTarget", url=f"{scene.nobody.url}/#s/{name}", background=True)
        await page.send("Page.bringToFront")
        await page.run(f"window.location.hash = '#s/{name}'")
        await page.until("Boolean(document.getElementById('log'))")
        await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": [said("For all.")]})
        await page.until("document.querySelector('.log .text')?.textContent === 'For all.'")
        await page.fill(".compose textarea", "still there")
        await page.press("Send")
        await page.until("document.querySelector('.compose textarea').value === ''")
        assert len(await _asked_of(scene, id)) == 1
        # A connection that was replaced by a newer one ends with its next beat.
        for watch in list(scene.hub.feed._watches):
            watch.wake()
        await eventually(lambda: len(scene.hub.feed._watches) <= 2, seconds=60)

"""Takes the screenshots of the hub in docs/images: the real page with invented sessions (`make images`)."""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

from bridle.frontends.hub import identity
from bridle.types.ids import new_uuid
from tests.fakes.devtools import Tab, tab
from tests.frontends.hub.scene import Client, Scene, asks, hub_at, said

_FOLDER = Path(__file__).parents[1] / "docs" / "images"
_PHONE, _DESKTOP = (390, 844), (1280, 800)
_MODES = ("default", "acceptEdits", "plan")
_STATE = {"model": "claude-sonnet-5-5", "modes": _MODES, "mode": "default", "ends": True}
_CHANGE = {
    "file_path": "src/shop/cart.py",
    "old_string": "def total(items):\n    return sum(i.price for i in items)\n",
    "new_string": "def total(items, vat=0.2):\n    net = sum(i.price * i.count for i in items)\n"
    "    return round(net * (1 + vat), 2)\n",
}
_ANSWER = """\
The total ignored the **number** of each item. I changed `total` and added a test.

| case | before | after |
|---|---|---|
| two apples | 1.20 | 2.40 |
| empty cart | 0 | 0 |

```python
def total(items, vat=0.2):
    net = sum(i.price * i.count for i in items)  # was: price only
    return round(net * (1 + vat), 2)
```
"""
_PLAN = """\
## Upgrade to Python 3.13

1. Raise `requires-python` and the matrix of CI.
2. Replace `datetime.utcnow()` (4 places).
3. Run the tests with warnings as errors.
"""


def _calls(id: str, name: str, parent: str | None = None, **given: Any) -> dict[str, Any]:
    block = {"type": "tool_use", "id": id, "name": name, "input": given}
    return {**said(""), "message": {"content": [block]}, "parent_tool_use_id": parent}


def _result(id: str, text: str) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": id, "content": text}
    return {**said("", "user"), "message": {"content": [block]}}


_FIX = (
    said("The total in the cart is wrong when someone buys two of a thing. Fix it.", "user"),
    said("I look at how the total is computed."),
    _calls("c1", "Read", file_path="src/shop/cart.py"), _result("c1", "def total(items): …"),
    _calls("c2", "TaskCreate", subject="Fix total()"), _result("c2", "Task #1 created: Fix total()"),
    _calls("c3", "TaskCreate", subject="Add a test"), _result("c3", "Task #2 created: Add a test"),
    _calls("c4", "TaskUpdate", taskId="1", status="completed"), _result("c4", "changed"),
    _calls("c5", "TaskUpdate", taskId="2", status="in_progress"), _result("c5", "changed"),
    _calls("c6", "Edit", **_CHANGE), _result("c6", "changed"),
    _calls("a1", "Agent", description="Look for other callers"), _calls("g1", "Grep", "a1", pattern="total("),
    _result("a1", "Three callers, all pass items only."),
    said(_ANSWER),
    asks("Bash", command="pytest -q tests/test_cart.py", description="Run the tests of the cart"),
)  # fmt: skip
_REVIEW = {
    "type": "control_request",
    "request_id": new_uuid(),
    "request": {
        "subtype": "can_use_tool", "tool_name": "ExitPlanMode", "input": {"plan": _PLAN},
        "permission_suggestions": [{"type": "setMode", "mode": each} for each in ("default", "acceptEdits")],
    },
}  # fmt: skip


async def main() -> None:
    """Fill a hub, and keep its screens in light and dark, for a phone and for a desktop."""
    with tempfile.TemporaryDirectory() as folder:
        async with hub_at(Path(folder) / "hub") as scene, tab(Path(folder)) as page:
            session = await _fill(scene)
            code = await scene.hub.write(identity.make_code, kind="device", role="start", name="phone")
            await page.size(*_PHONE)
            await page.open(f"{scene.nobody.url}/#pair={code}")
            await page.press("Pair")
            await page.until("document.querySelectorAll('.card').length >= 4")
            for name, size, place, dark in (
                ("hub-phone", _PHONE, "", False), ("hub-phone-dark", _PHONE, "", True),
                ("hub-session-phone", _PHONE, session, False), ("hub", _DESKTOP, "", False),
                ("hub-session", _DESKTOP, session, False), ("hub-session-dark", _DESKTOP, session, True),
            ):  # fmt: skip
                await page.size(*size, dark=dark)
                await _show(page, place)
                await page.picture(_FOLDER / f"{name}.png")
                sys.stdout.write(f"{name}.png\n")


async def _show(page: Tab, session: str) -> None:
    await page.run(f"window.location.hash = {f'#s/{session}' if session else ''!r}")
    await page.until("Boolean(document.querySelector('.question button:not(:disabled)'))")
    await page.until("Boolean(document.querySelector('#log table, .card'))")


async def _fill(scene: Scene) -> str:
    """Invented machines and sessions; returns the one to show."""
    desk, laptop = await scene.machine("workstation"), await scene.machine("laptop")
    await scene.environment(desk, directory="/home/ada/src/shop", max_sessions=8)
    await scene.environment(laptop, directory="/home/ada/src/site", branch="drafts")
    shop, site = {"cwd": "/home/ada/src/shop"}, {"cwd": "/home/ada/src/site"}
    fix = {**shop, "asks": ["Bash"], "cost": 0.21, "branch": "main"}
    session = await _session(scene, desk, "Fix the total of the cart", "requires_action", fix, *_FIX)
    plan = {**shop, "asks": ["ExitPlanMode"], "mode": "plan"}
    await _session(scene, desk, "Upgrade to Python 3.13", "requires_action", plan, _REVIEW)
    report = {"cwd": "/home/ada/src/reports", "joined": True, "cost": 1.02}
    await _session(scene, desk, "Nightly report", "running", report)
    await _session(scene, laptop, "Write the release notes", "idle", {**site, "cost": 0.07})
    await _session(scene, laptop, "Old work", "completed", site)
    return session.replace("cse_", "session_")


async def _session(scene: Scene, machine: Client, title: str, status: str, facts: Any, *events: Any) -> str:
    id = (await machine.post("/v1/code/sessions", {"title": title, "bridge": {}}))["session"]["id"]
    worker = scene.nobody.with_key((await machine.post(f"/v1/code/sessions/{id}/bridge"))["worker_jwt"])
    await worker.post(f"/v1/code/sessions/{id}/worker/events", {"events": events})
    report = {"worker_status": status, "external_metadata": {**_STATE, **facts}}
    await worker.send("PUT", f"/v1/code/sessions/{id}/worker", report)
    return id


if __name__ == "__main__":
    asyncio.run(main())

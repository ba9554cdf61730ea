"""A real browser that a test steers: clicks, typing, scripts and pictures over the DevTools protocol."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from tests.fakes.browser import require_browser

_NEXT_PICTURE = "new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 0)))"


class PageChanged(Exception):
    """Another page was opened while a script ran."""


class Tab:
    """One page."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._last = 0

    async def send(self, method: str, **parameters: Any) -> Any:
        self._last += 1
        number = self._last
        await self._socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        async with asyncio.timeout(60):
            while True:
                answer = json.loads(await self._socket.recv())
                if answer.get("id") == number:
                    if "navigated" in str(answer.get("error")) or "context" in str(answer.get("error")):
                        raise PageChanged
                    assert "error" not in answer, answer
                    return answer["result"]

    async def run(self, script: str) -> Any:
        """What an expression comes to."""
        done = await self.send("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done
        return done["result"].get("value")

    async def until(self, script: str) -> Any:
        """Wait until an expression is true, and return it."""
        async with asyncio.timeout(60):
            while True:
                try:
                    if value := await self.run(script):
                        return value
                    await self.run(_NEXT_PICTURE)
                except PageChanged:
                    continue

    async def open(self, address: str) -> None:
        await self.send("Page.navigate", url=address)
        await self.until("document.readyState === 'complete'")

    async def press(self, words: str) -> None:
        """Press the button with these words, once it can be pressed."""
        named = f"(each) => each.textContent === {words!r} && !each.disabled"
        find = f"[...document.querySelectorAll('button')].find({named})"
        await self.until(f"Boolean({find})")
        await self.run(f"{find}.click()")

    async def fill(self, selector: str, text: str) -> None:
        """Type into a field as a person would."""
        await self.until(f"Boolean(document.querySelector({selector!r}))")
        await self.run(f"document.querySelector({selector!r}).focus()")
        await self.send("Input.insertText", text=text)

    async def size(self, width: int, height: int, *, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        await self.send("Emulation.setEmulatedMedia", features=scheme)
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    async def picture(self, path: Path) -> None:
        shot = await self.send("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))


@asynccontextmanager
async def tab(folder: Path) -> AsyncGenerator[Tab]:
    """A browser with one empty page; what it keeps lies below `folder`."""
    kept = folder / "browser"
    line = (
        require_browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
        "--hide-scrollbars", "--remote-debugging-port=0", f"--user-data-dir={kept}", "about:blank",
    )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *line, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(100):
            while b"DevTools listening on " not in (said := await process.stderr.readline()):
                assert said, "the browser ended"
        address = said.decode().split("DevTools listening on ")[1].strip()
        draining = asyncio.create_task(process.stderr.read())
        async with connect(address, max_size=None) as browser:
            await browser.send(json.dumps({"id": 1, "method": "Target.getTargets"}))
            targets = json.loads(await browser.recv())["result"]["targetInfos"]
        page = next(each["targetId"] for each in targets if each["type"] == "page")
        host = address.split("/devtools/")[0]
        async with connect(f"{host}/devtools/page/{page}", max_size=None) as socket:
            yield Tab(socket)
        draining.cancel()
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()

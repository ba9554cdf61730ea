"""A real browser without a window, as a process of its own."""

import asyncio
import os
import shutil
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

_EXTENSION = Path(__file__).parents[2] / "browser" / "extension"
_NAMES = ("chromium", "chromium-browser", "google-chrome")


def require_browser() -> str:
    """The path of a browser; the test is skipped where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium on this machine")
    return found


async def open_page(page: Path, *flags: str, width: int = 1000, height: int = 1400) -> str:
    """What a browser has made of a file, scripts and styles included; flags are more of its own."""
    line = (
        require_browser(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--hide-scrollbars", f"--user-data-dir={page.parent / 'browser'}", f"--window-size={width},{height}",
        "--virtual-time-budget=2000", *flags, page.as_uri(),
    )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *line, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    async with asyncio.timeout(100):
        out, _ = await process.communicate()
    return out.decode(errors="replace")


@asynccontextmanager
async def with_extension(env: Mapping[str, str]) -> AsyncGenerator[None]:
    """A browser of the user whose home is in the environment, with the extension of bridle."""
    program = require_browser()
    if os.path.basename(program) == "google-chrome" or os.path.exists("/snap/chromium"):
        pytest.skip("this browser takes no extension, or starts no program, from outside")
    kept = os.path.join(env["XDG_CONFIG_HOME"], "chromium")
    line = (
        program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--no-first-run", f"--user-data-dir={kept}",
        "--disable-features=DisableLoadExtensionCommandLineSwitch",
        f"--load-extension={_EXTENSION}", "about:blank",
    )  # fmt: skip
    process = await asyncio.create_subprocess_exec(
        *line, env=dict(env), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()

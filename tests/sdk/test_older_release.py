"""The same behaviors under an older release of the SDK, installed in a folder of its own."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from tests.sdk.behaviors import NOT_UNDER_THE_OLDER

_FOLDER = os.environ.get("BRIDLE_OLD_SDK", "")
_HERE = Path(__file__).parent


@pytest.mark.skipif(
    not os.path.isdir(os.path.join(_FOLDER, "claude_agent_sdk")),
    reason="BRIDLE_OLD_SDK does not name a folder with an older claude-agent-sdk",
)
@pytest.mark.timeout(600)
@pytest.mark.long
async def test_older_release_shows_the_same_behaviors():
    files = sorted(str(path) for path in _HERE.glob("test_*.py") if path.name not in NOT_UNDER_THE_OLDER)
    path = os.pathsep.join(part for part in (_FOLDER, os.environ.get("PYTHONPATH", "")) if part)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        *files,
        cwd=_HERE.parent.parent,
        env={**kept, "PYTHONPATH": path, "BRIDLE_OLD_SDK": ""},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()[-10_000:]

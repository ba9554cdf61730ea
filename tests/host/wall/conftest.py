"""Skips what this kernel cannot hold."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bridle.host.wall.probe import means
from tests.fakes.judged import FakeJudged


@pytest_asyncio.fixture
async def judged(tmp_path: Path) -> AsyncIterator[FakeJudged]:
    if not means().landlock:
        pytest.skip("this kernel has no Landlock")
    made = FakeJudged(tmp_path)
    yield made
    await made.shells.close()

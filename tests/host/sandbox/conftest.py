"""Where confined commands run: each kind of user and each way to build walls, in pairs that cover both.

`BRIDLE_EVERY_WALL=1` tries every user with every way.
"""

import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from bridle.host.sandbox.linux import Way
from tests.fakes.confined import FakePlace, place_for

_WAYS: tuple[Way, ...] = ("direct", "bubblewrap")
_EVERY = os.environ.get("BRIDLE_EVERY_WALL") == "1"
_FULL_WALLS = (
    [(name, way) for name in ("me", "nobody") for way in _WAYS]
    if _EVERY
    else [("nobody", "direct"), ("me", "bubblewrap")]
)
_ANY_WALLS = (
    [(name, way) for name in ("me", "nobody") for way in (*_WAYS, "landlock")]
    if _EVERY
    else [*_FULL_WALLS, ("nobody", "landlock")]
)


@pytest_asyncio.fixture(params=_FULL_WALLS, ids="-".join)
async def place(request: pytest.FixtureRequest) -> AsyncIterator[FakePlace]:
    """A project behind full walls, for each kind of user and each way to build them."""
    pair: Any = request.param
    async with place_for(*pair) as place:
        yield place


@pytest_asyncio.fixture(params=["me", "nobody"])
async def narrow(request: pytest.FixtureRequest) -> AsyncIterator[FakePlace]:
    """A project behind Landlock alone, as in a container that allows nothing else."""
    async with place_for(str(request.param), "landlock") as place:
        yield place


@pytest_asyncio.fixture(params=_ANY_WALLS, ids="-".join)
async def any_place(request: pytest.FixtureRequest) -> AsyncIterator[FakePlace]:
    """A project behind walls of every kind."""
    pair: Any = request.param
    async with place_for(*pair) as place:
        (place.project / "open").mkdir()
        place.give(place.project)
        yield place

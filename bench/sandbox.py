"""Measures what the sandbox adds to a command: to its start, and to each file that it makes and removes.

`python bench/sandbox.py`; each way that this machine has, against the same command outside.
"""

import asyncio
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bridle.host.sandbox.bubblewrap import find_bubblewrap
from bridle.host.sandbox.linux import Way
from tests.fakes.confined import FakePlace, place_for

_FILES = 2_000
_ROUNDS = 15
_MANY = f"import os; [os.close(os.open(str(n), os.O_CREAT)) or os.unlink(str(n)) for n in range({_FILES})]"


async def main() -> None:
    """Print one line for each way and figure."""
    ways: tuple[Way, ...] = ("direct", "landlock")
    for way in ("bubblewrap", *ways) if find_bubblewrap(None) else ways:
        async with place_for("me", way) as place:
            folder = place.project / "open"
            folder.mkdir()
            start = statistics.median([await _inside(place, "/bin/true") for _ in range(_ROUNDS)])
            script = f"import os; os.chdir('open'); {_MANY}"
            inside = await _inside(place, place.person.python, "-I", "-S", "-c", script)
            outside = await _outside(place.person.python, "-I", "-S", "-c", _MANY, cwd=folder)
            each = (inside - outside) / _FILES * 1e6
            print(f"{way:12} start {start * 1000:6.1f} ms (aim 40), a file more {each:6.0f} µs")


async def _inside(place: FakePlace, *argv: str) -> float:
    began = time.perf_counter()
    said = await place.run(*argv)
    assert said.code == 0, said.output
    return time.perf_counter() - began


async def _outside(*argv: str, cwd: Path) -> float:
    began = time.perf_counter()
    process = await asyncio.create_subprocess_exec(*argv, cwd=cwd)
    await process.wait()
    return time.perf_counter() - began


if __name__ == "__main__":
    asyncio.run(main())

"""How much work streamed Markdown is: CPU seconds for 20,000 deltas, and the lines they become."""

import time
from collections.abc import Iterator

from bridle.frontends.tui.render.markdown import MarkdownStream

DELTAS = 20_000
_FRAME = 1 / 60

_SAMPLE = """\
## Step {n}: what changes

The parser keeps **one open block** and lays out only that one again, so `feed` stays cheap while text
arrives in small pieces. See [the notes](https://example.com/notes/{n})
for *why* this matters to people who watch.

- the first point, with `code` and a longer explanation that wraps around at the edge of the window
- the second point
  1. a detail
  2. another detail with **weight**
- [x] a task that is done

```python
def step_{n}(value: int) -> str:
    # A comment, and a "string".
    return f"{{value:,}} of {n}"
```

| Name | Value | Note |
|:-----|------:|------|
| alpha | {n} | some words in a cell |
| beta | 2 | others |

> A quotation that goes on for a while, so that it needs more than one row on the screen to be read.

"""


def main() -> None:
    for label, every in (("each delta", 0.0), ("60 frames a second", _FRAME)):
        cpu, lines, frames = measure(every)
        print(
            f"{DELTAS:,} deltas, open lines for {label}: {cpu:.2f} s CPU, {lines:,} lines, {frames:,} layouts"
        )


def measure(every: float) -> tuple[float, int, int]:
    """CPU seconds, finished lines, and how often the open lines were asked for; `every` is in seconds."""
    stream = MarkdownStream(100)
    lines = frames = 0
    shown = 0.0
    started = time.process_time()
    for delta in deltas(DELTAS):
        lines += len(stream.feed(delta))
        now = time.perf_counter()
        if now - shown >= every:
            shown = now
            frames += 1
            stream.open_lines()
    lines += len(stream.finish())
    return time.process_time() - started, lines, frames


def deltas(count: int) -> Iterator[str]:
    """Pieces of about one token each."""
    made = number = 0
    while True:
        number += 1
        text = _SAMPLE.format(n=number)
        for at in range(0, len(text), 4):
            if made == count:
                return
            made += 1
            yield text[at : at + 4]


if __name__ == "__main__":
    main()

"""The figures of past runs, one line of JSON each, so that a slow change shows."""

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

_SHOWN = (
    ("--version, wall", "version"),
    ("exec to first request", "first request"),
    ("one-shot, CPU", "one-shot CPU"),
    ("one-shot, peak RSS", "memory"),
    ("20,000 text deltas, CPU", "20,000 deltas"),
    ("resume of 2,000 messages (floor: fresh start)", "resume"),
)
"""The figures that the table shows, and its headings; the file has all of them."""


def entry(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What is kept of one run: when, of which commit, on what machine, and every figure."""
    from bridle.version import __version__

    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "version": __version__,
        "commit": _git("rev-parse", "--short=9", "HEAD") + ("+" if _git("status", "--porcelain") else ""),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "load": round(os.getloadavg()[0], 1),
        "rows": {row["name"]: _figures(row) for row in rows},
    }


def append(path: Path, line: Mapping[str, Any]) -> None:
    """Add a run to a file."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, separators=(",", ":")) + "\n")


def read(path: Path) -> list[dict[str, Any]]:
    """The runs in a file, the oldest first; none if there is no file."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in lines]


def table(runs: Iterable[Mapping[str, Any]]) -> str:
    """A Markdown table of the runs, the newest first."""
    headings = ["date", "commit", "Python", "load", *(heading for _, heading in _SHOWN)]
    lines = [f"| {' | '.join(headings)} |", f"|{'---|' * len(headings)}"]
    for run in reversed(list(runs)):
        cells = [run["date"], run["commit"], run["python"], str(run["load"])]
        cells += [_cell(run["rows"].get(name)) for name, _ in _SHOWN]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _figures(row: Mapping[str, Any]) -> dict[str, Any]:
    rounded = {name: round(row[name], 3) for name in ("bridle", "floor", "ratio") if row[name] is not None}
    return {"unit": row["unit"], **rounded}


def _cell(figure: Mapping[str, Any] | None) -> str:
    if figure is None:
        return ""
    ratio = f" ({figure['ratio']:.2f}×)" if "ratio" in figure else ""
    return f"{figure['bridle']:,.0f} {figure['unit']}{ratio}"


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], capture_output=True, text=True, check=False)
    return done.stdout.strip()


if __name__ == "__main__":
    print(table(read(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_name("history.jsonl"))))

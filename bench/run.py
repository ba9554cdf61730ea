"""Measures bridle against a bare-Python floor, both interleaved in one run, and prints medians and ratios."""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.history import append, entry
from bench.server import BenchServer, answer, call, text

_FLOOR = str(Path(__file__).with_name("floor.py"))
_BRIDLE = str(Path(sys.executable).with_name("bridle"))


class Run:
    """One process from exec to exit."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, env: dict[str, str], server: BenchServer) -> None:
        self.began = time.monotonic()
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        server.cpu_clock = lambda: _cpu_of(process.pid)
        out, err = process.stdout, process.stderr
        assert out is not None and err is not None
        self.output = out.read()
        self.errors = err.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.close()
        err.close()
        self.wall = time.monotonic() - self.began
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss_mb = usage.ru_maxrss / 1024
        self.arrivals = list(server.arrivals)
        if process.returncode:
            sys.exit(f"{' '.join(argv)} failed:\n{self.errors.decode()}{self.output.decode()}")

    @property
    def to_first_request(self) -> float:
        return self.arrivals[0].arrived - self.began


class Bench:
    def __init__(self, home: Path, rounds: int) -> None:
        self.server = BenchServer()
        self.rounds = rounds
        self.project = home / "project"
        self.project.mkdir()
        self.file = self.project / "file.txt"
        self.file.write_text("".join(f"line {number} of a small file\n" for number in range(30)))
        dropped = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "CLAUDE", "ANTHROPIC")
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(dropped)}
        self.env |= {
            "ANTHROPIC_BASE_URL": self.server.url,
            "ANTHROPIC_API_KEY": "bench",
            "CLAUDE_CONFIG_DIR": str(home / "config"),
            "NO_PROXY": "127.0.0.1",
        }
        self.rows: list[dict[str, Any]] = []

    def run(self, argv: Sequence[str], answers: Sequence[bytes] = ()) -> Run:
        self.server.expect(answers)
        return Run(argv, cwd=self.project, env=self.env, server=self.server)

    def bridle(self, answers: Sequence[bytes], *flags: str) -> Run:
        return self.run([_BRIDLE, "-p", "hello", *flags], answers)

    def floor(self, answers: Sequence[bytes]) -> Run:
        return self.run([sys.executable, _FLOOR], answers)

    def compare(
        self,
        name: str,
        unit: str,
        ours: Callable[[], float],
        floor: Callable[[], float],
        *,
        aim: float | None = None,
    ) -> None:
        """Measure both in turn, so that the noise of the machine hits both."""
        own: list[float] = []
        bare: list[float] = []
        for _ in range(self.rounds):
            bare.append(floor())
            own.append(ours())
        self.report(name, unit, statistics.median(own), floor=statistics.median(bare), aim=aim)

    def report(
        self, name: str, unit: str, value: float, *, floor: float | None = None, aim: float | None = None
    ) -> None:
        ratio = value / floor if floor else None
        row = {"name": name, "unit": unit, "bridle": value, "floor": floor, "ratio": ratio, "aim": aim}
        self.rows.append(row)
        shown = f"{value:10.2f} {unit:<3}"
        if floor is not None and ratio is not None:
            shown += f"  floor {floor:10.2f} {unit:<3}  ratio {ratio:6.2f}"
        if aim is not None:
            judged = ratio if ratio is not None else value
            shown += f"  aim {aim:g} {'met' if judged <= aim else 'MISSED'}"
        print(f"{name:<44}{shown}", flush=True)


def measure(bench: Bench) -> None:
    bench.bridle([answer(text("warm"))])
    startup(bench)
    steps(bench)
    deltas(bench)
    parallel_reads(bench)
    many_calls(bench)
    search(bench)
    resume(bench)
    decisions(bench)
    hooks(bench)


def startup(bench: Bench) -> None:
    done = [answer(text("done"))]
    bench.compare(
        "--version, wall",
        "ms",
        lambda: bench.run([_BRIDLE, "--version"]).wall * 1000,
        lambda: bench.run([sys.executable, "-c", "pass"]).wall * 1000,
        aim=1.3,
    )
    ours: list[Run] = []
    bare: list[Run] = []
    for _ in range(bench.rounds * 2):
        bare.append(bench.floor(done))
        ours.append(bench.bridle(done))
    figures: list[tuple[str, str, Callable[[Run], float], float | None]] = [
        ("exec to first request", "ms", lambda run: run.to_first_request * 1000, 2.0),
        ("one-shot, wall", "ms", lambda run: run.wall * 1000, None),
        ("one-shot, CPU", "ms", lambda run: run.cpu * 1000, None),
    ]
    for name, unit, figure, aim in figures:
        floor = statistics.median(map(figure, bare))
        bench.report(name, unit, statistics.median(map(figure, ours)), floor=floor, aim=aim)
    bench.report("one-shot, peak RSS", "MB", statistics.median(run.rss_mb for run in ours), aim=45)


def steps(bench: Bench) -> None:
    once = statistics.median(bench.bridle([answer(text("done"))]).cpu for _ in range(bench.rounds))
    bare_once = statistics.median(bench.floor([answer(text("done"))]).cpu for _ in range(bench.rounds))
    for count in (50, 200):
        answers = [
            *(
                answer(call("Read", n, file_path=str(bench.file), offset=n % 20 + 1, limit=20), number=n)
                for n in range(count)
            ),
            answer(text("done"), number=count),
        ]
        ours: list[Run] = []
        bare: list[Run] = []
        for _ in range(max(3, bench.rounds // 2)):
            bare.append(bench.floor(answers))
            ours.append(bench.bridle(answers))
        cost = statistics.median((run.cpu - once) / count * 1000 for run in ours)
        floor = statistics.median((run.cpu - bare_once) / count * 1000 for run in bare)
        bench.report(f"per step over {count}, CPU (aim 3 ms)", "ms", cost, floor=floor)
        growth = statistics.median(_growth(run) for run in ours)
        bench.report(f"last 20 of {count} steps against the first 20", "x", growth, aim=1.2)


def deltas(bench: Bench) -> None:
    many = [answer(text("word "), pieces=20_000)]
    bench.compare(
        "20,000 text deltas, CPU",
        "ms",
        lambda: bench.bridle(many).cpu * 1000,
        lambda: bench.floor(many).cpu * 1000,
        aim=1.5,
    )
    flags = ("--output-format", "stream-json", "--verbose", "--include-partial-messages")
    bench.compare(
        "the same as stream-json with partials, CPU",
        "ms",
        lambda: bench.bridle(many, *flags).cpu * 1000,
        lambda: bench.floor(many).cpu * 1000,
    )


def parallel_reads(bench: Bench) -> None:
    calls = [call("Read", n, file_path=str(bench.file), offset=n + 1, limit=10) for n in range(10)]
    answers = [answer(*calls), answer(text("done"), number=1)]
    bench.compare(
        "ten parallel reads, answer to next request",
        "ms",
        lambda: _gap(bench.bridle(answers)) * 1000,
        lambda: _gap(bench.floor(answers)) * 1000,
    )


def many_calls(bench: Bench) -> None:
    """One answer with thousands of calls: twice as many must not take four times as long."""
    folder = bench.project / "many"
    folder.mkdir()
    for number in range(4_000):
        (folder / f"file{number}.txt").write_text(f"file {number}\n" * 30)
    for what in ("one file", "as many files"):
        spent: dict[int, float] = {}
        for number in (1_000, 2_000, 4_000):
            calls = [
                call("Read", n, file_path=str(bench.file), offset=n % 30 + 1, limit=2)
                if what == "one file"
                else call("Read", n, file_path=str(folder / f"file{n}.txt"))
                for n in range(number)
            ]
            answers = [answer(*calls), answer(text("done"), number=1)]
            runs = [bench.bridle(answers) for _ in range(3)]
            spent[number] = statistics.median(run.cpu for run in runs)
            aim = 3.0 if number == 4_000 else None
            bench.report(f"{number:,} reads of {what}, wall", "s", min(run.wall for run in runs), aim=aim)
            bench.report(f"{number:,} reads of {what}, CPU", "s", spent[number])
        bench.report("four times as many calls take", "x", spent[4_000] / spent[1_000], aim=4.5)
    shutil.rmtree(folder)


def search(bench: Bench) -> None:
    tree = bench.project / "tree"
    for folder in range(500):
        (tree / f"d{folder % 25}" / f"e{folder}").mkdir(parents=True)
        for number in range(100):
            path = tree / f"d{folder % 25}" / f"e{folder}" / f"file{number}.py"
            needle = "the_rare_needle = 1\n" if folder == 321 and number == 50 else ""
            path.write_text(f"def function_{number}(value):\n    return value + {folder}\n" * 8 + needle)
    for tool, found in (
        ("Grep", call("Grep", 1, pattern="the_rare_needle", path=str(tree))),
        ("Glob", call("Glob", 1, pattern="**/file99.py", path=str(tree))),
    ):
        answers = [answer(found), answer(text("done"), number=1)]
        bench.compare(
            f"{tool} on 50,000 files (floor: walk in Python)",
            "ms",
            lambda answers=answers: _gap(bench.bridle(answers)) * 1000,
            lambda tool=tool: _walk(tree, read=tool == "Grep") * 1000,
        )
    shutil.rmtree(tree)


def resume(bench: Bench) -> None:
    session = "11111111-2222-4333-8444-555555555555"
    base = bench.bridle([answer(text("first answer"))], "--session-id", session)
    del base
    (transcript,) = Path(bench.env["CLAUDE_CONFIG_DIR"]).glob(f"projects/*/{session}.jsonl")
    original = _lengthened(transcript.read_text(), 2_000)

    def resumed() -> float:
        transcript.write_text(original)
        return bench.bridle([answer(text("more"))], "--resume", session).to_first_request * 1000

    def fresh() -> float:
        return bench.bridle([answer(text("more"))]).to_first_request * 1000

    bench.compare("resume of 2,000 messages (floor: fresh start)", "ms", resumed, fresh, aim=1.5)


def decisions(bench: Bench) -> None:
    """The permission gate from the text of a command to the decision, links of a real folder included."""
    from bench.decisions import RULES, longest, spreads

    for rules, weighed in (("", ()), (", nine rules", RULES)):
        for each in spreads(bench.project, weighed):
            bench.report(f"decision{rules}, median of {each.corpus}", "ms", each.median, aim=0.5)
            bench.report("the same, 99th percentile", "ms", each.p99, aim=2)
        slowest, shape = max(longest(bench.project, weighed))
        bench.report(f"10,000 characters{rules}: {shape}", "ms", slowest, aim=50)


def hooks(bench: Bench) -> None:
    from bench.hooks import hook_figures

    folder = bench.project / "hooks"
    folder.mkdir(exist_ok=True)
    took = hook_figures(str(folder), rounds=bench.rounds * 20)
    bench.report("hook event nobody hears", "us", took["unheard"], aim=20)
    bench.report("one command hook, against sh -c true", "ms", took["hooked"], floor=took["spawned"], aim=1.5)
    bench.report(
        "ten command hooks, against the slowest", "ms", took["together"], floor=took["slowest"], aim=1.5
    )


def _lengthened(text: str, messages: int) -> str:
    rows: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    templates = {row["type"]: row for row in rows if not row.get("isMeta")}
    lines: list[str] = []
    parent = None
    for number in range(messages):
        row: dict[str, Any] = {
            **templates["assistant" if number % 2 else "user"],
            "uuid": f"00000000-0000-4000-8000-{number:012d}",
        }
        row["parentUuid"], parent = parent, row["uuid"]
        words = f"message {number} " * 40
        if number % 2:
            row["message"] = {
                **row["message"],
                "id": f"msg_{number}",
                "content": [{"type": "text", "text": words}],
            }
        else:
            row["message"] = {"role": "user", "content": words}
        lines.append(json.dumps(row, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def _gap(run: Run) -> float:
    return run.arrivals[1].arrived - run.arrivals[0].answered


def _growth(run: Run) -> float:
    """CPU of the last twenty steps against the first twenty, warm-up left out."""
    used = [
        later.cpu - earlier.cpu for earlier, later in zip(run.arrivals[2:], run.arrivals[3:], strict=False)
    ]
    return statistics.median(used[-20:]) / max(statistics.median(used[:20]), 1e-9)


def _cpu_of(pid: int) -> float:
    """Seconds of CPU that all threads of a process have used, to the nanosecond."""
    total = 0
    try:
        for task in os.scandir(f"/proc/{pid}/task"):
            with open(f"{task.path}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
    except OSError:
        return 0.0
    return total / 1e9


def _walk(tree: Path, *, read: bool) -> float:
    began = time.monotonic()
    found = 0
    for folder, _, names in os.walk(tree):
        for name in names:
            if not read:
                found += name == "file99.py"
                continue
            with open(os.path.join(folder, name), "rb") as file:
                found += b"the_rare_needle" in file.read()
    assert found
    return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9, help="measurements of each figure")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument(
        "--history", type=Path, help="also append the figures to this file, one line for a run"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as home:
        bench = Bench(Path(home), args.rounds)
        measure(bench)
    if args.json:
        args.json.write_text(json.dumps(bench.rows, indent=1))
    if args.history:
        append(args.history, entry(bench.rows))


if __name__ == "__main__":
    main()

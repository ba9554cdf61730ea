"""What the permission gate costs, from the text of a command to the decision, in a real repository.

`python -m bench.decisions` prints, for each corpus, the median and the 99th percentile, without rules and
with a few that deny and ask, and then the slowest commands of 10,000 characters. What counts is processor
time, the least of five.
"""

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from bridle.permissions.policy import decide
from bridle.permissions.preparation import CallRequest, SessionPosition, prepare
from bridle.types.permission import Rule
from tests.permissions.cases import rules
from tests.permissions.shapes import LONGEST, SHAPES
from tests.permissions.shell.test_corpus import ordinary
from tests.permissions.shell.test_reading_properties import LONG
from tests.permissions.test_speed import FILLED_IN, REPEATED

_CORPUS = Path(__file__).parents[1] / "tests" / "permissions" / "corpus"
_ROUNDS = 5
_MEDIAN_MS, _P99_MS, _LONGEST_MS = 0.5, 2.0, 50.0
RULES = rules(
    allow=("Bash(npm run test *)", "Edit(src/**)"),
    ask=("Bash(sudo *)", "Bash(docker run *)"),
    deny=("Bash(git push *)", "Bash(curl *)", "Bash(rm -rf *)", "Bash(npm publish *)", "Read(**/.env)"),
)


class Spread(Struct, frozen=True):
    """What deciding about each command of a corpus takes, in milliseconds."""

    corpus: str
    median: float
    p99: float


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="bridle-bench-") as home:
        project = Path(home, "project")
        project.mkdir()
        print(f"load {os.getloadavg()[0]:.1f}")
        for name, weighed in (("no rules", ()), ("nine rules", RULES)):
            for each in spreads(project, weighed):
                verdict = "met" if each.median < _MEDIAN_MS and each.p99 < _P99_MS else "MISSED"
                print(
                    f"{name:12}{each.corpus:12} median {each.median:.2f} ms (aim {_MEDIAN_MS:g}), "
                    f"p99 {each.p99:.2f} ms (aim {_P99_MS:g}): {verdict}"
                )
            slowest = sorted(longest(project, weighed), reverse=True)
            verdict = "met" if slowest[0][0] < _LONGEST_MS else "MISSED"
            shown = ", ".join(f"{shape} {ms:.0f}" for ms, shape in slowest[:5])
            print(f"{name:12}{LONGEST:,} characters (aim {_LONGEST_MS:g} ms): {shown}: {verdict}")


def spreads(project: Path, weighed: Sequence[Rule] = ()) -> Iterator[Spread]:
    """The figures for each corpus."""
    standing = _standing(project, weighed)
    for corpus, commands in _corpora().items():
        took = sorted(_best(commands, standing))
        yield Spread(corpus, statistics.median(took), took[len(took) * 99 // 100])


def longest(project: Path, weighed: Sequence[Rule] = ()) -> Iterator[tuple[float, str]]:
    """What a command of the greatest length takes in each shape."""
    standing = _standing(project, weighed)
    repeated = {shape: f"cat {each * LONGEST}" for shape, each in REPEATED.items()}
    shapes = {**LONG, **FILLED_IN, **repeated, **SHAPES}
    yield from zip(_best([each[:LONGEST] for each in shapes.values()], standing), shapes, strict=True)


def _corpora() -> dict[str, list[str]]:
    found = {"ordinary": [each.command for each in ordinary()]}
    for name in ("everyday", "attacks", "denied"):
        lines = Path(_CORPUS, f"{name}.txt").read_text(encoding="utf-8").splitlines()
        written = [line for line in lines if line and not line.startswith("#")]
        found[name] = [line.replace("⏎", "\n").replace("\\n", "\n") for line in written]
    return found


def _standing(project: Path, weighed: Sequence[Rule]) -> SessionPosition:
    """As the engine has it: a trusted repository, and folders of the session that may be read."""
    if not (project / ".git").exists():
        subprocess.run(("git", "init", "-q"), cwd=project, check=True)
    here, home = str(project), str(project.parent)
    return SessionPosition(
        rules=tuple(weighed),
        cwd=here,
        start=here,
        readable=(f"{home}/.claude/projects/here/session", f"{home}/.claude/plans"),
        memory=f"{home}/.claude/projects/here/memory",
        home=home,
        config_home=f"{home}/.claude",
        attended=True,
        env=dict(os.environ),
    )


def _best(commands: Sequence[str], standing: SessionPosition) -> list[float]:
    """The least that each takes; all of them come between two of the same, as in a session."""
    rounds = [[_once(command, standing) for command in commands] for _ in range(_ROUNDS)]
    return [min(took) for took in zip(*rounds, strict=True)]


def _once(command: str, standing: SessionPosition) -> float:
    began = time.process_time()
    decide(prepare(CallRequest(tool="Bash", input={"command": command}, subject=command), standing))
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    main()

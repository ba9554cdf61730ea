"""Tasks as a strong model did them: what it called, step by step, in a small project that is made anew."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from tests.fakes.model_server import Line, Received, Script, answer, call

Steps = Callable[[Path], Sequence[Line]]


class Task(Struct, frozen=True, kw_only=True):
    """One task, and what it needs at least."""

    what: str
    steps: Steps
    """The answers of the model, given the folder of the project."""
    needs: int
    """Requests without a wasted one."""
    flags: tuple[str, ...] = ()
    continued: bool = False
    """The second half of the steps comes in a run with --continue."""
    fails: frozenset[str] = frozenset()
    """The calls whose results are errors for a reason of their own: a test that fails, a denied command."""
    chat: bool = False
    """The model is behind a service that speaks Chat Completions."""
    small: bool = False
    """The window is so small that the conversation is compacted."""


def write_project(folder: Path) -> None:
    """A library of a dozen modules with tests, a long log, a notebook and a binary."""
    package = folder / "pool"
    package.mkdir(parents=True)
    for number in range(12):
        (package / f"part{number}.py").write_text(_module(number), encoding="utf-8")
    (package / "__init__.py").write_text("", encoding="utf-8")
    (folder / "test_pool.py").write_text(_TEST, encoding="utf-8")
    (folder / "README.md").write_text("# pool\n\nTakes and returns things.\n" * 10, encoding="utf-8")
    log = "".join(
        f"2026-01-01 00:{n // 60 % 60:02}:{n % 60:02} worker {n % 7} handled {n}\n" for n in range(5000)
    )
    (folder / "long.log").write_text(log, encoding="utf-8")
    (folder / "data.bin").write_bytes(bytes(range(256)) * 16)
    cell = {"cell_type": "code", "id": "c1", "source": "x = 1", "metadata": {}, "outputs": [],
            "execution_count": None}  # fmt: skip
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (folder / "a.ipynb").write_text(json.dumps(notebook), encoding="utf-8")


def _module(number: int) -> str:
    lines = [f'"""Part {number} of the pool."""', "", ""]
    for each in range(25):
        wrong = number == 3 and each == 7
        lines += [
            f"def take_{number}_{each}(items: list[int]) -> int:",
            f'    """Take item {each} of a list, counted from its end."""',
            f"    index = len(items) - {each + (2 if wrong else 1)}",
            "    return items[index]",
            "",
            "",
        ]
    return "\n".join(lines)


_TEST = """\
import importlib, sys
failed = 0
for number in range(12):
    part = importlib.import_module(f"pool.part{number}")
    for each in range(25):
        found = getattr(part, f"take_{number}_{each}")(list(range(40)))
        print(f"part {number} item {each}:", "ok" if found == 39 - each else "FAILED")
        failed += found != 39 - each
print(f"{failed} failed")
sys.exit(1 if failed else 0)
"""
_RUN = "python3 -B test_pool.py"


def _find_a_bug(folder: Path) -> Sequence[Line]:
    part = str(folder / "pool" / "part3.py")
    wrong, right = "index = len(items) - 9\n", "index = len(items) - 8\n"
    seen = '    """Take item 7 of a list, counted from its end."""\n    '
    return [
        answer(call("Bash", "a1", command=_RUN)),
        answer(call("Grep", "a2", pattern="index = ", path=part, output_mode="content")),
        answer(call("Read", "a3", file_path=part, offset=40, limit=30)),
        answer(call("Edit", "a4", file_path=part, old_string=seen + wrong, new_string=seen + right)),
        answer(call("Bash", "a5", command=_RUN)),
        answer("Fixed: take_3_7 counted one too many."),
    ]


def _feature_in_six_files(folder: Path) -> Sequence[Line]:
    parts = [str(folder / "pool" / f"part{number}.py") for number in range(6)]

    def wait(request: Received) -> Script:
        if started := _task_ids(request):
            return answer(call("TaskOutput", "b20", task_id=started[0]))
        return answer(call("Bash", "b19", command=_RUN))

    def edit(number: int) -> dict[str, Any]:
        added = f"\n\ndef size_{number}(items: list[int]) -> int:\n    return len(items)\n"
        old = f'"""Part {number} of the pool."""\n'
        new = old + added
        return call("Edit", f"b{number + 6}", file_path=parts[number], old_string=old, new_string=new)

    long = "".join(f"    assert part{number % 6} is not None  # {number}\n" for number in range(40))
    test = str(folder / "test_size.py")
    return [
        answer(
            call("Grep", "b1", pattern="def take_0", output_mode="content"),
            call("Glob", "b2", pattern="pool/*.py"),
        ),
        answer(*(call("Read", f"b{number + 3}", file_path=parts[number], limit=40) for number in range(3))),
        answer(
            *(call("Read", f"b{number + 30}", file_path=parts[number], limit=40) for number in range(3, 6))
        ),
        answer(*(edit(number) for number in range(6))),
        answer(call("Write", "b15", file_path=test, content=f"def test():\n{long}")),
        answer(
            call("Bash", "b16", command="which no-such-linter"),
            call("Bash", "b17", command=_RUN, run_in_background=True),
        ),
        wait,
        answer("All six parts have size functions; the tests say what they said before."),
    ]


def _long_output(folder: Path) -> Sequence[Line]:
    return [
        answer(
            call("Bash", "c1", command="cat long.log; echo 4 failed; exit 1"),
            call("Read", "c2", file_path=str(folder / "long.log")),
            call("Read", "c3", file_path=str(folder / "a.ipynb")),
            call("Read", "c4", file_path=str(folder / "README.md")),
            call("Grep", "c5", pattern="handled 49", path=str(folder / "long.log"), output_mode="content"),
        ),
        answer(
            call("Bash", "c6", command="tail -n 40 long.log"), call("Bash", "c7", command="file data.bin")
        ),
        answer(call("Read", "c8", file_path=str(folder / "long.log"), offset=4_000, limit=100)),
        answer("Four failed; the log ends with item 4999."),
    ]


def _three_agents(folder: Path) -> Sequence[Line]:
    begun = [
        call("Agent", f"d{number}", description=f"Look at part {number}", subagent_type="Explore",
             prompt=f"How does part {number} work?", run_in_background=False)
        for number in range(3)
    ]  # fmt: skip

    looked: set[bytes] = set()

    def main_or_agent(request: Received) -> Script:
        if b"You find things in a code base" not in request.raw:
            return answer("All alike.")
        (part,) = set(re.findall(rb"How does part \d work", request.raw))
        if part not in looked:
            looked.add(part)
            return answer(call("Grep", "g1", pattern="def take", path=str(folder / "pool" / "part1.py")))
        return answer("It takes items from the end. " * 20)

    return [answer(*begun), *[main_or_agent] * 7]


def _server_and_denial(folder: Path) -> Sequence[Line]:
    def stop(request: Received) -> Script:
        return answer(call("TaskStop", "e4", task_id=_task_ids(request)[0]))

    return [
        answer(call("Bash", "e1", command="sleep 600", run_in_background=True)),
        answer(
            call("Bash", "e2", command="rm -rf pool"), call("Read", "e3", file_path=str(folder / "README.md"))
        ),
        stop,
        answer("The server is stopped; rm was not allowed."),
    ]


def _resumed(folder: Path) -> Sequence[Line]:
    return [
        answer(call("Read", "r1", file_path=str(folder / "pool" / "part1.py"))),
        answer("I have read it."),
        answer(call("Read", "r2", file_path=str(folder / "pool" / "part2.py"))),
        answer("And the other."),
    ]


def _plan(folder: Path) -> Sequence[Line]:
    return [
        answer(
            call("Grep", "p1", pattern="def take_5"), call("Read", "p2", file_path=str(folder / "README.md"))
        ),
        answer(call("Read", "p3", file_path=str(folder / "pool" / "part5.py"), limit=60)),
        answer("1. Rename take to pick in each part. 2. Run the tests."),
    ]


def _compacted(folder: Path) -> Sequence[Line]:
    left = [
        answer(call("Read", f"f{number}", file_path=str(folder / "pool" / f"part{number}.py")))
        for number in range(10)
    ]

    def said(request: Received) -> Script:
        if b"<summary>" in request.raw[-6_000:]:
            return answer("<analysis>Parts were read.</analysis><summary>1. Read all parts.</summary>")
        return left.pop(0) if left else answer("All ten parts are alike.")

    return [said] * 20


def _other_names(folder: Path) -> Sequence[Line]:
    part = str(folder / "pool" / "part3.py")
    return [
        answer(call("Read", "g1", path=part, offset="1", limit="20")),
        answer(call("Edit", "g2", path=part, old_str="Part 3 of the pool", new_str="The third part")),
        answer(call("Bash", "g3", cmd="ls pool", timeout="5000")),
        answer("Renamed."),
    ]


def _on_demand(folder: Path) -> Sequence[Line]:
    cell = {"notebook_path": str(folder / "a.ipynb"), "cell_id": "c1"}
    return [
        answer(call("Read", "h1", file_path=str(folder / "a.ipynb"))),
        answer(call("ToolSearch", "h2", query="select:NotebookEdit")),
        answer(call("NotebookEdit", "h3", **cell, new_source="x = 2")),
        answer(call("NotebookEdit", "h4", **cell, new_source="x = 3")),
        answer("The cell says 3."),
    ]


def _job_and_calls(folder: Path) -> Sequence[Line]:
    done = "until [ -s out.txt ]; do sleep 0.02; done; cat out.txt"
    return [
        answer(call("Bash", "k1", command="echo done > out.txt", run_in_background=True)),
        answer(call("Bash", "k2", command=done)),
        answer(call("Read", "k3", file_path=str(folder / "out.txt"))),
        answer("The job is done."),
    ]


def _wide_search(folder: Path) -> Sequence[Line]:
    return [
        answer(call("Glob", "l1", pattern="**/*.py"), call("Grep", "l2", pattern="counted from its end")),
        answer(call("Grep", "l3", pattern="return items", output_mode="content", head_limit=60)),
        answer(call("Grep", "l4", pattern="return items", output_mode="content", head_limit=60, offset=60)),
        answer(call("Grep", "l5", pattern="index", output_mode="count")),
        answer("Three hundred functions count from the end."),
    ]


def _many_edits(folder: Path) -> Sequence[Line]:
    part = str(folder / "pool" / "part4.py")
    doc = '    """Take item {} of a list, counted from its end."""\n'
    edits = [
        call("Edit", f"m{number + 2}", file_path=part, old_string=doc.format(number),
             new_string=f'    """Item {number} from the end."""\n')
        for number in range(8)
    ]  # fmt: skip
    block = "".join(f"def more_{number}() -> int:\n    return {number}\n\n\n" for number in range(30))
    top = '"""Part 4 of the pool."""\n'
    return [
        answer(call("Read", "m1", file_path=part)),
        answer(*edits),
        answer(call("Edit", "m20", file_path=part, old_string=top, new_string=f"{top}\n\n{block}")),
        answer(call("Bash", "m21", command="python3 -B -c 'import pool.part4'")),
        answer("Shorter texts and thirty functions more."),
    ]


def _denied_sibling(folder: Path) -> Sequence[Line]:
    return [
        answer(
            call("Bash", "n1", command="rm -rf pool"),
            call("Read", "n2", file_path=str(folder / "README.md")),
            call("Grep", "n3", pattern="def take_1_1"),
            call("Glob", "n4", pattern="*.md"),
        ),
        answer("I could read everything but not remove anything."),
    ]


def _task_ids(request: Received) -> list[str]:
    """The background jobs that a conversation has heard of."""
    return list(dict.fromkeys(re.findall(r"with ID: (\w+)", request.raw.decode())))


_PYTHON = (
    "--allowedTools",
    "Edit,Write,NotebookEdit,Bash(python3 *),Bash(sleep *),Bash(echo *),Bash(until *)",
)

TASKS: Mapping[str, Task] = {
    "A": Task(what="find a bug", steps=_find_a_bug, needs=6, flags=_PYTHON, fails=frozenset({"a1"})),
    "B": Task(what="a feature in six files", steps=_feature_in_six_files, needs=8, flags=_PYTHON,
              fails=frozenset({"b16", "b19"})),
    "C": Task(what="long output, notebook, binary", steps=_long_output, needs=4, flags=_PYTHON,
              fails=frozenset({"c1"})),
    "D": Task(what="three agents", steps=_three_agents, needs=8),
    "E": Task(what="a server, a denied command", steps=_server_and_denial, needs=4, flags=_PYTHON,
              fails=frozenset({"e2"})),
    "E2": Task(what="continued", steps=_resumed, needs=4, continued=True),
    "E3": Task(what="plan mode in print", steps=_plan, needs=3, flags=("--permission-mode", "plan")),
    "F": Task(what="compaction", steps=_compacted, needs=12, small=True),
    "G": Task(what="other names, Chat dialect", steps=_other_names, needs=4, flags=_PYTHON, chat=True),
    "H": Task(what="a tool on demand", steps=_on_demand, needs=5, flags=_PYTHON),
    "K": Task(what="a job beside the work", steps=_job_and_calls, needs=4, flags=_PYTHON),
    "L": Task(what="wide search", steps=_wide_search, needs=5),
    "M": Task(what="many edits", steps=_many_edits, needs=5, flags=_PYTHON),
    "N": Task(what="a denied sibling", steps=_denied_sibling, needs=2, fails=frozenset({"n1"})),
}  # fmt: skip

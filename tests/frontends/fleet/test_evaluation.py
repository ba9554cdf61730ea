import json
from pathlib import Path

import pytest

from bridle.frontends.fleet.importers import import_rows
from bridle.frontends.fleet.matrix import evaluate, evaluation_lines, expand, read_axes
from bridle.frontends.fleet.records import Result, Task
from bridle.frontends.fleet.statistics import compare, pass_rate, sign_test
from bridle.frontends.fleet.task_files import tasks_of
from bridle.types.errors import UsageError
from tests.frontends.fleet.tasks import say, task, tasks_file, write
from tests.frontends.fleet.test_local_runs import fleet

_SUITE = Path(__file__).parents[3] / "examples" / "eval-offline"


def test_a_rate_has_the_interval_of_wilson():
    rate = pass_rate([[True]] * 8 + [[False]] * 2)

    assert (rate.rate, rate.tasks) == (0.8, 10)
    assert (round(rate.low, 3), round(rate.high, 3)) == (0.490, 0.943)


def test_repeats_that_always_agree_say_no_more_than_one_try():
    once = pass_rate([[True], [False]] * 10)
    alike = pass_rate([[True] * 5, [False] * 5] * 10)
    mixed = pass_rate([[True, False, True, False, True, False]] * 20)

    assert alike.high - alike.low == pytest.approx(once.high - once.low, rel=0.06)
    assert mixed.high - mixed.low < once.high - once.low


def test_all_and_none_have_intervals_too():
    assert pass_rate([[True]] * 10).low == pytest.approx(0.722, abs=0.001)
    assert pass_rate([[False]] * 10).high == pytest.approx(0.278, abs=0.001)
    assert pass_rate([]).high == 1.0


def test_differences_are_paired_by_task():
    def results(passed: str) -> dict[str, list[Result]]:
        return {
            str(at): [Result(task=str(at), status="done" if mark == "x" else "failed", cost=1.0, steps=2)]
            for at, mark in enumerate(passed)
        }

    better = compare("b", results("xxxxxxxx.."), "a", results("xx......x."))
    same = compare("b", results("xxxx"), "a", results("xxxx"))

    assert (better.difference, better.tasks) == (pytest.approx(0.5), 10)
    assert better.low < 0.5 < better.high
    assert better.p == pytest.approx(2 * 8 / 2**7)
    assert (same.difference, same.p) == (0.0, 1.0)


def test_many_differences_are_shuffled_the_same_each_time():
    gaps = [1.0] * 20 + [-1.0] * 5
    assert sign_test(gaps) == sign_test(gaps) < 0.01


def test_every_task_is_tried_in_every_cell():
    cells = read_axes(["model=a,b", "mode=plan"])
    tasks = expand([Task(id="t", prompt="x", script=({"text": "y"},))], cells, repeats=2)

    assert [each.id for each in tasks] == ["t.0.1", "t.0.2", "t.1.1", "t.1.2"]
    assert [(each.model, each.mode, each.script) for each in tasks[::2]] == [
        ("a", "plan", ()), ("b", "plan", ()),
    ]  # fmt: skip
    results = [
        Result(task=each.id, status="done" if each.model == "a" else "failed", labels=each.labels)
        for each in tasks
    ]
    found = evaluate(results)
    assert [(each.cell, each.passed.rate) for each in found.cells] == [
        ("model=a mode=plan", 1.0), ("model=b mode=plan", 0.0),
    ]  # fmt: skip
    assert found.differences[0].difference == -1.0
    assert len(evaluation_lines(found)) == 4


@pytest.mark.parametrize("given", ["modle=a", "model", "model="])
def test_an_axis_that_there_is_not_is_refused(given: str):
    with pytest.raises(UsageError):
        read_axes([given])


def test_swe_bench_rows_become_tasks_with_hidden_tests(tmp_path: Path):
    row = {
        "instance_id": "owner__name-1", "repo": "owner/name", "base_commit": "abc", "version": "1.2",
        "problem_statement": "It is broken.", "patch": "the answer", "test_patch": "diff --git a/t b/t",
        "FAIL_TO_PASS": '["t.py::a b"]', "PASS_TO_PASS": ["t.py::c"],
    }  # fmt: skip
    path = tmp_path / "swe.jsonl"
    path.write_text(json.dumps(row) + "\n")
    (tmp_path / "owner" / "name.git").mkdir(parents=True)
    rows = import_rows(str(path), "swe-bench", repositories="{repo}.git", test_command="pytest {tests}")

    (made,) = tasks_of(rows, str(tmp_path))

    assert (made.id, made.prompt, made.base) == ("owner__name-1", "It is broken.", "abc")
    assert made.repository == str(tmp_path / "owner" / "name.git")
    assert [each.run for each in made.checks] == [
        "git apply .bridle-tests.patch", "pytest 't.py::a b' t.py::c",
    ]  # fmt: skip
    assert "the answer" not in str(made)


def test_terminal_bench_folders_become_tasks_without_their_solutions(tmp_path: Path):
    old, new = tmp_path / "old", tmp_path / "new"
    for folder in (old / "tests", new / "tests"):
        folder.mkdir(parents=True)
    (old / "task.yaml").write_text("instruction: Do it.\nmax_agent_timeout_sec: 90\ndifficulty: easy\n")
    (old / "solution.sh").write_text("secret\n")
    (old / "data.txt").write_text("data\n")
    (old / "run-tests.sh").write_text("pytest tests\n")
    (old / "tests" / "test_outputs.py").write_text("def test(): pass\n")
    (new / "instruction.md").write_text("Do that.\n")
    (new / "tests" / "test.sh").write_text("true\n")

    rows = import_rows(str(tmp_path), "terminal-bench", repositories="", test_command="")
    second, first = tasks_of(rows, str(tmp_path))

    assert (first.id, first.prompt, first.timeout) == ("old", "Do it.", 90)
    assert (first.files, first.labels) == ({"data.txt": "data\n"}, {"difficulty": "easy"})
    assert sorted(first.check_files) == ["run-tests.sh", "tests/test_outputs.py"]
    assert (second.prompt, second.checks[0].run) == ("Do that.\n", 'TEST_DIR="$PWD/tests" bash tests/test.sh')


def test_cases_of_a_plugin_become_tasks(tmp_path: Path):
    (tmp_path / "evals").mkdir()
    (tmp_path / "evals" / "input.csv").write_text("a,b\n")
    case = {"id": 7, "prompt": "Sum it.", "files": ["input.csv"], "checks": ["test -f out"]}
    (tmp_path / "evals" / "evals.json").write_text(json.dumps({"evals": [case]}))

    rows = import_rows(str(tmp_path), "plugin-eval", repositories="", test_command="")
    (made,) = tasks_of(rows, str(tmp_path))

    assert (made.id, made.files, made.checks[0].run) == ("case-7", {"input.csv": "a,b\n"}, "test -f out")


@pytest.mark.long
async def test_the_suite_of_thirty_tasks_passes_with_the_offline_model(tmp_path: Path):
    words = ("eval", str(_SUITE), "--matrix", "model=offline", "--workers", "4", "--json")
    process = await fleet(tmp_path).start(*words, "--label", "kind=repair")
    out, _ = await process.communicate(b"")

    found = json.loads(out)
    (cell,) = found["cells"]
    assert (cell["passed"]["tasks"], cell["passed"]["rate"], cell["errors"]) == (27, 1.0, 0)


async def test_two_cells_are_compared_and_the_outcome_can_be_shown_again(tmp_path: Path):
    program = fleet(tmp_path)
    tasks = tasks_file(
        tmp_path, *(task(f"t{at}", write(), say(), model="", checks=["test -e out.txt"]) for at in range(3))
    )

    done = await program.run("eval", tasks, "--matrix", "model=scripted,offline", "--workers", "3")
    again = await program.run("eval", "--show", "last")
    wrong = await program.run("eval", tasks, "--format", "swebench")

    assert done.code == 0, done.err
    assert "model=offline against model=scripted: -100.0%" in done.out
    assert again.out in done.out
    assert "did you mean swe-bench?" in wrong.err

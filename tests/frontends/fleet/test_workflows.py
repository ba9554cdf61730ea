"""Workflow scripts on a fleet, with a model service that answers in order."""

import json
from pathlib import Path
from typing import Any

from tests.fakes.messages_server import MessagesServer, step
from tests.fakes.repositories import branch, git, repository
from tests.frontends.fleet.test_local_runs import fleet


def _use(name: str, **input: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": f"call-{name}", "name": name, "input": input}


def _write(text: str) -> tuple[Any, Any]:
    return step(_use("Write", file_path="out.txt", content=text)), step(f"Wrote {text}.")


def _answer(out: str) -> Any:
    """The value of the script, behind lines about the run."""
    lines = out.splitlines()
    return json.loads("\n".join(lines[next(at for at, line in enumerate(lines) if line[:1] in "{[") :]))


async def test_the_best_of_several_attempts_passes_the_checks_and_the_judge(tmp_path: Path):
    source = repository(tmp_path / "source")
    judged = step(_use("StructuredOutput", best=2, reason="smaller")), step("Chosen.")
    attempts = (*_write("wrong"), *_write("right 1"), *_write("right 2"))
    async with MessagesServer([*attempts, *judged]) as server:
        program = fleet(tmp_path)
        program.env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        done = await program.run(
            "fleet", "best-of", "3", "Write it.", "--repository", str(source),
            "--check", "grep right out.txt", "--workers", "1", "--model", "sonnet",
        )  # fmt: skip

    found = _answer(done.out)
    assert done.code == 0, done.err
    assert (found["passed"], found["reason"], found["answer"]) == (2, "smaller", "Wrote right 2.")
    assert "+right 2" in found["patch"]
    assert "2 of 3 attempts pass their checks" in done.err


async def test_reviewers_who_find_the_same_are_merged(tmp_path: Path):
    source = repository(tmp_path / "source", **{"a.py": "x = 1\n"})
    branch(source, "change", **{"a.py": "x = 2\n"})
    git(source, "symbolic-ref", "HEAD", "refs/heads/change")

    def report(*findings: tuple[int, str, str]) -> tuple[Any, Any]:
        found = [
            {"file": "a.py", "line": line, "title": title, "severity": severity}
            for line, title, severity in findings
        ]
        return step(_use("StructuredOutput", findings=found)), step("Reviewed.")

    first = report((1, "x has the wrong value", "low"), (9, "No test for x", "high"))
    second = report((2, "wrong value of x", "medium"))
    async with MessagesServer([*first, *second]) as server:
        program = fleet(tmp_path)
        program.env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        done = await program.run(
            "fleet", "review", str(source), "--reviewers", "2", "--workers", "1", "--model", "sonnet"
        )

    found = _answer(done.out)
    assert done.code == 0, done.err
    assert [(each["title"], each["reviewers"]) for each in found["findings"]] == [
        ("No test for x", [1]), ("x has the wrong value", [1, 2]),
    ]  # fmt: skip
    assert found["reviewers"] == 2


async def test_a_migration_tries_again_with_what_the_check_said_and_writes_branches(tmp_path: Path):
    one = repository(tmp_path / "one")
    async with MessagesServer([*_write("wrong"), *_write("right")]) as server:
        program = fleet(tmp_path)
        program.env |= {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "test-key"}
        done = await program.run(
            "fleet", "migrate", "Write it.", str(one), "--check", "grep right out.txt", "--model", "sonnet"
        )
        retried = json.dumps(server.requests[-2].body)
    again = await program.run("fleet", "resume", "last")
    written = await program.run("fleet", "export", "last", "--branches")

    (found,) = _answer(done.out)
    assert (found["status"], found["changed"]) == ("done", True)
    assert "An earlier attempt failed its check" in retried
    assert _answer(again.out) == [found], "finished tasks are answered at once"
    (name,) = [word for word in written.out.split() if word.startswith("bridle/")]
    assert git(one, "show", f"{name}:out.txt") == "right"


async def test_a_script_that_fails_says_so_in_one_line(tmp_path: Path):
    script = tmp_path / "mine.js"
    script.write_text(
        "export const meta = { name: 'mine', description: 'x' }\nawait agent('x', { folder: '/etc' })\n"
    )
    done = await fleet(tmp_path).run("fleet", "workflow", str(script))

    assert done.code == 1
    assert "error: the workflow failed: line 2: agent: folder /etc is outside" in done.err.replace("\n", " ")

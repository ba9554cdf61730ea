"""Whole runs on the processes of this machine: real sessions, sandbox, git, kills."""

import hashlib
import json
import os
import signal
from pathlib import Path
from typing import Any

from bridle.frontends.fleet.store import RunStore, all_runs
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.repositories import git, repository
from tests.frontends.fleet.tasks import say, shell, task, tasks_file, write


def fleet(folder: Path, **env: str) -> Program:
    program = Program(folder, **env)
    program.env |= {"BRIDLE_FLEET_DATA": str(folder / "fleet"), "BRIDLE_FLEET_WORK": str(folder / "work")}
    return program


def only_run(folder: Path) -> RunStore:
    (store,) = all_runs(str(folder / "fleet"))
    return store


def results(out: str) -> dict[str, Any]:
    return {row["task"]: row for row in map(json.loads, out.splitlines())}


async def until(program: Program, folder: Path, count: int) -> RunStore:
    """Wait until so many tasks of the run are finished."""
    await eventually(
        lambda: any(run.row().finished >= count for run in all_runs(str(folder / "fleet"))[:1]), 90
    )
    return all_runs(str(folder / "fleet"))[0]


def workers(folder: Path) -> list[int]:
    """The worker processes of a run, by a variable that only they have."""
    mark = f"BRIDLE_FLEET_DATA={folder / 'fleet'}".encode()
    found: list[int] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes()
            if b"--fleet-worker" in words and mark in Path(f"/proc/{name}/environ").read_bytes().split(b"\0"):
                found.append(int(name))
        except OSError:
            continue
    return found


async def gone(folder: Path) -> bool:
    await eventually(lambda: not workers(folder))
    return True


async def test_tasks_of_every_kind_end_with_their_results(tmp_path: Path):
    program = fleet(tmp_path)
    source = repository(tmp_path / "source", **{"a.txt": "one\n"})
    base = git(source, "rev-parse", "HEAD")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "kept.txt").write_text("kept\n")
    tasks = tasks_file(
        tmp_path,
        task("edits", write("two\n", "b.txt"), say(), repository=str(source), checks=["grep two b.txt"]),
        task("copies", shell("cat kept.txt > out.txt"), say("Copied."), folder="folder", artifacts=["*.txt"]),
        task("fails", write("wrong\n"), say(), checks=["true", "grep right out.txt"]),
        task("no-setup", say(), setup=["echo broken >&2; exit 3"]),
        task("no-source", say(), repository=str(source), base="0" * 40),
        task("asks", shell("curl -s https://example.invalid"), say(),
             check_files={"t.sh": "#!/bin/sh\nexit 0\n"}, checks=["./t.sh"]),
        task("shaped", {"calls": [{"tool": "StructuredOutput", "input": {"count": 3}}]}, say(),
             schema={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}),
        task("slow", say("never", pause=60), timeout=0.5),
    )  # fmt: skip

    done = await program.run("fleet", "run", tasks, "--workers", "3", "--json", "--budget", "5")

    found = results(done.out)
    assert done.code == 1, done.err
    kinds = {name: (row["status"], row["kind"]) for name, row in found.items()}
    assert kinds == {
        "edits": ("done", ""), "copies": ("done", ""), "asks": ("done", ""), "shaped": ("done", ""),
        "fails": ("failed", "check"), "no-setup": ("error", "setup"), "no-source": ("error", "source"),
        "slow": ("error", "timeout"),
    }  # fmt: skip
    assert found["shaped"]["output"] == {"count": 3}
    assert found["edits"]["base"] == base
    assert found["edits"]["cost"] > 0
    assert [each["passed"] for each in found["fails"]["checks"]] == [True, False]
    assert "broken" in found["no-setup"]["message"]

    shown = await program.run("fleet", "show")
    assert "4 done, 1 failed, 3 error" in shown.out
    assert "failures" in shown.out
    patch = await program.run("fleet", "diff", "last", "edits")
    assert "+two" in patch.out
    log = await program.run("fleet", "logs", "last", "copies")
    assert "● Bash" in log.out
    assert "Copied." in log.out
    branches = await program.run("fleet", "export", "last", "--branches", **_identity())
    (name,) = [word for word in branches.out.split() if word.startswith("bridle/")]
    assert git(source, "show", f"{name}:b.txt") == "two"
    exported = await program.run("fleet", "export", "last", str(tmp_path / "exported"))
    assert exported.code == 0
    assert (tmp_path / "exported" / "copies" / "artifacts" / "out.txt").read_text() == "kept\n"
    page = tmp_path / "page.html"
    assert (await program.run("fleet", "show", "last", "--html", str(page))).code == 0
    assert "<svg" in page.read_text()
    assert (await program.run("fleet", "attach", "last", "edits")).out.count("edits") > 1
    run = only_run(tmp_path).id
    assert (await program.run("fleet", "rm", run)).code == 0
    assert all_runs(str(tmp_path / "fleet")) == []
    left = [path for path in (tmp_path / "fleet" / "artifacts").rglob("*") if path.is_file()]
    assert len(left) == 1, "only the probe of the store is left"
    assert list((tmp_path / "work" / "work").iterdir()) == []


async def test_what_a_task_file_asks_for_stays_inside_the_sandbox(tmp_path: Path):
    program = fleet(tmp_path, NPM_TOKEN="token-that-is-secret", OTHER_TOKEN="other-that-is-secret")
    outside = tmp_path / "outside.txt"
    digest = hashlib.sha256(b"token-that-is-secret none\n").hexdigest()
    tasks = tasks_file(
        tmp_path,
        task(
            "widens",
            shell(f"echo x > {outside}; echo $NPM_TOKEN ${{OTHER_TOKEN:-none}} > env.txt; cat env.txt"),
            say(),
            setup=[f"echo x > {outside} || true"],
            checks=[f"! test -e {outside}", f"sha256sum env.txt | grep {digest}", "cat env.txt"],
            secrets=["NPM_TOKEN"],
            folder="empty",
        ),
    )
    (tmp_path / "empty").mkdir()

    refused = await program.run("fleet", "run", tasks)
    done = await program.run(
        "fleet", "run", tasks, "--json", "--secret", "NPM_TOKEN", "--secret", "OTHER_TOKEN"
    )

    assert "add --secret NPM_TOKEN" in refused.err
    row = results(done.out)["widens"]
    assert (row["status"], row["message"]) == ("done", "")
    assert not outside.exists()
    assert "token-that-is-secret" not in done.out
    stored = b"".join(path.read_bytes() for path in (tmp_path / "fleet").rglob("*") if path.is_file())
    assert b"token-that-is-secret" not in stored


async def test_a_killed_worker_costs_one_attempt_and_a_killed_driver_none(tmp_path: Path):
    program = fleet(tmp_path)
    tasks = tasks_file(
        tmp_path, *(task(f"t{at}", write(), say(pause=0.3), checks=["test -e out.txt"]) for at in range(10))
    )
    process = await program.start("fleet", "run", tasks, "--workers", "2", "--budget", "5")
    store = await until(program, tmp_path, 1)
    os.kill(workers(tmp_path)[0], signal.SIGKILL)
    await until(program, tmp_path, 3)
    process.kill()
    await process.communicate()
    assert await gone(tmp_path)
    assert store.row().state == "interrupted"

    done = await program.run("fleet", "resume", "last", "--json")

    before = store.row().total - len(results(done.out))
    assert done.code == 0, done.err
    assert before >= 3, "finished tasks are not repeated"
    assert store.row().counts == {"done": 10}
    assert sum(each.kind == "lost" for each in store.attempts()) >= 1
    assert await gone(tmp_path)


async def test_ctrl_c_ends_running_tasks_and_leaves_no_process(tmp_path: Path):
    program = fleet(tmp_path)
    mark = f"sleep 86{os.getpid() % 997:03d}"
    tasks = tasks_file(tmp_path, task("fast", say()), task("long", shell(mark, text="waiting")))
    process = await program.start("fleet", "run", tasks, "--workers", "2")
    store = await until(program, tmp_path, 1)
    await eventually(lambda: _running(mark))

    process.send_signal(signal.SIGINT)
    out, err = await process.communicate()

    assert process.returncode == 130
    assert b"stopping" in err
    assert b"bridle fleet resume" in out
    assert await gone(tmp_path)
    assert not _running(mark)
    assert store.row().counts == {"done": 1, "waiting": 1}


async def test_a_run_ends_at_its_budget(tmp_path: Path):
    program = fleet(tmp_path)
    usage = {"input_tokens": 100_000, "output_tokens": 1_000}
    tasks = tasks_file(tmp_path, *(task(f"t{at}", say(usage=usage)) for at in range(7)))

    done = await program.run("fleet", "run", tasks, "--workers", "2", "--budget", "1")

    row = only_run(tmp_path).row()
    spent = row.cost
    assert (done.code, row.state) == (1, "stopped")
    assert "resume with a larger --budget" in done.out
    assert 0.5 < spent < 1 + 2 * 0.5
    assert row.counts["waiting"] > 0


async def test_a_task_that_takes_too_much_is_ended_and_named(tmp_path: Path):
    program = fleet(tmp_path)
    fill = "dd if=/dev/zero of=big bs=1M count=400 status=none; sleep 60"
    spawn = "for i in $(seq 200); do sleep 60 & done; wait"
    tasks = tasks_file(
        tmp_path, task("disk", shell(fill)), task("processes", shell(spawn)), task("fine", write(), say())
    )

    done = await program.run(
        "fleet", "run", tasks, "--workers", "3", "--json", "--max-disk", "100M", "--max-processes", "100"
    )

    found = results(done.out)
    assert {name: (row["status"], row["kind"]) for name, row in found.items()} == {
        "disk": ("error", "limits"), "processes": ("error", "limits"), "fine": ("done", ""),
    }  # fmt: skip
    assert "wrote more than 100 MB" in found["disk"]["message"]
    assert "more than 100 processes" in found["processes"]["message"]


def _identity() -> dict[str, str]:
    return {f"GIT_{who}_{what}": "t" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def _running(command: str) -> bool:
    words = command.encode().replace(b" ", b"\0") + b"\0"
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            if Path(f"/proc/{name}/cmdline").read_bytes() == words:
                return True
        except OSError:
            continue
    return False

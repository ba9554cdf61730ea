"""Runs on a Ray cluster of several nodes of this machine: the same results as here, and kills."""

import asyncio
import os
import signal
from collections import Counter
from pathlib import Path

import pytest

from bridle.frontends.fleet.store import RunStore, all_runs
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.ray_cluster import RayCluster, needs_ray, ray_cluster
from tests.fakes.repositories import repository
from tests.fakes.s3_server import needs_s3, s3_server
from tests.frontends.fleet.tasks import say, shell, task, tasks_file, write
from tests.frontends.fleet.test_local_runs import fleet, results

_USAGE = {"input_tokens": 10_000, "output_tokens": 1_000}


@needs_ray
@needs_s3
@pytest.mark.long
@pytest.mark.timeout(900)
async def test_a_cluster_gives_the_same_results_and_loses_none_when_parts_of_it_are_killed(tmp_path: Path):
    program = fleet(tmp_path)
    with s3_server() as s3, ray_cluster(2, env={**program.env, **s3}) as cluster:
        program.env |= s3
        await _same_results(program, cluster, tmp_path)
        await _killed(program, cluster, tmp_path)
        await _cancelled(program, cluster, tmp_path)
    assert not _left(tmp_path)


async def _same_results(program: Program, cluster: RayCluster, folder: Path) -> None:
    source = repository(folder / "source", **{"a.txt": "one\n"})
    (folder / "folder").mkdir()
    (folder / "folder" / "kept.txt").write_text("kept\n")
    tasks = tasks_file(
        folder,
        task("edits", write("two\n", "b.txt"), say(), repository=str(source), checks=["grep two b.txt"]),
        task("copies", shell("cat kept.txt > o.txt"), say("Copied."), folder="folder", artifacts=["*.txt"]),
        task("fails", write("wrong\n"), say(), checks=["grep right out.txt"], placement={"disk": "fast"}),
        task("no-source", say(), repository=str(source), base="0" * 40),
        task("slow", say("never", pause=60), timeout=0.5),
    )

    here = await program.run("fleet", "run", tasks, "--json", "--budget", "5", "--limit", "2")
    there = await program.run(
        "fleet", "run", tasks, "--json", "--budget", "5", "--on", cluster.address, "--store", "s3://fleet/run"
    )

    assert there.code == 1, there.err
    assert there.err == ""
    found, local = results(there.out), results(here.out)
    assert {name: (row["status"], row["kind"]) for name, row in found.items()} == {
        "edits": ("done", ""), "copies": ("done", ""), "fails": ("failed", "check"),
        "no-source": ("error", "source"), "slow": ("error", "timeout"),
    }  # fmt: skip
    for name, row in local.items():
        for field in ("status", "answer", "cost", "tokens", "steps", "base"):
            assert row[field] == found[name][field], (name, field)
    kept = {each["kind"]: each["digest"] for each in found["edits"]["kept"]}
    assert kept["patch"] == {each["kind"]: each["digest"] for each in local["edits"]["kept"]}["patch"]
    patch = await program.run("fleet", "diff", "last", "edits")
    assert "+two" in patch.out


async def _killed(program: Program, cluster: RayCluster, folder: Path) -> None:
    """A worker, a node and the driver are killed in the middle of a run."""
    tasks = tasks_file(
        folder, *(task(f"t{at:02d}", write(usage=_USAGE), say(pause=0.4, usage=_USAGE)) for at in range(16))
    )
    before = {store.id for store in all_runs(str(folder / "fleet"))}
    process = await program.start("fleet", "run", tasks, "--on", cluster.address, "--budget", "5")
    store = await _new_run(folder, before)
    await _finished(store, 1)
    os.kill(_actors()[0], signal.SIGKILL)
    await _finished(store, 3)
    await asyncio.to_thread(cluster.remove_node)
    await asyncio.to_thread(cluster.add_node)
    await _finished(store, 5)
    process.kill()
    await process.communicate()

    done = await program.run("fleet", "resume", store.id, "--json")

    assert done.code == 0, done.err
    assert store.row().counts == {"done": 16}
    assert len(results(done.out)) <= 11, "finished tasks are not repeated"
    ends = Counter(each.task for each in store.attempts() if not each.kind)
    assert set(ends.values()) == {1}
    assert any(each.kind == "lost" for each in store.attempts())


async def _cancelled(program: Program, cluster: RayCluster, folder: Path) -> None:
    mark = f"sleep 87{os.getpid() % 997:03d}"
    tasks = tasks_file(folder, task("fast", say()), task("long", shell(mark, text="waiting")))
    before = {store.id for store in all_runs(str(folder / "fleet"))}
    process = await program.start("fleet", "run", tasks, "--on", cluster.address)
    store = await _new_run(folder, before)
    await _finished(store, 1)
    await eventually(lambda: _with_words(mark))

    process.send_signal(signal.SIGINT)
    await process.communicate()

    assert process.returncode == 130
    await eventually(lambda: not _with_words(mark))
    assert store.row().counts == {"done": 1, "waiting": 1}


async def test_a_cluster_that_does_not_answer_is_named(tmp_path: Path):
    program = fleet(tmp_path)
    tasks = tasks_file(tmp_path, task("a", say()))

    gone = await program.run("fleet", "run", tasks, "--on", "127.0.0.1:9")
    odd = await program.run("fleet", "run", tasks, "--on", "mars")

    assert gone.err.startswith("error: ")
    assert "ray start --head" in gone.err or "bridle[fleet]" in gone.err
    assert "--on takes local, auto, ray" in odd.err
    assert "Traceback" not in gone.err + odd.err


@needs_s3
async def test_artifacts_live_in_a_bucket_and_a_store_that_does_not_answer_is_named(tmp_path: Path):
    program = fleet(tmp_path, AWS_MAX_ATTEMPTS="1")
    (tmp_path / "empty").mkdir()
    tasks = tasks_file(tmp_path, task("a", write("two\n"), say(), folder="empty"))
    with s3_server() as s3:
        program.env |= s3
        done = await program.run("fleet", "run", tasks, "--store", "s3://fleet/some/where")
        patch = await program.run("fleet", "diff", "last", "a")
        wrong = await program.run("fleet", "run", tasks, "--store", "s3://nowhere-at-all/x")
    lost = await program.run("fleet", "diff", "last", "a")

    assert done.code == 0, done.err
    assert "+two" in patch.out
    assert "give another --store" in wrong.err
    assert lost.err.startswith("error: the store s3://fleet/some/where can't be reached")


async def _new_run(folder: Path, before: set[str]) -> RunStore:
    def new() -> list[RunStore]:
        return [each for each in all_runs(str(folder / "fleet")) if each.id not in before]

    await eventually(new, 90)
    return new()[0]


async def _finished(store: RunStore, count: int) -> None:
    await eventually(lambda: store.row().finished >= count, 120)


def _actors() -> list[int]:
    """Processes of workers, by the name that Ray gives to them."""
    return [pid for pid, words in _processes() if words.startswith(b"ray::RayWorker")]


def _with_words(command: str) -> bool:
    return any(words == command.encode().replace(b" ", b"\0") + b"\0" for _, words in _processes())


def _left(folder: Path) -> list[int]:
    """Processes that still name the folder of the test."""
    return [pid for pid, words in _processes() if str(folder).encode() in words]


def _processes() -> list[tuple[int, bytes]]:
    found: list[tuple[int, bytes]] = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            found.append((int(name), Path(f"/proc/{name}/cmdline").read_bytes()))
        except OSError:
            continue
    return found

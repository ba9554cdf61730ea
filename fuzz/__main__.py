"""`python -m fuzz`: look for ways around the gate until a time or a count is reached."""

import argparse
import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable
from multiprocessing.queues import Queue

import msgspec

from fuzz.gate import CAMPAIGNS, FOUND, Hole, Tally, run_campaign
from fuzz.inputs import TARGETS, try_once
from fuzz.playground import Playground, make_playground, remove
from fuzz.runner import Runner, SandboxMissing, can_run

_NOTE_EVERY = 30
"""Seconds between the counts of a campaign that is under way."""


def main() -> int:
    """Run the campaigns, tell what they came to, and keep what they found."""
    asked = _arguments()
    runs = not asked.decide_only
    if runs and not can_run():
        print("Commands are decided only: install bubblewrap (bwrap) and git to run them.", file=sys.stderr)
        runs = False
    failed = 0
    for campaign in asked.campaign or (*CAMPAIGNS, "inputs"):
        if campaign == "inputs":
            failed += _try_inputs(asked)
            continue
        tallies = _in_parallel(campaign, asked, runs=runs)
        failed += _report(campaign, tallies, asked.keep)
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument(
        "campaign",
        nargs="*",
        choices=[[], *CAMPAIGNS, "inputs"],
        help="what to look at (default: everything)",
    )
    parser.add_argument("--seconds", type=float, default=60, help="time for each campaign (default 60)")
    parser.add_argument("--decide", type=int, default=0, help="stop a campaign after this many decisions")
    parser.add_argument(
        "--run", type=int, default=0, help="stop a campaign after this many executed commands"
    )
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: one for each core)"
    )
    parser.add_argument("--seed", type=int, help="repeat an earlier run")
    parser.add_argument("--decide-only", action="store_true", help="measure decisions, run nothing")
    parser.add_argument("--keep", action="store_true", help=f"add what is found to {FOUND.name}")
    return parser.parse_args()


def _in_parallel(campaign: str, asked: argparse.Namespace, *, runs: bool) -> list[Tally]:
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    print(f"{campaign}: seed {seed}, {asked.jobs} processes", flush=True)
    context = multiprocessing.get_context("fork")
    results: Queue[Tally] = context.Queue()
    workers = [
        context.Process(target=_work, args=(campaign, seed + number, asked, runs, results))
        for number in range(asked.jobs)
    ]
    for worker in workers:
        worker.start()
    tallies = [results.get() for _ in workers]
    for worker in workers:
        worker.join()
    return tallies


def _work(campaign: str, seed: int, asked: argparse.Namespace, runs: bool, results: "Queue[Tally]") -> None:
    playground = make_playground()
    try:
        if not runs:
            results.put(_campaign(campaign, seed, asked, playground, None))
            return
        with Runner(playground, campaign) as runner:
            results.put(_campaign(campaign, seed, asked, playground, runner))
    except SandboxMissing as error:
        print(f"{campaign}: {error}", file=sys.stderr)
        results.put(Tally())
    finally:
        remove(playground)


def _campaign(
    campaign: str, seed: int, asked: argparse.Namespace, playground: Playground, runner: Runner | None
) -> Tally:
    until = _noted(_enough(asked), campaign, seed)
    return run_campaign(campaign, playground, seed=seed, until=until, runner=runner, told=_tell)


def _noted(until: Callable[[Tally], bool], campaign: str, seed: int) -> Callable[[Tally], bool]:
    """The same, and the counts are printed now and then, so that they survive a run that is cut off."""
    printed = 0.0

    def enough(tally: Tally) -> bool:
        nonlocal printed
        if tally.seconds - printed >= _NOTE_EVERY:
            printed = tally.seconds
            print(f"{campaign} {seed}: {tally.decided:,} decided, {tally.ran:,} run so far", flush=True)
        return until(tally)

    return enough


def _try_inputs(asked: argparse.Namespace) -> int:
    """Give random bytes to every target of fuzz/inputs.py."""
    seed = asked.seed if asked.seed is not None else random.SystemRandom().randrange(2**32)
    choose, playground, failed = random.Random(seed), make_playground(), 0
    print(f"inputs: seed {seed}", flush=True)
    try:
        for name in TARGETS:
            count, found, until = 0, 0, time.monotonic() + asked.seconds / len(TARGETS)
            while time.monotonic() < until:
                data = choose.randbytes(choose.randint(4, 200))
                count += 1
                try:
                    try_once(name, data, playground)
                except Exception as error:
                    failed += 1
                    found += 1
                    if found > 3:
                        break
                    print(f"HOLE ({name}) {data!r}: {type(error).__name__}: {error}", flush=True)
            print(f"inputs: {name}: {count:,} tried", flush=True)
    finally:
        remove(playground)
    return failed


def _enough(asked: argparse.Namespace) -> Callable[[Tally], bool]:
    until = time.monotonic() + asked.seconds
    decide, run = asked.decide // asked.jobs, asked.run // asked.jobs

    def enough(tally: Tally) -> bool:
        if decide or run:
            tally.patient = tally.decided >= decide
            return tally.patient and tally.ran >= run
        return time.monotonic() >= until

    return enough


def _tell(hole: Hole) -> None:
    print(f"HOLE ({hole.campaign}) {hole.command!r}: {'; '.join(hole.did)}", flush=True)


def _report(campaign: str, tallies: list[Tally], keep: bool) -> int:
    decided, ran = sum(each.decided for each in tallies), sum(each.ran for each in tallies)
    rate = sum(each.decided / each.seconds_deciding for each in tallies if each.seconds_deciding)
    holes = {hole.command: hole for each in tallies for hole in each.holes}
    passed = max((each.seconds for each in tallies), default=0.0) or 1.0
    allowed, hung = sum(each.allowed for each in tallies), sum(each.hung for each in tallies)
    print(
        f"{campaign}: {decided:,} decided in {passed:,.0f} s ({decided / passed:,.0f} a second; {rate:,.0f} a"
        f" second of processor time in {len(tallies)} processes), {allowed:,} allowed,"
        f" {ran:,} run ({ran / passed:,.0f} a second), {hung} did not end in time, {len(holes)} holes",
        flush=True,
    )
    if keep and holes:
        with FOUND.open("ab") as file:
            file.writelines(msgspec.json.encode(hole) + b"\n" for hole in holes.values())
    return len(holes)


if __name__ == "__main__":
    sys.exit(main())

"""Runs bridle under a host that misbehaves by a plan, and checks what must hold whatever happens.

`python -m tests.sdk.faults --runs 1000` runs the plans of seeds 0 to 999 and prints what broke.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tests.fakes.forked import start_afresh
from tests.fakes.messages_server import MessagesServer, Step, fault, step
from tests.fakes.processes import eventually
from tests.fakes.program import Program
from tests.fakes.program import user as user_line

Fault = Literal[
    "none", "end", "half line", "nonsense", "terminate", "interrupt", "kill", "close output", "stall"
]  # fmt: skip
Manner = Literal["prompt", "twice", "error", "never", "nonsense", "strangers first", "late"]

_FAULTS: tuple[Fault, ...] = (
    "none", "end", "half line", "nonsense", "terminate", "interrupt", "kill", "close output", "stall",
)  # fmt: skip
_MANNERS: tuple[Manner, ...] = (
    "prompt", "prompt", "twice", "error", "never", "nonsense", "strangers first", "late",
)  # fmt: skip
_QUIET = 0.4
"""Seconds without a line after which the host goes on with its plan."""
PATIENCE = 60.0
"""Seconds in which a run that was given its end must be over."""
_GRACE = 3.0
"""Seconds that a host leaves bridle after the end of the input before it terminates it."""
_CODES: dict[Fault, frozenset[int]] = {
    "none": frozenset({0, 1}),
    "end": frozenset({0, 1}),
    "half line": frozenset({0, 1}),
    "nonsense": frozenset({1}),
    "terminate": frozenset({143}),
    "interrupt": frozenset({130}),
    "kill": frozenset({-9}),
    "close output": frozenset({0, 1, 141}),
    "stall": frozenset({143}),
}
_STREAM = ("--output-format", "stream-json", "--verbose", "--input-format", "stream-json")
_FLAGS = (*_STREAM, "--permission-prompt-tool", "stdio", "--replay-user-messages")


_Start = Callable[..., Awaitable[Process]]
"""The way to start the program."""


class Plan(NamedTuple):
    """What one run does; equal seeds make equal plans."""

    seed: int
    prompts: int
    steps: list[Step]
    hooks: bool
    manner: Manner
    fault: Fault
    after: int
    """Lines that the host reads before the fault."""
    interrupts: frozenset[int]
    """Lines after which it also asks for an interrupt."""


class Observed(NamedTuple):
    """What came of a run."""

    plan: Plan
    frames: list[Any]
    broken: list[bytes]
    """Lines that are not JSON."""
    code: int
    terminated: bool
    """The host had to terminate it after the end of the input."""
    err: str
    rows: list[bytes]
    orphans: list[str]


def make_plan(seed: int) -> Plan:
    chance = random.Random(seed)
    return Plan(
        seed=seed,
        prompts=chance.randint(1, 3),
        steps=[_step(chance, number) for number in range(chance.randint(1, 5))],
        hooks=chance.random() < 0.4,
        manner=chance.choice(_MANNERS),
        fault=chance.choice(_FAULTS),
        after=chance.randint(0, 9),
        interrupts=frozenset(chance.sample(range(12), chance.choice((0, 0, 0, 1, 2)))),
    )


def _step(chance: random.Random, number: int) -> Step:
    id = f"toolu_{number}"
    commands = (f"touch made{number}", f"touch made{number}; sleep 300 & sleep 300", "echo quick", "exit 3")
    call = {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": chance.choice(commands)}}
    made: list[Step] = [
        step("A short answer."),
        step("Let me see.", call),
        step(call),
        step("x" * 300_000),
        step("Slowly, slowly.", piece=3, pause=0.01, write=200),
        step("This never ends", silent_after=400),
        step("This breaks off", close_after=500),
        fault(400),
        fault(529, "overloaded_error"),
    ]
    return chance.choice(made)


async def run(plan: Plan, start: _Start) -> Observed:
    """Carry out a plan."""
    folder = Path(tempfile.mkdtemp(prefix=f"faults-{plan.seed}-"))
    mark = f"BRIDLE_FAULT_RUN={plan.seed}-{os.getpid()}-{os.urandom(4).hex()}"
    name, _, value = mark.partition("=")
    try:
        async with MessagesServer([*plan.steps, step("The end.", repeat=True)]) as server:
            program = Program(folder, server.url, CLAUDE_CODE_MAX_RETRIES="1", **{name: value})
            # The mark is in the environment of whatever the run starts.
            process = await start(
                _FLAGS, cwd=program.project, env=program.env, stdin=PIPE, stdout=PIPE, stderr=PIPE
            )
            host = _Host(plan, process)
            code, terminated = await host.play()
            err = "" if process.stderr is None else (await process.stderr.read()).decode()
        rows = [line for path in program.transcripts() for line in path.read_bytes().splitlines()]
        orphans = await _orphans(mark)
        return Observed(plan, host.frames, host.broken, code, terminated, err, rows, orphans)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Host:
    """The other end of the pipes."""

    def __init__(self, plan: Plan, process: asyncio.subprocess.Process) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._plan = plan
        self._process = process
        self._in = process.stdin
        self._out = process.stdout
        self._late: list[Any] = []
        self._ended = False
        self.frames: list[Any] = []
        self.broken: list[bytes] = []

    async def play(self) -> tuple[int, bool]:
        """Speak, misbehave, wait for the end: its code, and whether it had to be forced."""
        plan = self._plan
        hooks = {"PreToolUse": [{"matcher": "Bash", "hookCallbackIds": ["h"], "timeout": 1}]}
        self._request("first", "initialize", hooks=hooks if plan.hooks else None)
        for number in range(plan.prompts):
            self._send(user_line(f"prompt {number}", uuid=prompt_uuid(number)))
        if plan.fault == "interrupt":
            # While Python itself is starting, Ctrl-C is answered by Python and not by bridle.
            self._take(await self._out.readline())
        await self._read(plan.after)
        self._misbehave()
        terminated = await self._wait()
        return self._process.returncode or 0, terminated

    async def _read(self, most: int | None) -> None:
        """Take lines and answer them, until there were enough, none comes for a while, or it is over."""
        while most is None or len(self.frames) < most:
            try:
                async with asyncio.timeout(None if most is None else _QUIET):
                    line = await self._out.readline()
            except TimeoutError:
                return
            if not line:
                return
            self._take(line)

    def _take(self, line: bytes) -> None:
        try:
            frame = json.loads(line)
        except ValueError:
            self.broken.append(line)
            return
        self.frames.append(frame)
        if len(self.frames) in self._plan.interrupts:
            self._request(f"stop{len(self.frames)}", "interrupt")
        if frame["type"] == "control_request":
            self._answer(frame)
        elif self._late:
            self._send(self._late.pop())

    def _answer(self, frame: Any) -> None:
        asked: Any = frame["request"]
        right = {"behavior": "allow"} if asked["subtype"] == "can_use_tool" else {}
        good = _response(frame["request_id"], right)
        match self._plan.manner:
            case "prompt":
                self._send(good)
            case "twice":
                self._send(good)
                self._send(_response(frame["request_id"], {"behavior": "deny", "message": "twice"}))
            case "error":
                inner = {"subtype": "error", "request_id": frame["request_id"], "error": "host failed"}
                self._send({"type": "control_response", "response": inner})
            case "never":
                pass
            case "nonsense":
                self._send(_response(frame["request_id"], {"behavior": 7, "hookSpecificOutput": "?"}))
            case "strangers first":
                self._send(_response("nobody", {"behavior": "allow"}))
                self._send({"type": "control_cancel_request", "request_id": "nobody"})
                self._request("strange", "no_such_thing")
                self._send({"type": "something_new"})
                self._send(good)
            case "late":
                self._late.append(good)

    def _misbehave(self) -> None:
        match self._plan.fault:
            case "none" | "end":
                self._end()
            case "half line":
                self._write(b'{"type":"user","mess')
                self._end()
            case "nonsense":
                self._write(b"{not json}\n")
            case "terminate" | "stall":
                self._signal(signal.SIGTERM)
            case "interrupt":
                self._signal(signal.SIGINT)
            case "kill":
                self._signal(signal.SIGKILL)
            case "close output":
                transport: Any = self._out
                transport._transport.close()
                self._end()

    async def _wait(self) -> bool:
        """Until the process has gone; what has not gone some time after its input ended is terminated."""
        plan = self._plan
        deaf = plan.fault in ("stall", "close output")
        reading = asyncio.create_task(asyncio.Event().wait() if deaf else self._read(None))
        terminated = False
        try:
            async with asyncio.timeout(_GRACE):
                await self._process.wait()
        except TimeoutError:
            terminated = True
            self._signal(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await self._process.wait()
        if self._process.returncode is None:
            self._signal(signal.SIGKILL)
            await self._process.wait()
        if not deaf:
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    await reading
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
        return terminated

    def _request(self, id: str, subtype: str, **fields: Any) -> None:
        self._send({"type": "control_request", "request_id": id, "request": {"subtype": subtype, **fields}})

    def _send(self, message: Any) -> None:
        self._write(json.dumps(message).encode() + b"\n")

    def _write(self, data: bytes) -> None:
        if not self._ended and not self._in.is_closing():
            self._in.write(data)

    def _end(self) -> None:
        self._ended = True
        self._in.close()

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)


def check(seen: Observed) -> list[str]:
    """What must hold of every run and did not."""
    plan, frames = seen.plan, seen.frames
    complaints: list[str] = []
    killed, deaf = plan.fault == "kill", plan.fault in ("stall", "close output")
    allowed = _CODES[plan.fault] | ({143} if seen.terminated else set())
    if not frames:
        # Before it has said anything it may not have got as far as to take signals itself.
        allowed |= {-signal.SIGTERM} if seen.terminated or plan.fault in ("terminate", "stall") else set()
    if seen.code not in allowed:
        complaints.append(f"exit code {seen.code}, not one of {sorted(allowed)}; stderr: {seen.err[-300:]}")
    if seen.orphans:
        complaints.append(f"processes were left: {seen.orphans}")
    if len(seen.broken) > (1 if killed or deaf else 0):
        complaints.append(f"lines that are not JSON: {seen.broken[:2]}")
    if "defect" in seen.err or "Traceback" in seen.err:
        complaints.append(f"standard error: {seen.err[-500:]}")
    complaints += _check_results(plan, frames, exact=not (killed or deaf))
    complaints += [f"torn row: {row[:80]!r}" for row in seen.rows[:-1] if not _is_json(row)]
    return complaints


def _check_results(plan: Plan, frames: list[Any], *, exact: bool) -> list[str]:
    """Every turn that began has one result, and no prompt has two."""
    results = [frame for frame in frames if frame["type"] == "result"]
    began = sum(frame.get("subtype") == "init" for frame in frames)
    answered = Counter(uuid for frame in results for uuid in frame.get("user_message_uuids", ()))
    complaints = [f"{uuid} has {count} results" for uuid, count in answered.items() if count > 1]
    if len(results) > plan.prompts:
        complaints.append(f"{len(results)} results for {plan.prompts} prompts")
    if exact and len(results) < began:
        complaints.append(f"{began} turns began and {len(results)} results came")
    if exact and plan.fault in ("none", "end") and len(answered) != plan.prompts:
        # Only who terminates bridle after the end of the input may leave prompts unanswered.
        ended = [frame["command_uuid"] for frame in frames if frame.get("state") == "completed"]
        if len(set(ended)) == plan.prompts:
            complaints.append(f"{plan.prompts} prompts, and results for {len(answered)}")
    return complaints


def prompt_uuid(number: int) -> str:
    return f"{number:08d}-1111-4111-8111-111111111111"


def _response(request_id: str, answer: Any) -> Any:
    inner = {"subtype": "success", "request_id": request_id, "response": answer}
    return {"type": "control_response", "response": inner}


def _is_json(row: bytes) -> bool:
    try:
        json.loads(row)
    except ValueError:
        return False
    return True


async def _orphans(mark: str) -> list[str]:
    """Processes that carry the mark of a run; those that are being reaped get a moment."""
    with suppress(TimeoutError):
        await eventually(lambda: not _marked(mark.encode()), seconds=PATIENCE)
    return _marked(mark.encode())


def _marked(mark: bytes) -> list[str]:
    found: list[str] = []
    for entry in os.listdir("/proc"):
        if entry.isdecimal() and int(entry) != os.getpid():
            with suppress(OSError):
                if mark in Path(f"/proc/{entry}/environ").read_bytes():
                    found.append(Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found


async def run_many(seeds: range, *, jobs: int, start: _Start = start_afresh) -> list[tuple[Plan, list[str]]]:
    """Run plans, a few at a time; those of which something did not hold."""
    gate = asyncio.Semaphore(jobs)

    async def one(seed: int) -> tuple[Plan, list[str]]:
        async with gate:
            plan = make_plan(seed)
            return plan, check(await run(plan, start))

    return [each for each in await asyncio.gather(*map(one, seeds)) if each[1]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    chosen = parser.parse_args()
    began = time.monotonic()
    broken = asyncio.run(run_many(range(chosen.first, chosen.first + chosen.runs), jobs=chosen.jobs))
    for plan, complaints in broken:
        sys.stdout.write(f"seed {plan.seed} ({plan.fault}, answers {plan.manner}): {'; '.join(complaints)}\n")
    seconds = time.monotonic() - began
    sys.stdout.write(f"{chosen.runs} runs, {len(broken)} broken, {seconds:.0f} s\n")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())

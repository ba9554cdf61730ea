"""What the audit chain costs: the records of one step in the audit chain.

`python -m bench.evidence_audit [steps]` prints the time that one step takes more with a chain: a
model call and a tool call with its decision, 8 records, in a conversation of 400 messages. On a busy
machine the average of the time that passes says little; the middle and the processor time do.
"""

import os
import statistics
import sys
import tempfile
import time
from typing import Any

from bridle.engine.runtime import ModelFacts
from bridle.features.audit.chain import Chain
from bridle.features.audit.check import verify
from bridle.features.audit.observer import Observer
from bridle.features.audit.records import Key
from bridle.types.event import ToolFinished, ToolStarted
from bridle.types.history import History
from bridle.types.hooks.outcome import HookRun
from bridle.types.model import ModelRequest
from bridle.types.permission import Effect, Rule

_BUDGET_MS = 0.2
_MESSAGES = 400
_RESULT = "a line of some result\n" * 200


def measure_audit(steps: int = 2000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "one.jsonl")
        chain = Chain(path, "one", Key(os.urandom(32)), warn=print)
        observer = Observer(chain, lambda _: ModelFacts(context_window=1, max_output=1, max_tokens=1))
        history = History()
        for _ in range(_MESSAGES):
            history.add({"role": "user", "content": _RESULT})
        times: list[float] = []
        worked = time.process_time()
        for number in range(steps):
            history.add({"role": "user", "content": _RESULT})
            began = time.perf_counter()
            _step(observer, history, f"toolu_{number}")
            times.append((time.perf_counter() - began) * 1000)
            history.cut(_MESSAGES)
        worked = (time.process_time() - worked) * 1000 / steps
        chain.close()
        began = time.perf_counter()
        found = verify(path, "one", chain.key)
        seconds = time.perf_counter() - began
        assert not found.faults
        size = os.path.getsize(path) / len(found.records)
    mean, middle = statistics.fmean(times), statistics.median(times)
    print(f"a step: {middle:.3f} ms in the middle, {mean:.3f} ms on average, at most {_BUDGET_MS} ms wanted")
    print(f"processor: {worked:.3f} ms a step on average, with what the benchmark itself does")
    print(
        f"{len(found.records):,} records of {size:.0f} bytes; verify: {len(found.records) / seconds:,.0f}/s"
    )
    if middle > _BUDGET_MS:
        raise SystemExit(1)


def _step(observer: Observer, history: History, call: str) -> None:
    given: dict[str, Any] = {"command": "cat a.txt", "description": "Show a file"}
    rule = Rule(Effect.ALLOW, "Bash", "cat:*", "userSettings", "/home/a/.claude/settings.json", 4)
    observer.note("model", observer.request(ModelRequest(model="m", history=history, max_tokens=1)))
    observer.note("answered", {"model": "m", "outcome": "completed", "content": observer.digest(_RESULT)})
    observer.take(ToolStarted(call_id=call, tool="Bash", input=given))
    observer.note("decision", {"input": observer.digest(given), "rule": observer.rule(rule)})
    observer.note("allowed", {"call": call, "by": "rule", "input": observer.digest(given)})
    hook = HookRun(id="1", name="PreToolUse:Bash", event="PreToolUse", outcome="success")
    observer.take(hook)
    result: Any = {"type": "tool_result", "tool_use_id": call, "content": _RESULT}
    observer.take(ToolFinished(uuid="u", timestamp="t", tool="Bash", result=result, data=None, seconds=0))
    observer.note("file", {"call": call, "file": "/a/b", "before": "none", "after": "0" * 64})


if __name__ == "__main__":
    measure_audit(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)

"""Workflow scripts on a fleet: every `agent()` of a script is a task of its run."""

import asyncio
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from importlib.resources import files
from typing import Any

import msgspec
from msgspec import UNSET

from bridle.frontends.fleet.artifacts import StoreError, open_artifacts
from bridle.frontends.fleet.drive import Driver
from bridle.frontends.fleet.executor import ClusterError
from bridle.frontends.fleet.records import Result, RunOptions, Task
from bridle.frontends.fleet.store import RunStore
from bridle.frontends.fleet.task_files import narrowed, tasks_of
from bridle.host.reaper import Reaper
from bridle.host.scripts.protocol import ScriptCall, ScriptEnd
from bridle.host.scripts.script import Script, open_script
from bridle.types.errors import BridleError, UsageError

BUNDLED = ("map", "review", "best-of", "migrate")
_OWN_OPTIONS = frozenset({"label", "phase", "result", "isolation", "effort", "agentType"})
_SHOWN_PATCH = 200_000


def bundled(name: str) -> str:
    """The text of a workflow that comes with bridle."""
    return files("bridle.frontends.fleet").joinpath("workflows", f"{name}.js").read_text(encoding="utf-8")


class FleetWorkflow:
    """One script on the run that a driver drives."""

    def __init__(
        self, driver: Driver, store: RunStore, options: RunOptions, tell: Callable[[str], None]
    ) -> None:
        self._driver = driver
        self._store = store
        self._options = options
        self._tell = tell
        self._seen: Counter[str] = Counter()

    async def run(self) -> Any:
        """Run the script to its end; what it returned.

        Raises:
            UsageError: it failed.
        """
        arguments = msgspec.json.decode(self._options.arguments) if self._options.arguments else UNSET
        reaper = Reaper()
        try:
            async with (
                open_script(self._options.workflow, args=arguments, reaper=reaper) as script,
                asyncio.TaskGroup() as group,
            ):
                end = await self._follow(script, group)
        finally:
            await asyncio.to_thread(reaper.close)
            self._driver.finish()
        if end.error is not None:
            raise UsageError(f"the workflow failed: {end.error}")
        return end.value

    async def _follow(self, script: Script, group: asyncio.TaskGroup) -> ScriptEnd:
        working: list[asyncio.Task[None]] = []
        end = ScriptEnd()
        async for event in script.events():
            match event:
                case ScriptEnd():
                    end = event
                case ScriptCall(kind="agent"):
                    working.append(group.create_task(self._agent(script, event)))
                case ScriptCall(kind="workflow"):
                    text = "a workflow of a fleet cannot call another one"
                    working.append(group.create_task(script.fail(event.id, text)))
                case ScriptCall():
                    said = event.payload.get("title") or event.payload.get("message") or ""
                    self._tell(str(said))
        for each in working:
            each.cancel()
        return end

    def _agent(self, script: Script, call: ScriptCall) -> Coroutine[Any, Any, None]:
        """Look at a call at once, so that equal ones are counted in their order."""
        options: Mapping[str, Any] = call.payload.get("options") or {}
        try:
            task = self._task(str(call.payload["prompt"]), options)
        except BridleError as error:
            return script.fail(call.id, str(error))
        return self._answer(script, call.id, task, full=options.get("result") == "full")

    async def _answer(self, script: Script, id: int, task: Task, *, full: bool) -> None:
        known = self._store.result(task.id) if self._store.knows(task.id) else None
        try:
            result = known or await self._driver.submit(task)
            await script.answer(id, await self._value(result, full=full))
        except (ClusterError, StoreError) as error:
            await script.fail(id, str(error))

    def _task(self, prompt: str, options: Mapping[str, Any]) -> Task:
        """The task that a call means; the same call has the same id when the script runs again."""
        label = str(options.get("label") or "agent")
        fields = {
            key: value for key, value in options.items() if key not in _OWN_OPTIONS and value is not None
        }
        digest = hashlib.sha256(msgspec.json.encode([prompt, label, fields], order="sorted")).hexdigest()[:8]
        slug = re.sub(r"[^a-z0-9]+", "-", label.lower()).strip("-")[:60] or "agent"
        number = self._seen[f"{slug}-{digest}"]
        self._seen[f"{slug}-{digest}"] += 1
        id = f"{slug}-{digest}" + (f"-{number + 1}" if number else "")
        row = {**fields, "id": id, "prompt": prompt, "variables": {}}
        (task,) = tasks_of([(label, row)], self._options.folder, allowed=self._options.roots, fills=False)
        return narrowed(task, self._options)

    async def _value(self, result: Result, *, full: bool) -> Any:
        if not full:
            if result.status not in ("done", "failed"):
                return None
            return result.answer if result.output is None else result.output
        patch = ""
        if (kept := result.first("patch")) is not None:
            patch = (await open_artifacts(self._options.store).get(kept.digest)).decode(errors="replace")
        return {
            "task": result.task, "ok": result.ok, "status": result.status, "kind": result.kind,
            "message": result.message, "answer": result.answer, "output": result.output,
            "patch": patch[:_SHOWN_PATCH], "cost": result.cost, "seconds": result.seconds,
            "checks": [{"name": each.name, "passed": each.passed} for each in result.checks],
        }  # fmt: skip

"""Runs the offline planner to the end of its turn with small real tools in a temporary directory."""

import os
import re
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bridle.providers.offline import OfflineProvider
from bridle.types.block import AssistantMessage, SentMessage, ToolResultBlock, result_block, text_of
from bridle.types.history import History
from bridle.types.model import Completed, ModelEvent, ModelRequest
from tests.fakes.forked import python

TOOLS = ("Bash", "Edit", "Glob", "Grep", "Read")
Refuse = Callable[[str, Mapping[str, Any]], str | None]


class Desk:
    """One conversation with the planner; `calls` lists every tool call with its input."""

    def __init__(
        self,
        folder: Path,
        *,
        tools: tuple[str, ...] = TOOLS,
        refuse: Refuse | None = None,
        programs: Path | None = None,
    ) -> None:
        self.folder = folder
        self.tools = tools
        self.refuse = refuse
        self.programs = programs or Path(python("pytest")).parent
        """Where commands are looked for first: a Python that has pytest."""
        self.answers: dict[tuple[str, int], str] = {}
        """Results given in place of running the Nth call of a tool."""
        self._shown: dict[str, str] = {}
        self.history = History()
        self.calls: list[tuple[str, Mapping[str, Any]]] = []
        self.texts: list[str] = []

    async def ask(self, prompt: str, *, limit: int = 120) -> str:
        """Put a prompt and carry out every call until the planner has said its last words."""
        self.history.add({"role": "user", "content": [{"type": "text", "text": prompt}]})
        for _ in range(limit):
            answer = (await collect(request_for(self.history, self.tools)))[-1]
            assert isinstance(answer, Completed)
            self.history.add(sent(answer.message))
            self.texts.append(text_of(answer.message["content"]))
            results = [
                self._carry_out(block["id"], block["name"], block["input"])
                for block in answer.message["content"]
                if block["type"] == "tool_use"
            ]
            if not results:
                return self.texts[-1]
            self.history.add({"role": "user", "content": [*results]})
        raise AssertionError(f"no end after {limit} steps")

    def names(self) -> list[str]:
        return [name for name, _ in self.calls]

    def commands(self) -> list[str]:
        return [input["command"] for name, input in self.calls if name == "Bash"]

    def _carry_out(self, call_id: str, name: str, input: Mapping[str, Any]) -> ToolResultBlock:
        self.calls.append((name, input))
        if self.refuse and (reason := self.refuse(name, input)):
            return result_block(call_id, reason, is_error=True)
        if prepared := self.answers.get((name, self.names().count(name))):
            return result_block(call_id, prepared)
        text, is_error = self._run(name, input)
        return result_block(call_id, text, is_error=is_error)

    def _run(self, name: str, input: Mapping[str, Any]) -> tuple[str, bool]:
        if name == "Bash":
            return _bash(self.folder, input, self.programs)
        text, is_error = _RUN[name](self.folder, input)
        if name == "Read" and self._shown.get(input["file_path"]) == text:
            return "The file has not changed since it was last read.", False
        if name == "Read":
            self._shown[input["file_path"]] = text
        return text, is_error


async def collect(request: ModelRequest) -> list[ModelEvent]:
    return [event async for event in OfflineProvider().stream(request)]


def request_for(history: History, tools: tuple[str, ...] = TOOLS) -> ModelRequest:
    return ModelRequest(
        model="offline",
        history=history,
        tools=tuple({"name": name, "input_schema": {"type": "object"}} for name in tools),
        max_tokens=8_000,
    )


def sent(message: AssistantMessage) -> SentMessage:
    return {"role": "assistant", "content": [*message["content"]]}


def _read(folder: Path, input: Mapping[str, Any]) -> tuple[str, bool]:
    path = folder / input["file_path"]
    if not path.is_file():
        return f"{input['file_path']} does not exist.", True
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    return "\n".join(f"{number}\t{line}" for number, line in enumerate(lines, 1)), False


def _edit(folder: Path, input: Mapping[str, Any]) -> tuple[str, bool]:
    path = folder / input["file_path"]
    text = path.read_text(encoding="utf-8")
    if (found := text.count(input["old_string"])) != 1:
        return f"Found {found} matches of the text to replace.", True
    path.write_text(text.replace(input["old_string"], input["new_string"]), encoding="utf-8")
    return "The file is changed.", False


def _bash(folder: Path, input: Mapping[str, Any], programs: Path) -> tuple[str, bool]:
    shell = subprocess.Popen(
        ["/bin/bash", "-c", input["command"]],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{programs}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        },
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    with shell:
        try:
            output = shell.communicate(timeout=input.get("timeout", 60_000) / 1_000)[0].rstrip()
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            return "The command timed out and was stopped.", True
    return (f"Exit code {shell.returncode}\n{output}", True) if shell.returncode else (output, False)


def _glob(folder: Path, input: Mapping[str, Any]) -> tuple[str, bool]:
    found = [path for path in folder.glob(input["pattern"]) if path.is_file()]
    return "\n".join(str(path.relative_to(folder)) for path in found[:100]) or "No files found", False


def _grep(folder: Path, input: Mapping[str, Any]) -> tuple[str, bool]:
    root = folder / input.get("path", ".")
    files = [root] if root.is_file() else sorted(root.rglob(input.get("glob", "*")))
    hits = [
        f"{path.relative_to(folder)}:{number}:{line}"
        for path in files
        if path.is_file()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(input["pattern"], line)
    ]
    return "\n".join(hits[: input.get("head_limit", 250)]) or "No matches found", False


_RUN: Mapping[str, Callable[[Path, Mapping[str, Any]], tuple[str, bool]]] = {
    "Read": _read,
    "Edit": _edit,
    "Glob": _glob,
    "Grep": _grep,
}

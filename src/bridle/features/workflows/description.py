"""Describes a call of the Workflow tool for the permission prompt."""

from collections.abc import Mapping
from typing import Any

from bridle.engine.turn import Turn
from bridle.extensions.workflows import WorkflowFile, WorkflowMeta, read_meta
from bridle.features.workflows.journal import RunFolder
from bridle.features.workflows.session import SessionWorkflows
from bridle.features.workflows.sources import peek
from bridle.types.errors import ConfigError
from bridle.types.text import one_line

_LONGEST = 300
_MOST_PHASES = 12


def describe(
    input: Mapping[str, Any], turn: Turn, runs: SessionWorkflows, files: Mapping[str, WorkflowFile]
) -> str | None:
    """What would run, what it says of itself, and where its script is; None where nothing is known."""
    match input:
        case {"name": str() as name} if name.removeprefix("/") in files:
            file = files[name.removeprefix("/")]
            return _words(file.meta, file.path)
        case {"script": str() as script}:
            return _words(_meta(script), "part of the call")
        case {"scriptPath": str() as path}:
            found = peek(path, turn)
            return _words(None if found is None else found.meta, one_line(path, _LONGEST))
        case {"resumeFromRunId": str() as run_id}:
            folder = runs.folder(run_id, turn.runtime)
            return None if folder is None else _words(_kept(folder), folder.script)
        case _:
            return None


def _kept(folder: RunFolder) -> WorkflowMeta | None:
    try:
        return _meta(folder.read_script())
    except OSError:
        return None


def _meta(script: str) -> WorkflowMeta | None:
    try:
        return read_meta(script)
    except ConfigError:
        return None


def _words(meta: WorkflowMeta | None, where: str) -> str:
    if meta is None:
        return f"a workflow without a description. Script: {where}"
    titles = ", ".join(phase.title for phase in meta.phases[:_MOST_PHASES])
    steps = f" Phases: {one_line(titles, _LONGEST)}." if titles else ""
    about = one_line(" ".join(meta.description.split()), _LONGEST).rstrip(".")
    return f"the workflow {meta.name}: {about}.{steps} Script: {where}"

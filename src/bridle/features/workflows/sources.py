"""Which script is meant: one that was written out, a file, a saved one, or that of an earlier run."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from bridle.engine.calls.call import Call
from bridle.engine.calls.parsing import parse_input
from bridle.engine.permissions.gate import CallDenied, pass_gate, standing
from bridle.engine.permissions.run_rules import objection, require
from bridle.engine.turn import Turn
from bridle.extensions.workflows import WorkflowFile, WorkflowMeta, read_meta
from bridle.features.workflows.journal import RunFolder
from bridle.host.safe_open import locate
from bridle.permissions.preparation import CallRequest, approvals, prepare
from bridle.tools.files.read import TOOL as READ
from bridle.tools.files.text_files import read_text, refuse_special
from bridle.tools.workflow import TOOL as WORKFLOW
from bridle.types.errors import ConfigError, ToolError
from bridle.types.nearest import did_you_mean
from bridle.types.permission import Access, Allow, Case
from bridle.types.services.workflows import Launch

_LARGEST_SCRIPT = 1_000_000

Files = Mapping[str, WorkflowFile]


class Source(Struct, frozen=True, kw_only=True):
    """A script and what it says of itself."""

    text: str
    meta: WorkflowMeta
    origin: str | None = None
    """The file that it was read from."""
    args: Any = UNSET
    """Those of the earlier run, unless others were given."""


async def find_source(launch: Launch, turn: Turn, files: Files, folder: RunFolder | None) -> Source:
    """The script that a call names; `folder` is that of the run to resume.

    Raises:
        ToolError: there is none, it may not be read, or it does not say what it is.
    """
    named = [each for each in (launch.script, launch.path, launch.name) if each]
    if len(named) > 1:
        raise ToolError("Give only one of script, scriptPath and name.")
    if not named and folder is None:
        raise ToolError("Give a script, a scriptPath, or the name of a saved workflow.")
    if launch.script:
        found = Source(text=launch.script, meta=_meta(launch.script, "script"))
    elif launch.path:
        found = await read_script(launch.path, turn)
    elif launch.name:
        found = find_saved(launch.name, files)
    else:
        found = None
    if folder is not None:
        earlier = _earlier(folder)
        found = earlier if found is None else msgspec.structs.replace(found, args=earlier.args)
    assert found is not None
    return found if launch.args is UNSET else msgspec.structs.replace(found, args=launch.args)


async def read_script(path: str, turn: Turn) -> Source:
    """A script in a file, which passes the gate like any file that is read.

    Raises:
        ToolError: it may not or cannot be read.
    """
    if "\0" in path:
        raise ToolError("A path cannot contain a NUL character.")
    resolved = turn.runtime.workspace.resolve(path)
    refuse_special(resolved)
    given = Call(id=f"script_{turn.id}", name=READ.name, input={"file_path": resolved})
    try:
        call, input = parse_input(READ, given)
        passage = await pass_gate(call, READ, input, turn, hook=None)
    except CallDenied as refusal:
        raise ToolError(f"scriptPath: {refusal}") from refusal
    return _read(resolved, passage.case)


def peek(path: str, turn: Turn) -> Source | None:
    """A script in a file; None if reading it needs approval."""
    resolved = turn.runtime.workspace.resolve(path)
    asked = CallRequest(
        tool=READ.name,
        input={"file_path": resolved},
        subject=resolved,
        read_only=True,
        access=Access(reads=(resolved,)),
    )
    try:
        refuse_special(resolved)
        case = prepare(asked, standing(turn))
        return _read(resolved, case) if isinstance(turn.runtime.gate.decide(case), Allow) else None
    except ToolError:
        return None  # Running it will say why.


def _read(resolved: str, case: Case) -> Source:
    try:
        text = read_text(locate(resolved, approvals(case)), most_bytes=_LARGEST_SCRIPT).text
    except OSError as error:
        raise ToolError(f"scriptPath: {resolved}: {error.strerror or error}.") from error
    return Source(text=text, meta=_meta(text, resolved), origin=resolved)


def find_saved(name: str, files: Files) -> Source:
    """A saved workflow by its name.

    Raises:
        ToolError: there is none, or its file cannot be read any more.
    """
    name = name.removeprefix("/")
    if (file := files.get(name)) is None:
        raise ToolError(_unknown(name, files))
    try:
        text = file.read()
    except OSError as error:
        raise ToolError(f"Could not read the workflow {name}: {error.strerror or error}.") from error
    return Source(text=text, meta=_meta(text, file.path), origin=file.path)


async def require_nested(name: str, turn: Turn) -> None:
    """Let a workflow be called by another: that one was approved with all it calls, but rules still count.

    Raises:
        ToolError: a rule denies it, or asks about it and it was not approved.
    """
    if objection(turn, WORKFLOW.name, "name", name) is not None:
        await require(WORKFLOW, {"name": name}, turn)


def _meta(text: str, where: str) -> WorkflowMeta:
    try:
        return read_meta(text)
    except ConfigError as error:
        raise ToolError(f"{where}: {error}") from error


def _earlier(folder: RunFolder) -> Source:
    """The script and the arguments that a run began with."""
    try:
        note, text = folder.read_note(), folder.read_script()
    except (OSError, msgspec.MsgspecError) as error:
        raise ToolError(f"Could not read the files of the run: {error}.") from error
    return Source(text=text, meta=_meta(text, folder.script), args=note.args, origin=note.origin)


def _unknown(name: str, files: Files) -> str:
    meant = did_you_mean(name, files) or "."
    there = ", ".join(sorted(files)[:30]) or "none"
    return f"Unknown workflow {name}{meant} Saved workflows: {there}."

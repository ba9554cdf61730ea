"""Starts a workflow for a slash command."""

from typing import Protocol

from msgspec import UNSET

from bridle.engine.permissions.run_rules import objection
from bridle.engine.runtime import Runtime
from bridle.engine.turn import Turn
from bridle.features.workflows.session import SessionWorkflows
from bridle.permissions.tool_names import WORKFLOW
from bridle.transcripts.session import Session
from bridle.types.errors import ToolError
from bridle.types.ids import new_uuid
from bridle.types.origin import Origin
from bridle.types.permission import Deny
from bridle.types.services.workflows import Launch, Launched, read_arguments
from bridle.types.text import counted
from bridle.types.turn import Prompt


class Caller(Protocol):
    """The part of a command's context that a workflow needs."""

    @property
    def session(self) -> Session: ...

    @property
    def runtime(self) -> Runtime: ...

    @property
    def origin(self) -> Origin: ...


async def begin(workflows: SessionWorkflows, name: str, arguments: str, caller: Caller) -> str:
    """Start a saved workflow. Returns the text for the user.

    Raises:
        ToolError: it cannot be run.
    """
    typed = f"/{name} {arguments}".strip()
    launch = Launch(name=name, args=read_arguments(arguments) if arguments.strip() else UNSET)
    return launch_text(await start(workflows, launch, typed, caller))


async def start(workflows: SessionWorkflows, launch: Launch, typed: str, caller: Caller) -> Launched:
    """Begin a run for a command.

    Raises:
        ToolError: it cannot be run.
    """
    turn = Turn(caller.session, Prompt(content=typed, origin=caller.origin), caller.runtime)
    # Who types the name has approved it; a rule against it counts all the same.
    if launch.name and isinstance(doubt := objection(turn, WORKFLOW, "name", launch.name), Deny):
        raise ToolError(f"The workflow {launch.name} is not allowed: {doubt.reason}.")
    return await workflows.start(turn, launch, call_id=f"command_{new_uuid()}", typed=True)


def launch_text(launched: Launched) -> str:
    """A run that has begun, for the user."""
    known = f", reusing {counted(launched.known, 'result')}" if launched.known else ""
    return (
        f"The workflow {launched.name} is running in the background{known}. See /workflows {launched.run_id}."
    )

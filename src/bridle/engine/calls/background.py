"""Moves calls that the conversation waits for to the background, when the user does not want to wait."""

from bridle.engine.runtime import Runtime
from bridle.host.background import BackgroundShells


def move_calls_to_background(runtime: Runtime, *, call_id: str | None = None) -> int:
    """Move running commands and agents, or those of one call, to the background; how many there were."""
    tasks = runtime.workspace.tasks
    commands = tasks.move_waited(call_id) if isinstance(tasks, BackgroundShells) else 0
    features = runtime.features
    if call_id is None:
        return commands + features.move_to_background()
    waited = [
        job.id for job in runtime.workspace.jobs() if job.call_id == call_id and job.kind == "local_agent"
    ]
    return commands + sum(map(features.move_to_background, waited))

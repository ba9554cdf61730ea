"""What the model is told when a conversation begins of agents and workflows that it can choose from."""

from collections.abc import Callable

from bridle.engine.agents import Agents
from bridle.engine.workflows.door import WorkflowDoor
from bridle.sessions.session import Session
from bridle.types.tool import Toolbox

Listing = Callable[[], str | None]


def agent_listing(agents: Agents, session: Session, toolbox: Toolbox) -> Listing:
    """The agents, without those that rules deny."""

    def listing() -> str | None:
        if "Agent" not in toolbox.names():
            return None
        if not any(rule.tool == "Agent" for rule in session.state.rules):
            return agents.listing()
        from bridle.permissions.matching import denied_agents

        return agents.listing(denied_agents(session.state.rules))

    return listing


def workflow_listing(workflows: WorkflowDoor | None, toolbox: Toolbox) -> Listing:
    """The workflows, where the session may have any."""
    return lambda: None if workflows is None else workflows.listing(toolbox.names())

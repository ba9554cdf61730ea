"""Opens the view that a command names, with the data of the session."""

from collections.abc import Awaitable, Callable, Mapping

from bridle.commands.context import CommandContext
from bridle.frontends.tui.screens.base import OpenScreen, ScreenContext
from bridle.frontends.tui.screens.choices.openers import (
    open_copy,
    open_effort,
    open_export,
    open_help,
    open_model,
    open_rewind,
    open_styles,
    open_theme,
)
from bridle.frontends.tui.screens.docs.openers import open_docs
from bridle.frontends.tui.screens.extensions.openers import (
    open_agents,
    open_editors,
    open_hooks,
    open_memory,
    open_plugins,
    open_sandbox,
    open_servers,
    open_skills,
)
from bridle.frontends.tui.screens.session.openers import (
    open_compacted,
    open_config,
    open_context,
    open_diff,
    open_doctor,
    open_goal,
    open_items,
    open_permissions,
    open_pins,
    open_status,
    open_tasks,
    open_usage,
)
from bridle.frontends.tui.screens.workflows.openers import open_workflows
from bridle.types.command import Shows


async def named_view(wanted: Shows, context: CommandContext, screen: ScreenContext) -> OpenScreen | None:
    """The view of this name with the data of the session; None for a name that has none here."""
    make = _VIEWS.get(wanted.view)
    return None if make is None else await make(context, screen)


_VIEWS: Mapping[str, Callable[[CommandContext, ScreenContext], Awaitable[OpenScreen]]] = {
    "agents": open_agents,
    "compacted": open_compacted,
    "config": open_config,
    "context": open_context,
    "copy": open_copy,
    "diff": open_diff,
    "docs": open_docs,
    "doctor": open_doctor,
    "effort": open_effort,
    "export": open_export,
    "goal": open_goal,
    "help": open_help,
    "hooks": open_hooks,
    "ide": open_editors,
    "items": open_items,
    "mcp": open_servers,
    "memory": open_memory,
    "model": open_model,
    "output-style": open_styles,
    "permissions": open_permissions,
    "pin": open_pins,
    "plugins": open_plugins,
    "rewind": open_rewind,
    "sandbox": open_sandbox,
    "skills": open_skills,
    "status": open_status,
    "tasks": open_tasks,
    "theme": open_theme,
    "usage": open_usage,
    "workflows": open_workflows,
}

"""Which look calls have. A new kind of tool gets a row here, or the look of an unknown one."""

from collections.abc import Mapping

from bridle.frontends.tui.render.call import Look
from bridle.frontends.tui.render.tools import agents, bash, files, others, searches, tasks, workflow
from bridle.tools.catalog import traits_of
from bridle.types.tool import Kind

_LOOKS: Mapping[Kind, Look] = {
    "advice": others.ADVICE,
    "agent": agents.LOOK,
    "choice": others.ASK,
    "command": bash.LOOK,
    "edit": files.CHANGE,
    "fetch": searches.FETCH,
    "list": searches.GLOB,
    "notebook": files.NOTEBOOK,
    "plan": others.PLAN,
    "plan_start": others.PLAN_START,
    "read": files.READ,
    "search": searches.GREP,
    "skill": others.SKILL,
    "task": tasks.TASK,
    "task_list": tasks.LIST,
    "task_output": tasks.OUTPUT,
    "task_stop": tasks.STOP,
    "todo": tasks.TODO,
    "watch": bash.LOOK,
    "web_search": searches.WEB,
    "workflow": workflow.LOOK,
    "write": files.CHANGE,
}


def look_of(tool: str) -> Look:
    """How calls of this tool are shown."""
    if tool.startswith("mcp__"):
        return others.MCP
    return _LOOKS.get(traits_of(tool).kind, others.UNKNOWN)

"""Which look each tool has. A new tool gets a row here, or the look of an unknown one."""

from collections.abc import Mapping

from bridle.frontends.tui.render.call import Look
from bridle.frontends.tui.render.tools import agents, bash, files, others, searches, tasks, workflow

_LOOKS: Mapping[str, Look] = {
    "Bash": bash.LOOK,
    "PowerShell": bash.LOOK,
    "Monitor": bash.LOOK,
    "Read": files.READ,
    "Write": files.CHANGE,
    "Edit": files.CHANGE,
    "MultiEdit": files.CHANGE,
    "NotebookEdit": files.NOTEBOOK,
    "Glob": searches.GLOB,
    "Grep": searches.GREP,
    "WebFetch": searches.FETCH,
    "WebSearch": searches.WEB,
    "TodoWrite": tasks.TODO,
    "TaskCreate": tasks.TASK,
    "TaskGet": tasks.TASK,
    "TaskUpdate": tasks.TASK,
    "TaskList": tasks.LIST,
    "TaskOutput": tasks.OUTPUT,
    "BashOutput": tasks.OUTPUT,
    "TaskStop": tasks.STOP,
    "KillShell": tasks.STOP,
    "AskUserQuestion": others.ASK,
    "Advisor": others.ADVICE,
    "Agent": agents.LOOK,
    "Task": agents.LOOK,
    "Skill": others.SKILL,
    "Workflow": workflow.LOOK,
    "ExitPlanMode": others.PLAN,
}


def look_of(tool: str) -> Look:
    """How calls of this tool are shown."""
    if tool.startswith("mcp__"):
        return others.MCP
    return _LOOKS.get(tool, others.UNKNOWN)

"""The tools that the gate knows by name, and the names that permission rules use for them.

These are names and no traits that a tool states of itself: a tool that comes from outside must not talk its
way past the gate.
"""

from collections.abc import Mapping
from typing import Any

from bridle.types.agent import AGENT_TOOL, FORMER_AGENT_TOOL
from bridle.types.on_demand import SEARCH

SHELL = "Bash"
SHELLS = frozenset({SHELL, "PowerShell"})
WATCHER = "Monitor"
"""Runs commands, too: they are weighed like those of the shell, by the rules for both."""
READ = "Read"
EDIT = "Edit"
FETCH = "WebFetch"
UPLOAD = "BrowserUpload"
"""Reads a file and gives it to a page: rules that keep a file from being read keep it from that, too."""
BY_HOST = frozenset({FETCH, "BrowserAct", "BrowserNavigate", "BrowserRead", "BrowserScript", UPLOAD})
"""Tools about an address: rules for them name hosts, and blanket rules cover only those that are public."""
ENTER = "Cd"
"""No tool: a rule of this name is about the folders that commands may go to."""
SKILL = "Skill"
WORKFLOW = "Workflow"
MESSAGE = "SendMessage"
SCHEDULE = "CronCreate"
PLAN_START = "EnterPlanMode"
PLAN_END = "ExitPlanMode"

READERS = frozenset({READ, "Grep", "Glob", "LSP"})
EDITORS = frozenset({EDIT, "Write", "NotebookEdit"})
DELEGATING = frozenset({AGENT_TOOL, FORMER_AGENT_TOOL})
BY_SUBJECT = frozenset({SKILL, WORKFLOW})
"""Approval is suggested for the skill or workflow that is named, and not for the tool."""
NO_EFFECT = frozenset({
    "Advisor", AGENT_TOOL, "AskUserQuestion", "BrowserTabs", SCHEDULE, "CronDelete", "CronList", "ListAgents",
    "ListMcpResourcesTool", "PushNotification", "ReadMcpResourceDirTool", "ReadMcpResourceTool",
    "ReportFindings", "ScheduleWakeup", MESSAGE, "Sleep", "StructuredOutput", "TaskCreate", "TaskGet",
    "TaskList", "TaskOutput", "TaskStop", "TaskUpdate", "TodoWrite", SEARCH, "WaitForMcpServers",
})  # fmt: skip
"""Tools that touch nothing but the session, its clock and what its servers offer to read; the calls of a
sub-agent and of a prompt that comes later pass the gate, too."""


def has_no_effect(tool: str, input: Mapping[str, Any]) -> bool:
    """Whether a call touches nothing outside the session; a schedule that outlives it does."""
    return tool in NO_EFFECT and not (tool == SCHEDULE and bool(input.get("durable")))


RULED_BY = {"Write": EDIT, "NotebookEdit": EDIT, "Glob": READ, "Grep": READ, "LSP": READ}
"""Tools whose files are ruled by the rules of another tool."""
OLD_NAMES = {
    "AgentOutputTool": "TaskOutput",
    "BashOutput": "TaskOutput",
    "BashOutputTool": "TaskOutput",
    "KillBash": "TaskStop",
    "KillShell": "TaskStop",
    FORMER_AGENT_TOOL: AGENT_TOOL,
}
"""Names of older rules."""

"""The built-in tools. Each is imported when first called, so start-up does not grow with this list."""

from typing import Literal

from msgspec import Struct

from bridle.types.on_demand import CALL, SEARCH
from bridle.types.tool import NO_TRAITS, Toolbox, ToolTraits

Group = Literal["", "browser", "languages", "schedules", "tasks", "todos", "workflows"]
"""Tools that are offered together or not at all."""


class Listing(Struct, frozen=True):
    name: str
    module: str
    """Where it is defined; the module's `TOOL` is the tool."""
    traits: ToolTraits = NO_TRAITS
    aliases: tuple[str, ...] = ()
    """Names that older transcripts, rules and models use for it."""
    needs_person: bool = False
    """Only offered when a person can answer."""
    needs_terminal: bool = False
    """Only offered when the person sits at a terminal."""
    deferred: bool = False
    """Rarely used: listed by name alone where tools can be searched for."""
    opt_in: bool = False
    """Only offered while the user has configured it."""
    group: Group = ""
    bare: bool = False
    """Offered also where only the bones are wanted."""
    for_watcher: bool = False
    """For a person who follows the work or is there later: of no use where only the answer is printed."""
    for_members: bool = False
    """Rarely used outside teams, whose members must look at what others have done."""


_NO_APPROVAL = "no one can approve a plan. In plan mode your answer is the plan; otherwise work without one."
_NO_LIST = "no one follows a task list. Work without it."
_MAIN = ToolTraits(agents="main")
_FOR_ALL = ToolTraits(agents="any")
_IN_TEAMS = ToolTraits(agents="team")
_TASK = ToolTraits(kind="task", agents="team", updates_tasks=True, missing=_NO_LIST)

CATALOG: tuple[Listing, ...] = (
    Listing(
        "Advisor",
        "bridle.tools.advisor",
        ToolTraits(kind="advice", agents="main", essential=True),
        opt_in=True,
    ),
    Listing("Agent", "bridle.tools.agent", ToolTraits(kind="agent"), aliases=("Task",)),
    Listing(
        "AskUserQuestion",
        "bridle.tools.ask_user_question",
        ToolTraits(
            kind="choice",
            agents="main",
            is_question=True,
            missing="no one can answer. Choose the most sensible reading and state it.",
        ),
        needs_person=True,
    ),
    Listing(
        "Bash",
        "bridle.tools.shell.bash",
        ToolTraits(
            kind="command",
            about="command",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"command": "echo hello", "description": "Say hello"},
        ),
        bare=True,
    ),
    Listing(
        "BrowserAct",
        "bridle.tools.browser.browser_act",
        ToolTraits(kind="page", about="action", repeatable=True),
        deferred=True,
        group="browser",
    ),
    Listing(
        "BrowserNavigate",
        "bridle.tools.browser.browser_navigate",
        ToolTraits(kind="browse", about="url", repeatable=True),
        deferred=True,
        group="browser",
    ),
    Listing(
        "BrowserRead",
        "bridle.tools.browser.browser_read",
        ToolTraits(kind="page_view", about="what", repeatable=True),
        deferred=True,
        group="browser",
    ),
    Listing(
        "BrowserScript",
        "bridle.tools.browser.browser_script",
        ToolTraits(kind="page", about="script"),
        deferred=True,
        group="browser",
    ),
    Listing(
        "BrowserTabs",
        "bridle.tools.browser.browser_tabs",
        ToolTraits(about="action", repeatable=True),
        deferred=True,
        group="browser",
    ),
    Listing(
        "BrowserUpload",
        "bridle.tools.browser.browser_upload",
        ToolTraits(kind="page", about="file_path"),
        deferred=True,
        group="browser",
    ),
    Listing("CronCreate", "bridle.tools.cron_create", _MAIN, deferred=True, group="schedules"),
    Listing("CronDelete", "bridle.tools.cron_delete", _MAIN, deferred=True, group="schedules"),
    Listing("CronList", "bridle.tools.cron_list", _MAIN, deferred=True, group="schedules"),
    Listing(
        "Edit",
        "bridle.tools.files.edit",
        ToolTraits(
            kind="edit",
            about="file_path",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"file_path": "{cwd}/sample.txt", "old_string": "hello", "new_string": "goodbye"},
        ),
        bare=True,
    ),
    Listing(
        "EndConversation",
        "bridle.tools.end_conversation",
        _MAIN,
        needs_person=True,
        needs_terminal=True,
        deferred=True,
    ),
    Listing(
        "EnterPlanMode",
        "bridle.tools.enter_plan_mode",
        ToolTraits(kind="plan_start", agents="main", missing=_NO_APPROVAL),
        needs_person=True,
    ),
    Listing("EnterWorktree", "bridle.tools.enter_worktree", _FOR_ALL, deferred=True),
    Listing(
        "ExitPlanMode",
        "bridle.tools.exit_plan_mode",
        ToolTraits(kind="plan", agents="main", is_question=True, missing=_NO_APPROVAL),
        needs_person=True,
    ),
    Listing("ExitWorktree", "bridle.tools.exit_worktree", _FOR_ALL, deferred=True),
    Listing(
        "Glob",
        "bridle.tools.files.glob",
        ToolTraits(
            kind="list",
            about="path",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"pattern": "**/*.py"},
        ),
    ),
    Listing(
        "Grep",
        "bridle.tools.files.grep",
        ToolTraits(
            kind="search",
            about="path",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"pattern": "TODO"},
        ),
    ),
    Listing("ListAgents", "bridle.tools.list_agents", _IN_TEAMS, deferred=True),
    Listing("LSP", "bridle.tools.lsp", deferred=True, group="languages"),
    Listing(
        "Monitor",
        "bridle.tools.monitor",
        ToolTraits(kind="watch", about="command", agents="main"),
        deferred=True,
    ),
    Listing(
        "NotebookEdit",
        "bridle.tools.notebooks.notebook_edit",
        ToolTraits(kind="notebook", about="notebook_path", agents="any", repeatable=True),
        deferred=True,
    ),
    Listing("PushNotification", "bridle.tools.push_notification", deferred=True),
    Listing(
        "Read",
        "bridle.tools.files.read",
        ToolTraits(
            kind="read",
            about="file_path",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"file_path": "{cwd}/README.md"},
        ),
        bare=True,
    ),
    Listing("ReportFindings", "bridle.tools.report_findings", deferred=True),
    Listing(
        "ScheduleWakeup",
        "bridle.tools.schedule_wakeup",
        _MAIN,
        deferred=True,
        group="schedules",
        for_watcher=True,
    ),
    Listing("SendMessage", "bridle.tools.send_message", _FOR_ALL, deferred=True),
    Listing("SendUserFile", "bridle.tools.files.send_user_file", deferred=True, for_watcher=True),
    Listing("Skill", "bridle.tools.skill", ToolTraits(kind="skill", agents="any"), aliases=("SlashCommand",)),
    Listing("Sleep", "bridle.tools.sleep", deferred=True),
    Listing("TaskCreate", "bridle.tools.tasks.task_create", _TASK, group="tasks", for_watcher=True),
    Listing(
        "TaskGet",
        "bridle.tools.tasks.task_get",
        ToolTraits(kind="task", agents="team"),
        group="tasks",
        for_watcher=True,
        for_members=True,
    ),
    Listing(
        "TaskList",
        "bridle.tools.tasks.task_list",
        ToolTraits(kind="task_list", agents="team"),
        group="tasks",
        for_watcher=True,
        for_members=True,
    ),
    Listing(
        "TaskOutput",
        "bridle.tools.tasks.task_output",
        ToolTraits(kind="task_output", agents="main"),
        aliases=("BashOutput", "BashOutputTool", "AgentOutputTool"),
    ),
    Listing(
        "TaskStop",
        "bridle.tools.tasks.task_stop",
        ToolTraits(kind="task_stop", agents="any"),
        aliases=("KillShell", "KillBash"),
    ),
    Listing("TaskUpdate", "bridle.tools.tasks.task_update", _TASK, group="tasks", for_watcher=True),
    Listing(
        "TodoWrite",
        "bridle.tools.tasks.todo_write",
        ToolTraits(kind="todo", agents="any", updates_tasks=True, missing=_NO_LIST),
        group="todos",
        for_watcher=True,
    ),
    Listing(
        "WebFetch",
        "bridle.tools.web.web_fetch",
        ToolTraits(
            kind="fetch",
            about="url",
            agents="any",
            repeatable=True,
            sample={"url": "https://example.com/", "prompt": "What is it?"},
        ),
        deferred=True,
    ),
    Listing(
        "WebSearch",
        "bridle.tools.web.web_search",
        ToolTraits(kind="web_search", agents="any", repeatable=True, sample={"query": "example"}),
        deferred=True,
    ),
    Listing(
        "Workflow",
        "bridle.tools.workflow",
        ToolTraits(kind="workflow", agents="main"),
        deferred=True,
        group="workflows",
    ),
    Listing(
        "Write",
        "bridle.tools.files.write",
        ToolTraits(
            kind="write",
            about="file_path",
            agents="any",
            repeatable=True,
            essential=True,
            sample={"file_path": "{cwd}/sample.txt", "content": "hello\n"},
        ),
    ),
)

MADE_ELSEWHERE = {
    SEARCH: _FOR_ALL,
    CALL: NO_TRAITS,
    "ListMcpResourcesTool": NO_TRAITS,
    "ReadMcpResourceDirTool": NO_TRAITS,
    "ReadMcpResourceTool": NO_TRAITS,
    "StructuredOutput": ToolTraits(essential=True),
    "WaitForMcpServers": _MAIN,
}
"""Tools that a session makes for its servers, for searching, and for answers of a shape."""
FORMER = {
    "Artifact": _FOR_ALL,
    "LS": ToolTraits(kind="list"),
    "MultiEdit": ToolTraits(kind="edit", about="file_path"),
    "NotebookRead": ToolTraits(kind="read", about="notebook_path"),
    "PowerShell": ToolTraits(kind="command", about="command", agents="any"),
}
"""Tools that older transcripts and lists of tools name, and that are not here."""
_TRAITS = {
    **FORMER,
    **MADE_ELSEWHERE,
    **{name: listing.traits for listing in CATALOG for name in (listing.name, *listing.aliases)},
}


def traits_of(name: str, toolbox: Toolbox | None = None) -> ToolTraits:
    """What is known of a tool by its name, of one from outside as the toolbox has it."""
    known = _TRAITS.get(name)
    if known is None and toolbox is not None and (found := toolbox.find(name)) is not None:
        return found.traits
    return NO_TRAITS if known is None else known


def names_in(group: Group) -> frozenset[str]:
    """The tools of a group."""
    return frozenset(listing.name for listing in CATALOG if listing.group == group)

"""The built-in tools. Each is imported when first called, so start-up does not grow with this list."""

from msgspec import Struct


class Listing(Struct, frozen=True):
    name: str
    module: str
    """Where it is defined; the module's `TOOL` is the tool."""
    aliases: tuple[str, ...] = ()
    """Names that older transcripts, rules and models use for it."""
    needs_person: bool = False
    """Only offered when a person can answer."""
    deferred: bool = False
    """Rarely used: listed by name alone where tools can be searched for."""
    opt_in: bool = False
    """Only offered while the user has configured it."""


CATALOG: tuple[Listing, ...] = (
    Listing("Advisor", "bridle.tools.advisor", opt_in=True),
    Listing("Agent", "bridle.tools.agent", aliases=("Task",)),
    Listing("AskUserQuestion", "bridle.tools.ask_user_question", needs_person=True),
    Listing("Bash", "bridle.tools.shell.bash"),
    Listing("CronCreate", "bridle.tools.cron_create", deferred=True),
    Listing("CronDelete", "bridle.tools.cron_delete", deferred=True),
    Listing("CronList", "bridle.tools.cron_list", deferred=True),
    Listing("Edit", "bridle.tools.files.edit"),
    Listing("EndConversation", "bridle.tools.end_conversation", needs_person=True, deferred=True),
    Listing("EnterPlanMode", "bridle.tools.enter_plan_mode", needs_person=True),
    Listing("EnterWorktree", "bridle.tools.enter_worktree", deferred=True),
    Listing("ExitPlanMode", "bridle.tools.exit_plan_mode", needs_person=True),
    Listing("ExitWorktree", "bridle.tools.exit_worktree", deferred=True),
    Listing("Glob", "bridle.tools.files.glob"),
    Listing("Grep", "bridle.tools.files.grep"),
    Listing("ListAgents", "bridle.tools.list_agents", deferred=True),
    Listing("LSP", "bridle.tools.lsp", deferred=True),
    Listing("Monitor", "bridle.tools.monitor", deferred=True),
    Listing("NotebookEdit", "bridle.tools.notebooks.notebook_edit", deferred=True),
    Listing("PushNotification", "bridle.tools.push_notification", deferred=True),
    Listing("Read", "bridle.tools.files.read"),
    Listing("ReportFindings", "bridle.tools.report_findings", deferred=True),
    Listing("ScheduleWakeup", "bridle.tools.schedule_wakeup", deferred=True),
    Listing("SendMessage", "bridle.tools.send_message", deferred=True),
    Listing("SendUserFile", "bridle.tools.files.send_user_file", deferred=True),
    Listing("Skill", "bridle.tools.skill", aliases=("SlashCommand",)),
    Listing("Sleep", "bridle.tools.sleep", deferred=True),
    Listing("TaskCreate", "bridle.tools.tasks.task_create"),
    Listing("TaskGet", "bridle.tools.tasks.task_get"),
    Listing("TaskList", "bridle.tools.tasks.task_list"),
    Listing(
        "TaskOutput",
        "bridle.tools.tasks.task_output",
        aliases=("BashOutput", "BashOutputTool", "AgentOutputTool"),
    ),
    Listing("TaskStop", "bridle.tools.tasks.task_stop", aliases=("KillShell", "KillBash")),
    Listing("TaskUpdate", "bridle.tools.tasks.task_update"),
    Listing("TodoWrite", "bridle.tools.tasks.todo_write"),
    Listing("WebFetch", "bridle.tools.web.web_fetch", deferred=True),
    Listing("WebSearch", "bridle.tools.web.web_search", deferred=True),
    Listing("Workflow", "bridle.tools.workflow", deferred=True),
    Listing("Write", "bridle.tools.files.write"),
)
